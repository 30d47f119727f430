"""For which values of its inames an instruction is executed, and what those inames need.

All sets here are *flat* (see `polygen.ir.domain`): inames and parameters alike are parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

import islpy as isl

from polygen.errors import DomainCycle
from polygen.ir.array import TemporaryVariable
from polygen.ir.domain import Domain, intersection, project_out, universe
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import by_parts, per_kernel


def _needs(kernel: Kernel, domain: Domain) -> frozenset[str]:
    """Return the inames that must be known before `domain` is: they surround its loops."""
    found: set[str] = set()
    for name in domain.parameters:
        if name in kernel.home_domains:
            found.add(name)
        elif isinstance(kernel.variables.get(name), TemporaryVariable):
            for writer in kernel.writers.get(name, ()):
                found |= writer.within_inames
    return frozenset(found)


@per_kernel
def surrounding_inames(kernel: Kernel, iname: str) -> frozenset[str]:
    """Return the inames whose loops must be outside of `iname`'s.

    Those that its domain mentions, those of the instructions that compute a scalar that its
    domain mentions, and what these need in turn.

    Raises:
        DomainCycle: if `iname` would have to surround itself.
    """
    found: set[str] = set()
    pending = [kernel.home_domains[iname]]
    while pending:
        new = _needs(kernel, pending.pop()) - found
        found |= new
        pending += [kernel.home_domains[other] for other in sorted(new)]
    if iname in found:
        raise DomainCycle(
            f"the domain of '{iname}' needs, through others, '{iname}' itself",
            where=kernel.location,
            excerpt="\n".join(str(d) for d in kernel.domains),
            remedy="write the bounds of at least one of these domains without the other's inames",
        )
    return frozenset(found)


def with_surrounding(kernel: Kernel, inames: Iterable[str]) -> frozenset[str]:
    """Return `inames` and all inames whose loops must be outside of theirs."""
    names = frozenset(inames)
    return names.union(*[surrounding_inames(kernel, i) for i in names])


@per_kernel
def domain_of(kernel: Kernel, inames: frozenset[str]) -> isl.Set:
    """Return the values of `inames` together: the projection of the loop domains onto them.

    A domain that has none of the inames does not matter.
    """
    domains = homes(kernel, inames)
    return by_parts(kernel, (domain_of, domains, inames), lambda: _projection(domains, inames))


def homes(kernel: Kernel, inames: frozenset[str]) -> tuple[Domain, ...]:
    """Return the domains of inames, in the order of the kernel."""
    number = kernel.numbers_of_domains
    found = {number[iname] for iname in inames if iname in number}
    return tuple([kernel.domains[n] for n in sorted(found)])


def _projection(domains: Sequence[Domain], inames: frozenset[str]) -> isl.Set:
    if not domains:
        return universe()
    result = reduce(intersection, [d.flat for d in domains])
    others = [i for d in domains for i in d.inames if i not in inames]
    # A redundant bound, such as j < 16 beside j <= i <= 15, would count as one of the loop's.
    return project_out(result, others).remove_redundancies()


def domain_temporaries(kernel: Kernel, inames: Iterable[str]) -> frozenset[str]:
    """Return the temporaries that the domains of `inames` mention."""
    if not kernel.temporaries:
        return frozenset()
    homes = {id(d): d for d in [kernel.home_domains[i] for i in inames]}
    return frozenset(
        [
            name
            for domain in homes.values()
            for name in domain.parameters
            if isinstance(kernel.variables.get(name), TemporaryVariable)
        ]
    )


def all_reads(kernel: Kernel, insn: Instruction) -> frozenset[str]:
    """Return every name whose value `insn` depends on, through the bounds of its loops too."""
    around = insn.within_inames | insn.reduction_inames
    return insn.read_names | domain_temporaries(kernel, around)
