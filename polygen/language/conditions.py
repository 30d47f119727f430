"""Conditions of blocks that the block itself changes.

Each instruction of a block asks the block's condition by itself, just before it would be executed.
So where one changes what the condition reads, those behind it would get another answer than those
before it, which nobody means who writes a block.
"""

from __future__ import annotations

from collections.abc import Sequence

from polygen.analysis.integers.affine_forms import linear_form
from polygen.errors import ConditionChanges
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.show_expression import show_expression
from polygen.ir.substitution import Rules
from polygen.language.parser import located
from polygen.language.rules import resolved_and_expanded
from polygen.language.said import Guard
from polygen.language.statement import Statement


def check_conditions(statements: Sequence[Statement], rules: Rules) -> None:
    """Check that no condition of a block is asked after an instruction in the block changed it.

    Raises:
        ConditionChanges: if one is.
    """
    written: dict[int, dict[str, list[Statement]]] = {}  # by chain, by variable
    for statement in statements:
        for guard in dict.fromkeys(statement.guards):
            changed = written.get(guard.chain, {})
            _check(statement, guard, changed, rules)
        for chain in {guard.chain for guard in statement.guards}:
            for name in statement.written_names:
                written.setdefault(chain, {}).setdefault(name, []).append(statement)


def _check(
    statement: Statement, guard: Guard, changed: dict[str, list[Statement]], rules: Rules
) -> None:
    condition = resolved_and_expanded(guard.condition, rules, statement.text)
    for access in walk.accesses(condition):
        for writer in changed.get(ex.name_of(access), ()):
            if all(_are_apart(access, assignee) for assignee in writer.assignees):
                continue
            shown = show_expression(guard.condition)
            of_text = f"keep what it is before the block: <> c = {shown}  {{dep=*}}, and ask 'if c'"
            of_calls = "let the builder keep what it is before the block: when(..., kept=True)"
            raise located(
                ConditionChanges,
                f"the condition '{shown}' of a block is asked here, after an instruction in that "
                f"block may have changed it: '{writer.text}'",
                statement,
                0,
                of_text if statement.line else of_calls,
            )


def _are_apart(read: Expression, written: Expression) -> bool:
    """Tell whether two accesses of one instance are seen to touch different elements."""
    if ex.name_of(read) != ex.name_of(written):
        return True
    if not (isinstance(read, ex.Subscript) and isinstance(written, ex.Subscript)):
        return False
    for first, second in zip(ex.index_tuple(read), ex.index_tuple(written), strict=False):
        a, b = (linear_form(e, walk.free_variables(e)) for e in (first, second))
        if a and b and a.terms == b.terms and a.constant != b.constant:
            return True
    return False
