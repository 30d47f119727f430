"""Kernels for C, called from Fortran: what they compute, compared with NumPy."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polygen as pg
from tests.emission.hosts import filled, make, mixed
from tests.emission.kernels import cases
from tests.needs import require

CASES = {name: case for name, case in cases().items() if name in ("steps", "many_types", "halves")}
TEXTS = {"flag": "T", "c_single": "(2,-0.5)", "c_wide": "(1,3)"}
for bits in (8, 16, 32, 64):  # Fortran has no unsigned numbers, only their bits
    TEXTS[f"v_uint{bits}"] = str(CASES["many_types"].numbers[f"v_uint{bits}"] - 2**bits)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write and build the programs, under all warnings."""
    require("gfortran")
    folder = tmp_path_factory.mktemp("for_fortran")
    for name, case in CASES.items():
        pg.emit(case.make(False), "c", folder / name)
        make(folder / name, "-j2", f"{name}_fortran", "CFLAGS=-O0", "OPENMP=-fopenmp -Werror")
    return folder


def run(folder: Path, *arguments: str) -> str:
    command = [f"./{folder.name}_fortran", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", CASES)
def test_program(name: str, built: Path) -> None:
    case, folder = CASES[name], built / name
    arguments = [f"{n}={TEXTS.get(n, value)}" for n, value in case.numbers.items()]
    for array, value in case.arrays.items():
        value.tofile(folder / f"{array}.raw")
        arguments.append(f"{array}={array}.raw")
    sizes = {len(value) for value in case.arrays.values()}
    arguments += [f"n={size}" for size in sizes]
    for array in case.expected:
        arguments += ["-o", f"{array}={array}_out.raw"]
    run(folder, *arguments)
    for array, expected in case.expected.items():
        found: Any = np.fromfile(folder / f"{array}_out.raw", expected.dtype)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_what_is_shown(built: Path) -> None:
    """Arrays that are not given are filled, as the programs in C fill them."""
    name, kind, count, _, total, _, weighted, _, *first = run(
        built / "steps", "n=40", "steps=0"
    ).split()
    u = filled(0, (40,), "float64")
    assert (name, kind, count) == ("u", "float64", "40")
    assert float(total) == pytest.approx(u.sum())
    assert float(weighted) == pytest.approx(((1 + mixed(np.arange(40)) % 61) * u).sum())
    np.testing.assert_allclose([float(text) for text in first], u[:8])
    shown = run(built / "halves", "n=3").splitlines()
    c, s = (filled(n, (3,), kind) for n, kind in ((2, "complex64"), (6, "int8")))
    assert [float(t) for t in shown[1].split()[4:6]] == pytest.approx(
        [(c * c).sum().real, (c * c).sum().imag]
    )
    weighted_sum: Any = ((1 + mixed(np.arange(3)) % 61) * c * c).sum()
    assert [float(t) for t in shown[1].split()[7:9]] == pytest.approx(
        [weighted_sum.real, weighted_sum.imag]
    )
    assert [int(text) for text in shown[3].split()[-3:]] == [*(s - np.int8(100))]


def test_what_is_refused(built: Path) -> None:
    for arguments, said in (
        (["n=-1", "steps=2"], "steps: an extent of 'u', (n), is negative"),
        (["n=4"], "steps has no value"),
        (["n=4", "m=5"], "the kernel has no m"),
    ):
        command = ["./steps_fortran", *arguments]
        done = subprocess.run(command, cwd=built / "steps", capture_output=True, check=False)
        assert (done.returncode, done.stdout.decode().strip()) == (2, said)


def test_names() -> None:
    """Names that Fortran does not have, or takes for the same, become others."""
    names = ["a", "A", "_a", "x" * 80, "x" * 70 + "y" * 10, "c_int"]
    text = "\n".join(f"{name}[i] = {n}" for n, name in enumerate(names))
    knl = pg.make_kernel("{ [i]: 0<=i<n }", text, name="names")
    knl = pg.add_dtypes(knl, dict.fromkeys(names, np.int32))
    module = pg.emit(knl, "c").files["names_module.f90"]
    found = [line.split(":: ")[1] for line in module.splitlines() if "intent(out)" in line]
    assert len({name.lower() for name in found}) == len(names)
    assert max(len(name) for name in found) == len("(*)") + 63
    assert all(name[0].isalpha() for name in found)
    assert "c_int(*)" not in found
