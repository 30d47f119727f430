"""`polygen.remove_unused_inames`."""

from __future__ import annotations

from polygen.ir import walk
from polygen.ir.domain import Domain, project_out, unflatten
from polygen.ir.kernel import Kernel
from polygen.transformation import Inames, to_names, transformation


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
    gone = set(kernel.inames if inames is None else to_names(inames)) - _used(kernel)
    while needed := gone & _in_bounds(kernel, gone):
        gone -= needed
    if not gone:
        return kernel
    return kernel.copy(
        domains=tuple(_without(d, gone) for d in kernel.domains if not gone.issuperset(d.inames)),
        tags={i: tag for i, tag in kernel.tags.items() if i not in gone},
        priorities=_priorities(kernel, gone),
    )


def _used(kernel: Kernel) -> set[str]:
    """Return the inames of instructions, and those of reductions, in rules that wait, too."""
    insns = (*kernel.instructions, *kernel.expanded.instructions)
    used = {i for insn in insns for i in insn.within_inames | insn.reduction_inames}
    return used.union(*(walk.reduction_inames(rule.expression) for rule in kernel.substitutions))


def _in_bounds(kernel: Kernel, gone: set[str]) -> set[str]:
    """Return the names that bounds of inames mention which stay."""
    return {p for d in kernel.domains if not gone.issuperset(d.inames) for p in d.parameters}


def _without(domain: Domain, gone: set[str]) -> Domain:
    if gone.isdisjoint(domain.inames):
        return domain
    rest = unflatten(project_out(domain.flat, gone), [i for i in domain.inames if i not in gone])
    return Domain(rest.coalesce().drop_unused_params())


def _priorities(kernel: Kernel, gone: set[str]) -> tuple[tuple[str, ...], ...]:
    """Return the priorities among the inames that stay."""
    left = (tuple([i for i in p if i not in gone]) for p in kernel.priorities)
    return tuple(dict.fromkeys(p for p in left if len(p) > 1))
