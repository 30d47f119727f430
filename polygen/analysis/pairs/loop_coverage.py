"""Loops as long as data says that certainly run as far as others do.

Where a reader is executed, so is a writer

- in the same iteration of the same loops, and of those in which what bounds them is another, or
- in other loops that the same scalars bound, where these have the same values.
"""

from __future__ import annotations

from functools import reduce

import islpy as isl

from polygen.analysis.access.accesses import Access, touched
from polygen.analysis.access.domains import domain_of, domain_temporaries, with_surrounding
from polygen.analysis.order.access_times import moments
from polygen.analysis.pairs.instance_pairs import equal, renamed
from polygen.ir.domain import flat_names, project_out, universe
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel


def in_reach(kernel: Kernel, writer: Instruction, written: Access, read: Access) -> isl.Set | None:
    """Return the pairs of which the first is executed if the second is; None if none are known.

    Parameters:
        kernel: the kernel.
        writer: an instruction.
        written: what it writes.
        read: what another one reads.
    """
    bounded = [i for i in writer.within_inames if _is_by_data(kernel, i)]
    if not bounded:
        return universe()
    found: list[isl.Set] = []
    same = with_surrounding(kernel, bounded)
    # Those of a reduction, too, stand for one loop with whatever else is within them.
    if same <= writer.within_inames & read.inames:
        found.append(reduce(isl.Set.intersect, map(equal, sorted(same))))
    others = _given_the_same(kernel, writer, written, read)
    if others is not None:
        found.append(others)
    return reduce(isl.Set.union, found) if found else None


def _given_the_same(
    kernel: Kernel, writer: Instruction, written: Access, read: Access
) -> isl.Set | None:
    """Return the pairs of which the first is executed if the second is, whatever bounds both."""
    there = domain_of(kernel, writer.within_inames)
    here = renamed(domain_of(kernel, read.inames), kernel.inames)
    same: set[str] = set()
    for name in (n for n in flat_names(there) if n in kernel.writers):
        inames = of_one_value(kernel, name, written, read)
        if inames is None or not inames <= writer.within_inames & read.inames:
            return None
        same |= inames
    missing = here.subtract(there)
    missing = project_out(missing, [n for n in flat_names(missing) if n in kernel.writers])
    return reduce(isl.Set.intersect, map(equal, sorted(same)), missing.complement())


def of_one_value(kernel: Kernel, name: str, first: Access, second: Access) -> frozenset[str] | None:
    """Return the inames in one iteration of which a scalar has one value at both; None if none."""
    writer, *others = kernel.writers[name]
    if others:
        return None
    (write,) = (a for a in touched(kernel, writer.id)[name] if a.is_write)
    order = moments(kernel)
    if not (order.depends(write, first) and order.depends(write, second)):
        return None  # one of the loops may be before it
    return writer.within_inames


@per_kernel
def _is_by_data(kernel: Kernel, iname: str) -> bool:
    return bool(domain_temporaries(kernel, with_surrounding(kernel, (iname,))))
