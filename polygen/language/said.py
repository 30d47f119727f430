"""Reads options of an instruction, and those of the blocks around it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self

from polygen.ir.expression import Expression


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition of a block that says whether an instruction in it is executed.

    Attributes:
        chain: which ``if`` it belongs to, with its ``elif`` and ``else``.
        condition: as written.
    """

    chain: int
    condition: Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Options, as written.

    Attributes:
        id: the id, or None.
        id_prefix: what a new id begins with, or None.
        dependencies: ids, or patterns of ids, that come before.
        dependency_queries: queries (`polygen.language.queries`) for others (``dep_query=``).
        exhaustive: whether these are all there are (``dep=*...``).
        related: ids, each with a text that says which of its instances come before which.
        no_sync: ids, or patterns of ids, each with a scope (``nosync=a@local``).
        no_sync_queries: queries, each with a scope (``nosync_query=reads:a@local``).
        inames: the inames that the instruction is within, or None if that was left open.
        more_inames: inames that it is within besides what is found (``+inames=``, ``for``).
        is_in_for: whether a ``for`` says which loops it is in: then it takes over none from the
            writers of what it reads.
        predicates: conditions: those of blocks, then those of ``if=``.
        guards: those of blocks, before they are negated for ``elif`` and ``else``.
        priority: or None.
        tags, groups, conflicts: names.
        duplicated: inames of which it gets ones of its own, each with their name or None.
    """

    id: str | None = None
    id_prefix: str | None = None
    dependencies: tuple[str, ...] = ()
    dependency_queries: tuple[str, ...] = ()
    exhaustive: bool = False
    related: tuple[tuple[str, str], ...] = ()
    no_sync: tuple[tuple[str, str], ...] = ()
    no_sync_queries: tuple[tuple[str, str], ...] = ()
    inames: frozenset[str] | None = None
    more_inames: frozenset[str] = frozenset()
    is_in_for: bool = False
    predicates: tuple[Expression, ...] = ()
    guards: tuple[Guard, ...] = ()
    priority: int | None = None
    tags: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    conflicts: frozenset[str] = frozenset()
    duplicated: tuple[tuple[str, str | None], ...] = ()

    @property
    def all_inames(self) -> frozenset[str] | None:
        """The inames that the instruction is within; None if that was left open."""
        return None if self.inames is None else self.inames | self.more_inames

    def inside(self, block: Said) -> Self:
        """Return this as it is meant inside of a block of which `block` is said."""
        names = [f.name for f in fields(Said)]
        joined = {name: _joined(getattr(self, name), getattr(block, name)) for name in names}
        return replace(self, **joined)


def _joined(inner: Any, outer: Any) -> Any:
    """Return what two sayings of one option come to."""
    if inner is None or outer is None:
        return outer if inner is None else inner
    if isinstance(inner, frozenset):
        return inner | outer
    if isinstance(inner, tuple):
        return (*outer, *inner)
    if isinstance(inner, bool):
        return inner or outer
    return inner
