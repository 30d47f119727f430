"""Files for OpenCL: what programs in plain C compute through the OpenCL API, on PoCL."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pyopencl
import pytest

import polygen as pg
from polygen.errors import CannotEmit
from tests.emission.hosts import STRICT, make, refused, run_host
from tests.emission.kernels import cases

NAMES = ("product", "steps", "many_types", "vectors", "reversed_blocks")
CASES = {name: case for name, case in cases().items() if name in NAMES}


@pytest.fixture(scope="module")
def pocl(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment in which the system's loader finds the PoCL that comes with pyopencl."""
    folder = tmp_path_factory.mktemp("vendors")
    (library,) = (Path(pyopencl.__file__).parent / ".libs").glob("libpocl*.so*")
    (folder / "pocl.icd").write_text(f"{library}\n")
    cache = tmp_path_factory.mktemp("pocl")
    return {"OCL_ICD_VENDORS": f"{folder}/", "POCL_CACHE_DIR": str(cache)}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write and build the programs, under all warnings."""
    folder = tmp_path_factory.mktemp("for_opencl")
    for name, case in CASES.items():
        pg.emit(case.make(True), "opencl", folder / name)
        make(folder / name, f"CFLAGS={STRICT}")
    return folder


@pytest.mark.parametrize("name", CASES)
def test_program(name: str, built: Path, pocl: dict[str, str]) -> None:
    case, folder = CASES[name], built / name
    found = run_host(folder, case.arrays, case.numbers, case.expected, **pocl)
    for output, expected in case.expected.items():
        assert found[output].dtype == expected.dtype, output
        np.testing.assert_allclose(found[output], expected, rtol=1e-6)


def test_nothing_to_do(built: Path, pocl: dict[str, str]) -> None:
    """With a size of 0 there is no launch; a size that cannot be is refused before any."""
    found = run_host(built / "steps", {}, {"n": 0, "steps": 2}, ["u"], **pocl)
    assert found["u"].shape == (0,)
    assert "an extent of 'u', (n), is negative" in refused(built / "steps", "n=-1", "steps=2")


def test_sub_groups_are_refused() -> None:
    """Whether a device has sub-groups of that size, hosts would have to ask."""
    knl = pg.make_kernel("{ [i, j]: 0<=i<n and 0<=j<32 }", "out[i] = sum(j, a[i, j])")
    knl = pg.tag_inames(pg.add_dtypes(knl, {"a": np.float32}), {"i": "g.0", "j": "l.0"})
    assert (
        "sub_group_size"
        in pg.emit(pg.set_options(knl, sub_group_size=0), "opencl").files["polygen_kernel.json"]
    )
    with pytest.raises(CannotEmit) as caught:
        pg.emit(pg.set_options(knl, sub_group_size=32), "opencl")
    assert "counts on sub-groups of 32 work items" in str(caught.value)


def test_headers_are_c_plus_plus(built: Path, tmp_path: Path) -> None:
    """All of them together."""
    (tmp_path / "all.cpp").write_text("".join(f'#include "{name}_opencl.h"\n' for name in CASES))
    folders = [f"-I{built / name}" for name in CASES]
    command = ["g++", *STRICT.split(), *folders, "-fsyntax-only", "all.cpp"]
    subprocess.run(command, cwd=tmp_path, check=True)
