"""`join_inames` of loops whose extents are sizes: the joined loop runs to their product."""

from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    AssumptionViolated,
    CannotProve,
    ExtentNotConstant,
    IllegalStep,
    InvalidArgument,
    ObligationViolated,
    UnknownArgument,
)
from polygen.ir.kernel import Kernel
from polygen.lower.lower import Model, lower
from tests.oracle.cases import Step, agree, kernel, split, steps
from tests.oracle.compare import make_arguments, run_program, typed
from tests.oracle.interpreter import interpret

PLANE = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i,j] = a[i,j]*2 + i - j")
FLAT = kernel(
    "{ [i,j]: 0<=i<n and 0<=j<m }", "out[m*i + j] = 2*a[m*i + j]",
    pg.GlobalArg("a", shape="n*m"), pg.GlobalArg("out", shape="n*m"),
)  # fmt: skip
TURNED = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "out[j,i] = a[i,j] + b[j]")
INNER = kernel(
    "{ [i,j]: 1<=i<n-1 and 1<=j<m-1 }",
    "out[i,j] = a[i-1,j] + a[i+1,j] + a[i,j-1] + a[i,j+1]",
    pg.GlobalArg("a", shape="n,m"), pg.GlobalArg("out", shape="n,m"),
)  # fmt: skip
CUBE = kernel("{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<p }", "out[i,j,k] = a[i,j,k]*b[j] + k")
MIXED = kernel("{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<3 }", "out[i,j,k] = a[i,j,k]*b[j] + k")
TOTAL = kernel(
    "{ [i,j]: 0<=i<n and 0<=j<m }", "s = sum((i, j), a[i,j]*b[j])", pg.GlobalArg("s", shape=())
)
ROWS = kernel("{ [r,i,j]: 0<=r<q and 0<=i<n and 0<=j<m }", "s[r] = sum((i, j), a[r,i,j])")
SCALED = kernel(
    "{ [i,j]: 0<=i<n and 0<=j<m }",
    "<> t = 2*a[i,j]  {id=t}\nout[i,j] = t + b[i]  {id=o, dep=t, if=j > 0}",
    pg.GlobalArg("out", shape="n,m"),
)
PRODUCT = kernel(
    ["{ [i,j]: 0<=i<n and 0<=j<m }", "{ [k]: 0<=k<p }"], "c[i,j] = sum(k, a[i,k]*b[k,j])"
)
SCALAR = pg.GlobalArg("s", shape=())
SIZES = [{"n": n, "m": m} for n, m in ((0, 0), (0, 3), (3, 0), (1, 1), (2, 3), (5, 3), (3, 5))]
CUBES = [{**s, "p": p, "q": q} for s in SIZES for p, q in ((2, 1), (0, 2), (3, 2))]


def joined(inames: Any = "i, j", name: str | None = "ij", **options: Any) -> Step:
    """Return the step that joins inames."""
    return lambda knl: pg.join_inames(knl, inames, name, **options)


def on_grid(length: int = 4) -> Step:
    """Return the step that maps the joined iname to groups and work items."""
    return split("ij", length, outer_tag="g.0", inner_tag="l.0")


def text(knl: Kernel, target: str = "c") -> str:
    """Return generated code."""
    inputs = [a.name for a in knl.arguments if isinstance(a, pg.GlobalArg) and a.dtype is None]
    return str(pg.generate_code(pg.add_dtypes(knl, dict.fromkeys(inputs, "float32")), target))


def after(knl: Kernel, *parts: Step) -> Kernel:
    """Return what steps make of a kernel."""
    return steps(*parts)(knl)


@pytest.mark.parametrize("knl", [PLANE, TURNED, INNER, SCALED])
def test_two_loops(knl: Kernel) -> None:
    unrolled = split("ij", 2, inner_tag="unr")
    agree(
        knl, SIZES,
        joined(), steps(joined("j, i", "ij")), joined(tag="g.0"), steps(joined(), on_grid()),
        steps(joined(), unrolled), steps(joined("j, i"), on_grid(3)),
    )  # fmt: skip


@pytest.mark.parametrize("knl", [CUBE, MIXED])
def test_three_loops(knl: Kernel) -> None:
    agree(
        knl, CUBES if knl is CUBE else SIZES[2:],
        joined("i, j, k"), steps(joined("k, i, j"), on_grid()), joined("i, j"), joined("i, k"),
        steps(joined("j, k", "jk"), joined("i, jk"), on_grid()),
        steps(joined("i, j", "x"), joined("x, k"), on_grid()),
    )  # fmt: skip


def test_parts_of_whole_tiles() -> None:
    """Where all tiles are full, those of groups and those of items are no matter of each other."""
    knl = pg.assume(PLANE, "n mod 2 = 0 and m mod 6 = 0")
    parts = split("i", 2, inner_tag="l.1"), split("j", 3, inner_tag="l.0")
    groups = steps(*parts, joined("i_outer, j_outer", "g", tag="g.0"))
    code = text(after(knl, groups), "opencl")
    assert "get_group_id(1)" not in code
    assert "if (" not in code
    whole = [{"n": n, "m": m} for n, m in ((0, 6), (2, 6), (4, 12))]
    plain = steps(split("i", 2), split("j", 3))
    agree(
        knl, whole, groups, steps(plain, joined("i_inner, j_outer, i_outer")),
        steps(plain, lambda knl: pg.chunk_iname(knl, "j_outer", 3, outer_tag="g.0")),
    )  # fmt: skip
    with pytest.raises(ExtentNotConstant, match="domain of 'j_outer' is that of 'j_inner', too"):
        after(knl, split("j", 4), joined("i, j_outer"))


def test_values_that_others_have_alone_stay() -> None:
    knl = kernel(
        "{ [i,o,j]: 0<=i<4 and 0<=o and 4*o+i<n and 0<=j<m }",
        "b[i] = 7.0  {id=b}\nc[o,i,j] = 2.0",  # b is not written for n = 0
        pg.GlobalArg("b", "float64", 4), pg.GlobalArg("c", "float64", "n, 4, m"),
        assumptions="n mod 4 = 0",
    )  # fmt: skip
    with pytest.raises(IllegalStep, match=r"n=0, b\[0\] ends with what nobody has written"):
        pg.join_inames(knl, "o, j")


def test_reductions() -> None:
    agree(TOTAL, SIZES, joined(), joined("j, i"), steps(joined(), split("ij", 4)))
    agree(ROWS, CUBES[3:12], joined(), joined("j, i"))
    agree(PRODUCT, CUBES[9:15], joined(), steps(joined(), on_grid()))


def test_a_flat_array_is_walked_through() -> None:
    assert [str(i.assignees[0]) for i in after(FLAT, joined()).instructions] == ["out[ij]"]
    assert "out[ij] = 2.0f * a[ij];" in text(after(FLAT, joined()))
    agree(FLAT, SIZES, joined(), steps(joined(), on_grid()))
    assert pg.tag_inames(FLAT, {"i": "g.0"}).history  # the same without the step
    three = kernel(
        "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<p }", "out[m*p*i + p*j + k] = a[(m*i + j)*p + k]",
        pg.GlobalArg("a", shape="n*m*p"), pg.GlobalArg("out", shape="n*m*p"),
    )  # fmt: skip
    assert "out[ijk] = a[ijk];" in text(after(three, joined("i, j, k", "ijk")))
    agree(three, CUBES[9:], joined("i, j, k", "ij"))


def test_the_code_of_a_row_major_array() -> None:
    knl = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i,j] = 2*a[i,j]", name="twice")
    assert text(after(knl, joined())) == (
        "void twice(float const *restrict a, int const m, int const n, float *restrict out)\n"
        "{\n"
        "    int const n_m = n * m;\n"
        "    for (int ij = 0; ij < n_m; ++ij)\n"
        "        out[ij] = 2.0f * a[ij];\n"
        "}"
    )


def test_divisions_are_computed_once() -> None:
    code = text(after(TURNED, joined(tag="g.0")))
    assert code.count("/") == 1
    assert "%" not in code
    assert re.search(r"int const ij_div = ij / m;\n +int const ij_mod = ij - m \* ij_div;", code)
    outside = text(after(PRODUCT, joined(), on_grid(128)), "opencl")
    assert outside.count("/") == 1
    assert outside.index("/ m") < outside.index("for (")


def test_a_divisor_that_may_be_negative_elsewhere() -> None:
    code = text(after(INNER, joined()))
    assert "int const divisor = m - 2;" in code
    assert "floor_div" not in code
    # Where a kernel divides by a size in its own right, nothing is known of that.
    own = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i,j] = a[i,j] + (i // (m - 3))")
    assert "floor_div" in text(after(own, joined()))


def test_what_is_printed_is_read() -> None:
    knl = after(INNER, joined(), on_grid())
    assert "SIZES:\nij_count = (n - 2) * (m - 2)\n" in str(knl)
    assert pg.parse_kernel(str(knl)) == knl
    assert pickle.loads(pickle.dumps(knl)) == knl  # noqa: S301 -- our own
    assert pg.replay(INNER, knl.history) == knl
    assert knl.copy(derived_sizes=()) != knl


def test_nothing_is_left_open() -> None:
    for knl in (PLANE, TURNED, INNER, CUBE, TOTAL, ROWS, SCALED, PRODUCT):
        assert pg.obligations(after(knl, joined(), split("ij", 8))) == ()


def test_stencils_in_time() -> None:
    knl = kernel(
        "{ [t,i,j]: 0<=t<3 and 1<=i<n and 0<=j<m }", "a[t+1,i,j] = a[t,i-1,j] + 1",
        pg.GlobalArg("a", shape="4,n,m"), loop_priority="t, i, j",
    )  # fmt: skip
    agree(knl, SIZES[2:], joined(), steps(joined(), on_grid()))


def test_the_order_is_that_of_the_loops() -> None:
    across = kernel(
        "{ [i,j]: 0<=i<n and 0<=j<m }", "a[i,j+1] = a[i,j] + 1",
        pg.GlobalArg("a", shape="n,m+1"), loop_priority="i, j",
    )  # fmt: skip
    agree(across, SIZES, joined(), joined("j, i"), steps(joined(), split("ij", 3)))
    with pytest.raises(CannotProve, match="either might come first"):
        after(across, joined(), on_grid())
    shear = kernel(
        "{ [i,j]: 1<=i<n and 0<=j<m-1 }", "a[i,j] = a[i-1,j+1] + 1",
        pg.GlobalArg("a", shape="n,m"), loop_priority="i, j",
    )  # fmt: skip
    agree(shear, SIZES, joined())
    with pytest.raises(IllegalStep, match="join_inames would change what kernel"):
        after(shear, joined("j, i"))


def test_updates_of_one_element() -> None:
    columns = "s[j] = s[j] + a[i,j]  {inames=i:j}"
    knl = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", columns, loop_priority="i, j")
    agree(knl, SIZES, joined())
    with pytest.raises(CannotProve, match="touched depends on"):
        after(knl, joined(), on_grid())
    atomic = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", f"{columns[:-1]}, atomic}}")
    agree(atomic, SIZES, steps(joined(), on_grid()))


def test_another_loop_is_outside_or_inside_of_all() -> None:
    knl = kernel("{ [i,k,j]: 0<=i<n and 0<=k<3 and 0<=j<m }", "out[i,j,k] = a[i,j] + k")
    agree(knl, SIZES, joined())
    between = pg.prioritize_loops(pg.prioritize_loops(knl, "i, k"), "k, j")
    with pytest.raises(InvalidArgument, match="a priority puts 'k' between them"):
        after(between, joined())
    assert after(between, joined("k, i, j")).priorities == ()
    order = pg.prioritize_loops(knl, "i, k, j")
    assert after(order, joined()).priorities == (("ij", "k"),)


def test_substitution_rules_and_conditions() -> None:
    knl = kernel(
        "{ [i,j]: 0<=i<n and 0<=j<m }",
        "f(x) := x*x + b[j]\ng(x) := sum(j, a[i,j]*x)\nout[i,j] = f(a[i,j])  {if=i > 0}",
        pg.GlobalArg("out", shape="n,m"),
    )
    agree(knl, SIZES, joined(), steps(joined(), on_grid()))


@pytest.mark.parametrize("fixed", [{"m": 3}, {"n": 2}, {"n": 4, "m": 3}, {"m": 0}, {"m": 1}])
@pytest.mark.parametrize("knl", [PLANE, TURNED, INNER])
def test_sizes_that_are_fixed_later(knl: Kernel, fixed: dict[str, int]) -> None:
    short = pg.fix_parameters(knl, **fixed)
    sizes = [s for s in SIZES if s.items() >= fixed.items() or fixed.keys() != s.keys()]
    calls = [{k: v for k, v in s.items() if k not in fixed} for s in sizes] or [{}]
    for step in (joined(), steps(joined(), on_grid())):
        late = pg.fix_parameters(step(knl), **fixed)
        for size in late.derived_sizes:  # of what is empty, the other size is still passed
            assert any(isinstance(f, int) and f <= 0 for f in size.factors)
        assert pg.parse_kernel(str(late)) == late
        for call in calls:
            _same_arrays(short, late, call)


def _same_arrays(first: Kernel, second: Kernel, sizes: dict[str, int]) -> None:
    arguments = make_arguments(first, sizes)
    found = [interpret(typed(k, arguments), arguments) for k in (first, second)]
    lowered = [run_program(lower(typed(second, arguments), model), arguments) for model in Model]
    for outcome in (*found[1:], *lowered):
        for name, array in found[0].arrays.items():
            np.testing.assert_array_equal(outcome.arrays[name], array, strict=True)


def test_one_of_three_sizes_that_is_fixed() -> None:
    knl = pg.fix_parameters(after(CUBE, joined("i, j, k")), m=4)
    assert [str(size) for size in knl.derived_sizes] == ["n_m_p = (4*n) * p"]
    _same_arrays(pg.fix_parameters(CUBE, m=4), knl, {"n": 2, "p": 3})


def test_names_and_arguments() -> None:
    knl = pg.rename_argument(after(PLANE, joined()), "m", "width")
    assert [str(size) for size in knl.derived_sizes] == ["n_m = n * width"]
    assert pg.rename_iname(knl, "ij", "r").inames == ("r",)
    assert pg.remove_unused_arguments(after(TOTAL, joined())).parameters == ("m", "n", "n_m")
    with pytest.raises(UnknownArgument, match="no scalar argument 'n_m'"):
        pg.fix_parameters(after(PLANE, joined()), n_m=12)
    with pytest.raises(UnknownArgument, match="no argument 'n_m'"):
        after(PLANE, joined())(a=np.ones((2, 3)), n_m=6)


def test_numpy_agrees() -> None:
    weighted = kernel(
        "{ [i,j]: 0<=i<n and 0<=j<m }", "out[i,j] = a[i,j]*b[j] + i\nw[j,i] = a[i,j]",
        pg.GlobalArg("a", "float64", "n,m"), name="weighted",
    )  # fmt: skip
    tall = after(weighted, joined(), on_grid(16))
    total = pg.add_dtypes(after(ROWS, joined(), split("ij", 8)), {"a": "float64"})
    tree = pg.tag_inames(total, {"ij_inner": "l.0", "r": "g.0"})
    for target in ("c", "opencl"):
        run, rows, groups = (k.executor(target) for k in (tall, total, tree))
        for n, m in ((0, 0), (0, 3), (3, 0), (1, 1), (7, 5), (16, 16), (17, 1), (1, 17)):
            random = np.random.default_rng(n + m)
            a, b = random.random((n, m)), random.random(m)
            _, found = run(a=a, b=b)
            for values, right in zip(found, (a * b + np.arange(n)[:, None], a.T), strict=True):
                np.testing.assert_allclose(values, right, rtol=1e-12)
            parts = random.random((2, n, m))
            for call in (rows, groups):
                _, (sums,) = call(a=parts)
                np.testing.assert_allclose(sums, parts.sum((1, 2)), rtol=1e-12)


def test_as_many_iterations_as_need_64_bits() -> None:
    knl = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "s = sum((i, j), a[i]*b[j])", SCALAR)
    run = pg.add_dtypes(after(knl, joined()), {"a, b": "uint32"}).executor("c")
    n = 46_341  # of which the square is the first that 32 bits do not hold
    _, (found,) = run(a=np.ones(n, np.uint32), b=np.full(n, 3, np.uint32))
    assert int(found) == 3 * n * n % 2 ** int(8 * found.dtype.itemsize)


def test_calls_check_what_the_kernel_assumes_of_a_product() -> None:
    knl = pg.assume(after(PLANE, joined()), "n_m >= 6")
    a = np.ones((2, 3))
    np.testing.assert_array_equal(knl(a=a)[1][0], [[2, 1, 0], [3, 2, 1]])
    with pytest.raises(AssumptionViolated, match="n_m = 4"):
        knl(a=np.ones((2, 2)))


def test_calls_check_data() -> None:
    gather = kernel(
        "{ [i,j]: 0<=i<n and 0<=j<m }", "out[i,j] = a[idx[i],j]",
        pg.GlobalArg("a", "float64", "p,m"), pg.GlobalArg("idx", "int32", "n"),
    )  # fmt: skip
    knl = after(gather, joined())
    assert [str(o) for o in pg.obligations(knl)] == [
        "insn: a[idx[ij//m], ij % m] is inside of 'a': 0 <= idx[ij//m] < p"
    ]
    a, idx = np.arange(12.0).reshape(3, 4), np.array([2, 0], np.int32)
    _, (found,) = knl(a=a, idx=idx, check_assumptions=True)
    np.testing.assert_array_equal(found, a[idx])
    with pytest.raises(ObligationViolated, match=r"for ij=0, a\[idx\[ij//m\], ij % m\]"):
        knl(a=a, idx=idx + 1, check_assumptions=True)


def test_a_temporary_that_others_read() -> None:
    knl = kernel(
        "{ [i,j,p,q]: 0<=i<n and 0<=j<m and 0<=p<n and 0<=q<m }",
        "t[i,j] = 2*a[i,j]  {id=t}\nout[p,q] = t[p,m-1-q]  {dep=t}",
        pg.TemporaryVariable("t", shape="n,m", address_space=pg.AddressSpace.GLOBAL),
        pg.GlobalArg("a", shape="n,m"),
    )
    both = steps(joined(), joined("p, q", "pq"))
    agree(knl, SIZES, joined(), both, steps(both, on_grid(), split("pq", 4, outer_tag="g.0")))


def test_factors_that_are_negative_count_as_zero() -> None:
    knl = kernel(
        "{ [i,j]: 0<=i<n and 0<=j<m }", "c[0] = c[0] + 1  {inames=i:j}",
        pg.GlobalArg("c", "float64", 1), loop_priority="i, j",
    )  # fmt: skip
    new = after(knl, joined())
    assert "pg_max_i32(n, 0) * pg_max_i32(m, 0)" in text(new)
    for n, m, count in ((-2, -3, 0), (-1, 4, 0), (2, 3, 6)):
        _, (found,) = new.executor("c")(c=np.zeros(1), n=n, m=m)
        assert found[0] == count


def test_fractions_and_several_bounds() -> None:
    knl = kernel(
        "{ [i,j]: -n <= 3*i < n and 0 <= j < m and 2*j < n }",
        "out[i + n, j] = a[j] + i",
        assumptions="n >= 0",
    )
    new = after(knl, joined())
    assert [str(size) for size in new.derived_sizes] == [
        "j_count = (min(m, (n + 1)//2))",
        "ij_count = ((n + 2)//3 + n//3) * j_count",
    ]
    agree(knl, SIZES, joined(), steps(joined("j, i"), on_grid()))


DIVIDING = kernel(
    "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<p }", "s[j] = sum((i,k), a[i,j,k]*b[k] + 8*i)",
    pg.GlobalArg("a", "float64", "n,m,p"), pg.GlobalArg("b", "float64", "p"),
)  # fmt: skip
WITHOUT_DIVISIONS: list[tuple[str, Step, int]] = [
    ("each", joined("i, k"), 0),
    ("by eights", steps(joined("i, k"), split("ij", 8)), 2),
    ("in long parts", steps(joined("i, k"), split("ij", 20)), 2),
    ("side by side", steps(joined("i, k"), split("ij", 8, inner_tag="l.0")), 1),
    ("from 5 on", steps(joined("i, k"), lambda k: pg.shift(k, "ij", 5)), 0),
    ("by a number too", steps(joined("k, i"), lambda k: pg.fix_parameters(k, p=3)), 0),
]


@pytest.mark.parametrize(
    ("step", "divisions"), [c[1:] for c in WITHOUT_DIVISIONS], ids=[c[0] for c in WITHOUT_DIVISIONS]
)
def test_divisions_are_carried_through_loops(step: Step, divisions: int) -> None:
    """On one work item, from one iteration to the next, whatever it grows by."""
    code = str(pg.generate_code(step(DIVIDING), "opencl")).partition("for (int ij")[2]
    inner = code[: code.index("[j] = ")]
    assert "_mod += " in inner
    assert inner.count("/") + inner.count("%") == divisions
    agree(DIVIDING, [{"n": n, "m": m, "p": 3} for n, m in ((0, 3), (1, 1), (3, 2), (4, 0))], step)


@pytest.mark.parametrize(
    "step", [c[1] for c in WITHOUT_DIVISIONS], ids=[c[0] for c in WITHOUT_DIVISIONS]
)
def test_loops_in_strips_have_no_divisions(step: Step) -> None:
    """On a processor, loops begin anew where a quotient changes."""
    new = step(DIVIDING)
    places = re.findall(r" a\[([^]]*)\]", str(pg.generate_code(new, "c")))
    assert places
    assert not any("/" in place or "%" in place for place in places)
    run = new.executor("c")
    for n, m, p in ((0, 3, 2), (1, 1, 1), (3, 2, 7), (5, 1, 1), (1, 2, 9), (7, 2, 3), (2, 3, 0)):
        if "p" not in new.parameters and p != 3:
            continue
        a = np.random.default_rng(n).integers(-8, 9, (n, m, p)).astype(np.float64)
        b = np.arange(p, dtype=np.float64)
        expected = (a * b + 8 * np.arange(n)[:, None, None]).sum((0, 2))
        np.testing.assert_array_equal(run(a=a, b=b)[1][0], expected)


def test_what_is_divided_by_a_number_first_is_not_carried() -> None:
    """A quotient by a number grows by 6 or 7 where what is divided grows by 20."""
    knl = kernel(
        "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<3 }", "s[i,j,k] = a[k,i,j] + 2*j",
        pg.GlobalArg("a", "float64", "3,n,m"),
    )  # fmt: skip
    new = after(knl, joined("j, i, k"), split("ij", 20, inner_tag="l.0"))
    assert "_mod += " not in str(pg.generate_code(new, "c"))
    run = new.executor("c")
    for n, m in ((5, 18), (1, 7), (0, 2), (18, 5)):
        a = np.random.default_rng(n).integers(-8, 9, (3, n, m)).astype(np.float64)
        expected = a.transpose(1, 2, 0) + 2 * np.arange(m)[:, None]
        np.testing.assert_array_equal(run(a=a)[1][0], expected)
