"""Whether any execution of a kernel is permitted at all."""

from __future__ import annotations

from polygen.analysis.order import order_of
from polygen.analysis.realized import places
from polygen.errors import DependencyCycle, DomainCycle, GroupsInterleaved, NoLoopNest, UserError
from polygen.ir.kernel import Kernel
from polygen.ir.verify import excerpt


def why_none_is_permitted(kernel: Kernel) -> UserError | None:
    """Return the error that says why no order of a kernel's instances is permitted, or None."""
    try:
        order_of(kernel)
    except (DependencyCycle, DomainCycle, GroupsInterleaved, NoLoopNest) as error:
        return error
    kernel = kernel.expanded
    reducing = [insn.id for insn in kernel.instructions if insn.reduction_inames]
    if not reducing:
        return None
    try:
        places(kernel)
    except NoLoopNest:
        what = "no loop nest has one loop an iname, those of reductions included"
        return NoLoopNest(what, excerpt=excerpt(kernel, *reducing))
    except DependencyCycle:
        what = "a reduction would have to run in a loop, and before or after it"
        return DependencyCycle(what, excerpt=excerpt(kernel, *reducing))
    return None
