"""Programs that `pg.emit` writes for CUDA, built with nvcc and run on the GPU."""

from __future__ import annotations

import ctypes.util
import shutil
from pathlib import Path

import pytest

from tests.emission.kernels import cases
from tests.gpu.emitted import check


@pytest.mark.parametrize("name", cases())
def test_program(name: str, tmp_path: Path) -> None:
    nvcc, library = shutil.which("nvcc"), ctypes.util.find_library("cuda")
    assert nvcc is not None, "nvcc is not on the PATH"
    assert library is not None, "the driver's library is not there"
    root = Path(nvcc).resolve().parents[1]
    check(name, tmp_path, f"CUDA_PATH={root}", f"CUDA_LIBS=-l:{library}")
