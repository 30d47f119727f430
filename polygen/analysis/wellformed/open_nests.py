"""Checks that the result does not depend on the nesting, where the kernel leaves it open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

import islpy as isl

from polygen.analysis.access.accesses import touched
from polygen.analysis.dataflow.read_sources import Source, final_sources, sources
from polygen.analysis.integers.proving import limited_attempt
from polygen.analysis.order.loop_tree import loops_outside
from polygen.analysis.pairs.instance_pairs import users
from polygen.errors import ProofLimit
from polygen.ir.array import GlobalArg
from polygen.ir.kernel import Kernel

_MOST_LOOPS = 4  # 24 nests


def same_in_every_nest(kernel: Kernel, name: str, loops: Sequence[str]) -> bool:
    """Tell whether, however loops are nested, reads of a variable see what the same writes wrote.

    False says that it is not so, or that data decides, or that there are too many nests, or sets
    that are too complicated.

    Parameters:
        kernel: the kernel.
        name: the variable.
        loops: those around instructions that touch it, outermost first as they are now.
    """
    if len(loops) > _MOST_LOOPS:
        return False
    try:
        with limited_attempt():
            return _all_alike(kernel, name, loops)
    except ProofLimit:
        return False


def _all_alike(kernel: Kernel, name: str, loops: Sequence[str]) -> bool:
    first: list[dict[str | None, isl.Set]] | None = None
    for nested in _nests(kernel, loops):
        found = _flows(nested, name)
        if found is None:
            return False
        if first is None:
            first = found
        elif not all(_same(a, b) for a, b in zip(first, found, strict=True)):
            return False
    return True


def _nests(kernel: Kernel, loops: Sequence[str]) -> Iterator[Kernel]:
    outside = loops_outside(kernel)
    for order in permutations(loops):
        if not any(outer in outside[loop] for n, loop in enumerate(order) for outer in order[n:]):
            yield kernel.copy(priorities=(order, *kernel.priorities))


def _flows(kernel: Kernel, name: str) -> list[dict[str | None, isl.Set]] | None:
    """Return what each read of a variable sees, and what is left at the end."""
    found: list[dict[str | None, isl.Set]] = []
    for insn_id in users(kernel, name):
        for access in touched(kernel, insn_id)[name]:
            if access.is_write:
                continue
            flow = None if access.reference is None else sources(kernel, access.reference)
            if flow is None:
                return None
            found.append(_by_writer(flow))
    if isinstance(kernel.variables[name], GlobalArg):
        left = final_sources(kernel, name)
        if left is None:
            return None
        found.append(_by_writer(left))
    return found


def _by_writer(flow: Sequence[Source]) -> dict[str | None, isl.Set]:
    found: dict[str | None, isl.Set] = {}
    for source in flow:
        before = found.get(source.writer)
        found[source.writer] = source.pairs if before is None else before.union(source.pairs)
    return found


def _same(a: dict[str | None, isl.Set], b: dict[str | None, isl.Set]) -> bool:
    for writer in a.keys() | b.keys():
        if writer not in a or writer not in b:
            if not (a | b)[writer].is_empty():
                return False
        elif not a[writer].is_equal(b[writer]):
            return False
    return True
