"""Programs of Python on a GPU, beside plain Python: `python -m tests.gpu.functions KIND ARRAYS`.

The arrays are NumPy's, CuPy's or PyTorch's.
"""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

import polygen as pg
from polygen.errors import NotValidated
from tests.jit.agreement import compare, outcome
from tests.jit.programs import PROGRAMS
from tests.jit.programs.program import Program

_NOT_TORCHS = ("uint16", "uint32", "uint64")


def each(change: Callable[[Any], Any], value: Any) -> Any:
    """Return a value with its arrays changed, those in tuples and lists, too."""
    if isinstance(value, tuple | list):
        return type(value)([each(change, part) for part in value])
    return change(value)


def on_gpu(library: str) -> Callable[[Any], Any]:
    """Return what moves an array to a GPU."""

    def moved(value: Any) -> Any:
        if library == "numpy" or not isinstance(value, np.ndarray):
            return value
        found = import_module("cupy").asarray(value)
        is_torchs = value.dtype.name not in _NOT_TORCHS and min(value.strides, default=0) >= 0
        if library == "cupy" or not is_torchs:
            return found
        return import_module("torch").from_dlpack(found)

    return moved


def on_host(value: Any) -> Any:
    """Return an array as NumPy's."""
    if hasattr(value, "__cuda_array_interface__"):
        return import_module("cupy").asarray(value).get()
    return value.cpu().numpy() if hasattr(value, "cpu") else value


def check(program: Program, library: str) -> None:
    """Compare a program with plain Python, at two sizes."""
    function = pg.jit(program.function, target="cuda" if library == "numpy" else None)
    for size in dict.fromkeys((program.sizes[-1], program.sizes[len(program.sizes) // 2])):
        arguments = program.arguments(size)
        expected = outcome(program.function, arguments)
        found = outcome(function, each(on_gpu(library), arguments))
        mine_all, meant_all = ([one.result, *one.arguments] for one in (found, expected))
        pairs = zip(mine_all, meant_all, strict=True)
        for place, (mine, meant) in enumerate(pairs):
            compare(f"size {size}, {place}", each(on_host, mine), meant, program.roundings)


def main() -> int:
    """Say which programs of a kind differ; return their number."""
    kind, library = sys.argv[1:]
    programs = [program for program in PROGRAMS if program.name.startswith(f"{kind}.")]
    wrong = 0
    for program in programs:
        with warnings.catch_warnings():
            if not program.is_validated:
                warnings.simplefilter("ignore", NotValidated)
            try:
                check(program, library)
            except Exception:  # all programs are looked at, and each error is shown
                wrong += 1
                sys.stdout.write(f"{program.name}:\n{traceback.format_exc()[-2000:]}")
    sys.stdout.write(f"{len(programs) - wrong} of {len(programs)} programs are right\n")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
