"""Which claims about data could allow what cannot be proved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from polygen.analysis.access import Access, touched
from polygen.analysis.known import is_never_written
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import GlobalArg
from polygen.ir.claims import Claim, Independent, Injective
from polygen.ir.kernel import Kernel

_MOST_TRIALS = 12


def sufficient_claims(kernel: Kernel, suffices: Callable[[tuple[Claim, ...]], bool]) -> list[Claim]:
    """Return claims with which something can be proved; none, if no claims are found.

    Parameters:
        kernel: the kernel.
        suffices: tells whether some claims do.
    """
    for claims in islice(_candidates(kernel), _MOST_TRIALS):
        if suffices(claims):
            return _fewest(claims, suffices)
    return []


def _candidates(kernel: Kernel) -> Iterator[tuple[Claim, ...]]:
    """Yield sets of claims, those that say least first."""
    tables = [Injective(name) for name in _tables(kernel)]
    yield from ((table,) for table in tables)
    if len(tables) > 1:
        yield tuple(tables)
    pairs = tuple(_pairs(kernel))
    yield from ((pair,) for pair in pairs)
    yield (*tables, *pairs)


def _fewest(
    claims: tuple[Claim, ...], suffices: Callable[[tuple[Claim, ...]], bool]
) -> list[Claim]:
    """Leave out claims that are not needed: those about instructions rather than arrays."""
    needed = list(claims)
    if len(needed) > _MOST_TRIALS:
        return needed
    for claim in reversed(claims):
        fewer = [c for c in needed if c != claim]
        if fewer and suffices(tuple(fewer)):
            needed = fewer
    return needed


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
