"""Files for OpenCL: what programs in plain C compute through the OpenCL API, on PoCL."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pyopencl as cl
import pytest

import polygen as pg
from polygen.errors import CannotEmit
from polygen.runtime.backends.opencl.pocl import PLATFORM
from tests.emission.hosts import STRICT, make, refused, run_host
from tests.emission.kernels import cases
from tests.needs import needs

pytestmark = pytest.mark.more

NAMES = ("product", "steps", "settled", "many_types", "vectors", "reversed_blocks")
CASES = {name: case for name, case in cases().items() if name in NAMES}
HEADERS = Path(__file__).with_name("opencl_headers")  # not all machines have the whole ones


@pytest.fixture(scope="module")
def pocl() -> dict[str, str]:
    """The environment in which programs take PoCL, whatever else their loader finds."""
    devices = [d for platform in cl.get_platforms() for d in platform.get_devices()]
    first = next(n for n, d in enumerate(devices) if d.platform.name == PLATFORM)
    return {"PG_DEVICE": str(first)}


def loader() -> Path:
    """Return the loader of OpenCL that pyopencl has: where that finds devices, programs do, too."""
    mapped = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines()}
    (found,) = (Path(path) for path in mapped if Path(path).name.startswith("libOpenCL"))
    return found


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write and build the programs, under all warnings."""
    folder, library = tmp_path_factory.mktemp("for_opencl"), loader()
    # An old tag: drivers, which the loader loads, are looked for there, too.
    link = f"{library} -Wl,--disable-new-dtags,-rpath,{library.parent}"
    opencl = (f"CL_CFLAGS=-I{HEADERS}", f"CL_LIBS={link}")
    for name, case in CASES.items():
        pg.emit(case.make(True), "opencl", folder / name)
        make(folder / name, f"CFLAGS={STRICT}", *opencl)
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


@needs("OpenCL's headers")
def test_headers_and_loader_of_the_machine(built: Path, tmp_path: Path) -> None:
    """Programs are built with them, if nothing else is said; and those of the tests agree."""
    pg.emit(CASES["steps"].make(True), "opencl", tmp_path / "steps")
    make(tmp_path / "steps", f"CFLAGS={STRICT}")
    both = f"#include </usr/include/CL/cl.h>\n#include <{HEADERS}/CL/cl.h>\n"
    (tmp_path / "both.c").write_text(f"#define CL_TARGET_OPENCL_VERSION 120\n{both}")
    command = ["gcc", "-std=c11", *STRICT.split(), "-fsyntax-only", "both.c"]
    subprocess.run(command, cwd=tmp_path, check=True)


@needs("g++")
def test_headers_are_c_plus_plus(built: Path, tmp_path: Path) -> None:
    """All of them together."""
    (tmp_path / "all.cpp").write_text("".join(f'#include "{name}_opencl.h"\n' for name in CASES))
    folders = [f"-I{built / name}" for name in CASES]
    folders.append(f"-I{HEADERS}")
    command = ["g++", *STRICT.split(), *folders, "-fsyntax-only", "all.cpp"]
    subprocess.run(command, cwd=tmp_path, check=True)
