"""Several kernels in one program: found by name, printed together, each with what it calls."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen import errors
from tests.oracle.cases import QUIET, Step, agree, grid, split, steps, tag

DOUBLE = pg.make_function("{ [k]: 0<=k<m }", "y[k] = 2*x[k]", ["m", "x", "y"], name="double_all")
SHIFT = pg.make_function(
    "{ [q, r]: 0<=q<w and 0<=r<w }",
    """
    <> most = max(r, z[r])      {id=most, dep=*}
    z[q] = z[q] - most + s[0]   {id=less, dep=most}
    """,
    ["w", "z", "s"],
    name="shift",
)


def rows(calls: str, *data: Any, domain: str = "{ [i]: 0<=i<n }", name: str = "rows") -> pg.Kernel:
    """Return a kernel that calls others, which it does not know yet, on rows of n elements."""
    given = [getattr(d, "name", "") for d in data]
    names = [a for a in ("a", "out") if f" {a}[" in f" {calls}" and a not in given]
    arrays = [pg.GlobalArg(a, None, "n, n") for a in names]
    return pg.make_kernel(
        domain, calls, [*arrays, *data, "..."], name=name, silenced_warnings=QUIET
    )


ROWS = rows("[j]: out[i, j] = double_all(n, [j]: a[i, j])")


def test_merge() -> None:
    program = pg.merge([ROWS, DOUBLE])
    assert program.entrypoints == {"rows"}
    assert [k.name for k in program] == ["double_all", "rows"]
    assert program["double_all"] == DOUBLE
    assert program.default_entrypoint == program["rows"]
    (call,) = program["rows"].calls
    assert call.callee == DOUBLE
    a = np.arange(9.0).reshape(3, 3)
    (out,) = program(a=a)[1]
    np.testing.assert_array_equal(out, 2 * a)
    assert pg.merge([program, DOUBLE]) == program
    typed = program.with_kernel(pg.add_dtypes(program["rows"], {"a": np.float32}))
    assert str(pg.generate_code(typed)) == str(pg.generate_code(typed["rows"]))
    assert str(pg.lower_kernel(typed)) == str(pg.lower_kernel(typed["rows"]))
    assert pg.merge([DOUBLE, ROWS]) == program == pg.merge([program["rows"]])


def test_some_of_the_kernels_that_are_called() -> None:
    """Of two kernels, one is known at first."""
    calls = "[j]: out[i, j] = double_all(n, [j]: a[i, j])\n[j]: b[i, j] = other(n, [j]: a[i, j])"
    program = pg.merge([rows(calls, pg.GlobalArg("b", None, "n, n")), DOUBLE])
    known = [(c.function, c.callee is None) for c in program["rows"].calls]
    assert known == [("double_all", False), ("other", True)]
    whole = pg.merge([program, DOUBLE.copy(name="other")])
    a = np.arange(9.0).reshape(3, 3)
    for found in whole(a=a)[1]:
        np.testing.assert_array_equal(found, 2 * a)


def test_several_entry_points() -> None:
    columns = rows("[j]: out[j, i] = double_all(n, [j]: a[i, j])", name="columns")
    program = pg.merge([ROWS, columns, DOUBLE])
    assert program.entrypoints == {"rows", "columns"}
    a = np.arange(4.0).reshape(2, 2)
    for name, wanted in (("rows", 2 * a), ("columns", 2 * a.T)):
        np.testing.assert_array_equal(program(a=a, entrypoint=name)[1][0], wanted)
    with pytest.raises(errors.InvalidArgument, match="2 entry points: 'columns', 'rows'"):
        program(a=a)
    alone = program.with_entrypoints("columns")
    assert alone.entrypoints == {"columns"}
    np.testing.assert_array_equal(alone(a=a)[1][0], 2 * a.T)
    assert len(alone.kernels) == 3


def test_steps_on_a_program_are_steps_on_its_entry_point() -> None:
    program = pg.merge([ROWS, DOUBLE])
    new = pg.tag_inames(pg.split_iname(program, "i", 4, inner_tag="l.0"), {"i_outer": "g.0"})
    alone = pg.split_iname(program["rows"], "i", 4, inner_tag="l.0")
    assert new["rows"] == pg.tag_inames(alone, {"i_outer": "g.0"})
    assert [step.name for step in new["rows"].history] == ["split_iname", "tag_inames"]
    assert new["double_all"] == DOUBLE
    assert new.entrypoints == {"rows"}
    assert pg.tag_inames(program, {}) is program
    a = np.arange(25.0).reshape(5, 5)
    for target in "c", "opencl":
        np.testing.assert_array_equal(new["rows"].executor(target)(a=a)[1][0], 2 * a)
    inline = pg.inline_callable_kernel(program, "double_all")
    assert not inline["rows"].calls
    np.testing.assert_array_equal(inline(a=a)[1][0], 2 * a)
    assert pg.tag_inames(program, {"i": "g.0"}, unsafe=True)["rows"].claims  # type: ignore[call-arg]


def test_steps_on_a_program_with_several_entry_points() -> None:
    columns = rows("[j]: out[j, i] = double_all(n, [j]: a[i, j])", name="columns")
    program = pg.merge([ROWS, columns, DOUBLE])
    with pytest.raises(errors.InvalidArgument, match="2 entry points: 'columns', 'rows'") as caught:
        pg.split_iname(program, "i", 4)
    assert caught.value.remedy == (
        "say which: program.with_kernel(split_iname(program['columns'], ...))"
    )
    assert "test_programs.py" in str(caught.value.where)
    new = pg.split_iname(program.with_entrypoints("rows"), "i", 4)
    assert new["rows"] == pg.split_iname(program["rows"], "i", 4)
    assert new["columns"] == program["columns"]
    with pytest.raises(errors.UnknownIname, match="kernel 'rows' has no iname 'k'"):
        pg.split_iname(new, "k", 4)


def test_steps_on_a_program_that_change_what_is_called() -> None:
    code = "static inline double bump_d(double x) { return x < 1 ? x : 1; }"
    bump = pg.ScalarCallable({"bump_d": "float64 -> float64"}, code)
    inner = pg.make_function(
        "{ [k]: 0<=k<m }", "y[k] = bump(x[k])", ["m", "x", "y"], name="all_bump"
    )
    text = "[j]: out[i, j] = all_bump(n, [j]: a[i, j])"
    program = pg.merge([rows(text), rows(text.replace("i, j]", "j, i]"), name="columns"), inner])
    new = pg.register_callable(program.with_entrypoints("rows"), "bump", bump)
    a = np.array([[0.5, 3], [1, -1]])
    for name in "rows", "columns":  # they call the same kernel
        np.testing.assert_array_equal(new(a=a, entrypoint=name)[1][0], np.minimum(a, 1))
    assert new["all_bump"] == pg.register_callable(inner, "bump", bump)


@pytest.mark.parametrize(
    "kernels",
    [
        (ROWS, DOUBLE),
        (
            rows("[j]: a[i, j] = shift(n, [j]: a[i, j], [j]: b[i])", pg.GlobalArg("b", None, "n")),
            SHIFT,
        ),
        (
            rows("[j]: out[i, j] = twice(n, [j]: a[i, j])  {if=i > 2}"),
            pg.make_function(
                "{ : }",
                "[p]: v[p] = double_all(r, [p]: u[p]) {id=one}",
                ["r", pg.GlobalArg("u", None, "r"), pg.GlobalArg("v", None, "r")],
                name="twice",
            ),
            DOUBLE,
        ),
    ],
    ids=["rows", "in place", "nested"],
)
def test_text(kernels: tuple[pg.Kernel, ...]) -> None:
    program = pg.merge(kernels)
    assert pg.parse_program(str(program)) == program
    assert pickle.loads(pickle.dumps(program)) == program  # noqa: S301
    for kernel in program:
        assert pg.parse_kernel(str(kernel)) == kernel
        assert pickle.loads(pickle.dumps(kernel)) == kernel  # noqa: S301
        assert hash(pg.parse_kernel(str(kernel))) == hash(kernel)
    top = program.default_entrypoint
    assert str(program).count("KERNEL: ") == len(kernels) == str(top).count("KERNEL: ")


def test_another_kernel_of_the_same_name() -> None:
    program = pg.merge([ROWS, DOUBLE])
    triple = pg.make_function(
        "{ [k]: 0<=k<m }", "y[k] = 3*x[k]", ["m", "x", "y"], name="double_all"
    )
    a = np.arange(4.0).reshape(2, 2)
    changed = program.with_kernel(triple)
    assert changed["double_all"] == triple
    np.testing.assert_array_equal(changed(a=a)[1][0], 3 * a)
    np.testing.assert_array_equal(program(a=a)[1][0], 2 * a)
    unrolled = pg.split_iname(program["double_all"], "k", 4, inner_tag="unr")
    unrolled = pg.set_options(unrolled, silenced_warnings=QUIET)
    new = program.with_kernel(unrolled)
    np.testing.assert_array_equal(new(a=a)[1][0], 2 * a)
    assert "k_outer" in str(pg.generate_code(pg.add_dtypes(new["rows"], {"a": np.float32}), "c"))
    wrong = pg.make_function("{ [k]: 0<=k<m }", "y[k+1] = x[k]", ["m", "x", "y"], name="double_all")
    with pytest.raises(errors.OutOfBounds):
        program.with_kernel(wrong)
    fewer = pg.make_function("{ [k]: 0<=k<4 }", "y[k] = x[k]", ["x", "y"], name="double_all")
    with pytest.raises(errors.WrongArity, match=r"takes 1 argument \(x\)"):
        program.with_kernel(fewer)


SIZES = tuple({"n": n} for n in (0, 1, 3, 7, 8))


def inlined(knl: pg.Kernel) -> pg.Kernel:
    """Return a kernel with its calls inlined."""
    for name in sorted({call.function for call in knl.calls}):
        knl = pg.inline_callable_kernel(knl, name)
    return inlined(knl) if knl.calls else knl


@pytest.mark.parametrize(
    "step", [grid("i", 2), tag(i="g.0"), split("i", 3), steps(inlined, grid("i", 2))]
)
def test_steps_of_a_kernel_that_calls(step: Step) -> None:
    program = pg.merge([ROWS, DOUBLE])
    agree(program["rows"], SIZES, step)


def test_read_and_written_at_once() -> None:
    text = "[j]: a[i, j] = shift(n, [j]: a[i, j], [j]: b[i + j])"
    knl = pg.merge([rows(text, pg.GlobalArg("b", None, "n")), SHIFT]).default_entrypoint
    agree(knl, SIZES[1:], grid("i", 2), inlined)
    a, b = np.array([[1.0, 5.0], [7.0, 3.0]]), np.array([10.0, 20.0])
    (found,) = knl(a=a.copy(), b=b)[1]
    np.testing.assert_array_equal(found, a - a.max(axis=1)[:, None] + b[:, None])


def test_a_kernel_between() -> None:
    """One that calls one that calls, with strides that it is given itself."""
    middle = pg.make_function(
        "{ [p]: 0<=p<r }",
        "[q]: v[p, q] = double_all(r, [q]: u[q, p])",
        ["r", pg.GlobalArg("u", None, "r, r"), pg.GlobalArg("v", None, "r, r")],
        name="middle",
    )
    data = [pg.GlobalArg("a", None, "n, n, n"), pg.GlobalArg("out", None, "n, n, n")]
    knl = rows("[j, k]: out[k, i, j] = middle(n, [j, k]: a[k, i, j])", *data)
    program = pg.merge([knl, middle, DOUBLE])
    agree(program["rows"], SIZES[:3], grid("i", 2), inlined)
    source = str(pg.generate_code(pg.add_dtypes(program["rows"], {"a": np.float32}), "opencl"))
    assert source.count("static inline void") == 2
    a = np.arange(27.0).reshape(3, 3, 3)
    for target in "c", "opencl":
        (out,) = program["rows"].executor(target)(a=a)[1]
        np.testing.assert_array_equal(out, 2 * a.transpose(2, 1, 0))


def test_dependencies_on_calls() -> None:
    text = """
    [j]: t[j] = double_all(4, [j]: a[i, j])     {id=first}
    <> s = sum(k, t[k])                         {id=total}
    [j]: out[i, j] = double_all(4, [j]: t[j])   {id=second}
    out[i, 0] = s                               {id=last, dep=second}
    """
    data = [
        pg.TemporaryVariable("t", np.float64, 4),
        pg.GlobalArg("a", np.float64, "n, 4"),
        pg.GlobalArg("out", np.float64, "n, 4"),
    ]
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [k]: 0<=k<4 }"],
        text,
        [*data, "..."],
        functions={"double_all": DOUBLE},
        silenced_warnings=QUIET,
    )
    assert knl.instruction("total").depends_on == {"first"}
    assert knl.instruction("second").depends_on == {"first"}
    assert all(insn.within_inames == {"i"} for insn in knl.instructions)
    agree(knl, SIZES, grid("i", 2), inlined)
    a = np.arange(8.0).reshape(2, 4)
    for target in "c", "opencl":
        (out,) = knl.executor(target)(a=a)[1]
        np.testing.assert_array_equal(out[:, 1:], 4 * a[:, 1:])
        np.testing.assert_array_equal(out[:, 0], 2 * a.sum(axis=1))


def test_what_is_not_known_yet() -> None:
    assert [call.callee for call in ROWS.calls] == [None]
    assert pg.parse_kernel(str(ROWS)) == ROWS
    for use in (
        lambda: pg.generate_code(pg.add_dtypes(ROWS, {"a": np.float32})),
        lambda: ROWS(a=np.zeros((2, 2)), out=np.zeros((2, 2))),
        lambda: pg.infer_unknown_types(pg.add_dtypes(ROWS, {"a": np.float32})),
    ):
        with pytest.raises(errors.UnknownFunction, match="calls 'double_all', and nothing says"):
            use()
    # Steps may come before: what is called may touch all that it is given, so loops have an order.
    early = pg.merge([pg.split_iname(ROWS, "i", 4), DOUBLE])["rows"]
    late = pg.split_iname(pg.merge([ROWS, DOUBLE])["rows"], "i", 4)
    assert early.priorities == (("i_outer", "i_inner"),)
    assert early.copy(priorities=()) == late
    with pytest.raises(errors.UserError):
        pg.tag_inames(ROWS, {"i": "g.0"})


def test_functions_in_kernels_that_are_called() -> None:
    code = "static inline double bump_d(double x) { return x < 1 ? x : 1; }"
    bump = pg.ScalarCallable({"bump_d": "float64 -> float64"}, code)
    inner = pg.make_function(
        "{ [k]: 0<=k<m }", "y[k] = bump(x[k])", ["m", "x", "y"], name="all_bump"
    )
    knl = pg.merge([rows("[j]: out[i, j] = all_bump(n, [j]: a[i, j])"), inner])["rows"]
    new = pg.register_callable(knl, "bump", bump)
    a = np.array([[0.5, 3], [1, -1]])
    np.testing.assert_array_equal(new(a=a)[1][0], np.minimum(a, 1))
    assert pg.parse_kernel(str(new)) == new


def test_elements_for_arrays_without_axes() -> None:
    trace = pg.make_function(
        "{ [i]: 0<=i<m }",
        "t = w*sum(i, x[i, i])",
        ["m", "x", pg.GlobalArg("t", None, ()), pg.GlobalArg("w", None, ())],
        name="trace",
    )
    knl = pg.make_kernel(
        "{ [b]: 0<=b<n }",
        "c[b] = trace(m, [i, j]: a[b, i, j], v[2*b])",
        functions={"trace": trace},
    )
    assert pg.parse_kernel(str(knl)) == knl
    agree(
        knl,
        [{"n": n, "m": m, "v_len": 7} for n in (0, 1, 3) for m in (1, 2)],
        grid("b", 2),
        inlined,
    )
    a, v = np.arange(27.0).reshape(3, 3, 3), np.arange(5.0)
    for target in "c", "opencl":
        (c,) = knl.executor(target)(a=a, v=v)[1]
        np.testing.assert_array_equal(c, v[::2] * np.trace(a, axis1=1, axis2=2))
    alone = pg.make_kernel(
        "{ : }",
        "y = twice(x)",
        [pg.GlobalArg("y", None, ()), pg.GlobalArg("x", None, ())],
        functions={"twice": pg.make_function("{ : }", "q = 2*p", [*SCALARS], name="twice")},
    )
    assert pg.parse_kernel(str(alone)) == alone
    np.testing.assert_array_equal(alone(x=np.array(4.0))[1][0], 8)


SCALARS = (pg.GlobalArg("p", None, ()), pg.GlobalArg("q", None, ()))


def test_kernels_given_as_instructions() -> None:
    knl = pg.merge([ROWS, DOUBLE])["rows"]
    data = [*knl.arguments, *knl.temporaries]
    domains = [d.text for d in knl.domains]
    new = pg.make_kernel(
        domains, list(knl.instructions), data, name="rows", silenced_warnings=QUIET
    )
    assert new == knl


def test_a_script_and_a_difference() -> None:
    program = pg.merge([ROWS, DOUBLE])
    knl = pg.split_iname(program["rows"], "i", 4)
    names: dict[str, Any] = {}
    exec(pg.kernel_to_python(knl), names)  # noqa: S102
    assert names["knl"] == knl
    triple = pg.make_function(
        "{ [k]: 0<=k<m }", "y[k] = 3*x[k]", ["m", "x", "y"], name="double_all"
    )
    changed = program.with_kernel(triple)["rows"]
    assert pg.diff(program["rows"], changed).split("\n") == [
        "KERNEL double_all:",
        "- [k] y[k] = 2*x[k]  {id=insn}",
        "+ [k] y[k] = 3*x[k]  {id=insn}",
    ]


def test_steps_within_a_call() -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        """
        [j]: out[i, j] = double_all(n, [j]: a[i, j])
        c[i] = 1
        """,
        [pg.GlobalArg("a", None, "n, n"), pg.GlobalArg("out", None, "n, n"), "..."],
        functions={"double_all": DOUBLE},
    )
    new = pg.duplicate_inames(knl, "i", within="double_all")
    assert new.instruction("double_all").within_inames == {"i_0"}
    assert [i.id for i in new.instructions if i.within_inames == {"i"}] == ["insn"]
    agree(knl, SIZES, lambda k: pg.duplicate_inames(k, "i", within="double_all"))
    agree(knl, SIZES, lambda k: pg.duplicate_inames(k, "i", within="writes:out"))


def test_loops_of_a_call_order_nothing_in_other_work_items() -> None:
    """Inlined, the loop is one for all work items: they may wait for each other in it."""
    add = pg.make_function(
        "{ [k]: 0<=k<m }", "y[k] = x[k] + w[k]", ["m", "x", "w", "y"], name="add"
    )
    data = [pg.GlobalArg("b", np.float64, "n, n"), pg.GlobalArg("c", np.float64, "n, n")]
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "[j]: c[i, n-1-j] = add(i, [j]: b[j, i], [j]: c[j, i])",
        [*data, "..."],
        functions={"add": add},
        silenced_warnings=QUIET,
    )
    for step in (tag(i="g.0"), grid("i", 2)):
        with pytest.raises(errors.UnorderedAccess, match="a call is executed as a whole") as caught:
            step(knl)
        assert "inline_callable_kernel" in str(caught.value.remedy)
    agree(knl, SIZES, split("i", 2), inlined, steps(inlined, tag(i="g.0")))


def test_the_same_kernels_are_one_program_in_any_order() -> None:
    three = [
        pg.make_function("{ [i]: 0<=i<n }", "y[i] = x[i] + 1", name=name)
        for name in ("b", "a", "c")
    ]
    program = pg.merge(three)
    assert [kernel.name for kernel in program] == ["a", "b", "c"]
    assert pg.merge(three[::-1]) == program
    assert pg.parse_program(str(program)) == program
