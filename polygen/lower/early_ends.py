"""Loops that end where a flag is 0: what is asked before an iteration.

All instructions in such a loop ask the flag, and what clears it is in the loop (`ir/loop_flags`):

    for t in [0, t_end):                     for t in [0, t_end), while t_runs:
        if t_runs:                    as         if t_runs:
            t_runs = x[t % n] > 0                    t_runs = x[t % n] > 0

So a loop needs no end besides.  Within a launch, a work item asks its own flag; on the host, a flag
in global memory is read.
"""

from __future__ import annotations

import islpy as isl

from polygen.analysis.order.loop_tree import LoopNode, assignments
from polygen.analysis.pairs.iteration_local import apart, passes_nothing
from polygen.errors import EndNotUniform
from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace
from polygen.ir.domain import project_out, unflatten
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.loop_flags import may_end, unasked
from polygen.ir.sizes import open_ends
from polygen.ir.verify import excerpt


def runs_in_launch(kernel: Kernel, node: LoopNode, *, alone: bool) -> Expression | None:
    """Return what a loop in a launch asks before each iteration; None if nothing.

    Parameters:
        kernel: the kernel.
        node: the loop; no work items meet in it.
        alone: whether the launch has one work item.

    Raises:
        EndNotUniform: if it has no other end, and work items share what ends it.
    """
    flags = _flags(kernel, node)
    private = AddressSpace.PRIVATE
    own = [name for name in flags if alone or kernel.address_space(name) is private]
    if own:
        return _all(own)
    check_bounded(kernel, node)
    return None


def runs_on_host(kernel: Kernel, node: LoopNode) -> Expression | None:
    """Return what a loop on the host asks before an iteration; None if nothing."""
    flags = _flags(kernel, node)
    shared = [name for name in flags if kernel.address_space(name) is AddressSpace.GLOBAL]
    return _all(shared) if shared else None


def _flags(kernel: Kernel, node: LoopNode) -> tuple[str, ...]:
    """Return the flags that end a loop."""
    inside = tuple(assignments((node,)))
    flags = may_end(kernel, inside)
    first, *others = [insn.within_inames for insn in inside]
    around = first.intersection(*others)
    for name in unasked(inside, flags):
        loops = apart(kernel, name, around)
        if node.iname not in loops or not passes_nothing(kernel, name, loops):
            return ()
    return flags


def _all(flags: list[str]) -> Expression:
    found = [ex.Variable(name) for name in flags]
    return found[0] if len(found) == 1 else ex.LogicalAnd(tuple(found))


def check_bounded(kernel: Kernel, node: LoopNode) -> None:
    """Check that a loop in a launch which does not ask a flag has an end nevertheless.

    Raises:
        EndNotUniform: if it has none.
    """
    if not _is_endless(kernel, node.iname):
        return
    inside = list(assignments((node,)))
    raise EndNotUniform(
        f"a condition ends the loop of '{node.iname}', within a launch, and work items or lanes "
        "share it, or wait for each other in the loop",
        where=inside[0].location,
        excerpt=excerpt(kernel, *(insn.id for insn in inside)),
        remedy="let the whole grid wait in the loop, so that it runs on the host ('... gbarrier' "
        "in it does that), or give each work item a condition and temporaries of its own",
    )


def _is_endless(kernel: Kernel, iname: str) -> bool:
    """Tell whether a loop has no bound but an open end."""
    ends, domain = open_ends(kernel.derived_sizes), kernel.home_domains[iname]
    if ends.isdisjoint(domain.parameters):
        return False
    values = unflatten(project_out(domain.flat, ends), domain.inames).remove_divs()
    return not values.dim_has_upper_bound(isl.dim_type.set, domain.inames.index(iname))
