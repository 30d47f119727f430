"""C, OpenCL and CUDA compute the same, up to what rounding may do."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path

import pytest

from tests.gpu.processes import run
from tests.random_kernels.agree import cases_of, check_agreement

COUNT = 40


@pytest.mark.parametrize("first", range(7_000, 7_200, COUNT))
def test_three_targets(first: int, tmp_path: Path) -> None:
    for target in ("c", "opencl", "cuda"):
        path = str(tmp_path / target)
        run("-m", "tests.random_kernels.agree", target, str(first), str(COUNT), path)
    found = {path.name: pickle.loads(path.read_bytes()) for path in sorted(tmp_path.iterdir())}  # noqa: S301  (ours)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = cases_of(first, COUNT)
    assert check_agreement(cases, found) > 0.75 * COUNT
