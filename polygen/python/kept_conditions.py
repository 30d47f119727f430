"""Conditions that branches need not keep: nothing in them changes what is asked.

    if x[i] > m:            m = x[i]            {if=x[i] > m}
        m = x[i]

With a variable for the condition, the maximum would not be seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polygen.analysis.typing.functions import conversion_type
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.python.nodes import Assign, Fetch, For, Node, Print, When, While

_FEW = 4  # assignments: with more, a condition is asked too often


def needs_no_variable(made: When) -> bool:
    """Tell whether a condition may be asked before each assignment in its branches."""
    assigned = list(assignments([*made.body, *made.otherwise]))
    if any(map(_keeps, (*made.body, *made.otherwise))):
        return False  # scalars keep what is printed, and old values
    if any(map(_is_costly, walk.subexpressions(made.condition))):
        return False
    if len(assigned) == 1 and len(made.body) == 1 and isinstance(made.body[0], Assign):
        return True  # it is asked before anything changes
    names = {ex.name_of(node.target) for node in assigned}
    return len(assigned) <= _FEW and names.isdisjoint(walk.free_variables(made.condition))


def _is_costly(node: ex.Expression) -> bool:
    if isinstance(node, ex.Call):
        return conversion_type(ex.name_of(node.function)) is None
    return isinstance(node, ex.Reduction)


def _keeps(node: Node) -> bool:
    if isinstance(node, When):
        return any(map(_keeps, (*node.body, *node.otherwise)))
    return (
        any(map(_keeps, node.body))
        if isinstance(node, For | While)
        else isinstance(node, Print | Fetch)
    )


def assignments(body: Sequence[Node]) -> Iterator[Assign]:
    """Yield the assignments among statements, those in loops and branches too."""
    for node in body:
        if isinstance(node, Assign):
            yield node
        elif isinstance(node, For | While):
            yield from assignments(node.body)
        elif isinstance(node, When):
            yield from assignments([*node.body, *node.otherwise])
