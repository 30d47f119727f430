"""Which loops an instruction has to be in, whoever made the kernel."""

from __future__ import annotations

from typing import Any

import pytest

import polygen as pg
from polygen.errors import MalformedKernel, UninitializedRead
from polygen.ir.kernel import Kernel
from polygen.transformation import transformation
from tests.oracle.cases import kernel
from tests.proof.patterns import array

TRIANGLE = ("{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }")
COUNTED = ("{ [i]: 0<=i<n }", "{ [j]: 0<=j<count and j<n }")
DATA = (array("a", "n"), array("b", "n"), array("rows", "n", dtype="int32"))


@transformation
def leave(knl: Kernel, iname: str, insn_id: str) -> Kernel:
    """Take an instruction out of a loop."""
    return knl.copy(
        instructions=tuple(
            insn.copy(within_inames=insn.within_inames - {iname}) if insn.id == insn_id else insn
            for insn in knl.instructions
        )
    )


@pytest.mark.parametrize(
    ("domains", "lines"),
    [
        (TRIANGLE, "a[j] = 1 {id=s, inames=i:j}"),
        (TRIANGLE, "a[0] = sum(j, b[j]) {id=s, inames=i}"),
        (COUNTED, "<> count = rows[i] {id=c}\na[j] = 1 {id=s, dep=c, inames=i:j}"),
        (COUNTED, "<> count = rows[i] {id=c}\na[0] = sum(j, b[j]) {id=s, dep=c, inames=i}"),
    ],
)
def test_an_instruction_is_in_the_loops_that_bounds_need(domains: Any, lines: str) -> None:
    knl = kernel(domains, lines, *DATA)
    step: Any = leave
    with pytest.raises(MalformedKernel, match="'s' is not within 'i', which the domain of 'j'"):
        step(knl, "i", "s", unsafe=True)
    text = str(knl)
    shown = next(line for line in text.splitlines() if "id=s" in line)
    wrong = shown.replace("[i, j]", "[j]").replace("[i] a", "[] a")
    assert wrong != shown
    with pytest.raises(MalformedKernel, match="'s' is not within 'i', which the domain of 'j'"):
        pg.parse_kernel(text.replace(shown, wrong))


@pytest.mark.parametrize("condition", ["rows[0] > 0", "rows[i] > 0"])
def test_what_nothing_writes_is_not_read_whatever_the_data_is(condition: str) -> None:
    nowhere = pg.TemporaryVariable("nowhere", "float64")
    with pytest.raises(UninitializedRead, match="reads 'nowhere', which nothing"):
        kernel("{ [i]: 0<=i<n }", f"<> t = nowhere {{id=s, if={condition}}}", nowhere, *DATA)
