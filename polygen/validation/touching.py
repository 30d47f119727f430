"""Finds the variables that two works touch, and names instances of works."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from polygen.analysis.access.accesses import touched
from polygen.ir.array import GlobalArg
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel
from polygen.validation.faults import instance
from polygen.validation.works import Work


def touching(kernel: Kernel, first: str, second: str) -> Iterator[tuple[str, str | None]]:
    """Yield the variables that both instructions touch; of two that may overlap, both."""
    names, others = touched(kernel, first), touched(kernel, second)
    for name in names:
        if name in others:
            yield name, None
    if pairs := overlapping(kernel):
        for name, other in product(names, others):
            if (name, other) in pairs:
                yield name, other


@per_kernel
def overlapping(kernel: Kernel) -> frozenset[tuple[str, str]]:
    """Return the pairs of arrays that may overlap."""
    arrays = [a for a in kernel.arguments if isinstance(a, GlobalArg)]
    if not any(a.may_alias for a in arrays):
        return frozenset()
    pairs = product(arrays, arrays)
    return frozenset((a.name, b.name) for a, b in pairs if a != b and (a.may_alias or b.may_alias))


def described(kernel: Kernel, work: Work, point: Mapping[str, int], *, other: bool = False) -> str:
    """Return what an instance of a work is called; see `polygen.validation.faults.instance`."""
    named = work.origin.copy(within_inames=work.insn.within_inames)
    shown = instance(kernel, named, point, other=other)
    return shown if work.insn is work.origin else f"{shown} ({work.what})"
