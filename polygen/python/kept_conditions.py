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
from polygen.python.nodes import Assign, For, Node, When, While

_FEW = 4  # assignments: with more, a condition is asked too often


def needs_no_variable(made: When) -> bool:
    """Tell whether a condition may be asked before each assignment in its branches."""
    assigned = list(_assigned([*made.body, *made.otherwise]))
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


def _assigned(body: Sequence[Node]) -> Iterator[Assign]:
    for node in body:
        if isinstance(node, Assign):
            yield node
        elif isinstance(node, For | While):
            yield from _assigned(node.body)
        elif isinstance(node, When):
            yield from _assigned([*node.body, *node.otherwise])
