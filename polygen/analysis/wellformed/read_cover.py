"""Checks that what is read of temporaries was written before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

import islpy as isl

from polygen.analysis.access.accesses import Access, loop_domain, touched
from polygen.analysis.access.domains import surrounding_inames
from polygen.analysis.access.storage_copies import axes
from polygen.analysis.dataflow.last_write import write_in_iteration
from polygen.analysis.integers.instance_wording import (
    shown_instance,
    shown_parameters,
    shown_places,
)
from polygen.analysis.integers.second_instance import OTHER
from polygen.analysis.pairs.automatic_spaces import reason
from polygen.analysis.pairs.instance_pairs import element_witness, users
from polygen.analysis.pairs.iteration_local import is_plainly_written, unwritten
from polygen.analysis.values.sound_accesses import Unchanged
from polygen.analysis.wellformed.obligations import (
    WRITTEN,
    Obligation,
    shown_element,
    shown_reference,
)
from polygen.errors import UninitializedRead
from polygen.ir.empty import NO_NAMES
from polygen.ir.kernel import Kernel
from polygen.ir.verify import excerpt


def check_cover(kernel: Kernel, known: Unchanged) -> Iterator[Obligation]:
    """Yield what has to hold for every read of a temporary to come after a write of it.

    Parameters:
        kernel: the kernel.
        known: what need not be looked at.

    Raises:
        UninitializedRead: if a read does not.
    """
    for temporary in kernel.temporaries:
        if temporary.read_only or temporary.name in known.variables:
            continue
        for insn_id in users(kernel, temporary.name):
            for access in touched(kernel, insn_id)[temporary.name]:
                if not access.is_write and not is_plainly_written(kernel, access):
                    yield from _check(kernel, access)


def _check(kernel: Kernel, read: Access) -> Iterator[Obligation]:
    if write_in_iteration(kernel, read) is not None or unwritten(kernel, read).is_empty():
        return
    inames = _bounded_within(kernel, read)
    written = bool(kernel.writers.get(read.name))  # if not, no data could help
    if read.exact or not written or (inames is not None and loop_domain(kernel, inames)[1]):
        left = unwritten(kernel, read, doubt=False)
        if not left.is_empty():
            _refuse(kernel, read, left, inames)
    what = read.name if read.reference is None else shown_reference(read.reference)
    references = () if read.reference is None else (read.reference,)
    what = f"{what} was written before it is read"
    yield Obligation(WRITTEN, (read.insn_id,), read.name, what, references)


def _bounded_within(kernel: Kernel, read: Access) -> frozenset[str] | None:
    """Return the inames around the loops that the variable bounds; None if the text reads it."""
    if read.reference is not None:
        return None
    insn = kernel.instruction(read.insn_id)
    bounded = [
        i
        for i in insn.within_inames | insn.reduction_inames
        if read.name in kernel.home_domains[i].parameters
    ]
    return NO_NAMES.union(*(surrounding_inames(kernel, i) for i in bounded))


def _refuse(kernel: Kernel, read: Access, left: isl.Set, inames: frozenset[str] | None) -> NoReturn:
    point, index = element_witness(left)
    element = shown_element(read.name, index)
    if inames is None:
        here = shown_instance(kernel, read.insn_id, point, OTHER, read.inames)
        story = f"{here} reads {element}, which nothing has written before"
    else:
        point = {
            n: v
            for n, v in point.items()
            if n.removesuffix(OTHER) not in kernel.inames or n.removesuffix(OTHER) in inames
        }
        here = shown_instance(kernel, read.insn_id, point, OTHER)
        story = f"{element} bounds a loop around {here}, and nothing has written it before"
    writers = [w.id for w in kernel.writers.get(read.name, ())]
    if any(axes(kernel, i, read.name) for i in (read.insn_id, *writers)):
        story += ": not in this copy"
    raise UninitializedRead(
        f"in kernel '{kernel.name}', {shown_parameters(kernel, point)}{story}"
        f"{reason(kernel, read.name)}",
        where=shown_places(kernel, read.insn_id, *writers),
        excerpt=excerpt(kernel, read.insn_id, *writers),
        remedy=f"give '{read.name}' a value first, in an instruction that '{read.insn_id}' "
        "depends on ({dep=...}), or let the loop start later",
    )
