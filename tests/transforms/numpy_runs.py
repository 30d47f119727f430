"""Transformed kernels on awkward sizes, on both targets, compared with NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polygen.ir.kernel import Kernel
from tests.oracle.cases import Step

SIZES = (0, 1, 7, 8, 9)  # empty, one, a prime, a tile, one more
Expected = Callable[[NDArray[Any]], Mapping[str, NDArray[Any]]]


def numpy_agrees(knl: Kernel, step: Step, expected: Expected, dimensions: int = 1) -> None:
    """Check what a step makes of a kernel whose only input is `a`, of `n` elements an axis.

    Parameters:
        knl: the kernel.
        step: makes another one that must do the same.
        expected: returns the outputs by their names.
        dimensions: how many axes `a` has.
    """
    new = step(knl)
    assert new != knl
    for target in ("c", "opencl"):
        run = new.executor(target)
        for n in SIZES:
            a = np.random.default_rng(n).integers(-8, 9, size=(n,) * dimensions).astype(np.float64)
            wanted = expected(a)
            _, found = run(a=a.copy(), **({} if n else {"n": 0}))
            assert len(found) == len(wanted)
            for values, (name, right) in zip(found, wanted.items(), strict=True):
                np.testing.assert_allclose(values, right, rtol=1e-12, err_msg=f"{name} {n}")
