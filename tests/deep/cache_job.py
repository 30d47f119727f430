"""Compile and run kernels; each line that is shown is of one whose result is right.

    python -m tests.deep.cache_job TARGET COUNT

The target is c, opencl or cuda, of which the host's processor plays the part.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import polygen as pg
from tests.nvidia.conftest import PLACES
from tests.nvidia.host_driver import HostDriver, compiled_shim


def main() -> None:
    target, count = sys.argv[1], int(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        if target == "cuda":
            host = HostDriver(compiled_shim(Path(folder)))
            for place in PLACES:
                patch.setattr(f"polygen.runtime.{place}.driver", lambda: host)
        for factor in range(2, 2 + count):
            knl = pg.make_kernel("{ [i]: 0<=i<n }", f"out[i] = {factor}*a[i]")
            _, (out,) = knl.executor(target)(a=np.arange(5.0))
            assert (out == factor * np.arange(5)).all()
            sys.stdout.write(f"{factor}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
