"""docs/reference/kernel.md lists every public attribute, with the type that it has in the code."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

import polygen as pg
from polygen.ir import instruction
from polygen.ir.cached import cached_property
from polygen.ir.instruction import Instruction
from polygen.ir.options import Options

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "kernel.md"
ROW = re.compile(r"^\| `(\w+)` \| (?:`([^`]+)` \| )?(.+) \|$", re.MULTILINE)
HEADING = re.compile(r"^#{2,3} (\w[^\n]*)\n(.*?)(?=^#{2,3} |\Z)", re.MULTILINE | re.DOTALL)
# What is an instruction itself, not what several of them have in common.
INSTRUCTIONS: list[type[Any]] = [
    kind
    for kind in vars(instruction).values()
    if inspect.isclass(kind) and issubclass(kind, Instruction) and "__match_args__" in vars(kind)
]
CLASSES: list[type[Any]] = [
    *(pg.Kernel, Instruction, *INSTRUCTIONS),
    *(pg.GlobalArg, pg.ValueArg, pg.TemporaryVariable, pg.Step, Options),
]
TITLES = {Instruction: "Instructions"}


def listed(kind: type[Any]) -> dict[str, str | None]:
    """Return the attributes on the page, each with its type; methods have none there."""
    sections = dict(HEADING.findall(PAGE.read_text()))
    rows = ROW.findall(sections[TITLES.get(kind, kind.__name__)])
    found = {name: kept.replace("\\|", "|") or None for name, kept, _ in rows}
    assert len(found) == len(rows)
    return found


def public(kind: type[Any]) -> dict[str, str | None]:
    """Return the public attributes of a class, those of all instructions left out of a kind's."""
    assert is_dataclass(kind)
    inherited = public(Instruction) if kind in INSTRUCTIONS else {}
    found: dict[str, str | None] = {f.name: str(f.type) for f in fields(kind)}
    found |= {n: str(t) for n, t in inspect.get_annotations(kind).items() if n not in found}
    for name in dir(kind):
        if not name.startswith("_") and name not in found:
            found[name] = _type_of(inspect.getattr_static(kind, name))
    return {n: t and t.replace("ex.", "") for n, t in found.items() if n not in inherited}


def _type_of(attribute: Any) -> str | None:
    """Return the type of a property; None for a method."""
    getter = attribute.func if isinstance(attribute, cached_property) else None
    getter = attribute.fget if isinstance(attribute, property) else getter
    return None if getter is None else str(getter.__annotations__["return"])


@pytest.mark.parametrize("kind", CLASSES, ids=lambda k: k.__name__)
def test_every_attribute_is_listed(kind: type[Any]) -> None:
    assert listed(kind) == public(kind)


@pytest.mark.parametrize("kind", [pg.ConstantArg, pg.ImageArg])
def test_these_arguments_have_the_same_fields(kind: type[Any]) -> None:
    assert public(kind) == public(pg.GlobalArg)


def test_all_kinds_of_instructions_are_there() -> None:
    assert {pg.Assignment, pg.MultiAssignment, pg.Barrier} < set(INSTRUCTIONS)
    assert len(public(pg.Kernel)) > 30
    assert public(Instruction)["depends_on"] == "frozenset[str]"
