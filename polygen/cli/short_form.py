"""The short form of a kernel's text: what `make_kernel` is given, one thing a line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import polygen as pg
from polygen.errors import MalformedText, PolygenError, caret
from polygen.ir.kernel import Kernel
from polygen.language.make_kernel import make_kernel
from polygen.source import SourceLocation

_TITLE = re.compile(r"(KERNEL|TARGET|ASSUMPTIONS|TYPES):\s*(\S.*)")
_TYPES = re.compile(r"\s*(\w+(?:\s*,\s*\w+)*)\s*:\s*(\w+)\s*")


def read_short(text: str, location: SourceLocation) -> Kernel:
    """Return the kernel that a text in the short form stands for.

    Lines that begin with ``{``, or with parameters as ``[n] -> {``, are loop domains.  ``KERNEL:
    name``, ``TARGET: c``, ``ASSUMPTIONS: n >= 1`` and ``TYPES: a, b: float32; n: int32`` say what
    `make_kernel` and `add_dtypes` are told.  All else is instructions.  ``#`` begins a comment.

    Parameters:
        text: the text.
        location: the file that it is from.

    Raises:
        MalformedText: if there is no domain and no instruction, or types are not written like this.
        UserError: as `make_kernel` does.
    """
    parts = _Parts()
    for number, line in enumerate(text.splitlines(), 1):
        try:
            parts.add(line)
        except PolygenError as error:
            error.line = number
            raise
    if not (parts.domains or any(_code(line) for line in parts.instructions)):
        raise MalformedText(
            "this text has no kernel in it",
            remedy="write a loop domain and an instruction, '{ [i]: 0<=i<n }' and "
            "'out[i] = 2*a[i]', or what print(kernel) shows",
        )
    said = {title.lower(): told for title, told in parts.said.items()}
    made = make_kernel(
        parts.domains,
        "\n".join(parts.instructions),
        name=said.get("kernel", "polygen_kernel"),
        assumptions=said.get("assumptions", ""),
        target=said.get("target"),
    )
    return (pg.add_dtypes(made, parts.types) if parts.types else made).copy(location=location)


def _code(line: str) -> str:
    """Return what is left of a line without its comment."""
    return line.partition("#")[0].strip()


@dataclass
class _Parts:
    """The parts that have been read so far."""

    said: dict[str, str] = field(default_factory=dict[str, str])
    types: dict[str, str] = field(default_factory=dict[str, str])
    domains: list[str] = field(default_factory=list[str])
    instructions: list[str] = field(default_factory=list[str])

    def add(self, line: str) -> None:
        code = _code(line)
        title = _TITLE.fullmatch(code)
        if title is None:
            is_domain = code.startswith("{") or re.match(r"\[[\w\s,]*\]\s*->", code)
            (self.domains if is_domain else self.instructions).append(code if is_domain else line)
        elif title[1] == "TYPES":
            self._add_types(title[2], line)
        else:
            before = self.said.get(title[1])
            self.said[title[1]] = title[2] if before is None else f"{before} and {title[2]}"

    def _add_types(self, told: str, line: str) -> None:
        for part in told.split(";"):
            match = _TYPES.fullmatch(part)
            if match is None:
                raise MalformedText(
                    f"'{part.strip()}' is no names and a type",
                    excerpt=caret(line, line.index(part)),
                    remedy="write TYPES: a, b: float32; n: int32",
                )
            self.types[match[1]] = match[2]
