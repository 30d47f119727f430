"""Reading kernels from files: as they are printed, or in the short form."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

from polygen.cli.scripts import transformed
from polygen.cli.short_form import read_short
from polygen.errors import InvalidArgument, PolygenError
from polygen.ir.kernel import Kernel
from polygen.language.parse_kernel import parse_kernel, parse_program
from polygen.language.programs import TranslationUnit
from polygen.source import SourceLocation

Whole: TypeAlias = Kernel | TranslationUnit

_PRINTED = re.compile(r"^(KERNEL: .*|[A-Z][A-Z ]*:|ENTRY POINTS: .*)$", re.MULTILINE)


@dataclass(frozen=True)
class Source:
    """A text, and where it is from.

    Attributes:
        name: the path, or ``<stdin>``.
        text: what is in it.
    """

    name: str
    text: str

    @staticmethod
    def of(path: str) -> Source:
        """Return the text of a file, or of the standard input for ``-``."""
        if path == "-":
            return Source("<stdin>", sys.stdin.read().replace("\r\n", "\n"))
        try:
            return Source(path, Path(path).read_text(encoding="utf-8-sig"))
        except UnicodeDecodeError:
            raise InvalidArgument("this is no text in UTF-8", where=path) from None

    @contextmanager
    def located(self) -> Generator[None]:
        """Let errors say at which line and column of the text they are."""
        try:
            yield
        except PolygenError as error:
            error.where = self._place(error)
            error.what = error.what.removeprefix(f"line {error.line}: ")
            raise

    def _place(self, error: PolygenError) -> str:
        shown, column = _culprit(error.excerpt)
        lines = self.text.splitlines()
        if error.line:
            number = error.line
        else:
            found = [n for n, line in enumerate(lines, 1) if shown and shown in line]
            if not found:
                return self.name
            number = found[0]
        if column is None:
            return f"{self.name}:{number}"
        return f"{self.name}:{number}:{max(lines[number - 1].find(shown), 0) + column + 1}"


def _culprit(excerpt: str | None) -> tuple[str, int | None]:
    """Return the line that an excerpt is about, and the column that a caret marks in it."""
    lines = (excerpt or "").splitlines()
    for before, line in pairwise(lines):
        if line.strip() and not line.strip(" ^"):
            return before.strip(), line.index("^") - (len(before) - len(before.lstrip()))
    marked = [line[3:].strip() for line in lines if line.startswith("-> ")]
    return (marked or [line.strip() for line in lines[:1]] or [""])[0], None


def read(path: str, script: str | None = None) -> Whole:
    """Return the kernel, or program, of a file, after the steps of a script if one is given.

    Parameters:
        path: that of a file with a kernel's text, or ``-``.
        script: that of a Python file which defines ``transform``.
    """
    return after(read_source(Source.of(path)), script)


def read_source(source: Source) -> Whole:
    """Return the kernel, or program, that a text stands for."""
    titles = _PRINTED.findall(source.text)
    with source.located():
        if any(title.startswith("ENTRY POINTS") for title in titles):
            return parse_program(source.text)
        if any(title.endswith(":") for title in titles):
            return parse_kernel(source.text)
        return read_short(source.text, SourceLocation(source.name, 1))


def after(whole: Whole, script: str | None) -> Whole:
    """Return a kernel after the steps of a script; as it is without one."""
    return whole if script is None else transformed(whole, script)


def entry(whole: Whole) -> Kernel:
    """Return the kernel that is called from outside."""
    return whole if isinstance(whole, Kernel) else whole.default_entrypoint


def add_kernel(parser: argparse.ArgumentParser, *names: str) -> None:
    """Add arguments for kernels, and for the script whose steps are taken on the first of them."""
    for name in names:
        parser.add_argument(name, metavar=name.upper(), help="a kernel's text; - for stdin")
    parser.add_argument(
        "--transform",
        metavar="SCRIPT",
        help="a Python script with transform(kernel), which returns a kernel"
        + (f"; of {names[0].upper()}" if len(names) > 1 else ""),
    )


def add_allow_verbatim(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the option without which nothing of a file is handed to a compiler as it is, and run."""
    parser.add_argument(
        "--allow-verbatim",
        action="store_true",
        help=f"{what} with verbatim C, functions or preambles of their own, or build options: "
        "these may do anything",
    )
