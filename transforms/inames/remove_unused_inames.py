"""`polygen.remove_unused_inames`."""

from __future__ import annotations

from polygen.analysis.order.empty_loops import used_inames
from polygen.ir.kernel import Kernel
from polygen.transformation import Inames, to_names, transformation
from polygen.transforms.inames.unused_inames import domains_without, priorities_among, unneeded


@transformation
def remove_unused_inames(kernel: Kernel, inames: Inames | None = None) -> Kernel:
    """Leave out inames that no instruction is within, and no reduction is over.

    What they say of other inames in their domain is still true of these.  An iname that is used
    stays, also if it is named here; so does one that the bounds of an iname that stays mention.

    Kind: order and storage.

    Parameters:
        inames: ``"i"``, ``"i, j"``, or a sequence: which of the unused ones; all if not given.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i,j]: 0<=i<n and i<=j<m }", "out[i] = 2*a[i]")
        >>> print(*knl.domains)
        [m, n] -> { [i, j] : 0 <= i < n and i <= j < m }
        >>> print(*pg.remove_unused_inames(knl).domains)
        [m, n] -> { [i] : 0 <= i < n and i < m }

    Raises:
        UnknownIname: if the kernel has no such iname.
        InvalidArgument: if `inames` is something else.

    Source: Loo.py's transformation of this name.
    """
    idle = set(kernel.inames if inames is None else to_names(inames)) - used_inames(kernel)
    gone = unneeded(kernel.domains, idle)
    if not gone:
        return kernel
    kept = frozenset(kernel.inames) - gone
    return kernel.copy(
        domains=domains_without(kernel.domains, gone),
        tags={i: tag for i, tag in kernel.tags.items() if i in kept},
        priorities=priorities_among(kernel.priorities, kept),
    )
