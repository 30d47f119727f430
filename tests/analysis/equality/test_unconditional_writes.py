"""Conditions that are data move into values: the kernel computes the same."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.equality.unconditional_writes import total
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from tests.analysis.equality.small_kernels import LINE, numbers, ordered
from tests.oracle.compare import make_arguments
from tests.oracle.interpreter import interpret

DATA = (
    *(numbers(name, "float64", "n") for name in ("a", "out")),
    numbers("c", "int32", "n"),
    pg.ValueArg("x", "float64"),
)

# An instruction, what it assigns afterwards, and under which conditions.
CASES: dict[str, tuple[str, str, list[str]]] = {
    "data": ("out[i] = a[i] {id=s, if=c[i] > 0}", "if(c[i] > 0, a[i], out[i])", []),
    "a scalar": ("out[i] = a[i] {id=s, if=x > 0}", "if(x > 0, a[i], out[i])", []),
    "affine": ("out[i] = a[i] {id=s, if=i > 1 and i < n-1}", "a[i]", ["i > 1", "i < n - 1"]),
    "both": (
        "out[i] = a[i] {id=s, if=i > 1 and c[i] > 0}",
        "if(c[i] > 0, a[i], out[i])",
        ["i > 1"],
    ),
    "two": (
        "out[i] = a[i] {id=s, if=c[i] > 0 and a[i] < 3}",
        "if(c[i] > 0 and a[i] < 3, a[i], out[i])",
        [],
    ),
    "either": (
        "out[i] = a[i] {id=s, if=i > 1 or c[i] > 0}",
        "if(i > 1 or c[i] > 0, a[i], out[i])",
        [],
    ),
    "nothing": ("out[i] = a[i] {id=s}", "a[i]", []),
}


def _assigned(knl: Kernel) -> Assignment:
    insn = knl.assignment("s")
    assert isinstance(insn, Assignment)
    return insn


def _conditions(insn: Assignment) -> list[str]:
    shown = [show_expression(predicate) for predicate in insn.predicates]
    return [part for text in shown for part in text.split(" and ")]


@pytest.mark.parametrize("case", CASES)
def test_conditions_that_are_data_are_in_the_value(case: str) -> None:
    text, wanted, conditions = CASES[case]
    knl = ordered(LINE, text, *DATA, name="under")
    found = total(knl)
    assert show_expression(_assigned(found).expression) == wanted
    assert _conditions(_assigned(found)) == conditions
    for seed, n in enumerate((0, 1, 4)):
        arguments = make_arguments(knl, {"n": n}, seed, x=np.float64(seed - 1))
        before, after = (interpret(k, arguments).arrays["out"] for k in (knl, found))
        np.testing.assert_array_equal(before, after)


def test_a_kernel_without_instructions_under_data_is_what_it_was() -> None:
    knl = ordered(LINE, CASES["affine"][0], *DATA)
    assert total(knl).instructions == knl.instructions


def test_updates_that_are_atomic_stay_under_their_conditions() -> None:
    """To write back what was there would be another update."""
    knl = ordered(LINE, "out[0] += a[i] {id=s, if=c[i] > 0, atomic}", *DATA, assumptions="n > 0")
    assert total(knl).instructions == knl.instructions


def test_several_assignees_stay_under_their_conditions() -> None:
    knl = ordered(LINE, "out[i], a[i] = a[i], out[i] {id=s, if=c[i] > 0}", *DATA)
    assert total(knl).instructions == knl.instructions
