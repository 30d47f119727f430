"""What an instruction computes, as text."""

from __future__ import annotations

import polygen as pg
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression

CALLS = [{"n": n} for n in (0, 1, 3, 8)]
A, IDX = pg.GlobalArg("a", "float64", "4*n + 40"), pg.GlobalArg("idx", "int32", "40")


def value(knl: Kernel) -> str:
    """Return the value of the first assignment."""
    return show_expression(knl.assignments[0].values[0])
