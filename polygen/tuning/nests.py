"""Groups instructions that reduce together: in shared loops, over or around results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import SupportsIndex, TypeAlias

from polygen.ir import walk
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.tuning.time_steps import results_of
from polygen.tuning.work import Work, points, work_of


@dataclass(frozen=True)
class Nest:
    """Instructions within the same inames, with reductions over the same ones.

    Attributes:
        ids: those of the instructions.
        reduced: the inames that their reductions run over.
    """

    ids: tuple[str, ...]
    reduced: tuple[str, ...]

    def __str__(self) -> str:
        return " and ".join(f"'{name}'" for name in self.ids)


Family: TypeAlias = tuple[Nest, ...]
"""Nests within the same inames, in their order."""


def families(kernel: Kernel) -> list[Family]:
    """Return the nests of a kernel; each that has one result in a step of time is by itself."""
    found: dict[frozenset[str], dict[frozenset[str], list[Instruction]]] = {}
    for insn in kernel.expanded.instructions:
        if insn.reductions:
            alike = found.setdefault(insn.within_inames, {})
            alike.setdefault(insn.reduction_inames, []).append(insn)
    result: list[Family] = []
    for nests in found.values():
        family = tuple([Nest(tuple([i.id for i in n]), reduced_by(n[0])) for n in nests.values()])
        apart: list[Family] = [(nest,) for nest in family]
        one = next(iter(nests.values()))[0]
        result += [family] if results_of(kernel, one) else apart
    return result


def reduced_by(insn: Instruction) -> tuple[str, ...]:
    """Return what the reductions of an instruction run over, in the order that was written."""
    return tuple(dict.fromkeys([iname for node in insn.reductions for iname in node.inames]))


def work_of_all(kernel: Kernel, family: Family, sizes: Mapping[str, SupportsIndex]) -> Work:
    """Return what there is to do for nests, one after the other.

    Raises:
        MissingArgument: if a size is missing.
        NotCountable: if data decides how much there is to do.
    """
    plain = kernel.expanded
    works = [
        work_of(plain, [plain.instruction(name) for name in nest.ids], nest.reduced, sizes)
        for nest in family
    ]
    return Work(
        works[0].results,
        max(work.length for work in works),
        sum(work.read for work in works),
        max(work.width for work in works),
        all(work.along for work in works),
        max(work.values for work in works),
        sum(work.operations for work in works),
    )


def scan_in(kernel: Kernel, family: Family, sizes: Mapping[str, SupportsIndex]) -> str | None:
    """Return the instruction that is a scan: its range grows from one result to the next.

    That takes linear work in a loop, and quadratic work where results are computed by themselves.
    """
    plain = kernel.expanded
    for name in names_of(family):
        insn = plain.instruction(name)
        around = insn.within_inames
        for node in insn.reductions:
            if around.isdisjoint(walk.free_variables(node.operand)) and around:
                together, alone = around.union(node.inames), frozenset(node.inames)
                counts = [points(plain, inames, sizes) for inames in (together, around, alone)]
                if counts[0] != counts[1] * counts[2]:
                    return name
    return None


def names_of(nests: Sequence[Nest]) -> list[str]:
    """Return the ids of all instructions of some nests."""
    return [name for nest in nests for name in nest.ids]
