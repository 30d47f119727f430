"""Conditions of reductions, and who changes them in their loops."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.analysis.dataflow.early_conditions import condition_changes
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel

LINES = [f"{{ [{iname}]: 0<={iname}<n }}" for iname in "ijk"]


def _kernel(text: str, *data: pg.GlobalArg) -> Kernel:
    """Return a kernel that has the loop of j, for that of k, in common with a reduction.

    Kernels that are made from text have loops of their own there.
    """
    with pg.without_proofs():
        knl = kernel(LINES, text, *data)
    writer = knl.assignment("w")
    if "k" not in writer.within_inames:
        return knl
    shared = writer.map_expressions(lambda e: walk.substitute(e, {"k": ex.Variable("j")}))
    shared = shared.copy(within_inames=frozenset("j"))
    insns = [shared if insn.id == "w" else insn for insn in knl.instructions]
    return knl.copy(instructions=tuple(insns))


@pytest.mark.parametrize(
    ("use", "writer", "expected"),
    [
        ("b[i] = sum(j, a[j]) {if=c[i] > 0}", "c[k] = 1", "w"),
        ("b[i] = if(c[i] > 0, sum(j, a[j]), 0)", "c[k] = 1", "w"),
        ("b[i] = if(c[i] > 0, 0, sum(j, a[j]))", "c[k] = 1", "w"),
        ("b[i] = if(d[i] > 0, 1 + if(c[i] > 0, 2*sum(j, a[j]), 0), 0)", "c[k] = 1", "w"),
        ("b[i] = if(sum(j, a[j]) > 0, 1, 2) {if=c[i] > 0}", "c[k] = 1", "w"),
        # In the loop of an inner reduction.
        ("b[0] = sum(i, if(c[i] > 0, sum(j, a[j]), 0))", "c[k] = 1", "w"),
        # What is written is something else, or elsewhere.
        ("b[i] = sum(j, a[j]) {if=c[i] > 0}", "d[k] = 1", None),
        ("b[i] = sum(j, a[j]) {if=c[i] > 0}", "c[i] = 1", None),
        ("b[i] = sum(j, a[j])", "c[k] = 1", None),
        ("b[i] = sum(j, a[j]) {if=i > 0}", "c[k] = 1", None),
        # The reduction is not under the condition.
        ("b[i] = if(c[i] > 0, 1, 2) + sum(j, a[j])", "c[k] = 1", None),
        ("b[i] = sum(j, if(c[i] > 0, a[j], 0))", "c[k] = 1", None),
        ("b[i] = if(sum(j, a[j]) > 0, c[i], 0)", "c[k] = 1", None),
        # A condition that reduces is asked after its reduction.
        ("b[i] = if(sum(j, c[j]) > 0, sum(j, a[j]), 0)", "c[k] = 1", None),
        # Nothing is reduced.
        ("b[i] = a[i] {if=c[i] > 0}", "c[k] = 1", None),
    ],
)
def test_who_changes_a_condition(use: str, writer: str, expected: str | None) -> None:
    body, _, options = use.partition(" {")
    inside = f"id=use, {options}" if options else "id=use}"
    knl = _kernel(f"{writer} {{id=w}}\n{body} {{{inside}")
    assert condition_changes(knl, knl.instruction("use")) == expected


def test_arrays_that_may_overlap() -> None:
    text = "d[k] = 1 {id=w}\nb[i] = sum(j, a[j]) {id=use, if=c[i] > 0}"
    for may_alias, expected in ((True, "w"), (False, None)):
        array = pg.GlobalArg("d", "float64", "n", may_alias=may_alias)
        knl = _kernel(text, array)
        assert condition_changes(knl, knl.instruction("use")) == expected
