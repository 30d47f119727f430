"""CuPy, which uses CUB where it can."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

from benchmarks.on_gpu.cases import OF_ROWS, Case, Result

os.environ["CUPY_ACCELERATORS"] = "cub"  # read as it is imported
cupy: Any = import_module("cupy")

NAMES = {"product": "prod", "min": "amin", "max": "amax"}


def cast(dtype: str) -> Callable[[Any], Any]:
    return lambda x: x.astype(dtype)


CASTS = {name: cast(name) for name in ("float16", "float32", "float64")}


def bind(case: Case, arrays: dict[str, Any]) -> Callable[[], Any] | None:
    """Return a call; None for what CuPy does not have."""
    if "bfloat16" in case.inputs.values():
        return None
    if any(r.operation.startswith("bit_") or r.operation in OF_ROWS for r in case.results):
        return None
    seen = {name: cupy.asarray(x) for name, x in arrays.items()}

    def call() -> Any:
        return [reduced(r, element(r, seen)) for r in case.results]

    return call


def element(result: Result, arrays: dict[str, Any]) -> Any:
    names = {name: name for name in arrays}
    return eval(result.element.format(**names), dict(CASTS), arrays)  # noqa: S307  (cases.py has it)


def reduced(result: Result, x: Any) -> Any:
    function = getattr(cupy, NAMES.get(result.operation, result.operation))
    one = result.axes[0] if len(result.axes) == 1 else result.axes
    return function(x, axis=one)
