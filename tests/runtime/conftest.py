"""What the tests of the runtime share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.runtime.backends.opencl.opencl_driver import default_context, pyopencl


@pytest.fixture(params=["c", "opencl"])
def target(request: pytest.FixtureRequest) -> str:
    """Each target that runs everywhere."""
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def queue() -> Any:
    """A command queue of OpenCL."""
    return pyopencl().CommandQueue(default_context())


@pytest.fixture
def double() -> pg.Kernel:
    """The smallest kernel: ``out[i] = 2*a[i]``."""
    return pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")


@pytest.fixture
def numbers() -> Any:
    """Some numbers."""
    return np.arange(10, dtype=np.float32)
