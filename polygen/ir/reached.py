"""Finds the nodes of a graph that edges lead to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

_Node = TypeVar("_Node")


def reached(start: _Node, edges: Mapping[_Node, Iterable[_Node]]) -> frozenset[_Node]:
    """Return what edges lead to from a node, through others, too."""
    found: set[_Node] = set()
    pending = list(edges[start])
    while pending:
        if (node := pending.pop()) not in found:
            found.add(node)
            pending += edges[node]
    return frozenset(found)
