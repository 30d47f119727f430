"""Instructions that scripts make with Loo.py's parameters: they become texts for `make_kernel`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

import polygen as pg
from polygen.compat._ours import Ours
from polygen.errors import InvalidArgument
from polygen.ir.show_expression import show_expression
from polygen.language.trees import readable
from polygen.source import caller_location

# How Loo.py's parameters are written as options: names of one kind, joined by colons.
_NAMES = {"tags": "tags", "groups": "groups", "conflicts_with_groups": "conflicts"}


class Assignment(metaclass=Ours):
    """``Assignment(assignee, expression, id=None, ...)``: a text, for a list of instructions.

    Parameters:
        assignee, expression: texts, or pymbolic's trees.
        id: the id; None for a new one.
        options: ``within_inames`` and ``within_inames_is_final``, ``depends_on`` (or
            ``happens_after``) and ``depends_on_is_final``, ``predicates``, ``tags``, ``groups``,
            ``conflicts_with_groups``, ``no_sync_with``, ``priority``.

    Raises:
        InvalidArgument: if another option is given.
    """

    kind = pg.Assignment

    def __new__(  # type: ignore[misc]
        cls,
        assignee: object,
        expression: object,
        id: str | None = None,  # noqa: A002  (as Loo.py calls it)
        **options: Any,
    ) -> str:
        """Return the text of an instruction."""
        return _text((assignee,), expression, id, options)


class CallInstruction(metaclass=Ours):
    """``CallInstruction(assignees, expression, id=None, ...)``: several assignees of one call."""

    kind = pg.MultiAssignment

    def __new__(  # type: ignore[misc]
        cls,
        assignees: Any,
        expression: object,
        id: str | None = None,  # noqa: A002  (as Loo.py calls it)
        **options: Any,
    ) -> str:
        """Return the text of an instruction."""
        is_several = isinstance(assignees, tuple)
        several = cast("tuple[Any, ...]", assignees) if is_several else (assignees,)
        return _text(several, expression, id, options)


def _text(
    assignees: Iterable[object], value: object, insn_id: str | None, options: Mapping[str, Any]
) -> str:
    given = {name: said for name, said in options.items() if said is not None}
    given = {"id": insn_id, **given} if insn_id else given
    said = ", ".join(_options(given))
    left = ", ".join(map(_shown, assignees))
    return f"{left} = {_shown(value)}" + (f"  {{{said}}}" if said else "")


def _shown(node: object) -> str:
    return node if isinstance(node, str) else show_expression(readable(node))


def _options(given: dict[str, Any]) -> Iterable[str]:
    if "id" in given:
        yield f"id={given.pop('id')}"
    inames = _joined(given.pop("within_inames", ()))
    if given.pop("within_inames_is_final", False):
        yield f"inames={inames}"
    elif inames:
        yield f"+inames={inames}"
    before = _joined(
        (*_several(given.pop("depends_on", ())), *_several(given.pop("happens_after", ())))
    )
    star = "*" if given.pop("depends_on_is_final", False) else ""
    if before or star:
        yield f"dep={star}{before}"
    yield from (f"if={_shown(p)}" for p in given.pop("predicates", ()))
    for name, option in _NAMES.items():
        if names := _joined(given.pop(name, ())):
            yield f"{option}={names}"
    if pairs := given.pop("no_sync_with", ()):
        yield f"nosync={_joined(f'{other}@{scope}' for other, scope in pairs)}"
    if "priority" in given:
        yield f"priority={given.pop('priority')}"
    if given:
        raise InvalidArgument(
            f"an instruction has no option '{min(given)}' here",
            where=caller_location(),
            remedy="write the instruction as text: see docs/reference/structure.md",
        )


def _several(names: str | Iterable[object]) -> Iterable[object]:
    return [names] if isinstance(names, str) else names


def _joined(names: str | Iterable[object]) -> str:
    return ":".join(sorted(map(str, _several(names))))
