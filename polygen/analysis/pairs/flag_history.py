"""Flags of loops that were set at an earlier instance, since they are set at a later one.

    t_runs = 1
    for t
        x = f(t)  {if=t_runs}
        t_runs = if(t_runs and not x < 0, 1, 0)
        y = g(x)  {if=t_runs}

Whatever writes ``t_runs`` in the loop leaves 0 as it is.  So where ``y`` is computed, ``x`` was, in
the same iteration and in all before.
"""

from __future__ import annotations

from polygen.analysis.access.accesses import Access, touched
from polygen.analysis.order.access_times import moments
from polygen.ir import expression as ex
from polygen.ir.array import TemporaryVariable
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.loop_flags import asks
from polygen.ir.tags import is_parallel


def set_since(
    kernel: Kernel, condition: Expression, first: Access, second: Access
) -> frozenset[str] | None:
    """Return the inames in one iteration of which a flag was set at the first of two accesses.

    It is so if the flag is set at the second access, and the first comes before.

    Parameters:
        kernel: the kernel.
        condition: what both ask.
        first: the earlier access.
        second: the later access.

    Returns:
        None if the condition is no such flag.
    """
    if not isinstance(condition, ex.Variable):
        return None
    name = condition.name
    variable = kernel.variables.get(name)
    if not isinstance(variable, TemporaryVariable) or variable.shape or variable.read_only:
        return None
    order, found = moments(kernel), NO_NAMES
    for writer in kernel.writers.get(name, ()):
        if asks(writer, name):
            # Who has a copy of its own sees what the same work item wrote.
            found |= {i for i in writer.within_inames if is_parallel(kernel.tags.get(i))}
            continue
        found |= writer.within_inames  # it sets the flag once in an iteration of these
        for write in touched(kernel, writer.id)[name]:
            if write.is_write and not order.depends(write, first):
                return None
    return found if found <= first.inames & second.inames else None
