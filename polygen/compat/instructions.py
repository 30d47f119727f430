"""Instructions that scripts make with Loo.py's parameters: they become texts for `make_kernel`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import polygen as pg
from polygen.compat._ours import Ours, making
from polygen.errors import InvalidArgument
from polygen.ir.dtype import dtype_name, to_dtype
from polygen.ir.show_expression import show_expression
from polygen.ir.substitution import SubstitutionRule as SubstitutionRuleOfPolygen
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
            ``conflicts_with_groups``, ``no_sync_with``, ``priority``; and ``temp_var_type``, an
            `Optional`, for a new temporary: of a type that is found out if it holds None.

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
        kinds = [options.pop("temp_var_type", None)]
        return _text(_declared((assignee,), kinds), expression, id, options)


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
        kinds = options.pop("temp_var_types", None) or [None] * len(several)
        return _text(_declared(several, kinds), expression, id, options)


@making(pg.Barrier)
def BarrierInstruction(  # noqa: N802
    id: str | None = None,  # noqa: A002  (as Loo.py calls it)
    synchronization_kind: str = "global",
    mem_kind: str = "local",  # noqa: ARG001  (what it is for is found out)
    **options: Any,
) -> str:
    """Return the text of a barrier: ``... gbarrier {id=...}``, or ``lbarrier``.

    Parameters:
        id: the id; None for a new one.
        synchronization_kind: ``"global"`` or ``"local"``.
        mem_kind: nothing depends on it here.
        options: as those of `Assignment`.

    Raises:
        InvalidArgument: if there is no such kind or option.
    """
    if synchronization_kind not in {"global", "local"}:
        raise InvalidArgument(
            f"there is no barrier of the kind {synchronization_kind!r}",
            where=caller_location(),
            remedy="say 'global' or 'local'",
        )
    return _with_options(f"... {synchronization_kind[0]}barrier", id, options)


@making(pg.NoOp)
def NoOpInstruction(  # noqa: N802
    id: str | None = None,  # noqa: A002  (as Loo.py calls it)
    **options: Any,
) -> str:
    """Return the text of an instruction that does nothing; options are those of `Assignment`."""
    return _with_options("... nop", id, options)


@making(SubstitutionRuleOfPolygen)
def SubstitutionRule(name: str, arguments: Iterable[str], expression: object) -> str:  # noqa: N802
    """Return the text of a rule: ``name(arguments) := expression``."""
    return f"{name}({', '.join(arguments)}) := {_shown(expression)}"


@dataclass(frozen=True)
class Optional:
    """A value, or None.

    Attributes:
        value: the value.
    """

    value: Any = None


def _declared(assignees: Iterable[object], kinds: Iterable[object]) -> list[str]:
    """Return assignees as texts, new temporaries among them with their types."""
    found: list[str] = []
    for assignee, kind in zip(assignees, kinds, strict=True):
        value = kind.value if isinstance(kind, Optional) else kind
        shown = "" if value is None else dtype_name(to_dtype(value))
        is_new = isinstance(kind, Optional) or value is not None
        found.append(f"<{shown}> {_shown(assignee)}" if is_new else _shown(assignee))
    return found


def _text(
    assignees: Iterable[object], value: object, insn_id: str | None, options: Mapping[str, Any]
) -> str:
    return _with_options(f"{', '.join(map(_shown, assignees))} = {_shown(value)}", insn_id, options)


def _with_options(text: str, insn_id: str | None, options: Mapping[str, Any]) -> str:
    given = {name: said for name, said in options.items() if said is not None}
    given = {"id": insn_id, **given} if insn_id else given
    said = ", ".join(_options(given))
    return text + (f"  {{{said}}}" if said else "")


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
    if isinstance(names, str):
        return [name.strip() for name in names.split(",") if name.strip()]
    return names


def _joined(names: str | Iterable[object]) -> str:
    return ":".join(sorted(map(str, _several(names))))
