"""What a GPU refuses or fails at: an error that says it, and processes go on where they can."""

from __future__ import annotations

import pytest

from tests.gpu.example import NAMES
from tests.gpu.failing import CASES
from tests.gpu.processes import run


@pytest.mark.parametrize("case", CASES)
def test_cuda(case: str) -> None:
    assert run("-m", "tests.gpu.failing", "cuda", case) == "as expected\n"


@pytest.mark.parametrize("case", CASES)
def test_cuda_through_cupy(case: str) -> None:
    assert run("-m", "tests.gpu.failing", "cuda", case, "cupy") == "as expected\n"


@pytest.mark.parametrize("case", [case for case in CASES if "_of_" not in case])
def test_opencl(case: str) -> None:
    assert run("-m", "tests.gpu.failing", "opencl", case) == "as expected\n"


def test_examples_through_cupy() -> None:
    shown = run("-m", "tests.gpu.example", "cuda-through-cupy", *NAMES[:6])
    assert shown.count("kernels on cuda") == 6
