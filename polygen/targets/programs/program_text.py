"""Device programs as text, and back: for the cache on disk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pymbolic import primitives

from polygen.analysis.typing.kinds import Counter, LongCounter
from polygen.ir import array, atomicity, expression, layout, operation, options, tags
from polygen.ir.value_texts import Leaf, NotText, ValueTexts, classes_in
from polygen.lower import loop_nodes
from polygen.lower import program as loop_program
from polygen.targets.languages.registry import get_target
from polygen.targets.languages.target import Target
from polygen.targets.programs import program as device_program
from polygen.targets.programs.program import Program


def program_text(program: Program) -> str:
    """Return a program as text.

    Parameters:
        program: the program.

    Raises:
        NotText: if it holds a value that no text stands for.
    """
    return _TEXTS.text(program)


def program_of_text(text: str) -> Program:
    """Return the program whose text is `text`.

    Parameters:
        text: what `program_text` returned.

    Raises:
        NotText: if it is none of a program.
    """
    found = _TEXTS.value(text)
    if not isinstance(found, Program):
        raise NotText("this is no text of a program")
    return found


_KINDS: Mapping[str, type] = {
    kind.__name__: kind for kind in (int, float, complex, Counter, LongCounter)
}


def _kind_parts(value: Any) -> list[Any] | None:
    is_kind = isinstance(value, type) and _KINDS.get(value.__name__) is value
    return [value.__name__] if is_kind else None


def _target_parts(value: Any) -> list[Any] | None:
    if isinstance(value, Target):
        for clusters in (False, True):
            if get_target(value.name, clusters=clusters) is value:
                return [value.name, clusters]
    return None


def _target(name: str, clusters: bool) -> Target:
    return get_target(name, clusters=clusters)


_TEXTS = ValueTexts(
    classes_in(
        (
            primitives, array, atomicity, expression, layout, operation, options, tags,
            loop_nodes, loop_program, device_program,
        )
    ),
    (
        Leaf("kind", _kind_parts, _KINDS.__getitem__),
        Leaf("target", _target_parts, _target),
    ),
)  # fmt: skip
