"""Names of arrays that change places at the end of each iteration: double buffers.

for t in range(steps):
    new[1:-1] = (u[:-2] + u[2:])/2
    u, new = new, u                   # after two iterations, all names are what they were
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

_MOST = 6  # iterations after which names are what they were


def rotation(body: Sequence[ast.stmt], seen: Collection[str]) -> dict[str, str]:
    """Return which name's array each name stands for after an iteration; empty if none changes.

    Parameters:
        body: the statements of a loop.
        seen: the names that are read after the loop, or at the head of an iteration.
    """
    moved: dict[str, str] = {}
    for node in body:
        pairs = _moves(node)
        if pairs is not None:
            moved |= {target: moved.get(value, value) for target, value in pairs}
    others = {name for node in body if _moves(node) is None for name in _given(node)}
    found = {name: value for name, value in moved.items() if name in seen and name != value}
    if set(found) != set(found.values()) or others & set(moved):
        return {}
    return found


def order_of(moved: dict[str, str]) -> int | None:
    """Return after how many iterations all names are what they were; None if that is many.

    Parameters:
        moved: which name's array each name stands for after an iteration.
    """
    now = dict(moved)
    for count in range(1, _MOST + 1):
        if all(name == value for name, value in now.items()):
            return count
        now = {name: moved[value] for name, value in now.items()}
    return None


def _moves(node: ast.stmt) -> list[tuple[str, str]] | None:
    """Return pairs of names of an assignment that gives names to names; None for another one."""
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return None
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        targets, values = target.elts, value.elts
    else:
        targets, values = [target], [value]
    names = [one.id for one in targets if isinstance(one, ast.Name)]
    given = [one.id for one in values if isinstance(one, ast.Name)]
    if len(names) < len(targets) or len(given) < len(values) or len(names) != len(given):
        return None
    return list(zip(names, given, strict=True))


def _given(node: ast.stmt) -> set[str]:
    """Return the names that a statement gives values, those that it updates in place left out."""
    updated = {id(part.target) for part in ast.walk(node) if isinstance(part, ast.AugAssign)}
    return {
        part.id
        for part in ast.walk(node)
        if isinstance(part, ast.Name)
        and not isinstance(part.ctx, ast.Load)
        and id(part) not in updated
    }
