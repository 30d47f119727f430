"""Finds instances of two instructions that certainly touch one element."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

import islpy as isl

from polygen.analysis.access.accesses import touched
from polygen.analysis.access.instance_map import UNMOVED
from polygen.analysis.access.storage_copies import same_copy
from polygen.analysis.integers.instance_wording import shown_conflict, shown_parameters
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.pairs.instance_pairs import conflicts, greater, less, witness
from polygen.ir.domain import universe
from polygen.ir.kernel import Kernel


def contradiction(kernel: Kernel, first: str, second: str) -> str | None:
    """Return two instances that touch one element for certain, one of them writing, as a text.

    Two instances of one instruction are different ones.  None if there are none.
    """
    for name in touched(kernel, first):
        copy = same_copy(kernel, (first, second), name, UNMOVED)
        for found in conflicts(kernel, first, second, name):
            if not (found.certain and copy.certain):
                continue
            known = [copy.possible, known_parameters(kernel)]
            pairs = reduce(isl.Set.intersect, known, found.pairs)
            for other in _different(kernel, first, second):
                if not (wrong := pairs.intersect(other)).is_empty():
                    point = witness(wrong)
                    story = shown_conflict(kernel, found.kind, name, (first, second), point)
                    return f"{shown_parameters(kernel, point)}{story}"
    return None


def _different(kernel: Kernel, first: str, second: str) -> Iterator[isl.Set]:
    if first != second:
        yield universe()
        return
    for iname in sorted(kernel.instruction(first).within_inames):
        yield less(iname)
        yield greater(iname)
