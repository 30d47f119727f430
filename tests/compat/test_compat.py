"""Loo.py's names, arguments and defaults, where they are not polygen's."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from pymbolic import parse, var

import polygen as pg
import polygen.compat as lp
from polygen.compat.diagnostic import AutomaticTestFailure
from polygen.errors import InvalidArgument, UnknownIname

A: dict[str, Any] = {"a": np.float32}


def twice(**more: Any) -> Any:
    return lp.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]", **more)


def test_a_program_of_one_kernel() -> None:
    program = twice()
    assert isinstance(program, lp.TranslationUnit)
    assert program["loopy_kernel"] is program.default_entrypoint
    plain = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]", name="loopy_kernel")
    assert program.default_entrypoint.copy(options=plain.options) == plain
    split = lp.split_iname(program, "i", 16, outer_tag="g.0", do_tagged_check=False)
    assert isinstance(split, lp.TranslationUnit)
    assert [step.name for step in split.default_entrypoint.history] == ["split_iname"]
    _, (out,) = split.executor()(a=np.arange(20.0))
    np.testing.assert_array_equal(out, 2 * np.arange(20.0))


def test_all_of_polygens_names_are_there() -> None:
    for name in pg.__all__:
        assert hasattr(lp, name), name
        assert name in dir(lp)
    assert lp.tile is pg.tile
    assert set(lp.__all__) <= set(dir(lp))
    assert all(hasattr(lp, name) for name in lp.__all__)


def test_what_is_not_there_says_why() -> None:
    with pytest.raises(AttributeError, match=r"no 'linearize': how Loo\.py orders instructions is"):
        _ = lp.linearize
    with pytest.raises(AttributeError, match=r"no 'frobnicate': see docs/porting\.md"):
        _ = lp.frobnicate
    assert not hasattr(lp, "__wrapped__")


@pytest.mark.parametrize(
    ("target", "name"),
    [
        (lp.PyOpenCLTarget(), "opencl"),
        (lp.OpenCLTarget(), "opencl"),
        (lp.CTarget(), "c"),
        (lp.ExecutableCTarget(), "c"),
        ("c", "c"),
        (None, None),
    ],
)
def test_targets(target: Any, name: str | None) -> None:
    assert twice(target=target).default_entrypoint.target == name


def test_options_of_kernels() -> None:
    knl = twice(
        lang_version=(2018, 2),
        name="mine",
        assumptions="n>=1",
        silenced_warnings=["write_race(insn)", "AmbiguousNesting"],
        options="return_dict",
        fixed_parameters={"n": 8},
        default_order="C",
        index_dtype=np.int64,
    )["mine"]
    assert knl.options.silenced_warnings == ("AmbiguousNesting",)
    assert knl.options.return_dict
    assert knl.parameters == ()


REFUSED: list[tuple[Any, str]] = [
    (lambda: twice(default_order="G"), "default_order='G' is none"),
    (lambda: lp.assignment_to_subst(twice(), "out", ["i"]), "extra_arguments=: rules find these"),
    (lambda: lp.find_one_rule_matching(twice(), "f*"), "'f.': there is none"),
    (lambda: twice(iname_slab_increments={}), "make_kernel has no option 'iname_slab_increments'"),
    (lambda: twice(target=3), "3 is no target"),
    (lambda: lp.GlobalArg("a", np.float32, 3, frobnicated=1), "frobnicated"),
    (lambda: lp.fix_parameters(twice(), within="id:insn", n=3), "fixed everywhere, or nowhere"),
    (lambda: lp.set_options(twice(), 3), "3, which is no name of options"),
    (lambda: lp.set_options(twice(), edit_code=True), "no option 'edit_code'"),
    (
        lambda: lp.auto_test_vs_ref(lp.add_dtypes(twice(), A), None),
        "parameters= does not say enough: .* needs a value of 'n'",
    ),
]


@pytest.mark.parametrize(("call", "text"), REFUSED, ids=[text for _, text in REFUSED])
def test_refused(call: Any, text: str) -> None:
    with pytest.raises(InvalidArgument, match=text) as caught:
        call()
    assert "test_compat.py:" in str(caught.value)
    assert "remedy: " in str(caught.value)


def test_arguments_may_say_what_is_found_out() -> None:
    out = lp.GlobalArg("out", lp.auto, lp.auto, is_input=False, for_atomic=True)
    assert out == pg.GlobalArg("out")
    assert lp.ValueArg("n", np.int32, approximately=20) == pg.ValueArg("n", np.int32)
    assert lp.ConstantArg("c", np.float32, shape=lp.auto) == pg.ConstantArg("c", np.float32)
    assert lp.ImageArg("p", np.float32, shape="n, n") == pg.ImageArg("p", np.float32, "n, n")
    knl = twice(kernel_data=[out, lp.GlobalArg("a", np.float32), ...])
    assert [a.name for a in knl.default_entrypoint.arguments] == ["out", "a", "n"]


def test_kernels_have_names_of_loopys() -> None:
    """Once `polygen.compat` is imported; what neither has is an AttributeError."""
    knl: Any = lp.tag_inames(lp.add_dtypes(twice(), A), "i: unr_hint").default_entrypoint
    assert knl.args == list(knl.arguments)
    assert knl.arg_dict["a"].dtype == np.float32
    assert knl.id_to_insn["insn"] is knl.instructions[0]
    assert knl.all_inames() == {"i"}
    assert knl.all_params() == {"n"}
    assert [str(tag) for tag in knl.iname_tags("i")] == ["unr_hint"]
    with pytest.raises(UnknownIname):
        knl.iname_tags("j")
    assert not hasattr(knl, "frobnicate")
    with pytest.raises(AttributeError, match="'Kernel' object has no attribute '_frobnicate'"):
        knl._frobnicate  # noqa: B018
    assert pickle.loads(pickle.dumps(knl)) == knl  # noqa: S301  (its own)


def test_classes_may_be_asked_for() -> None:
    knl = twice().default_entrypoint
    a, n = knl.variable("a"), knl.variable("n")
    assert isinstance(a, lp.GlobalArg)
    assert isinstance(n, lp.ValueArg)
    assert not isinstance(n, (lp.GlobalArg, lp.TemporaryVariable))
    assert isinstance(knl.instructions[0], lp.InstructionBase)


def test_several_inames_at_once() -> None:
    knl = lp.make_kernel(
        "{ [i,j,k,l]: 0<=i,j<n and 0<=k,l<3 }",
        "b[i] = a[i]\nc[j] = a[j]\nd[k] = w[k]\ne[l] = w[l]",
        [lp.GlobalArg("a, b, c", np.float32, "n"), lp.GlobalArg("w", np.float32, 3), ...],
    )
    apart = lp.rename_inames_in_batch(knl, {"x": ["i"], "y": frozenset(["j"])})
    assert set(apart.default_entrypoint.inames) == {"x", "y", "k", "l"}
    same = lp.rename_inames(knl, {"k"}, "kk", raise_on_domain_mismatch=True)
    assert "kk" in same.default_entrypoint.inames
    two = lp.make_kernel("{ [i,j]: 0<=i<n and 0<=j<n }", "b[i] = sum(j, a[j])\nc[i] = max(j, a[j])")
    unique = lp.make_reduction_inames_unique(two).default_entrypoint
    reduced = [insn.reduction_inames for insn in unique.instructions]
    assert len(reduced) == 2
    assert reduced[0].isdisjoint(reduced[1])


REVERSE = "{ [i,j]: 0<=i,j<8 }"


@pytest.mark.parametrize(
    "data",
    [
        [lp.TemporaryVariable("t", np.float32), "..."],
        [lp.TemporaryVariable("t", np.float32, shape=(8,)), ...],
        [lp.TemporaryVariable("t", np.float32, lp.auto, lp.AddressSpace.LOCAL), "..."],
        [lp.TemporaryVariable("t", np.float32, (8,), scope=lp.auto), "..."],
    ],
    ids=["guessed", "of a shape", "local", "found"],
)
def test_temporaries_are_where_they_have_to_be(data: Any) -> None:
    knl = lp.make_kernel(REVERSE, ["t[i] = a[i]", "out[j] = t[7-j]"], data)
    knl = lp.tag_inames(knl, "i: l.0, j: l.0")
    assert pg.address_spaces(knl.default_entrypoint)["t"] is lp.AddressSpace.LOCAL
    a = np.arange(8, dtype=np.float32)
    _, (out,) = knl(a=a)
    np.testing.assert_array_equal(out, a[::-1])


def test_of_a_text_too() -> None:
    knl = lp.make_kernel(REVERSE, ["<> t[i] = a[i]", "out[j] = t[7-j]"])
    knl = lp.tag_inames(knl, "i: l.0, j: l.0")
    assert pg.address_spaces(knl.default_entrypoint)["t"] is lp.AddressSpace.LOCAL


def test_options_have_other_names() -> None:
    knl = lp.set_options(twice(), "write_cl, return_dict", allow_fp_reordering=False)
    options = knl.default_entrypoint.options
    assert (options.write_code, options.return_dict) == (True, True)
    assert not options.allow_reassociation
    assert lp.set_options(twice(), {"no_numpy": True}, annotate_inames=True) == twice()


def test_code() -> None:
    knl = lp.add_dtypes(twice(target=lp.OpenCLTarget()), A)
    text = lp.generate_code_v2(knl).device_code()
    assert text == str(pg.generate_code(knl)) == lp.generate_code_v2(knl).all_code()
    source, arguments = lp.generate_code(knl)
    assert source == text
    assert [a.name for a in arguments] == ["a", "n", "out"]
    (header,) = lp.generate_header(knl)
    assert header.startswith("__kernel void __attribute__")
    assert header.endswith("out);")
    assert lp.generate_body(knl) == "    for (int i = 0; i < n; ++i)\n        out[i] = 2.0f * a[i];"
    (header,) = lp.generate_header(lp.add_dtypes(twice(target=lp.CTarget()), A))
    assert header.startswith("void loopy_kernel(")


def test_nothing_is_left_to_do_by_hand() -> None:
    knl = twice()
    assert lp.preprocess_kernel(knl) is knl
    assert lp.get_one_linearized_kernel(knl["loopy_kernel"], {}) is knl["loopy_kernel"]


def test_caching(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYGEN_NO_CACHE", "0")
    lp.set_caching_enabled(False)
    _, (out,) = twice()(a=np.ones(3))
    np.testing.assert_array_equal(out, [2, 2, 2])
    lp.set_caching_enabled(True)


def test_prefetches_have_no_tag_unless_said() -> None:
    knl = lp.make_kernel(
        "{ [i,j]: 0<=i<n and 0<=j<4 }", "out[i,j] = a[i]*a[i] + j", loop_priority="i, j"
    )
    knl = lp.split_iname(knl, "i", 8)
    plain = lp.add_prefetch(knl, "a", ["i_inner"], fetch_outer_inames="i_outer")
    assert plain.default_entrypoint.tags == {}
    tagged = lp.add_prefetch(knl, "a", ["i_inner"], None, "l.0", fetch_outer_inames="i_outer")
    assert list(map(str, tagged.default_entrypoint.tags.values())) == ["l.0"]


def test_rules_are_computed_without_tags() -> None:
    knl = lp.make_kernel("{ [i]: 0<=i<8 }", ["f(x) := a[x]*a[x]", "out[i] = f(i) + f(7-i)"])
    ahead = lp.precompute(knl, "f", "i", temporary_address_space=lp.auto)
    assert ahead.default_entrypoint.tags == {}
    a = np.arange(8.0)
    _, (out,) = ahead(a=a)
    np.testing.assert_array_equal(out, a**2 + a[::-1] ** 2)


def test_further_steps() -> None:
    knl = lp.tag_inames(twice(), "i: g.0")
    renamed = lp.rename_iname(knl, "i", "k", preserve_tags=False, raise_on_domain_mismatch=True)
    assert renamed.default_entrypoint.tags == {}
    assert lp.rename_iname(knl, "i", "k").default_entrypoint.inames == ("k",)
    fixed = lp.fix_parameters(twice(), n=32)
    parts = lp.chunk_iname(fixed, "i", 4, "part", None, "g.0", None, (0, 0), False)
    assert parts.default_entrypoint.inames == ("part", "i_inner")
    assert lp.assume(twice(), assumptions="n >= 1") == twice(assumptions="n >= 1")
    typed = lp.add_and_infer_dtypes(twice(), A).default_entrypoint
    assert {a.name: a.dtype for a in typed.arguments}["out"] == np.dtype(np.float32)


def test_what_is_shown_of_programs() -> None:
    knl = twice()
    assert [i.id for i in lp.find_instructions(knl, "writes:out")] == ["insn"]
    assert "digraph" in lp.get_dot_dependency_graph(knl)
    assert lp.has_schedulable_iname_nesting(knl)
    assert list(lp.get_iname_duplication_options(knl)) == []
    assert "make_kernel" in lp.t_unit_to_python(knl) or "parse_program" in lp.t_unit_to_python(knl)


def test_the_graph_is_drawn(tmp_path: Any) -> None:
    path = tmp_path / "graph.dot"
    assert lp.show_dependency_graph(twice(), path) == path
    assert "digraph" in path.read_text()


# --- auto_test_vs_ref


def test_the_same_is_the_same() -> None:
    knl = lp.add_dtypes(twice(), A)
    times = lp.auto_test_vs_ref(
        knl,
        None,
        lp.split_iname(knl, "i", 4, outer_tag="g.0"),
        parameters={"n": 10},
        print_code=False,
        op_count=[10],
    )
    assert times["elapsed_wall"] > 0


def test_the_code_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    knl = lp.add_dtypes(twice(), A)
    lp.auto_test_vs_ref(knl, None, parameters={"n": 10})
    assert "loopy_kernel(" in capsys.readouterr().out


def test_types_have_to_be_known() -> None:
    with pytest.raises(lp.errors.TypeNotFound, match="the type of the variable 'a' is not known"):
        lp.auto_test_vs_ref(twice(), None, parameters={"n": 3})


def test_another_is_another() -> None:
    knl = lp.add_dtypes(twice(), A)
    other = lp.add_dtypes(lp.make_kernel("{ [i]: 0<=i<n }", "out[i] = 3*a[i]"), A)
    given: Any = {"parameters": {"n": 10}, "print_code": False}
    with pytest.raises(
        AutomaticTestFailure, match=r"'out' is not .* 10 of 10 .* relative error is 5\.0e-01"
    ):
        lp.auto_test_vs_ref(knl, None, other, **given)
    lp.auto_test_vs_ref(knl, None, other, do_check=False, **given)

    def more(found: Any, expected: Any) -> tuple[bool, str]:
        return bool((found >= expected).all()), "less"

    lp.auto_test_vs_ref(knl, None, other, check_result=more, **given)
    with pytest.raises(AutomaticTestFailure, match="less"):
        lp.auto_test_vs_ref(other, None, knl, check_result=more, **given)


def test_on_a_device_of_pyopencls() -> None:
    import pyopencl as cl  # noqa: PLC0415  (loads the device libraries)

    context = cl.create_some_context(interactive=False)
    knl = lp.make_kernel("{ [i]: 0<=i<n }", "out[i] = a[i]*b[i] + c[i]")
    knl = lp.add_dtypes(knl, {"a": np.complex64, "b": np.int32, "c": np.complex64})
    tagged = lp.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")
    lp.auto_test_vs_ref(knl, context, tagged, parameters={"n": 21}, print_code=False)


def test_a_derivative_comes_with_its_name() -> None:
    knl = lp.make_kernel("{ [i]: 0<=i<n }", "z[i] = x[i]**2\nw[i] = 3*x[i]")
    knl = lp.add_dtypes(knl, {"x": "float64"})
    new, name = lp.diff_kernel(knl, ["z", "w"], "x")
    assert name == "w_dx"
    _, (w, z) = new(x=np.arange(3.0))
    assert (z == np.diag(2 * np.arange(3.0))).all()
    assert (w == 3 * np.eye(3)).all()


def test_instructions_in_loopys_order() -> None:
    a, i, o, t = map(var, ("a", "i", "o", "t"))
    instructions = [
        lp.Assignment("<> t", "2*a[i]", id="t", groups=frozenset(("g",))),
        lp.Assignment(
            o[i],
            t + 1,
            within_inames=frozenset(("i",)),
            depends_on=frozenset(("t",)),
            predicates=frozenset((parse("a[i] > 0"),)),
            tags=frozenset(("x", "y")),
            conflicts_with_groups=frozenset(("g",)),
        ),
        lp.CallInstruction(
            ("p[i]", "q[i]"),
            var("sincos")(a[i]),
            "both",
            happens_after="t",
            depends_on_is_final=True,
            within_inames="i",
            within_inames_is_final=True,
            no_sync_with=frozenset((("t", "any"),)),
            priority=3,
        ),
    ]
    program = lp.make_kernel("{ [i]: 0<=i<n }", instructions, [lp.GlobalArg("o", None, "n"), "..."])
    first, second, third = program.default_entrypoint.instructions
    assert (first.id, second.id, third.id) == ("t", "insn", "both")
    assert second.depends_on == third.depends_on == {"t"}
    assert second.within_inames == third.within_inames == {"i"}
    assert second.tags == {"x", "y"}
    assert third.no_sync_with == {("t", "any")}
    assert third.priority == 3
    assert first.groups == second.conflicts_with_groups == {"g"}
    kinds = [
        [isinstance(x, k) for k in (lp.Assignment, lp.CallInstruction)] for x in (first, third)
    ]
    assert kinds == [[True, False], [False, True]]
    x = np.array([-1.0, 0, 2])
    program = lp.set_options(program, return_dict=True)
    _, out = program(a=x, o=np.zeros(3))
    np.testing.assert_allclose(out["o"], [0, 0, 5])
    np.testing.assert_allclose(out["p"], np.sin(x))
    np.testing.assert_allclose(out["q"], np.cos(x))
    with pytest.raises(InvalidArgument, match="no option 'atomicity' here"):
        lp.Assignment("t", "a[i]", atomicity=())


# --- statistics


def test_counts() -> None:
    knl = lp.split_iname(lp.add_dtypes(twice(), A), "i", 16, outer_tag="g.0", inner_tag="l.0")
    stored = lp.MemAccess(
        "global", np.float32, {0: 1}, {0: 16}, "store", "out",
        variable_tags=None, count_granularity=lp.CountGranularity.WORKITEM,
        kernel_name="loopy_kernel",
    )  # fmt: skip
    for counts in (
        lp.get_mem_access_map(knl),
        lp.get_mem_access_map(knl, False, 32, "loopy_kernel", "writes:out"),
    ):
        assert isinstance(counts, lp.ToCountPolynomialMap)
        assert counts[stored].eval_with_dict({"n": 37}) == 37
    multiplied = lp.get_op_map(knl, False, False, 32, entrypoint="loopy_kernel")
    assert [key.name for key in multiplied] == ["mul"]
    assert multiplied.eval_and_sum({"n": 37}) == 3  # groups of a sub-group each
    launched = lp.Sync("kernel_launch", "loopy_kernel")
    assert lp.get_synchronization_map(knl, 32)[launched].eval_with_dict({}) == 1
    assert str(lp.gather_access_footprints(knl)["a", "read"]) == "[n] -> { [i0] : 0 <= i0 < n }"
    assert lp.gather_access_footprint_bytes(knl)["a", "read"].eval_with_dict({"n": 5}) == 20


def test_the_kernel_of_the_tutorial_with_barriers() -> None:
    """It is refused, since it reads what later iterations write; parallel, it is what is meant."""
    with lp.without_proofs():
        knl = lp.make_kernel(
            "[] -> {[i,k,j]: 0<=i<50 and 1<=k<98 and 0<=j<10}",
            [
                """
                c[i,j,k] = 2*a[i,j,k] {id=first}
                e[i,j,k] = c[i,j,k+1]+c[i,j,k-1] {dep=first}
                """
            ],
            [lp.TemporaryVariable("c", dtype=None, shape=(50, 10, 99)), "..."],
            silenced_warnings=["AmbiguousNesting"],
        )
        knl = lp.add_and_infer_dtypes(knl, {"a": np.int32})
        knl = lp.split_iname(knl, "k", 128, inner_tag="l.0")
        sync_map = lp.get_synchronization_map(knl)
    barriers = sync_map[lp.Sync("barrier_local", "loopy_kernel")].eval_with_dict({})
    assert barriers == lp.generate_code_v2(knl).device_code().count("barrier(") * 50 * 10 == 500
