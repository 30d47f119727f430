"""Programs that `pg.emit` writes for CUDA, built with nvcc and run on the GPU.

python -m tests.gpu.emitted FOLDER [NAME...]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import polygen as pg
from tests.emission.hosts import STRICT, make, run_host
from tests.emission.kernels import cases


def check(name: str, folder: Path, *settings: str) -> None:
    """Build and run a program; compare what it writes with NumPy's."""
    case = cases()[name]
    pg.emit(case.make(True), "cuda", folder / name)
    make(folder / name, f"CFLAGS={STRICT}", *settings)
    found = run_host(folder / name, case.arrays, case.numbers, case.expected)
    for output, expected in case.expected.items():
        assert found[output].dtype == expected.dtype
        np.testing.assert_allclose(found[output], expected, rtol=1e-5)


def main() -> None:
    folder, *names = sys.argv[1:]
    for name in names or cases():
        check(name, Path(folder))
        sys.stdout.write(f"{name}: fine\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
