"""`simplify_indices`, `fold_constants`: the same, written shorter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from tests.oracle.cases import agree, kernel, split, steps
from tests.transforms.numpy_runs import numpy_agrees

PLANE = "{ [i,j]: 0<=i<n and 0<=j<4 }"
CALLS = [{"n": n} for n in (0, 1, 3, 8)]
A, IDX = pg.GlobalArg("a", "float64", "4*n + 40"), pg.GlobalArg("idx", "int32", "40")


def value(knl: Kernel) -> str:
    return show_expression(knl.assignments[0].values[0])


# --- simplify_indices

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


# --- fold_constants

FOLDED = [
    ("a[i] + 2*3", "a[i] + 6"),
    ("a[i + 2*3] + 7//2", "a[i + 6] + 3"),
    ("a[(1 - 5) % 3]", "a[2]"),
    ("a[i]*(-7//2)", "a[i]*-4"),
    ("a[min(3, 5) + max(1, 2)]", "a[5]"),
    ("max(2*2, min(7, 2*4)) - a[i]", "7 - a[i]"),
    ("a[i]*2**10 + a[i]**2", "a[i]*1024 + a[i]**2"),
    ("2**40*a[i] + 2**-1", "2**40*a[i] + 2**-1"),
    ("2*3*a[i]", "2*3*a[i]"),
    ("1.5*2.0 + a[i]", "1.5*2.0 + a[i]"),
    ("7/2 + a[i]", "7/2 + a[i]"),
    ("(65536*65536) + a[i]", "65536*65536 + a[i]"),
]


@pytest.mark.parametrize(("text", "folded"), FOLDED)
def test_constants(text: str, folded: str) -> None:
    knl = kernel("{ [i]: 0<=i<n }", f"out[i] = {text}", A)
    new = pg.fold_constants(knl)
    assert value(new) == folded
    assert pg.fold_constants(new) is new
    agree(knl, CALLS, pg.fold_constants)


def test_folded_results_are_numpys() -> None:
    data = pg.GlobalArg("a", "float64", "n")
    text = "out[i] = a[i*(3-2)] * (17 % 5) + 8*2  {if=i < n*(2-1)}"
    knl = kernel("{ [i]: 0<=i<n }", text, data)

    def expected(a: Any) -> dict[str, Any]:
        return {"out": 2 * a + 16}

    numpy_agrees(knl, pg.fold_constants, expected)
    predicate = pg.fold_constants(knl).assignments[0].predicates[0]
    assert show_expression(predicate) == "i < n*1"
