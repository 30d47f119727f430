"""`polygen.order_sums`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from polygen.errors import NotOptimized, TypeNotFound, UserError
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.language.within import matching
from polygen.source import warn
from polygen.tuning.sum_orders import orders_of, reducing
from polygen.tuning.sums_along_memory import in_order, in_rows


@public
def order_sums(kernel: Kernel, within: str | None = None) -> Kernel:
    r"""Reduce in the order in which memory is walked.

    For each reduction, the innermost loop is the one that walks along most of what is read:

    - ``c[i,j] = sum(k, a[i,k]*b[k,j])`` reads rows of ``b``, and adds each to a row of results:
      ``k`` is outside of ``j``.  So does ``s[j] = sum(i, a[i,j])``.  A block of results stays in
      the first-level cache, and several rows are added to it at once.
    - Of ``s[0] = sum((i,j), a[j,i])``, ``j`` is outside.
    - A sum along memory, such as ``y[i] = sum(j, a[i,j]*x[j])``, becomes one of blocks: these are
      added up in vectors, and few numbers in a row, so that it is as exact as NumPy's.  For a
      kernel whose target is C, and lengths that are numbers, each lane of some vectors has a part.

    All these are ordinary steps, proved one by one, and in the kernel's history.  Order is kept
    where it counts: without leave to reassociate (`set_options`), results are the same bit by bit.

    Parameters:
        kernel: the kernel; the types of its inputs are known.
        within: the instructions, as a query; all if not given.

    Returns:
        The kernel; the same one if nothing is gained.  Scans, and reductions that are shared by
        work items or lanes, are left as they are.  What is left because a step is refused, the
        warning `NotOptimized` tells, with the reason.

    Raises:
        NothingMatches, UnknownInstruction: if `within` means no instruction.
        TypeNotFound: if the type of an input is not known.

    >>> import polygen as pg
    >>> knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<512 }", "s[j] = max(i, a[i,j])  {id=s}")
    >>> knl = pg.order_sums(pg.add_dtypes(knl, {"a": "float32"}))
    >>> [(t.name, t.shape) for t in knl.temporaries], sorted(knl.inames)
    ([('acc_i_several_i_near', (512,))], ['i_near', 'i_several', 'j', 'j_add', 'j_start'])
    """
    return _ordered(kernel, [insn.id for insn in matching(kernel, within)])


def _ordered(kernel: Kernel, insn_ids: Sequence[str]) -> Kernel:
    """Return the kernel with the reductions of instructions in order, inner ones as well."""
    pending = _together(kernel, insn_ids)
    while pending:
        ids = pending.pop(0)
        known = set(kernel.instructions_by_id)
        kernel, left = _with_orders(kernel, ids)
        pending = [*left, *pending]
        pending += _together(kernel, [i for i in kernel.instructions_by_id if i not in known])
    return kernel


def _together(kernel: Kernel, insn_ids: Sequence[str]) -> list[list[str]]:
    """Return the instructions whose reductions have the same loops, and should have the same."""
    plain, found = kernel.expanded, dict[Hashable, list[str]]()
    for name in reducing(kernel, insn_ids):
        insn = plain.instruction(name)
        orders = orders_of(plain, insn)
        if orders:
            found.setdefault((insn.within_inames, *orders), []).append(name)
    return list(found.values())


def _with_orders(kernel: Kernel, ids: list[str]) -> tuple[Kernel, list[list[str]]]:
    """Return the kernel with some instructions in order, and those that are left to do."""
    plain = kernel.expanded
    orders = orders_of(plain, plain.instruction(ids[0]))
    try:
        new = kernel
        for order in [order for order in orders if not order.is_across]:
            new = in_order(new, ids, order, is_alone=len(orders) == 1)
        across = [order for order in orders if order.is_across]
        return (in_rows(new, ids, across) if across else new), []
    except TypeNotFound:
        raise
    except UserError as error:
        if len(ids) > 1:
            return kernel, [[name] for name in ids]
        if NotOptimized.__name__ not in kernel.options.silenced_warnings:
            what = f"kernel '{kernel.name}': '{ids[0]}' is left as it is: {error.what}"
            warn(NotOptimized(what))
        return kernel, []
