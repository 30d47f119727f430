"""Kernels that are made first and ordered, or told facts, afterwards, as Loo.py's users do."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import polygen as pg
import polygen.compat as lp

pytestmark = pytest.mark.filterwarnings("ignore::polygen.errors.AmbiguousNesting")

F = np.float64
UPDATES = ["out[i] = 2*a[i] {id=first}", "out[i] = out[i] + b[i] {id=then, dep=}"]
VECTORS = [lp.GlobalArg("a, b, out", F, shape="n"), "..."]


def made(domains: str, instructions: Any, data: Any = (...,), **options: Any) -> Any:
    return lp.make_kernel(domains, instructions, data, target=lp.ExecutableCTarget(), **options)


def of_two_updates() -> Any:
    return made("{ [i]: 0<=i<n }", UPDATES, VECTORS)


def test_a_dependency_that_comes_after() -> None:
    knl = lp.add_dependency(of_two_updates(), "id:then", "id:first")
    a, b = np.random.default_rng(1).random((2, 9))
    _, (out,) = knl(a=a, b=b)
    np.testing.assert_allclose(out, 2 * a + b)
    assert "not judged yet" not in str(knl)


def test_types_and_options_between() -> None:
    knl = made("{ [i]: 0<=i<n }", UPDATES)
    knl = lp.set_options(lp.add_dtypes(knl, {"a": F}), return_dict=True)
    knl = lp.add_dtypes(knl, {"b, out": F})
    knl = lp.split_iname(lp.add_dependency(knl, "id:then", "id:first"), "i", 4)
    a, b = np.random.default_rng(2).random((2, 9))
    _, found = knl(a=a, b=b)
    np.testing.assert_allclose(found["out"], 2 * a + b)


@pytest.mark.parametrize(("order", "outer"), [("i, j", 0), ("j, i", 1)])
def test_a_priority_that_comes_after(order: str, outer: int) -> None:
    data = [lp.GlobalArg("a", F, shape="n, n+1"), "..."]
    knl = made("{ [i,j]: 1<=i,j<n }", "a[i,j] = a[i-1,j+1] + 1", data)
    knl = lp.prioritize_loops(knl, order)
    a = np.random.default_rng(3).random((6, 7))
    expected = a.copy()
    for x in range(1, 6):
        for y in range(1, 6):
            i, j = (x, y) if outer == 0 else (y, x)
            expected[i, j] = expected[i - 1, j + 1] + 1
    knl(a=a)
    np.testing.assert_allclose(a, expected)


def test_assumptions_that_come_after() -> None:
    data = [lp.GlobalArg("a", F, shape="m"), lp.ValueArg("m", np.int32), "..."]
    knl = made("{ [i]: 0<=i<n }", "out[i] = a[i+1]", data)
    assert "which is outside of 'a'" in str(knl).partition("not judged yet: ")[2]
    a = np.random.default_rng(4).random(8)
    _, (out,) = lp.assume(knl, "m >= n + 1")(a=a, n=7)
    np.testing.assert_allclose(out, a[1:])


def test_a_number_that_comes_after() -> None:
    data = [lp.GlobalArg("a", F, shape="n + 2"), lp.ValueArg("s", np.int32), "..."]
    knl = lp.fix_parameters(made("{ [i]: 0<=i<n }", "out[i] = a[i+s]", data), s=2)
    a = np.random.default_rng(5).random(8)
    _, (out,) = knl(a=a)
    np.testing.assert_allclose(out, a[2:])


@pytest.mark.parametrize("declared", [(), (lp.TemporaryVariable("t", shape=("m",)),)])
def test_fixed_parameters_come_before_shapes(declared: Any) -> None:
    knl = made(
        "{ [i,j,k]: 0<=i<n and 0<=j,k<m }",
        ["t[j] = s*a[i,j] {id=w}", "out[i,k] = t[m-1-k] {dep=w}"]
        if declared
        else ["<> t[j] = s*a[i,j] {id=w}", "out[i,k] = t[m-1-k] {dep=w}"],
        [*declared, lp.ValueArg("s", F), "..."],
        fixed_parameters={"m": 4, "s": 0.5},
        assumptions="n >= 1",
    )
    a = np.random.default_rng(6).random((5, 4))
    _, (out,) = knl(a=a)
    np.testing.assert_allclose(out, a[:, ::-1] / 2)
    assert "m" not in {arg.name for arg in knl.default_entrypoint.args}


def test_sizes_that_assumptions_say() -> None:
    text = ["<> t[j] = a[i,j] {id=w}", "out[i,k] = t[3-k] {dep=w}"]
    knl = pg.make_kernel("{ [i,j,k]: 0<=i<n and 0<=j,k<m }", text, assumptions="m = 4")
    assert knl.variables["t"].shape == (4,)  # type: ignore[union-attr]


@pytest.mark.parametrize("as_option", [False, True])
def test_loops_to_come_have_an_order(as_option: bool) -> None:
    data = [lp.GlobalArg("a, out", F, shape="n, n"), "..."]
    order = "i_outer, j, i_inner"
    options = {"loop_priority": frozenset([("i_outer", "j", "i_inner")])} if as_option else {}
    knl = made("{ [i,j]: 0<=i,j<n }", "out[i,j] = 2*a[i,j]", data, **options)
    knl = knl if as_option else lp.prioritize_loops(knl, order)
    assert "priority: i_outer, j, i_inner" in str(knl)
    knl = lp.split_iname(knl, "i", 4)
    assert knl.default_entrypoint.priorities == (("i_outer", "j", "i_inner"),)
    a = np.random.default_rng(7).random((9, 9))
    _, (out,) = knl(a=a)
    np.testing.assert_allclose(out, 2 * a)


def test_a_priority_of_no_loop_is_refused_when_code_is_made() -> None:
    knl = made("{ [i,j]: 0<=i,j<n }", "out[i,j] = 2*a[i,j]")
    knl = lp.prioritize_loops(knl, "i, q")
    with pytest.raises(pg.errors.UnknownIname, match="has no iname 'q'"):
        knl(a=np.ones((2, 2)))


TILE = [
    lp.TemporaryVariable("t", F, shape=(16,), address_space=lp.AddressSpace.LOCAL),
    lp.GlobalArg("a", F, shape=(16,)),
    lp.GlobalArg("b", F, shape="n"),
    lp.GlobalArg("out", F, shape="n, 16"),
    "...",
]


def test_two_axes_alike_until_an_iname_is_removed() -> None:
    knl = lp.make_kernel(
        "{ [i,j,g]: 0<=i,j<16 and 0<=g<n }",
        [
            "t[i] = b[g]*a[i] {id=w, inames=g:i}",
            "out[g,j] = t[15-j] {id=r, dep=w, inames=g:i:j}",
        ],
        TILE,
    )
    knl = lp.tag_inames(knl, "g:g.0, i:l.0, j:l.0")
    assert "tag: j: l.0" in str(knl)
    knl = lp.remove_inames_from_insn(knl, frozenset(["i"]), "id:r")
    tags = {iname: str(tag) for iname, tag in knl.default_entrypoint.tags.items()}
    assert tags == {"g": "g.0", "i": "l.0", "j": "l.0"}
    a, b = np.random.default_rng(8).random((2, 16))
    _, (out,) = knl(a=a, b=b[:5])
    np.testing.assert_allclose(out, np.outer(b[:5], a[::-1]))


def test_two_axes_alike_until_one_is_another() -> None:
    data = [lp.GlobalArg("a, out", F, shape=(16, 16))]
    knl = lp.make_kernel("{ [i,j]: 0<=i,j<16 }", "out[i,j] = 2*a[i,j]", data)
    knl = lp.tag_inames(knl, "i: l.0, j: l.0")
    with pytest.raises(pg.errors.TagConflict, match=r"is within 'i' and 'j', both tagged l\.0"):
        lp.generate_code_v2(knl)
    knl = lp.tag_inames(knl, {"i": "l.1"}, force=True)
    a = np.random.default_rng(9).random((16, 16))
    _, (out,) = knl(a=a)
    np.testing.assert_allclose(out, 2 * a)


def refusals(knl: pg.Kernel) -> list[str]:
    """Return what the steps and calls say that need a result."""
    found: list[str] = []
    for use in (
        lambda: pg.split_iname(knl, "i", 4),
        lambda: pg.generate_code(knl),
        lambda: pg.lower_kernel(knl),
        lambda: knl(a=np.ones(3), b=np.ones(3)),
        lambda: knl.executor("c"),
        lambda: pg.fuse_kernels([knl, pg.make_kernel("{ [i]: 0<=i<n }", "z[i] = out[i]")]),
        lambda: pg.diff_kernel(knl, "out", "a"),
        lambda: pg.optimize(knl, sizes={"n": 100}),
    ):
        with pytest.raises(pg.errors.UnorderedAccess) as error:
            use()
        found.append(error.value.what)
    return found


def test_what_needs_a_result_refuses_with_the_same_witness() -> None:
    with pytest.raises(pg.errors.UnorderedAccess) as error:
        pg.make_kernel("{ [i]: 0<=i<n }", UPDATES)
    what = error.value.what
    assert "for n=1, first[i=0] writes the element of 'out' that then[i=0] reads" in what
    knl = pg.make_kernel("{ [i]: 0<=i<n }", UPDATES, well_formed="later")
    assert f"not judged yet: {what}" in str(knl)
    assert set(refusals(knl)) == {what}
    assert set(refusals(pickle.loads(pickle.dumps(knl)))) == {what}  # noqa: S301  (our own)
    assert str(pg.parse_kernel(str(knl))) == str(knl)


def test_order_is_kept_that_facts_alone_determine() -> None:
    """What was open was no order: a priority may not change what comes out."""
    data = [pg.GlobalArg("a", F, "n, n+1"), pg.GlobalArg("b", F, "m"), pg.ValueArg("m", np.int32)]
    knl = pg.make_kernel(
        "{ [i,j]: 1<=i,j<n }",
        "a[i,j] = a[i-1,j+1] + b[i+j]",
        [*data, "..."],
        loop_priority="i, j",
        well_formed="later",
    )
    told = pg.assume(pg.prioritize_loops(knl, "i, j"), "m >= 2*n")
    assert told.later is not None
    assert not told.later.open
    with pytest.raises(pg.errors.IllegalStep, match="prioritize_loops would change what"):
        pg.assume(pg.prioritize_loops(knl, "j, i"), "m >= 2*n")


def test_tags_of_an_open_kernel_are_proved_once_it_is_determined() -> None:
    chain = ["a[i] = a[i-1] {id=first}", "a[i] = a[i] + b[i] {id=then, dep=*}"]
    knl = pg.make_kernel("{ [i]: 1<=i<n }", chain, well_formed="later")
    tagged = pg.tag_inames(knl, {"i": "g.0"})
    assert not tagged.tags
    with pytest.raises(pg.errors.IllegalStep, match="tag_inames would change what"):
        pg.add_dependency(tagged, "then", "first")


def test_nobody_else_waits() -> None:
    with pytest.raises(pg.errors.InvalidArgument, match="well_formed='never' says nothing"):
        pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = 1", well_formed="never")
    knl = pg.make_kernel("{ [i,j]: 0<=i,j<n }", "a[i,j] = 1")
    with pytest.raises(pg.errors.UnknownIname):
        pg.prioritize_loops(knl, "i_outer, j")
    with pytest.raises(pg.errors.TagConflict):
        pg.tag_inames(knl, "i: l.0, j: l.0")


def test_scripts_make_and_order_anew() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", UPDATES, well_formed="later")
    knl = pg.prioritize_loops(pg.add_dependency(knl, "then", "first"), "i_outer, i_inner")
    knl = pg.split_iname(knl, "i", 4)
    variables: dict[str, Any] = {}
    exec(pg.kernel_to_python(knl), variables)  # noqa: S102  (our own)
    assert variables["knl"] == knl
    assert knl.priorities == (("i_outer", "i_inner"),)


def test_loops_are_duplicated_where_no_nest_has_one_of_each() -> None:
    text = ["a[i,j] = 1 {id=a}", "b[j,k] = 2 {id=b}", "c[k,i] = 3 {id=c}"]
    data = [pg.GlobalArg("a, b, c", F, "n, n"), "..."]
    knl = pg.make_kernel("{ [i,j,k]: 0<=i,j,k<n }", text, data, well_formed="later", target="c")
    with pytest.raises(pg.errors.NoLoopNest):
        pg.generate_code(knl)
    knl = pg.duplicate_inames(knl, "i, j", "id:a")
    _, (a, b, c) = knl(n=3)
    for number, array in enumerate((a, b, c), 1):
        np.testing.assert_array_equal(array, np.full((3, 3), float(number)))


def test_a_callee_that_is_ordered_in_its_program() -> None:
    data = [lp.GlobalArg("x", F, shape="4"), lp.GlobalArg("y", F, shape="4")]
    updates = ["y[k] = 2*x[k] {id=first}", "y[k] = y[k] + x[k] {id=then, dep=}"]
    twice = lp.make_function("{ [k]: 0<=k<4 }", updates, data, name="thrice")
    rows = made(
        "{ [i]: 0<=i<n }",
        "[j]: out[i, j] = thrice([j]: a[i, j], [j]: out[i, j])",
        [lp.GlobalArg("a, out", F, shape="n, 4"), "..."],
        name="rows",
    )
    program = lp.merge([rows, twice])
    assert "not judged yet" in str(program["rows"])
    program = program.with_kernel(lp.add_dependency(program["thrice"], "id:then", "id:first"))
    assert "not judged yet" not in str(program["rows"])
    a = np.random.default_rng(10).random((3, 4))
    _, (out,) = program(a=a, out=np.zeros((3, 4)))
    np.testing.assert_allclose(out, 3 * a)


def test_steps_of_ones_own_rely_on_a_result() -> None:
    @pg.transformation
    def renamed(kernel: pg.Kernel, name: str) -> pg.Kernel:
        return kernel.copy(name=name)

    knl = pg.make_kernel("{ [i]: 0<=i<n }", UPDATES, well_formed="later")
    with pytest.raises(pg.errors.UnorderedAccess):
        renamed(knl, "other")
    assert renamed(pg.add_dependency(knl, "then", "first"), "other").name == "other"


def test_what_is_vouched_for_is_judged_all_the_same() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", UPDATES, VECTORS, well_formed="later")
    vouched: Any = {"unsafe": True}
    split = pg.split_iname(knl, "i", 4, **vouched)
    with pytest.raises(pg.errors.UnorderedAccess):
        pg.generate_code(split)
    with pg.without_proofs():
        assert "out" in str(pg.generate_code(split))


def test_lines_of_what_comes_later_are_read() -> None:
    knl = pg.make_kernel("{ [i,j]: 0<=i,j<16 }", "a[i,j] = 1", well_formed="later")
    knl = pg.prioritize_loops(pg.tag_inames(knl, "i: l.0, j: l.0"), "k, i")
    text = str(knl)
    assert "LATER:\npriority: k, i\ntag: j: l.0\n" in text
    read = pg.parse_kernel(text)
    assert str(read) == text
    assert read.later == knl.later
    with pytest.raises(pg.errors.MalformedText, match="says nothing of what a kernel gets later"):
        pg.parse_kernel(text.replace("tag: j: l.0", "order: j, i"))


def test_two_prefetches_whose_loops_are_shared_afterwards() -> None:
    data = [lp.GlobalArg("a, b", F, shape="n"), lp.GlobalArg("c", F, shape="n, n"), "..."]
    known = "n mod 32 = 0 and n >= 32"
    knl = lp.make_kernel("{ [i,j]: 0<=i,j<n }", "c[i,j] = a[i]*b[j]", data, assumptions=known)
    knl = lp.split_iname(knl, "i", 32, outer_tag="g.0")
    knl = lp.split_iname(knl, "j", 32, outer_tag="g.1")
    for name, iname in (("a", "i_inner"), ("b", "j_inner")):
        knl = lp.add_prefetch(knl, name, [iname], fetch_outer_inames="i_outer,j_outer")
    knl = lp.split_iname(knl, "i_inner", 4, inner_tag="l.0")
    knl = lp.split_iname(knl, "j_inner", 4, inner_tag="l.1")
    for name in ("a_dim_0", "b_dim_0"):
        knl = lp.split_iname(knl, name, 4, inner_tag="l.0")
        knl = lp.split_iname(knl, f"{name}_outer", 4, inner_tag="l.1")
    spaces = pg.address_spaces(knl.default_entrypoint)
    assert {spaces["a_fetch"], spaces["b_fetch"]} == {pg.AddressSpace.LOCAL}
    a, b = np.random.default_rng(11).random((2, 64))
    _, (c,) = knl(a=a, b=b)
    np.testing.assert_allclose(c, np.outer(a, b))
