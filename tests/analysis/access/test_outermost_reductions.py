"""Reductions replaced by accumulators, and where one may run as a loop."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.analysis.access.outermost_reductions import Outermost, check_sequential
from polygen.errors import ReductionNotSequential
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.show_expression import show_expression
from polygen.language.parser import parse_statement
from polygen.language.reductions import resolve_reductions
from tests.oracle.cases import kernel


def _value(text: str) -> Expression:
    statement = parse_statement(f"x = {text}  {{inames=i}}")
    return resolve_reductions(statement, "ijk").values[0]


def _replaced(text: str) -> tuple[str, list[tuple[str, list[str]]]]:
    """Return what is left of an expression, and the reductions with their conditions."""
    numbers: list[ex.Reduction] = []

    def new(node: ex.Reduction) -> tuple[ex.Variable, ...]:
        numbers.append(node)
        return tuple([ex.Variable(f"acc{len(numbers) - 1}_{result}") for result in range(2)])

    outermost = Outermost(new)
    left = outermost.replace(_value(text))
    assert [node for node, _ in outermost.accumulators] == numbers
    return show_expression(left), [
        (show_expression(node), [show_expression(c) for c in conditions])
        for node, conditions in outermost.accumulators
    ]


REPLACED: list[tuple[str, str, list[tuple[str, list[str]]]]] = [
    ("a[i] + 2", "a[i] + 2", []),
    ("2*sum(j, a[j]) + 1", "2*acc0_0 + 1", [("sum(j, a[j])", [])]),
    ("sum(j, a[j]) + sum(j, a[j])", "acc0_0 + acc0_0", [("sum(j, a[j])", [])]),
    # not what is inside of another
    ("sum(j, sum(k, a[k])*j)", "acc0_0", [("sum(j, sum(k, a[k])*j)", [])]),
    ("argmin(j, a[j], j)[1]", "acc0_1", [("argmin(j, a[j], j)", [])]),
    (
        "argmin(j, a[j], j)[1] + argmin(j, a[j], j)[0]",
        "acc0_1 + acc0_0",
        [("argmin(j, a[j], j)", [])],
    ),
    ("b[sum(j, a[j])]", "b[acc0_0]", [("sum(j, a[j])", [])]),
    # under conditions
    (
        "if(i > 0, sum(j, a[j]), sum(k, a[k]))",
        "if(i > 0, acc0_0, acc1_0)",
        [("sum(j, a[j])", ["i > 0"]), ("sum(k, a[k])", ["not i > 0"])],
    ),
    (
        "if(i > 0, if(b[i] > 1, sum(j, a[j]), 0), sum(j, a[j]))",
        "if(i > 0, if(b[i] > 1, acc0_0, 0), acc1_0)",
        [("sum(j, a[j])", ["i > 0", "b[i] > 1"]), ("sum(j, a[j])", ["not i > 0"])],
    ),
    # a condition that reduces itself is computed with all the rest
    (
        "if(sum(k, a[k]) > 0, sum(j, a[j]), 0)",
        "if(acc0_0 > 0, acc1_0, 0)",
        [("sum(k, a[k])", []), ("sum(j, a[j])", [])],
    ),
]


@pytest.mark.parametrize(("text", "left", "found"), REPLACED)
def test_accumulators(text: str, left: str, found: list[tuple[str, list[str]]]) -> None:
    assert _replaced(text) == (left, found)


def test_conditions_that_are_known_around() -> None:
    outermost = Outermost(lambda _: (ex.Variable("acc"),))
    around = (_value("i < 3"),)
    outermost.replace(_value("sum(j, a[j])"), around)
    outermost.replace(_value("sum(j, a[j])"))
    assert [conditions for _, conditions in outermost.accumulators] == [around, ()]


@pytest.mark.parametrize(
    ("tag", "shared", "refused"),
    [
        (None, None, False),
        ("unr", None, False),
        ("l.0", None, True),
        ("g.0", None, True),
        ("l.0", "j", False),
        ("l.0", "k", False),  # work items share it, beside another that they share
        ("g.0", "k", True),
    ],
)
def test_what_runs_as_a_loop(tag: str | None, shared: str | None, refused: bool) -> None:
    knl = kernel("{ [i, j, k]: 0<=i,j,k<8 }", "out[i] = sum((j, k), a[j, k]) {id=r}")
    with pg.without_proofs():
        knl = pg.tag_inames(knl, {"j": tag}) if tag else knl
    insn = knl.instruction("r")
    (reduction,) = insn.reductions
    assert walk.reduction_inames(reduction) == {"j", "k"}
    if not refused:
        check_sequential(knl, insn, reduction, shared)
        return
    with pytest.raises(ReductionNotSequential, match=f"'r' reduces over 'j', .* tagged {tag}"):
        check_sequential(knl, insn, reduction, shared)
