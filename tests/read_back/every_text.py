"""The text of all programs that a test makes is compared with their loop programs."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from hashlib import sha256
from typing import TypeAlias
from unittest.mock import patch

from polygen import pipeline
from polygen.lower.program import LoopProgram
from polygen.targets.languages.target import Target
from polygen.targets.programs.program import Program
from tests.read_back.compare import check

_Print: TypeAlias = Callable[[LoopProgram, Target], Program]
_known: dict[bytes, str] = {}  # in this process: what hindered it, or nothing


@contextmanager
def read_back() -> Generator[list[Program]]:
    """Note each program that is printed meanwhile and was not compared before."""
    found: list[Program] = []

    def after(original: _Print) -> _Print:
        def print_program(program: LoopProgram, target: Target) -> Program:
            made = original(program, target)
            found.append(made)
            return made

        return print_program

    with patch.object(pipeline, "print_program", after(vars(pipeline)["print_program"])):
        yield found


def compare(programs: list[Program]) -> None:
    """Compare texts with loop programs, those that were compared before not again.

    Raises:
        Differs: if one says something else.
    """
    for made in programs:
        key = sha256(f"{made.target.name}\n{made.source}".encode()).digest()
        if key not in _known:
            _known[key] = "it differs"
            _known[key] = check(made)
