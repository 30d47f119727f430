"""Counts the memory of variables; shared memory past a limit is one piece."""

from __future__ import annotations

from collections.abc import Sequence

from polygen.ir.dtype import computed_in
from polygen.lower.program import Block, Declare, HostLoop, HostNode, If, Launch, Loop
from polygen.targets.expressions.typed_terms import promoted
from polygen.targets.languages.target import FLOAT16, Target
from polygen.targets.statements.expression_printer import ExpressionPrinter

_ALIGNMENT = 16  # what the widest vectors need


def shared_bytes(shared: Sequence[Declare], target: Target) -> int:
    """Return how much memory a launch has to ask for; 0 if all can be declared.

    Parameters:
        shared: the variables of a group.
        target: whose limit it is.
    """
    size = _places(shared)[-1]
    return size if target.most_shared is not None and size > target.most_shared else 0


def local_bytes(shared: Sequence[Declare]) -> int:
    """Return how much memory the variables of a group take, without gaps between them."""
    return sum(map(_size, shared))


def stack_bytes(nodes: Sequence[HostNode] | Block) -> int:
    """Return how much memory the variables take that are there at once, in a program for C."""
    own = sum(_size(node) for node in nodes if isinstance(node, Declare))
    return own + max((stack_bytes(n.body) for n in nodes if isinstance(n, _WITH_BODIES)), default=0)


_WITH_BODIES = (HostLoop, Launch, Loop, If)


def shared_lines(
    shared: Sequence[Declare], target: Target, expressions: ExpressionPrinter
) -> list[str]:
    """Return the lines that cut the memory of a group into its variables."""
    lines = [target.shared_pool]
    if target.shared_begin and is_used_by_all(shared):
        lines.append(target.shared_begin)
    for node, place in zip(shared, _places(shared), strict=False):
        plain = node.vector is None
        name = (
            expressions.variable_type(node.dtype)
            if plain and not node.is_short
            else expressions.element_type(node.dtype, node.vector)
        )
        pool = "pg_shared" if is_used_by_all((node,)) else target.own_pool
        at = f"({name} *) ({pool} + {place})" if place else f"({name} *) {pool}"
        alone = node.extent is None or (not plain and node.extent == 1)
        lines.append(f"{name} &{node.name} = *{at};" if alone else f"{name} *{node.name} = {at};")
    return lines


def is_used_by_all(shared: Sequence[Declare]) -> bool:
    """Tell whether a group has variables of which there is one for all of its blocks."""
    return any(node.parts is None and node.copies is None for node in shared)


def _places(shared: Sequence[Declare]) -> list[int]:
    """Return where each variable begins, and last where the memory ends."""
    places, end = [0], 0
    for node in shared:
        end += _size(node)
        end += -end % _ALIGNMENT
        places.append(end)
    return places


def _size(node: Declare) -> int:
    if node.vector is None and node.is_short:
        return node.dtype.itemsize * (node.extent or 1)
    if node.vector is None:
        dtype = promoted(node.dtype) if node.dtype == FLOAT16 else computed_in(node.dtype)
        return dtype.itemsize * (node.extent or 1)
    return node.dtype.itemsize * (4 if node.vector == 3 else node.vector) * (node.extent or 1)
