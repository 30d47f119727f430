"""Conditions that read arrays are asked only where they read inside."""

from __future__ import annotations

import polygen as pg
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from tests.oracle.cases import SIZES, agree, guards, kernel, loops, lowered, tag
from tests.proof.patterns import array, scalar

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


# --- scalars that are not computed everywhere: execution fails where they are read


def test_a_bound_is_asked_for_where_it_is_computed() -> None:
    knl = kernel(
        ["{ [i]: n<=i<n+3 or i=0 }", "{ [j]: 0<=j<bound }", "{ [k]: 0<=k<3-j }"],
        "bound = c[i] {id=bound, dep=*}\nres[i,j,k] = 1 {dep=*bound}",
        pg.TemporaryVariable("bound", "int32"),
        pg.GlobalArg("c", "int32", shape="n + 3"),
        pg.GlobalArg("res", shape="n + 3, 3, 3"),
        assumptions="n >= 1",
    )
    agree(knl, SIZES[1:], tag(i="g.0", k="unr"))


def _while_positive(lines: str, domains: list[str]) -> Kernel:
    """Return a kernel in which ``t`` has a value where ``i < n``."""
    return kernel(
        ["{ [i]: 0<=i<n+3 }", *domains],
        f"t = p[i] {{id=t, if=i < n, dep=*}}\n{lines}",
        pg.TemporaryVariable("t", "float64"),
        pg.GlobalArg("p", shape="n + 3"),
        assumptions="n >= 0",
    )


def test_what_is_not_computed_everywhere_is_not_asked_for_before_the_loop() -> None:
    knl = _while_positive("res[i,j] = 1 {if=t > 0, dep=*t}", ["{ [j]: 0<=j<n-i }"])
    agree(knl, SIZES)
    (guard,) = guards(lowered(knl))[1:]
    assert guard in loops(lowered(knl))[1].body


def test_what_is_computed_everywhere_is_asked_for_before_the_loop() -> None:
    knl = kernel(
        ["{ [i]: 0<=i<n+3 }", "{ [j]: 0<=j<n-i }"],
        "t = p[i] {id=t, dep=*}\nres[i,j] = 1 {if=t > 0, dep=*t}",
        pg.TemporaryVariable("t", "float64"),
    )
    agree(knl, SIZES)
    (guard,) = guards(lowered(knl))
    assert loops(lowered(knl))[1] in guard.body


def _sums(domain: str, written: str, asked: str) -> str:
    lines = [
        "s = c[i] {id=s, inames=i, dep=*}",
        f"t = c[i+1] {{id=t, inames=i, dep=*, if={written}}}",
        f"x[i,j] = 1 {{id=x, dep=s:t, if={asked}}}",
    ]
    data = (scalar("s"), scalar("t"), array("c", "n+1"), array("x", "n", "4"))
    knl = kernel(["{ [i]: 0<=i<n }", domain], "\n".join(lines), *data)
    return str(pg.generate_code(knl, "c"))


def test_all_the_scalars_of_a_condition_have_values_where_it_is_asked() -> None:
    """The loop of j has no iteration where `t` was not written, and the condition stays in it."""
    code = _sums("{ [j]: 0<=j<4 and i+j<3 }", "i<3", "s+t>0")
    assert code.index("for (int j = 0; j < 3 - i; ++j)") < code.index("s + t > ")


def test_a_scalar_that_is_written_where_data_says() -> None:
    code = _sums("{ [j]: 0<=j<4 }", "c[i]>0 and i<3", "c[i]>0 and i<3 and s+t>0")
    assert code.index("for (int j = 0; j < 4; ++j)") < code.index("s + t > ")
