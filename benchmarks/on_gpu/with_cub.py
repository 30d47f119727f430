"""CUB itself, as nvcc compiles it: reductions of all of an array, and of its last axes."""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any

from benchmarks.on_gpu.cases import Case

torch: Any = import_module("torch")
SOURCE = Path(__file__).with_name("cub.cu")


@cache
def library() -> ctypes.CDLL:
    """Compile CUB's reductions, once for a version of their source, and load them."""
    built = Path(tempfile.gettempdir()) / f"polygen_cub_{hash_of(SOURCE)}.so"
    if not built.exists():
        partial = built.with_suffix(f".{os.getpid()}")
        options = ["-O3", "-arch=native", "-shared", "-Xcompiler", "-fPIC", "-std=c++17"]
        subprocess.run(["nvcc", *options, "-o", str(partial), str(SOURCE)], check=True)
        partial.rename(built)
    return ctypes.CDLL(str(built))


def hash_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def bind(case: Case, arrays: dict[str, Any]) -> Callable[[], Any] | None:
    """Return a call; None for what CUB does not have, or is not compiled for here."""
    result = case.results[0]
    first = len(result.shape) - len(result.axes)
    last = tuple(range(first, len(result.shape)))
    if len(case.results) > 1 or result.element != "{a}" or result.axes != last:
        return None
    (dtype,) = case.inputs.values()
    length = prod(result.shape[first:])
    whole = first == 0
    name = f"{'all' if whole else 'rows'}_{result.operation}_{dtype}"
    function = getattr(library(), name, None)
    if function is None or (not whole and length >= 2**31):
        return None
    x, out = arrays["a"], torch.empty(result.kept, dtype=arrays["a"].dtype, device="cuda")
    sizes = (
        [ctypes.c_int64(length)]
        if whole
        else [ctypes.c_int64(prod(result.shape[:first])), ctypes.c_int(length)]
    )
    needed = ctypes.c_size_t(0)
    given = [ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(out.data_ptr()), *sizes]
    check(function(None, ctypes.byref(needed), *given, None))
    room = torch.empty(max(needed.value, 1), dtype=torch.uint8, device="cuda")

    def call() -> Any:
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        check(function(ctypes.c_void_p(room.data_ptr()), ctypes.byref(needed), *given, stream))
        return [out]

    return call


def check(status: int) -> None:
    if status:
        raise RuntimeError(f"CUB returned CUDA's error {status}")
