"""What the tests on a GPU share."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from polygen.runtime.backends.opencl import nvidia_opencl
from tests.pocl_device import usable_pocl


@pytest.fixture(scope="session", autouse=True)
def gpu_of_opencl() -> Iterator[None]:
    """Have OpenCL run on the GPU, where other tests see PoCL, unless a device is asked for."""
    with pytest.MonkeyPatch.context() as patch:
        if os.environ["PYOPENCL_CTX"] == usable_pocl():
            patch.setenv("PYOPENCL_CTX", nvidia_opencl.PLATFORM)
        yield
