"""Programs that `pg.emit` writes for CUDA, built with nvcc and run on the GPU.

Where CUDA is not in /usr/local/cuda, the environment variable CUDA_PATH says it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emission.kernels import cases
from tests.gpu.emitted import check


@pytest.mark.parametrize("name", cases())
def test_program(name: str, tmp_path: Path) -> None:
    check(name, tmp_path)
