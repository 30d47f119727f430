"""Conditions that read arrays are asked only where they read inside."""

from __future__ import annotations

import polygen as pg
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from tests.oracle.cases import SIZES, agree, guards, kernel, loops, lowered

# For i >= n there is no j.
DOMAINS = ["{ [i]: 0<=i<n+3 }", "{ [j]: 0<=j<n-i }"]


def _rows(extent: str) -> Kernel:
    return kernel(
        DOMAINS,
        "out[i] = 0\nres[i,j] = 1 {if=p[i] > 0}",
        pg.GlobalArg("p", shape=extent),
        pg.GlobalArg("res", shape="n, n"),
    )


def test_one_that_would_read_outside_stays_in_the_loop() -> None:
    knl = _rows("n")
    program = lowered(knl)
    (guard,) = guards(program)
    assert show_expression(guard.condition) == "p[i] > 0"
    assert guard in loops(program)[1].body
    agree(knl, SIZES)


def test_one_that_reads_inside_is_asked_before_the_loop() -> None:
    knl = _rows("n + 3")
    program = lowered(knl)
    (guard,) = guards(program)
    assert loops(program)[1] in guard.body
    agree(knl, SIZES)


def test_one_whose_subscript_is_data_stays_in_the_loop() -> None:
    knl = kernel(
        DOMAINS,
        "out[i] = 0\nres[i,j] = 1 {if=p[q[i]] > 0}",
        pg.GlobalArg("p", shape="n"),
        pg.GlobalArg("q", "int32", shape="n + 3"),
        pg.GlobalArg("res", shape="n, n"),
    )
    (guard,) = guards(lowered(knl))
    assert guard in loops(lowered(knl))[1].body


ROW, N = ex.Variable("i"), ex.Variable("n")
SHORT = ex.Comparison(ROW, "<", N)
SHORTER = ex.Comparison(ex.product_of(2, ROW), "<", N)
READS = ex.Comparison(ex.Subscript(ex.Variable("p"), ROW), ">", 0)


def _asking(x: ex.Expression, y: ex.Expression) -> Kernel:
    """Return a kernel of two instructions that ask something, and then `READS`."""
    knl = kernel(
        "{ [i]: 0<=i<n+3 }", "x[i] = 1 {id=x}\ny[i] = 1 {id=y}", pg.GlobalArg("p", shape="n")
    )
    own = {"x": (x, READS), "y": (y, READS)}
    return knl.copy(
        instructions=tuple(insn.copy(predicates=own[insn.id]) for insn in knl.instructions)
    )


def test_neighbours_share_none_that_one_of_them_asks_under_a_condition_of_its_own() -> None:
    knl = _asking(SHORT, SHORTER)
    shown = [show_expression(guard.condition) for guard in guards(lowered(knl))]
    assert shown == ["i < n and p[i] > 0", "2*i < n and p[i] > 0"]
    agree(knl, SIZES)


def test_neighbours_with_the_same_conditions_share_them() -> None:
    knl = _asking(SHORT, SHORT)
    assert len(guards(lowered(knl))) == 1
    agree(knl, SIZES)
