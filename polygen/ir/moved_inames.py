"""Old inames in terms of those that steps put in their place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.kernel import Step


def moved_inames(history: Iterable[Step]) -> Mapping[str, Expression]:
    """Return what inames that steps replaced are in terms of later ones.

    After ``split_iname(knl, "i", 16)`` and ``rename_iname(knl, "i_outer", "o")``, ``i`` is
    ``16*o + i_inner``.
    """
    found: dict[str, Expression] = {}
    for step in history:
        if step.moved:
            found = {name: walk.substitute(value, step.moved) for name, value in found.items()}
            found |= step.moved
    return found
