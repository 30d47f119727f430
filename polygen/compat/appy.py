"""APPy's names: ``import polygen.compat.appy as appy`` in the place of ``import appy``.

Pragmas mean what they mean to `polygen.jit`: each is proved, believed where data decides, or
refused with two iterations.  A scalar that a parallel loop assigns has Python's value behind it,
which APPy loses.  What polygen sees by itself is accepted, and changes nothing: ``to``, ``from``,
``block``, ``auto_simd``, ``tune``.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from polygen.errors import InvalidArgument, NoLibrary
from polygen.jitting.jit import CompiledFunction
from polygen.jitting.jit import jit as _polygen_jit
from polygen.pipeline import generate_code
from polygen.python.annotations import (
    MVL,
    atomic_add,
    atomic_and,
    atomic_max,
    atomic_min,
    atomic_mul,
    atomic_or,
    atomic_sub,
    atomic_xor,
    loop_range,
    prange,
    vidx,
    where,
)
from polygen.python.function_source import read_function
from polygen.python.source_annotations import annotations_of

__all__ = [
    "MVL",
    "alias",
    "atomic_add",
    "atomic_and",
    "atomic_max",
    "atomic_min",
    "atomic_mul",
    "atomic_or",
    "atomic_sub",
    "atomic_xor",
    "buffer",
    "cpu_shader",
    "jit",
    "max",
    "min",
    "mv",
    "np_shared",
    "prange",
    "range",
    "shader",
    "sum",
    "syncthreads",
    "to_cpu",
    "to_gpu",
    "vidx",
    "where",
]

range = loop_range  # noqa: A001
mv = np.dot
sum, max, min = np.sum, np.max, np.min  # noqa: A001  (over the lanes of what `vidx` chooses)

_TARGETS: dict[str | None, str | None] = {
    None: None,
    "c": "c",
    "cpu": "c",
    "openmp": "c",
    "numba": "c",
    "cuda": "cuda",
    "ptx": "cuda",
    "triton": "cuda",
    "codegen": "cuda",
    "opencl": "opencl",
}


def jit(  # noqa: PLR0913  (APPy's arguments)
    function: Callable[..., Any] | None = None,
    *,
    backend: str | None = None,
    dump_code: bool = False,
    dump_code_to_file: str | None = None,
    dry_run: bool = False,
    verbose_static_rewrite: bool = False,
    clear_cache: bool = False,
    auto_simd: bool = False,
    tune: bool = False,
) -> Any:
    """Return a function that is compiled when it is called, as `polygen.jit` does.

    A function that says nothing of its loops stays what it is: plain Python.

    Parameters:
        function: the function; None to return a decorator.
        backend: ``"triton"``, ``"ptx"``, ``"codegen"`` or ``"cuda"`` for CUDA, ``"numba"``,
            ``"openmp"``, ``"cpu"`` or ``"c"`` for C, ``"opencl"``; None for where the arrays are.
        dump_code: print the code of each kernel after the first call.
        dump_code_to_file: write it to this file.
        dry_run: make the code of a call, and run nothing; the call returns None.
        verbose_static_rewrite: print what became of each statement after the first call.
        clear_cache: accepted: variants live as long as the function.
        auto_simd, tune: accepted: polygen looks for vectors and sizes in any case.

    Raises:
        NotImplementedError: if there is no such backend.
        NoSource: if the text of the function cannot be had.
    """
    del clear_cache, auto_simd, tune
    if backend not in _TARGETS:
        known = ", ".join(f"'{name}'" for name in _TARGETS if name)
        raise NotImplementedError(f"there is no backend '{backend}': there are {known}")
    options = _Options(
        _TARGETS[backend], dump_code, dump_code_to_file, dry_run, verbose_static_rewrite
    )
    if function is None:
        return options.wrapped
    return options.wrapped(function)


class _Options:
    def __init__(
        self, target: str | None, dump: bool, file: str | None, dry_run: bool, verbose: bool
    ) -> None:
        self._target, self._dump, self._file = target, dump, file
        self._dry_run, self._verbose = dry_run, verbose

    def wrapped(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return what a function becomes: itself, if it says nothing of its loops."""
        if not isinstance(function, types.FunctionType):
            raise InvalidArgument(
                f"appy.jit was given a {type(function).__name__}, which is no function",
                remedy="put @appy.jit above 'def'",
            )
        if not annotations_of(read_function(function)):
            return function
        compiled: CompiledFunction = _polygen_jit(function, target=self._target)
        if not (self._dump or self._file or self._dry_run or self._verbose):
            return compiled
        return self._told(compiled)

    def _told(self, compiled: CompiledFunction) -> Callable[..., Any]:
        is_told = False

        @functools.wraps(compiled)
        def called(*args: Any, **kwargs: Any) -> Any:
            nonlocal is_told
            if not is_told:
                self._tell(compiled, args, kwargs)
                is_told = True
            if self._dry_run:
                return None
            found = compiled(*args, **kwargs)
            if self._verbose:
                print(compiled.explain())  # noqa: T201  (asked for)
            return found

        return called

    def _tell(
        self, compiled: CompiledFunction, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        texts = [str(generate_code(kernel)) for kernel in compiled.kernels(*args, **kwargs)]
        if self._dump:
            print("\n".join(texts))  # noqa: T201  (asked for)
        if self._file:
            Path(self._file).write_text("\n".join(texts), encoding="utf-8")


def shader(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that compiled functions may call: any may, so it stays as it is."""
    return function


cpu_shader = shader


def syncthreads() -> None:
    """Do nothing: statements of an iteration come one after the other in any case."""


def alias(array: Any) -> Any:
    """Return an array under another name: polygen knows that both are one."""
    return array


def buffer(shape: Any, dtype: Any = float) -> Any:
    """Return a new array with whatever there is in memory: ``numpy.empty``."""
    return np.empty(shape, dtype)


def np_shared(array: Any) -> Any:
    """Return an array that processes of one program share: with threads, any is."""
    return np.asarray(array)


def to_gpu(*arrays: Any) -> Any:
    """Return arrays in the memory of a GPU: CuPy's.

    Raises:
        NoLibrary: if CuPy is not installed.
    """
    try:
        cupy: Any = importlib.import_module("cupy")
    except ImportError:
        raise NoLibrary(
            "to_gpu was asked for, and CuPy, which copies arrays to a GPU, is not installed",
            remedy="pip install cupy-cuda12x; NumPy's arrays need no to_gpu: compiled functions "
            "copy them",
        ) from None
    found: list[Any] = [cupy.asarray(array) for array in arrays]
    return found[0] if len(found) == 1 else tuple(found)


def to_cpu(*arrays: Any) -> Any:
    """Return arrays as NumPy's."""
    found = [array.get() if hasattr(array, "get") else np.asarray(array) for array in arrays]
    return found[0] if len(found) == 1 else builtins.tuple(found)
