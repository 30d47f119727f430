"""PyTorch, a call for each step."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from benchmarks.on_gpu.cases import Case, Result

torch: Any = import_module("torch")


def cast(dtype: str) -> Callable[[Any], Any]:
    return lambda x: x.to(getattr(torch, dtype))


CASTS = {name: cast(name) for name in ("float16", "float32", "float64")}


def element(result: Result, arrays: dict[str, Any]) -> Any:
    """Return what is reduced, computed."""
    names = {name: name for name in arrays}
    return eval(result.element.format(**names), dict(CASTS), arrays)  # noqa: S307  (cases.py has it)


def bind(case: Case, arrays: dict[str, Any]) -> Callable[[], Any] | None:
    """Return a call; None for what PyTorch does not have."""
    if any(not has(r.operation, case) for r in case.results):
        return None

    def call() -> Any:
        return [reduced(r, element(r, arrays)) for r in case.results]

    return call


def has(operation: str, case: Case) -> bool:
    types = set(case.inputs.values())
    if operation.startswith("bit_") or types & {"uint16", "uint32", "uint64"}:
        return False
    if operation == "product":
        return all(len(r.axes) == 1 for r in case.results)
    return not (operation in ("argmin", "argmax") and "bool" in types)


def reduced(result: Result, x: Any) -> Any:
    axes = result.axes
    match result.operation:
        case "sum":
            return torch.sum(x, axes)
        case "product":
            return torch.prod(x, axes[0])
        case "min" | "max":
            return getattr(torch, f"a{result.operation}")(x, axes)
        case "softmax":
            return torch.softmax(x, axes[0])
        case "layer_norm":
            return torch.nn.functional.layer_norm(x, x.shape[1:])
        case "any" | "all":
            return getattr(torch, result.operation)(x, axes)
        case other:
            (axis,) = axes
            return getattr(torch, other)(x, axis)
