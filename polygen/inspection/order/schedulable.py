"""Finds a loop nest for a kernel, or the inames to duplicate if there is none."""

from __future__ import annotations

from collections.abc import Iterator

from polygen.analysis.dataflow.permitted_executions import why_none_is_permitted
from polygen.analysis.order.nestability import as_arguments, duplications, is_nestable
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.ir.tags import is_parallel


@public
def has_schedulable_iname_nesting(kernel: Kernel) -> bool:
    """Tell whether some nest has one loop an iname, in an order that dependencies agree with.

    Parameters:
        kernel: any kernel.

    >>> import polygen as pg
    >>> with pg.without_proofs():
    ...     knl = pg.make_kernel(
    ...         "{ [i,j,k]: 0<=i,j,k<n }", ["a[i,j] = 1", "b[j,k] = 1", "c[k,i] = 1"]
    ...     )
    >>> pg.has_schedulable_iname_nesting(knl)
    False
    >>> inames, within = next(pg.get_iname_duplication_options(knl))
    >>> inames, within
    ('i, j', 'id:insn')
    >>> pg.has_schedulable_iname_nesting(pg.duplicate_inames(knl, inames, within))
    True
    """
    return why_none_is_permitted(kernel) is None


@public
def get_iname_duplication_options(kernel: Kernel) -> Iterator[tuple[str, str]]:
    """Yield the arguments ``iname, within`` of `duplicate_inames` that let a loop nest exist.

    Where one iname is not enough, several are named, as in ``"i, j"``.  Nothing, if instructions
    share loops as they are.  What dependencies or bounds forbid is not looked at.

    Parameters:
        kernel: any kernel.

    >>> import polygen as pg
    >>> knl = pg.make_kernel("{ [i,j]: 0<=i,j<n }", "a[i,j] = 1")
    >>> list(pg.get_iname_duplication_options(knl))
    []
    """
    loops = {
        insn.id: frozenset(i for i in insn.within_inames if not is_parallel(kernel.tags.get(i)))
        for insn in kernel.instructions
    }
    if is_nestable(loops):
        return
    yield from map(as_arguments, duplications(loops))
