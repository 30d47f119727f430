"""Many kernels in one source: it is compiled once, and each kernel is called through the runtime.

First, each kernel is called as users call it, up to where its source is to be compiled; that is
put off.  Then all sources are compiled as one, and the calls are made again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pytest

from polygen.ir.kernel import Kernel
from polygen.runtime.backends.c.c_compiler import load_library
from polygen.runtime.backends.cuda.cuda_driver import build as build_cuda
from polygen.runtime.backends.opencl.opencl_driver import build, default_context
from polygen.runtime.executor import Executor
from tests.oracle.layouts import laid

# Faster to compile than what polygen asks for; other tests compile with that.
FLAGS = ("-O1",)

Compile: TypeAlias = Callable[..., Any]
Arrays: TypeAlias = "dict[str, Any]"


class _PutOffError(Exception):
    """A source is there, and compiled later."""


@dataclass
class _Call:
    executor: Executor
    arguments: Arrays
    source: str = ""


def run_together(
    kernels: list[tuple[Kernel, Arrays]],
    target: str,
    patch: pytest.MonkeyPatch,
    no_code: tuple[type[Exception], ...],
) -> list[Arrays | None]:
    """Call kernels; return the arguments of each call as it leaves them.

    Parameters:
        kernels: each with arguments.
        target: ``"c"``, ``"opencl"`` or ``"cuda"``.
        patch: restores what is put in the compilers' place.
        no_code: what may be said of kernels that there is no code for; None comes back for these.
    """
    calls: list[_Call] = []
    for number, (kernel, arguments) in enumerate(kernels):
        named = kernel.copy(name=f"kernel_{number}")
        copies = {name: _copied(value) for name, value in arguments.items()}
        calls.append(_Call(named.executor(target), copies))
    for call in calls:
        with _compiler(target, patch, _put_off), suppress(*no_code):
            try:
                call.executor(**call.arguments)
            except _PutOffError as later:
                call.source = str(later)
    text = "\n".join(own_helpers(call.source, n) for n, call in enumerate(calls))
    compiled = _COMPILERS[target](text)
    for call in calls:
        if call.source:
            with _compiler(target, patch, _already(compiled, call.source)):
                call.executor(**call.arguments)
    return [call.arguments if call.source else None for call in calls]


_COMPILERS: Mapping[str, Compile] = {
    "c": lambda text: load_library(text, FLAGS),
    "opencl": lambda text: build(default_context(), text),
    "cuda": build_cuda,
}


def _copied(value: Any) -> Any:
    """Return a copy of an array, with the same strides, or of arrays; numbers as they are."""
    if isinstance(value, tuple):
        return tuple(_copied(part) for part in value)
    if not isinstance(value, np.ndarray):
        return value
    return laid(value, tuple(stride // value.itemsize for stride in value.strides))


def _put_off(source: str, *_: Any) -> Any:
    raise _PutOffError(source)


def _already(compiled: Any, expected: str) -> Compile:
    def compile_(source: str, *_: Any) -> Any:
        assert source == expected
        return compiled

    return compile_


@contextmanager
def _compiler(target: str, patch: pytest.MonkeyPatch, compile_: Compile) -> Iterator[None]:
    """Put something in the place of the compiler."""
    with patch.context() as patched:
        if target == "c":
            patched.setattr("polygen.runtime.backends.c.c_function.load_library", compile_)
        elif target == "cuda":
            patched.setattr("polygen.runtime.backends.cuda.cuda_backend.build", compile_)
        else:
            patched.setattr(
                "polygen.runtime.backends.opencl.opencl_backend.build",
                lambda _context, *rest: compile_(*rest),
            )
        yield


def own_helpers(source: str, number: int) -> str:
    """Give the helper functions of a source, and a user's, names that no other source has."""
    return re.sub(r"\b(pg|own)_(\w+)\b", rf"\1_{number}_\2", source)
