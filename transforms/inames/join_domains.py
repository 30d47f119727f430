"""`polygen.join_domains`."""

from __future__ import annotations

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.ir.domain import Domain, project_out, unflatten
from polygen.ir.kernel import Kernel
from polygen.proof import Rearranged
from polygen.transformation import Inames, to_names, transformation


@transformation
def join_domains(kernel: Kernel, inames: Inames) -> Rearranged:
    """Make one domain of those of several inames, so that their loops may be nested in any order.

    Where the bounds of one loop mention another, that one is outside.  In one domain, bounds follow
    from the order: of ``0<=j<n`` and ``j<=i<n``, ``i`` may be outside, and ``j`` then runs up to
    ``i``.

    Kind: order and storage.

    Requires:
        1. Each instruction is executed for the same values as before.  An instruction that is
           within only some of the inames would lose those for which another loop is empty.

    Parameters:
        inames: ``"i, j"``, or a sequence.  Domains keep their other inames.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     ["{ [j]: 0<=j<n }", "{ [i]: j<=i<n }"], "b[i,j] = 2*a[i,j]", name="triangle"
        ... )
        >>> knl = pg.join_domains(pg.add_dtypes(knl, {"a": "float32"}), "i, j")
        >>> print(pg.generate_code(pg.prioritize_loops(knl, "i, j"), "c"))
        void triangle(float const *restrict a, float *restrict b, int const n)
        {
            for (int i = 0; i < n; ++i) {
                for (int j = 0; j <= i; ++j)
                    b[i * n + j] = 2.0f * a[i * n + j];
            }
        }

    Raises:
        UnknownIname: if the kernel has no such iname.
        NotTheSame: if 1 does not hold.
        DomainCycle: if bounds of one of the inames need that of a loop that needs another one.
    """
    names = tuple(dict.fromkeys(to_names(inames)))
    homes = list(dict.fromkeys([kernel.home_domains[name] for name in names]))
    if len(homes) == 1:
        return Rearranged(kernel)
    all_around = with_surrounding(kernel, [i for domain in homes for i in domain.inames])
    outer = domain_of(kernel, all_around - frozenset(names))
    points = domain_of(kernel, all_around).gist(outer).drop_unused_params()
    joined = Domain(unflatten(points, names))
    domains: list[Domain] = []
    for domain in kernel.domains:
        left = tuple([iname for iname in domain.inames if iname not in names])
        if domain not in homes:
            domains.append(domain)
        elif left:
            rest = project_out(domain.flat, [i for i in domain.inames if i in names])
            domains.append(Domain(unflatten(rest, left)))
        if domain is homes[-1]:
            domains.append(joined)
    return Rearranged(kernel.copy(domains=tuple(domains)))
