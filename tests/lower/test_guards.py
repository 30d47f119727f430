"""As few guards as there can be, as far outside as they can be, and bounds instead of guards."""

from __future__ import annotations

from typing import Any

import numpy as np

import polygen as pg
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from polygen.lower.lower import Model
from polygen.lower.program import Assign, If, Loop, LoopProgram
from tests.oracle.cases import guards, kernel, launches, loops, lowered, nodes, prior, split, steps

LINE = "{ [i]: 0<=i<n }"


def _bounds(program: LoopProgram) -> list[str]:
    return [
        f"{loop.iname}: {show_expression(loop.lower)} to {show_expression(loop.upper)}"
        + (f" by {loop.step}" if loop.step != 1 else "")
        for loop in loops(program)
    ]


def _conditions(program: LoopProgram) -> list[str]:
    return [show_expression(guard.condition) for guard in guards(program)]


def _doubled(**options: object) -> Kernel:
    return kernel(LINE, "out[i] = 2*a[i]", **options)


def test_split_by_16_has_one_guard() -> None:
    program = lowered(steps(split("i", 16), prior("i_outer, i_inner"))(_doubled()))
    assert _bounds(program) == ["i_outer: 0 to (n + 15)//16", "i_inner: 0 to 16"]
    assert _conditions(program) == ["16*i_outer + i_inner < n"]


def test_split_by_16_with_the_inner_loop_outside() -> None:
    program = lowered(steps(split("i", 16), prior("i_inner, i_outer"))(_doubled()))
    assert [loop.iname for loop in loops(program)] == ["i_inner", "i_outer"]
    assert len(guards(program)) <= 1


def test_unrolled_with_a_multiple_of_4_has_no_guard() -> None:
    knl = split("i", 4, inner_tag="unr")(_doubled(assumptions="n >= 0 and n mod 4 = 0"))
    program = lowered(knl)
    assert _bounds(program) == ["i_outer: 0 to n//4"]
    assert guards(program) == []
    assert sum(isinstance(n, Assign) for n in nodes(program)) == 4


def test_unrolled_without_that_has_a_guard_for_each_copy_but_the_first() -> None:
    program = lowered(split("i", 4, inner_tag="unr")(_doubled()))
    assert sum(isinstance(n, Assign) for n in nodes(program)) == 4
    assert len(guards(program)) == 3


def test_sizes_that_divide_have_no_guard() -> None:
    knl = steps(split("i", 16), split("i_inner", 4), split("i_outer", 2))(
        pg.fix_parameters(_doubled(), n=128)
    )
    program = lowered(knl)
    assert guards(program) == []
    assert [loop.upper for loop in loops(program)] == [4, 2, 4, 4]


def test_sizes_that_do_not_divide_have_one() -> None:
    knl = split("i", 16)(pg.fix_parameters(_doubled(), n=100))
    program = lowered(knl)
    assert _bounds(program) == ["i_outer: 0 to 7", "i_inner: 0 to 16"]
    assert len(guards(program)) == 1


def test_a_triangle_has_bounds_and_no_guard() -> None:
    knl = kernel("{ [i,j]: 0<=j<=i<n }", "out[i,j] = a[i,j]")
    assert _bounds(lowered(prior("i, j")(knl))) == ["i: 0 to n", "j: 0 to i + 1"]
    assert _bounds(lowered(prior("j, i")(knl))) == ["j: 0 to n", "i: j to n"]
    for order in "i, j", "j, i":
        assert guards(lowered(prior(order)(knl))) == []


def test_a_band_has_bounds_with_max_and_min() -> None:
    knl = kernel(
        "{ [i,j]: 0<=i<n and 0<=j<n and i-2<=j<=i+3 }", "out[i,j] = a[i,j]", assumptions="n>=8"
    )
    program = lowered(prior("i, j")(knl))
    row, column = loops(program)
    assert guards(program) == []
    assert (row.lower, show_expression(row.upper)) == (0, "n")
    assert show_expression(column.lower) in ("max(0, i - 2)", "max(i - 2, 0)")
    assert show_expression(column.upper) in ("min(n, i + 4)", "min(i + 4, n)")


def test_a_stride_is_the_step_of_the_loop() -> None:
    knl = kernel("{ [i]: 0<=i<n and i mod 3 = 1 }", "out[i] = a[i]")
    program = lowered(knl)
    assert _bounds(program) == ["i: 1 to n by 3"]
    assert guards(program) == []


def test_an_equation_is_no_loop() -> None:
    knl = kernel("{ [i,j]: 0<=i<n and j=2*i+1 }", "out[j] = a[i]")
    program = lowered(prior("i, j")(knl))
    assert _bounds(program) == ["i: 0 to n"]
    assert guards(program) == []
    assert "out[2*i + 1]" in str(program)


def test_data_dependent_bounds_have_no_guard() -> None:
    knl = kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<c }"],
        "<int32> c = count[i]\nout[i] = sum(j, a[j])",
    )
    assert guards(lowered(pg.add_dtypes(knl, {"count": "int32"}))) == []


def test_what_is_assumed_is_not_asked() -> None:
    knl = kernel("{ [i]: 0<=i<n and i<m }", "out[i] = 2*a[i]")
    assert "min(" in str(lowered(knl))
    assert _bounds(lowered(pg.assume(knl, "n <= m"))) == ["i: 0 to n"]


def test_neighbours_share_a_guard() -> None:
    knl = kernel(LINE, "b[i] = a[i]\nc[i] = a[i]")
    program = lowered(split("i", 16, outer_tag="g.0", inner_tag="l.0")(knl))
    (guard,) = guards(program)
    assert len(guard.body) == 2


def test_a_guard_stands_outside_of_loops_that_it_does_not_depend_on() -> None:
    knl = kernel("{ [i,k]: 0<=i<n and 0<=k<m }", "out[i] = sum(k, a[i,k])")
    program = lowered(split("i", 16, outer_tag="g.0", inner_tag="l.0")(knl))
    (launch,) = launches(program)
    (guard,) = launch.body
    assert isinstance(guard, If)
    assert [loop.iname for loop in loops(program)] == ["k"]
    assert len(guards(program)) == 1


def test_a_predicate_stands_outside_of_loops_too() -> None:
    knl = kernel("{ [i,k]: 0<=i<n and 0<=k<m }", "out[i,k] = a[i,k]  {if=b[i] > 0}")
    program = lowered(prior("i, k")(knl))
    (outer,) = [n for n in launches(program)[0].body if isinstance(n, Loop)]
    (guard,) = outer.body
    assert isinstance(guard, If)
    assert [type(n) for n in guard.body] == [Loop]


def test_one_iteration_of_a_grid_needs_one_guard_in_loops_too() -> None:
    knl = split("i", 16, outer_tag="g.0", inner_tag="l.0")(_doubled())
    for model in Model:
        assert _conditions(lowered(knl, model)) == ["16*i_outer + i_inner < n"]


def test_many_loops_of_other_lengths_on_one_axis() -> None:
    """Each is asked for its own length alone, among many: isl is asked about that loop alone."""
    count, lengths = 20, (9, 0, 14)
    knl = pg.make_kernel(
        [f"{{ [i{k}]: 0<=i{k}<n{k % 3} }}" for k in range(count)],
        "\n".join(f"out{k}[i{k}] = {k} + i{k}" for k in range(count)),
        [*(pg.GlobalArg(f"out{k}", "int32", shape="size") for k in range(count)), "..."],
        assumptions="n0 <= size and n1 <= size and n2 <= size",
        target="c",
    )
    knl = pg.tag_inames(knl, {f"i{k}": "g.0" for k in range(count)})
    assert len(launches(lowered(knl))) == 1
    given: dict[str, Any] = {f"out{k}": np.full(20, -1, "int32") for k in range(count)}
    sizes: dict[str, Any] = {f"n{k}": length for k, length in enumerate(lengths)}
    knl(**given, **sizes)
    i = np.arange(20)
    for k in range(count):
        np.testing.assert_array_equal(given[f"out{k}"], np.where(i < lengths[k % 3], k + i, -1))
