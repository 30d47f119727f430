"""Reading kernels from files: as they are printed, or in the short form."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from polygen.cli.files import contents
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
        """Return the text of a file, or of the standard input for ``-``.

        Raises:
            UnreadableFile: if the file is not there, or cannot be read.
            InvalidArgument: if it is no text.
        """
        if path == "-":
            return Source("<stdin>", sys.stdin.read().replace("\r\n", "\n"))
        try:
            text = contents(path).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InvalidArgument("this is no text in UTF-8", where=path) from None
        return Source(path, text.replace("\r\n", "\n"))

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


def for_target(kernel: Kernel, target: str | None) -> Kernel:
    """Return a kernel, and what its history starts from, with a target; as it is for None."""
    if target is None:
        return kernel
    original = kernel.original and kernel.original.copy(target=target)
    return kernel.copy(target=target, original=original)


def read_two(first: str, second: str | None, script: str | None) -> tuple[Whole, Whole]:
    """Return two kernels, or programs, that are to be compared.

    Parameters:
        first, second: the paths of the files, as `read` takes them; without a second one, what the
            steps of the script make of the first is compared with it.
        script: that of a Python file whose steps are taken on the first kernel.

    Raises:
        InvalidArgument: if both are read from the standard input, or there is one kernel only.
        UserError: as `read` does.
    """
    if first == second == "-":
        raise InvalidArgument("the standard input has one kernel, and two are wanted")
    if second is not None:
        return read(first, script), read(second)
    if script is None:
        raise InvalidArgument(
            "this is one kernel, and two are compared",
            where="<stdin>" if first == "-" else first,
            remedy="name a second file, or steps: --transform script.py",
        )
    before = read(first)
    return before, after(before, script)


def add_kernel(parser: argparse.ArgumentParser) -> None:
    """Add arguments for a kernel, and for the script whose steps are taken on it."""
    parser.add_argument("kernel", metavar="KERNEL", help="a kernel's text; - for stdin")
    _add_transform(parser, "")


def add_two_kernels(parser: argparse.ArgumentParser) -> None:
    """Add arguments for two kernels, or one and a script whose steps are taken on it."""
    parser.add_argument("first", metavar="FIRST", help="a kernel's text; - for stdin")
    parser.add_argument(
        "second",
        metavar="SECOND",
        nargs="?",
        help="another one; if not given, FIRST is compared with what SCRIPT makes of it",
    )
    _add_transform(parser, "; of FIRST")


def _add_transform(parser: argparse.ArgumentParser, of_which: str) -> None:
    parser.add_argument(
        "--transform",
        metavar="SCRIPT",
        help=f"a Python script with transform(kernel), which returns a kernel{of_which}",
    )


def add_allow_verbatim(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the option without which nothing of a file is handed to a compiler as it is, and run."""
    parser.add_argument(
        "--allow-verbatim",
        action="store_true",
        help=f"{what} with verbatim C, functions or preambles of their own, or build options: "
        "these may do anything",
    )
