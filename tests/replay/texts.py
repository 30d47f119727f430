"""The text of a kernel's code for each target, or what refuses it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import TypeAlias

import polygen as pg
from polygen.errors import UserError
from polygen.ir.show_expression import show_expression
from polygen.ir.value_texts import NotText
from polygen.targets.programs.program import DeviceFunction, Program
from polygen.targets.programs.program_text import program_of_text, program_text

TARGETS = ("c", "opencl", "cuda")
_HASHED = 16  # hexadecimal digits
Texts: TypeAlias = Mapping[str, str]
"""By target."""


def texts_of(generate: Callable[[str], Program]) -> Texts:
    """Return the text for each target: of a refusal, one that begins with "refused: "."""
    found: dict[str, str] = {}
    for target in TARGETS:
        try:
            with pg.without_proofs():  # these refuse, and change nothing
                found[target] = _text(generate(target))
        except UserError as error:
            found[target] = f"{_REFUSED}{type(error).__name__}\n"
    return found


_REFUSED = "refused: "


def _text(program: Program) -> str:
    """Return the source, and what the host does with it as comments."""
    _keep(program)
    arguments = [f"//   {argument!r}" for argument in program.arguments]
    lines = ["// arguments", *arguments, *map(_launch, program.launches)]
    lines += [f"// extension {name}" for name in sorted(program.extensions)]
    return "\n".join([program.source, *lines, ""])


def _keep(program: Program) -> None:
    """Check that the text that the cache on disk has of a program stands for it."""
    try:
        kept = program_text(program)
    except NotText as error:
        assert "UserFunction" in str(error)
        return
    assert program_of_text(kept) == program


def _launch(launch: DeviceFunction) -> str:
    groups = ", ".join(map(show_expression, launch.group_counts))
    passed = ", ".join(argument.name for argument in launch.arguments)
    memory = f"{launch.shared_bytes} and {launch.local_bytes} bytes"
    return f"// launch {launch.name}({passed}): ({groups}) x {launch.local_size}, {memory}"


def hashed(text: str) -> str:
    """Return what stands for a text: a hash, or the class of what refuses it."""
    if text.startswith(_REFUSED):
        return text.removeprefix(_REFUSED).strip()
    return hashlib.sha256(text.encode()).hexdigest()[:_HASHED]
