"""Calls with NumPy arrays on a GPU: where `target="auto"` runs them, and what is copied.

python -m tests.gpu.placement    shows what each takes, and ends with "calls are placed"
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import polygen as pg
from polygen.jitting.placement import accelerator

Array = Any  # NumPy's
RANDOM: Any = np.random.default_rng(0)


def product(a: Array, b: Array) -> Array:
    return a @ b


def added(a: Array, b: Array) -> Array:
    return a + b


def swept(x: Array, y: Array, steps: int) -> None:
    for _ in range(steps):
        y[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / 3
        x[1:-1] = (y[:-2] + y[1:-1] + y[2:]) / 3


def in_parts(x: Array, y: Array) -> float:
    for i in range(len(x)):
        y[i] = 2 * x[i]
    print("between")  # noqa: T201
    total = 0.0
    for i in range(len(x)):
        total += y[i]
    return total


def _seconds(call: Callable[[], object]) -> float:
    call()
    times: list[float] = []
    for _ in range(3):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def _placed(function: Any, on_device: bool, *arguments: Any) -> None:
    """Run a function in all three ways, and check where the choice was the GPU."""
    compiled = {target: pg.jit(function, target=target) for target in ("auto", "c", "cuda")}
    given: list[Any] = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    wanted = function(*given)
    for target, call in compiled.items():
        own: list[Any] = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        found = call(*own)
        if wanted is not None:
            np.testing.assert_allclose(found, wanted, rtol=1e-9)
        for one, other in zip(own, given, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, err_msg=target)
    times = {target: _seconds(partial(call, *arguments)) for target, call in compiled.items()}
    shown = ", ".join(f"{target} {1e3 * seconds:.3f} ms" for target, seconds in times.items())
    text = compiled["auto"].explain()
    lines = [line for line in text.splitlines() if "sizes like" in line and "on the" in line]
    sys.stdout.write(f"{function.__name__}: {shown}\n" + "\n".join(lines) + "\n")
    assert ("on the device for sizes like" in text) == on_device, text


def main() -> None:
    """Check where calls run."""
    device = accelerator()
    assert device is not None
    sys.stdout.write(f"copies: {device.bytes_per_second / 1e9:.2f} GB/s\n")
    square, small = RANDOM.random((2, 3000, 3000)), RANDOM.random((2, 20, 20))
    _placed(product, True, *square)
    _placed(product, False, *small)
    _placed(added, False, *square)
    _placed(swept, True, *RANDOM.random((2, 5_000_000)), 100)
    compiled = pg.jit(in_parts, target="cuda")
    x, y = RANDOM.random(1000), 0 * RANDOM.random(1000)
    np.testing.assert_allclose(compiled(x, y), 2 * x.sum())
    np.testing.assert_array_equal(y, 2 * x)
    # Both arrays there, once; the one that was written back, with the sum.
    text = compiled.explain()
    assert "8000 bytes there, 8008 back" in text, text
    sys.stdout.write("calls are placed\n")


if __name__ == "__main__":
    main()
