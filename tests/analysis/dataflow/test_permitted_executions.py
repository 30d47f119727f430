"""Kernels of which no execution is permitted, and why."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.analysis.dataflow.permitted_executions import why_none_is_permitted
from polygen.errors import DependencyCycle, NoLoopNest, UserError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel

LINES = [f"{{ [{iname}]: 0<={iname}<n }}" for iname in "ijkl"]


def _kernel(text: str, inames: dict[str, str] | None = None) -> Kernel:
    """Return a kernel in which inames became others: then loops are shared, even if they cannot."""
    with pg.without_proofs():
        knl = kernel(LINES, text)
    if not inames:
        return knl
    values = {old: ex.Variable(new) for old, new in inames.items()}

    def renamed(node: ex.Expression) -> ex.Expression:
        if isinstance(node, ex.Reduction):
            own = tuple(inames.get(i, i) for i in node.inames)
            return ex.Reduction(node.operation, own, renamed(node.operand))
        parts = walk.parts(node)
        if not parts:
            return walk.substitute(node, values)
        return walk.rebuild(node, tuple(map(renamed, parts)))

    return knl.copy(
        instructions=tuple(
            insn.map_expressions(renamed).copy(
                within_inames=frozenset(inames.get(i, i) for i in insn.within_inames)
            )
            for insn in knl.instructions
        )
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "b[i] = a[i]",
        "b[i] = sum(j, a[j])",
        "c[j] = a[j] {id=w}\nb[i] = sum(j, c[j]) {dep=w}",
        "b[i] = sum(j, a[j]) {id=s}\nc[i] = sum(j, b[j]) {dep=s}",
        "b[0] = sum(i, sum(j, a[i]*a[j]))",
    ],
)
def test_some_execution_is_permitted(text: str) -> None:
    assert why_none_is_permitted(_kernel(text)) is None


def _why(knl: Kernel, kind: type[UserError], what: str) -> None:
    found = why_none_is_permitted(knl)
    assert type(found) is kind
    assert what in found.what
    assert found.excerpt is not None or found.where is not None


def test_instructions_that_wait_for_each_other() -> None:
    knl = _kernel("b[i] = 1 {id=s}\nc[i] = 2 {id=u, dep=s}")
    first = knl.assignment("s").copy(depends_on=frozenset(["u"]))
    _why(knl.copy(instructions=(first, knl.assignment("u"))), DependencyCycle, "s")


def test_loops_of_which_none_is_around_another() -> None:
    text = "b[i,j] = 1 {id=s}\nc[j,k] = 2 {id=u}\nd[i,k] = 3 {id=v}"
    _why(_kernel(text), NoLoopNest, "circle")


def test_reductions_of_which_none_can_be_around_another() -> None:
    """i around j, j around k, k around i: where only instructions count, nothing is wrong."""
    text = (
        "b[i] = sum(j, a[i,j]) {id=s}\nc[j] = sum(k, a[j,k]) {id=u}\nd[k] = sum(l, a[k,l]) {id=v}"
    )
    assert why_none_is_permitted(_kernel(text)) is None
    _why(_kernel(text, {"l": "i"}), NoLoopNest, "those of reductions included")


def test_a_reduction_in_the_loop_of_one_that_comes_before() -> None:
    text = "b[i] = sum(j, a[j]) {id=s}\nc[i] = b[i] + sum(k, a[k]) {id=u, dep=s}"
    assert why_none_is_permitted(_kernel(text)) is None
    _why(_kernel(text, {"k": "j"}), DependencyCycle, "in a loop, and before or after it")
    # Of reductions that do not wait for each other, one loop may hold both.
    text = text.replace("b[i] + ", "").replace(", dep=s", "")
    assert why_none_is_permitted(_kernel(text, {"k": "j"})) is None


def test_a_condition_that_the_loop_of_its_reduction_decides() -> None:
    text = "c[i] = a[k] {id=w, inames=i:k}\nb[i] = sum(j, a[j]) {id=use, dep=w, if=c[i] > 0}"
    assert why_none_is_permitted(_kernel(text)) is None
    _why(_kernel(text, {"k": "j"}), DependencyCycle, "whether it is computed, 'w' in that loop")
    other = text.replace("c[i] = a[k]", "d[i] = a[k]")
    assert why_none_is_permitted(_kernel(other, {"k": "j"})) is None
