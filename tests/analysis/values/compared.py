"""Two kernels, and one instruction of theirs, for tests of how values are compared."""

from __future__ import annotations

from typing import Any

import polygen as pg
from polygen.analysis.access.accesses import Reference, references
from polygen.analysis.access.instance_map import UNMOVED
from polygen.analysis.dataflow.comparison_context import Context, Frame, Names, executed
from polygen.analysis.values.unaffected_variables import Settled
from polygen.analysis.values.value_matching import Matcher
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel
from tests.proof.patterns import array, scalar

LOOP = "{ [i]: 0<=i<8 }"
DATA = (
    pg.TemporaryVariable("v", "float64", (12,)),
    scalar("s"),
    *(array(name, "12") for name in ("a", "b", "p", "out")),
    array("idx", "12", dtype="int32"),
    pg.ValueArg("x", "float64"),
    "...",
)


def made(lines: str | pg.CInstruction, domains: str | list[str] = LOOP, *data: object) -> Kernel:
    """Return a kernel, well formed or not."""
    what: Any = [lines]
    if isinstance(lines, str):
        what = "\n".join(map(str.strip, lines.strip().splitlines()))
    with pg.without_proofs():
        return kernel(domains, what, *data, *DATA)


def verbatim(insn_id: str, code: str, reads: str, writes: str) -> pg.CInstruction:
    """Return verbatim C in the loop over `i`."""
    given: dict[str, Any] = {"read_variables": frozenset({reads}), "assignees": writes}
    inames: Any = "i"
    return pg.CInstruction(inames, code, **given, id=insn_id, within_inames=frozenset("i"))


def frame(knl: Kernel, insn_id: str, names: dict[str, str]) -> Frame:
    """Return an instruction where its inames have these names."""
    insn = knl.assignment(insn_id)
    return Frame(knl, insn, names, insn.predicates)


def same_instances(old: Kernel, new: Kernel, insn_id: str, names: Names) -> Context:
    """Return the context of all instances of an instruction that two kernels have alike."""
    called = names.fresh(old.assignment(insn_id).within_inames)
    frames = [frame(knl, insn_id, called) for knl in (old, new)]
    return Context(executed(frames[0])[0], *frames)


def matcher(old: Kernel, new: Kernel, names: Names) -> Matcher:
    """Return what compares expressions of two kernels that have the same instances."""
    return Matcher(old, new, UNMOVED, Settled(old, new, UNMOVED), names)


def reference(knl: Kernel, insn_id: str, name: str, *, is_write: bool = False) -> Reference:
    """Return the only read, or write, of a variable by an instruction."""
    (found,) = (
        r for r in references(knl.instruction(insn_id)) if r.name == name and r.is_write is is_write
    )
    return found
