"""Suggests claims about data that would allow what cannot be proved."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from polygen.analysis.access.accesses import Access, touched
from polygen.analysis.integers.known_facts import is_never_written
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import GlobalArg
from polygen.ir.claims import Claim, Independent, Injective
from polygen.ir.kernel import Kernel


def sufficient_claims(kernel: Kernel, suffices: Callable[[tuple[Claim, ...]], bool]) -> list[Claim]:
    """Return claims with which something can be proved; none, if no claims are found.

    Parameters:
        kernel: the kernel.
        suffices: tells whether some claims do.
    """
    tables = [Injective(name) for name in _tables(kernel)]
    every: tuple[Claim, ...] = (*tables, *_pairs(kernel))
    return _fewest((), every, suffices) if every and suffices(every) else []


def _fewest(
    known: tuple[Claim, ...],
    claims: tuple[Claim, ...],
    suffices: Callable[[tuple[Claim, ...]], bool],
) -> list[Claim]:
    """Return claims of which none can be left out; together with those known, they suffice.

    Of those that do, the first ones are kept: they say least.  Half of them are looked at, given
    the other half, and then that: QuickXplain (Junker, AAAI 2004).
    """
    if known and suffices(known):
        return []
    if len(claims) == 1:
        return list(claims)
    middle = (len(claims) + 1) // 2
    second = _fewest((*known, *claims[:middle]), claims[middle:], suffices)
    first = _fewest((*known, *second), claims[:middle], suffices)
    return [*first, *second]


def _tables(kernel: Kernel) -> list[str]:
    """Return the arguments that subscripts are read from."""
    found: dict[str, None] = {}
    for access in _in_doubt(kernel):
        for subscript in () if access.reference is None else access.reference.index:
            for node in walk.subexpressions(subscript):
                if not isinstance(node, ex.Subscript):
                    continue
                name = ex.name_of(node)
                is_argument = isinstance(kernel.variables.get(name), GlobalArg)
                if is_argument and is_never_written(kernel, name):
                    found[name] = None
    return list(found)


def _pairs(kernel: Kernel) -> list[Independent]:
    """Return pairs of instructions that touch one variable, one writing, and data says where."""
    overlapping = any(isinstance(a, GlobalArg) and a.may_alias for a in kernel.arguments)
    doubted = {access.name for access in _in_doubt(kernel)}
    found: dict[Independent, None] = {}
    for number, first in enumerate(kernel.instructions):
        for second in kernel.instructions[number:]:
            names = touched(kernel, first.id).keys() & touched(kernel, second.id).keys()
            written = names & doubted & {*first.written_names, *second.written_names}
            if written or overlapping:
                found[Independent(first.id, second.id)] = None
    return list(found)


def _in_doubt(kernel: Kernel) -> Iterator[Access]:
    for insn in kernel.instructions:
        for accesses in touched(kernel, insn.id).values():
            yield from (access for access in accesses if not access.exact)
