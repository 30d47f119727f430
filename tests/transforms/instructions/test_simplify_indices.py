"""`simplify_indices`: affine subscripts in a normal form."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.ir.show_expression import show_expression
from tests.oracle.cases import agree, kernel, split, steps
from tests.transforms.instructions.values import CALLS, IDX, A, value

PLANE = "{ [i,j]: 0<=i<n and 0<=j<4 }"
SUBSCRIPTS = [
    ("(i + 1) - 1", "i"),
    ("2*(i + 3) - i", "i + 6"),
    ("(4*i + j)//4", "i"),
    ("(4*i + j) % 4", "j"),
    ("4*((4*i + j)//4) + (4*i + j) % 4", "4*i + j"),
    ("(4*i + j + 4)//4", "i + 1"),
    ("(j + 12)//8 + i", "i + 1"),
    ("(j - 4)//8 + 1", "0"),
    ("((8*i + 2*j)//8*4 + j)//4", "i"),
    ("(4*i + j + 2)//4", "i + (j + 2)//4"),  # i or i + 1
    ("(i + j)//4", "(i + j)//4"),
    ("i*i - i*i + i", "i*i - i*i + i"),
]


@pytest.mark.parametrize(("subscript", "simple"), SUBSCRIPTS)
def test_subscripts(subscript: str, simple: str) -> None:
    data = pg.GlobalArg("a", "float64", "n*n + 4*n + 40")
    knl = kernel(PLANE, f"out[i,j] = a[{subscript}] + 1", data)
    new = pg.simplify_indices(knl)
    assert value(new) == value(kernel(PLANE, f"out[i,j] = a[{simple}] + 1", data))
    assert pg.simplify_indices(new) is new
    agree(knl, CALLS, pg.simplify_indices)


def test_what_is_written_too() -> None:
    out = pg.GlobalArg("out", "float64", "n, 4")
    knl = kernel(PLANE, "out[(4*i+j)//4, (4*i+j)%4] = a[i]", A, out)
    new = pg.simplify_indices(knl)
    assert show_expression(new.assignments[0].assignees[0]) == "out[i, j]"
    agree(knl, CALLS, pg.simplify_indices, steps(pg.simplify_indices, split("i", 4)))


def test_in_reductions_and_conditions() -> None:
    text = "out[i] = sum(j, a[(4*i + j)//4] + a[j//4])  {if=a[(i*4 + 3)//4] > 0}"
    knl = kernel(PLANE, text, A)
    new = pg.simplify_indices(knl)
    assert value(new) == "sum(j, a[i] + a[0])"
    assert show_expression(new.assignments[0].predicates[0]) == "a[i] > 0"
    agree(knl, CALLS, pg.simplify_indices)


def test_assumptions_count_and_data_stays() -> None:
    text = "out[i] = a[i//8 + i] + a[idx[(i + 1) - 1]]"
    data = pg.GlobalArg("a", "float64", "2*n + 40")
    knl = kernel("{ [i]: 0<=i<n }", text, data, IDX, assumptions="n <= 16")
    assert value(pg.simplify_indices(knl)) == "a[i + i//8] + a[idx[i]]"
    few = pg.assume(knl, "n <= 8")
    assert value(pg.simplify_indices(few)) == "a[i] + a[idx[i]]"
    assert pg.obligations(pg.simplify_indices(few))


def test_after_join_inames() -> None:
    knl = kernel(
        "{ [i,j]: 0<=i<n and 0<=j<4 }", "out[i,j] = 2*a[i,j]", pg.GlobalArg("a", "float64", "n, 4")
    )
    joined = pg.join_inames(knl, "i, j", "p")
    again = pg.simplify_indices(pg.split_iname(joined, "p", 4))
    assert value(again) == "2*a[p_outer, p_inner]"
    for target in ("c", "opencl"):
        for n in (0, 1, 5):
            a = np.arange(4.0 * n).reshape(n, 4)
            _, (found,) = again.executor(target)(a=a)
            np.testing.assert_array_equal(found, 2 * a)


@pytest.mark.parametrize("period", range(-2, 3))
def test_values_in_one_period(period: int) -> None:
    first = 8 * period
    data = pg.GlobalArg("a", "float64", "n + 8")
    inames = f"{{ [i,j]: 3<=i<n and {first + 2}<=j<{first + 8} }}"
    knl = kernel(inames, f"out[i,j - {first}] = a[i + j//8]", data)
    shown = {0: "i"}.get(period, f"i + {period}".replace("+ -", "- "))
    new = pg.simplify_indices(knl)
    assert value(new) == f"a[{shown}]"
    wider = kernel(inames.replace("<=j", "- 3<=j"), f"out[i,j - {first - 4}] = a[i + j//8]", data)
    assert "j//8" in value(pg.simplify_indices(wider))


def test_nothing_to_simplify() -> None:
    knl = kernel(PLANE, "out[i,j] = a[i + 1]*j", A)
    assert pg.simplify_indices(knl) is knl
    text = kernel(PLANE, "out[i,j] = a[(4*i + j)//4]", A)
    new = pg.simplify_indices(text)
    assert pg.parse_kernel(str(new)) == new
    assert pg.replay(text, new.history) == new
