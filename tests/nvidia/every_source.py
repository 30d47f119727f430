"""All CUDA C++ that a test makes is compiled for two generations of devices, which needs no GPU."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from unittest.mock import patch

from polygen import pipeline
from polygen.errors import UserError
from polygen.lower.program import LoopProgram
from polygen.targets.languages.cuda import CUDA
from polygen.targets.languages.target import Target
from polygen.targets.programs.program import Program

ARCHITECTURES = ("sm_80", "sm_90")
_AT_ONCE = 40
# Functions of the user's are there whether or not anything calls them, and so is what nothing
# reads; negative constants are converted to types without sign (68).  Nobody looks at the machine
# code: without optimizations, it takes a third of the time.
_OPTIONS = ("-diag-suppress=68,177,550", "--Ofast-compile=max")
_Print = Callable[[LoopProgram, Target], Program]
_compiled: set[str] = set()  # in this process


@contextmanager
def noted() -> Generator[list[str]]:
    """Note each source that is printed meanwhile."""
    found: list[str] = []

    def after(original: _Print) -> _Print:
        def print_program(program: LoopProgram, target: Target) -> Program:
            made = original(program, target)
            if target is CUDA:
                found.append(made.source)
            return made

        return print_program

    with patch.object(pipeline, "print_program", after(vars(pipeline)["print_program"])):
        yield found


@contextmanager
def also_printed() -> Generator[None]:
    """Let what is printed in OpenCL C be printed in CUDA C++, too, where there is such code."""

    def after(original: _Print) -> _Print:
        def print_program(program: LoopProgram, target: Target) -> Program:
            if target.name == "opencl":
                with suppress(UserError):
                    original(program, CUDA)
            return original(program, target)

        return print_program

    with patch.object(pipeline, "print_program", after(vars(pipeline)["print_program"])):
        yield


class Waiting:
    """Sources that are compiled several at once, which takes a third of the time."""

    def __init__(self) -> None:
        self._tests: dict[str, str] = {}  # by source: the test that made it

    def add(self, sources: Sequence[str], test: str) -> None:
        """Compile sources of a test, soon: those that were compiled before are left out."""
        for source in sources:
            if source not in _compiled:
                self._tests.setdefault(source, test)
        if len(self._tests) >= _AT_ONCE:
            self.compile()

    def compile(self) -> None:
        """Compile what waits."""
        tests, self._tests = self._tests, {}
        if not tests:
            return
        from tests.nvidia.nvrtc import compile_for  # noqa: PLC0415  (few tests need it)

        parts = [_apart(text, n, test) for n, (text, test) in enumerate(tests.items())]
        whole = "\n".join(parts)
        for architecture in ARCHITECTURES:
            size, log = compile_for(architecture, whole, *_OPTIONS)
            assert size, f"{architecture}: {log}\n{whole}"
            assert not log, f"{architecture}: {log}\n{whole}"
        _compiled.update(tests)


def _apart(source: str, number: int, test: str) -> str:
    """Return a source whose names no other has."""
    own = source.replace('extern "C" __global__', "__global__")
    return f"// of {test}\nnamespace source_{number} {{\n{own}\n}}"
