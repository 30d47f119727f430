"""Checks that the assignees of one instruction, which are written at once, are different."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from itertools import combinations

import islpy as isl

from polygen.analysis.access.accesses import Access, access_of, references
from polygen.analysis.dataflow.read_sources import overlapping
from polygen.analysis.integers.instance_wording import shown_instance, shown_parameters
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.pairs.constant_distances import distances
from polygen.analysis.pairs.instance_pairs import conflict, witness
from polygen.analysis.pairs.unordered_pairs import Loose
from polygen.analysis.wellformed.obligations import ORDERED, Obligation, shown_reference
from polygen.errors import WrittenTwice
from polygen.ir.kernel import Kernel
from polygen.ir.verify import excerpt


def check_at_once(kernel: Kernel, insn_id: str) -> Iterator[Obligation]:
    """Yield what has to hold for the assignees of an instruction to be different elements.

    Raises:
        WrittenTwice: if two of them are one.
    """
    insn = kernel.instruction(insn_id)
    written = [access_of(kernel, r) for r in references(insn) if r.is_write]
    same = Loose(tuple(sorted(insn.within_inames)))
    for a, b in combinations(written, 2):
        if b.name in overlapping(kernel, a.name):
            yield from _check(kernel, a, b, same)


def _check(kernel: Kernel, a: Access, b: Access, same: Loose) -> Iterator[Obligation]:
    nothing: Mapping[str, int] = {}
    known = distances(kernel, a, b) if a.name == b.name else nothing
    if known is None or any(known.values()):
        return
    found = conflict(kernel, a, b)
    pairs = reduce(isl.Set.intersect, [same.pairs, known_parameters(kernel)], found.pairs)
    if pairs.is_empty():
        return
    assert a.reference is not None  # the text says what is written
    assert b.reference is not None
    first, second = shown_reference(a.reference), shown_reference(b.reference)
    if found.certain:
        point = witness(pairs)
        raise WrittenTwice(
            f"in kernel '{kernel.name}', {shown_parameters(kernel, point)}"
            f"{shown_instance(kernel, a.insn_id, point)} writes one element twice at once, as "
            f"{first} and as {second}",
            where=kernel.instruction(a.insn_id).location,
            excerpt=excerpt(kernel, a.insn_id),
            remedy="write two instructions, one of which depends on the other",
        )
    what = f"{first} and {second} are never one element in the same instance"
    references_ = (a.reference, b.reference)
    yield Obligation(ORDERED, (a.insn_id,), a.name, what, references_, loose=same)
