"""One kernel, called by several threads at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import polygen as pg
from polygen.runtime.backends.opencl.opencl_driver import pyopencl


def test_first_calls_at_once(target: str) -> None:
    for _ in range(5):
        knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = alpha*a[i]").executor(target)

        def call(number: int, knl: Any = knl) -> bool:
            a = np.arange(float(number % 3 + 5))
            _, (out,) = knl(a=a, alpha=float(number))
            return bool((out == number * a).all())

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(call, range(32)))


def test_one_plan(target: str) -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = alpha*a[i] + 1").executor(target)
    a = np.arange(100.0)

    def call(number: int) -> bool:
        return all(
            (knl(a=a, alpha=float(alpha))[1][0] == alpha * a + 1).all()
            for alpha in range(number, number + 20)
        )

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(16)))


def test_one_queue(queue: Any) -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = alpha*a[i] + 1")
    array = pyopencl().array
    a = array.to_device(queue, np.arange(100.0))
    host = a.get()

    def call(number: int) -> bool:
        outputs = [
            (alpha, knl(queue, a=a, alpha=float(alpha))[1][0])
            for alpha in range(number, number + 20)
        ]
        return all((out.get() == alpha * host + 1).all() for alpha, out in outputs)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(16)))
