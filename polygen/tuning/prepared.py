"""What comes before reductions are shared: what is done along with them, and in the same loops."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import SupportsIndex

from polygen.errors import (
    CannotProve,
    IllegalStep,
    NotCountable,
    ProducerNeeded,
    SeveralLaunches,
    UserError,
)
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.transforms.fuse_reductions import fuse_reductions
from polygen.transforms.propagate_reduction import propagate_reduction
from polygen.tuning.nests import reduced_by
from polygen.tuning.work import Work, points, work_of


def with_producers(kernel: Kernel, ids: Sequence[str]) -> Kernel:
    """Return the kernel in which reductions compute what they read, where that can be.

    What something else needs, too, stays in memory.
    """
    for name in ids:
        try:
            kernel = propagate_reduction(kernel, name)
        except (CannotProve, IllegalStep, ProducerNeeded):
            continue
    return kernel


def in_the_same_loops(
    kernel: Kernel, sizes: Mapping[str, SupportsIndex], *, alike: bool = True
) -> Kernel:
    """Return the kernel with loops in common for what uses results of rows, or reduces alike.

    What needs results of many groups is left in loops of its own.

    Parameters:
        kernel: the kernel.
        sizes: what to expect of sizes that are not numbers.
        alike: whether what reduces alike, but is not needed, gets them, too.
    """
    order = [insn.id for insn in kernel.assignments]
    for place, first in enumerate(order):
        for other in order[place + 1 :]:
            if _belong_together(kernel, first, other, sizes, alike=alike):
                kernel = _fused(kernel, first, other)
    return kernel


def _belong_together(
    kernel: Kernel, first: str, other: str, sizes: Mapping[str, SupportsIndex], *, alike: bool
) -> bool:
    """Tell whether an instruction should be in the loops of a reduction, and is not."""
    plain = kernel.expanded
    one, two = plain.instruction(first), plain.instruction(other)
    if not one.reductions or _share_loops(one, two):
        return False
    work = _work(plain, one, sizes)
    if not two.read_names.isdisjoint(one.written_names):
        is_row = work is not None and work.along and work.results > 1
        return is_row and (bool(two.reductions) or _goes_along(plain, one, two, sizes))
    if work is None or not two.reductions or not alike:
        return False
    theirs = _work(plain, two, sizes)
    return theirs is not None and _shape(work) == _shape(theirs)


def _goes_along(
    kernel: Kernel, one: Instruction, two: Instruction, sizes: Mapping[str, SupportsIndex]
) -> bool:
    """Tell whether an instruction does something for each result, or for each element of rows."""
    if len(two.within_inames) == len(one.within_inames):
        return True
    try:
        whole = points(kernel, one.within_inames | one.reduction_inames, sizes)
        return len(one.reduction_inames) == 1 and points(kernel, two.within_inames, sizes) == whole
    except NotCountable:
        return True


def _share_loops(one: Instruction, two: Instruction) -> bool:
    if one.within_inames:
        return one.within_inames <= two.within_inames
    return one.reduction_inames == two.reduction_inames


def _work(kernel: Kernel, insn: Instruction, sizes: Mapping[str, SupportsIndex]) -> Work | None:
    """Return what there is to do; None if data decides."""
    try:
        return work_of(kernel, [insn], reduced_by(insn), sizes)
    except NotCountable:
        return None


def _shape(work: Work) -> tuple[object, ...]:
    return work.results, work.length, work.along


def _fused(kernel: Kernel, first: str, other: str) -> Kernel:
    """Return the kernel with two instructions in one launch; as it is, if that cannot be."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", SeveralLaunches)
        try:
            return fuse_reductions(kernel, [f"id:{first}", f"id:{other}"])
        except (UserError, SeveralLaunches):
            return kernel
