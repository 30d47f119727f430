"""Removes inames without instructions from domains and priorities."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from polygen.ir.domain import Domain, project_out, unflatten


def unneeded(domains: Sequence[Domain], idle: Iterable[str]) -> frozenset[str]:
    """Return those of some inames that no bounds of others mention."""
    gone = frozenset(idle)
    while needed := gone.intersection(
        p for d in domains if not gone.issuperset(d.inames) for p in d.parameters
    ):
        gone -= needed
    return gone


def domains_without(domains: Iterable[Domain], gone: frozenset[str]) -> tuple[Domain, ...]:
    """Return domains without some inames; what these say of others still holds."""
    return tuple([_without(d, gone) for d in domains if not gone.issuperset(d.inames)])


def _without(domain: Domain, gone: frozenset[str]) -> Domain:
    if gone.isdisjoint(domain.inames):
        return domain
    rest = unflatten(project_out(domain.flat, gone), [i for i in domain.inames if i not in gone])
    return Domain(rest.coalesce().drop_unused_params())


def priorities_among(
    priorities: Iterable[Iterable[str]], kept: Container[str]
) -> tuple[tuple[str, ...], ...]:
    """Return what priorities say of the inames that stay."""
    left = (tuple([iname for iname in p if iname in kept]) for p in priorities)
    return tuple(dict.fromkeys(p for p in left if len(p) > 1))
