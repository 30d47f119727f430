"""The outermost loops of a kernel, with what is in each: what loops carry is found in them, alone.

    for i: for j: a[i, j] = ...      position 0
    for k: b[k] = a[k, 0]            position 1
    s = b[0]                         position 2, no loop

All that is executed between two instances in one of them is in it, too.  Positions are those among
the outermost siblings of the statements that reductions become
(`polygen.analysis.order.reduction_statements.places`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polygen.analysis.access.accesses import Access, touched
from polygen.analysis.order.reduction_statements import places
from polygen.ir.instruction import Assigning
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel


@dataclass(frozen=True)
class _Nests:
    """Accesses in the outermost loops: by position, or by position and variable."""

    of_iname: Mapping[str, int]
    written: Mapping[int, Sequence[str]]
    accesses: Mapping[tuple[int, str], Sequence[Access]]
    writers: Mapping[tuple[int, str], Sequence[Assigning]]


def outermost_nests(kernel: Kernel) -> Sequence[int]:
    """Return the positions of outermost loops, and of instructions in none, that write.

    Raises:
        NoLoopNest, DependencyCycle: if no execution is permitted.
    """
    return tuple(_nests(kernel).written)


def nest_of(kernel: Kernel, iname: str) -> int | None:
    """Return the position of the outermost loop that the loop of an iname is in, or is.

    None if no instruction is in that loop.
    """
    return _nests(kernel).of_iname.get(iname)


def written_in(kernel: Kernel, nest: int) -> Sequence[str]:
    """Return the variables that are written in an outermost loop, in the order of `writers`."""
    return _nests(kernel).written.get(nest, ())


def accesses_in(kernel: Kernel, name: str, nest: int) -> Sequence[Access]:
    """Return the accesses of a variable in an outermost loop, in the order of instructions."""
    return _nests(kernel).accesses.get((nest, name), ())


def writers_in(kernel: Kernel, name: str, nest: int) -> Sequence[Assigning]:
    """Return the instructions in an outermost loop that write a variable."""
    return _nests(kernel).writers.get((nest, name), ())


@per_kernel
def _nests(kernel: Kernel) -> _Nests:
    place = places(kernel).of
    of_iname = {i: int(p[0]) for (_, inames), p in place.items() for i in inames if i in p}
    accesses: dict[tuple[int, str], list[Access]] = {}
    for insn in kernel.instructions:
        for name, found in touched(kernel, insn.id).items():
            for access in found:
                nest = int(place[insn.id, access.inames][0])
                accesses.setdefault((nest, name), []).append(access)
    written: dict[int, dict[str, None]] = {}
    writers: dict[tuple[int, str], dict[str, Assigning]] = {}
    for name, insns in kernel.writers.items():
        for insn in insns:
            nest = int(place[insn.id, insn.within_inames][0])
            written.setdefault(nest, {})[name] = None
            writers.setdefault((nest, name), {})[insn.id] = insn
    return _Nests(
        of_iname,
        {nest: tuple(names) for nest, names in written.items()},
        {key: tuple(found) for key, found in accesses.items()},
        {key: tuple(found.values()) for key, found in writers.items()},
    )
