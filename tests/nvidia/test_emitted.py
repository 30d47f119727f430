"""Files for CUDA: what programs compute through a driver that runs CUDA C++ on the host."""

from __future__ import annotations

import subprocess
from importlib.metadata import files
from pathlib import Path

import numpy as np
import pytest

import polygen as pg
from tests.emission.hosts import STRICT, make, refused, run_host
from tests.emission.kernels import cases
from tests.few import few
from tests.needs import needs
from tests.nvidia.host_driver import HostDriver

NAMES = ("steps", "settled", "many_types", "reversed_blocks")
CASES = {name: case for name, case in cases().items() if name in NAMES}
FAKE = Path(__file__).with_name("fake_cuda.c")


def headers() -> Path:
    """Return the folder of cuda.h, which the package nvidia-cuda-runtime brings."""
    found = [file for file in files("nvidia-cuda-runtime") or () if file.name == "cuda.h"]
    return Path(str(found[0].locate())).parent


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write and build the programs, under all warnings, beside the driver."""
    folder = tmp_path_factory.mktemp("for_cuda")
    library = f"-shared -fPIC -w -I{headers()} {FAKE} -o {folder}/libcuda.so"
    subprocess.run(["gcc", *library.split()], check=True)
    for name, case in CASES.items():
        pg.emit(case.make(True), "cuda", folder / name)
        make(
            folder / name,
            f"{name}_host",
            f"CFLAGS={STRICT}",
            f"CUDA_CFLAGS=-isystem {headers()}",
            f"CUDA_LIBS={folder}/libcuda.so",
        )
    return folder


@few(1, "name", CASES)
def test_program(name: str, built: Path, shim: Path) -> None:
    case, folder = CASES[name], built / name
    code, log = HostDriver(shim).compile((folder / f"{name}.cu").read_text(), ())
    assert code, log
    (folder / f"{name}.fatbin").write_bytes(code)
    found = run_host(folder, case.arrays, case.numbers, case.expected)
    for output, expected in case.expected.items():
        assert found[output].dtype == expected.dtype, output
        np.testing.assert_allclose(found[output], expected, rtol=1e-6)


def test_what_is_refused(built: Path) -> None:
    assert "'u', (n), is negative" in refused(built / "steps", "n=-1", "steps=1")
    source = pg.emit(CASES["reversed_blocks"].make(True), "cuda").files["reversed_blocks_cuda.h"]
    assert '"reversed_blocks", 65536, &pg_functions[0]' in source


@needs("g++")
def test_headers_are_c_plus_plus(built: Path, tmp_path: Path) -> None:
    """All of them together."""
    (tmp_path / "all.cpp").write_text("".join(f'#include "{name}_cuda.h"\n' for name in CASES))
    folders = [f"-I{built / name}" for name in CASES]
    command = ["g++", *STRICT.split(), "-isystem", str(headers()), *folders, "-fsyntax-only"]
    subprocess.run([*command, "all.cpp"], cwd=tmp_path, check=True)
