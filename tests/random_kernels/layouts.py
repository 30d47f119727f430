"""Arguments of random kernels as calls pass them: laid out as is declared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from polygen.ir.array import GlobalArg
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Auto, Separate, Strided, Vector
from tests.oracle.evaluate import integer
from tests.oracle.layouts import laid, places

Arrays = dict[str, Any]
_AUTO = (-12, 2)  # strides along the axes where any will do; rows are of 4


def passed(kernel: Kernel, arguments: Mapping[str, Any]) -> Arrays:
    """Return the arguments of a call, from arrays in which nothing is said of layouts."""
    sizes = {name: int(arguments[name]) for name in ("n", "m") if name in arguments}
    found = dict(arguments)
    for arg in _laid_out(kernel, arguments):
        found[arg.name] = _passed(arg, arguments[arg.name], sizes)
    return found


def _laid_out(kernel: Kernel, arguments: Mapping[str, Any]) -> Iterator[GlobalArg]:
    for arg in kernel.arguments:
        if isinstance(arg, GlobalArg) and arg.dim_tags is not None and arg.name in arguments:
            yield arg


def _passed(arg: GlobalArg, values: Any, sizes: Mapping[str, int]) -> Any:
    strides = _strides(arg, values.shape, sizes)
    if any(isinstance(tag, Separate) for tag in arg.dim_tags or ()):
        return tuple(laid(values[:, part], strides[:1]) for part in range(values.shape[-1]))
    return laid(values, strides)


def _strides(arg: GlobalArg, shape: tuple[int, ...], sizes: Mapping[str, int]) -> tuple[int, ...]:
    """Return the strides along the axes, in elements, from where each element is said to be."""
    tags = arg.dim_tags or ()
    free = [isinstance(t, Strided) and isinstance(t.stride, Auto) for t in tags]
    if any(free):
        return tuple(_AUTO[axis] if any_will_do else 1 for axis, any_will_do in enumerate(free))
    by_index = {index: place for place, index in _places(arg, shape, sizes).items()}
    vectors = [n for n, tag in zip(shape, tags, strict=True) if isinstance(tag, Vector)]
    unit = 4 if vectors == [3] else sum(vectors) or 1
    first, found = by_index[(0,) * len(shape)], list[int]()
    for axis, extent in enumerate(shape):
        step = by_index[tuple(int(a == axis) for a in range(len(shape)))] if extent > 1 else first
        found.append(1 if isinstance(tags[axis], Vector) else (step[0] - first[0]) * unit)
    return tuple(found)


def _places(
    arg: GlobalArg, shape: tuple[int, ...], sizes: Mapping[str, int]
) -> dict[tuple[int, ...], tuple[int, ...]]:
    return places(arg, shape, lambda node: integer(node, sizes))


def whole(found: Mapping[str, Any]) -> Arrays:
    """Return what a call left in its arguments as arrays in which nothing is said of layouts."""
    return {
        name: np.stack(value, axis=-1) if isinstance(value, tuple) else value
        for name, value in found.items()
    }
