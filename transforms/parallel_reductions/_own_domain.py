"""A domain of its own for an iname whose bounds need no other iname."""

from __future__ import annotations

from polygen.ir.domain import Domain, project_out, unflatten
from polygen.ir.kernel import Kernel
from polygen.proof import Rearranged
from polygen.transformation import Iname, transformation


@transformation
def with_own_domain(kernel: Kernel, iname: Iname) -> Rearranged:
    """Take an iname out of a domain that it shares with others, if it can have any value there."""
    home = kernel.home_domains[iname]
    others = [i for i in home.inames if i != iname]
    if not others:
        return Rearranged(kernel)
    alone, rest = project_out(home.flat, others), project_out(home.flat, [iname])
    if not alone.intersect(rest).is_equal(home.flat):
        return Rearranged(kernel)
    parts = [
        Domain(unflatten(rest, others).drop_unused_params()),
        Domain(unflatten(alone, [iname]).drop_unused_params()),
    ]
    domains = [n for d in kernel.domains for n in (parts if d is home else [d])]
    return Rearranged(kernel.copy(domains=tuple(domains)))
