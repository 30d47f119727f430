"""Files for C: what they compute, compared with NumPy."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import polygen as pg
from polygen.cli.short_form import read_short
from polygen.source import SourceLocation
from tests.emission.hosts import STRICT, filled, make, refused, run_host
from tests.emission.kernels import cases
from tests.needs import needs

CASES = cases()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write and build the programs for all kernels, under all warnings."""
    folder = tmp_path_factory.mktemp("for_c")
    for name, case in CASES.items():
        pg.emit(case.make(False), "c", folder / name)
    targets = "\n".join(f"{name}: ; $(MAKE) -C {name}" for name in CASES)
    (folder / "Makefile").write_text(
        f"all: {' '.join(CASES)}\n.PHONY: all {' '.join(CASES)}\n{targets}\n"
    )
    make(folder, "-j2", f"CFLAGS={STRICT}")
    return folder


@pytest.mark.parametrize("name", CASES)
def test_program(name: str, built: Path) -> None:
    case = CASES[name]
    found = run_host(built / name, case.arrays, case.numbers, case.expected)
    for output, expected in case.expected.items():
        assert found[output].dtype == expected.dtype, output
        np.testing.assert_allclose(found[output], expected, rtol=1e-5 if name == "axpy" else 1e-6)


def test_sizes_that_cannot_be(built: Path) -> None:
    axpy, product, rows = built / "axpy", built / "product", built / "rows"
    said = refused(axpy, "n=10", "alpha=1")
    assert said == "axpy: the kernel assumes [n] -> {  : (n) mod 4 = 0 }\n"
    assert "an extent of 'a', (n), is negative" in refused(axpy, "n=-4", "alpha=1")
    assert "n has to be from -2146435071 to" in refused(axpy, "n=2147483644", "alpha=1")
    assert "no value that the kernel takes: 4294967296" in refused(axpy, "n=4294967296")
    assert "alpha has no value\nusage: ./axpy_host alpha=NUMBER" in refused(axpy, "n=4")
    assert "usage:" in refused(axpy, "m=4")
    said = refused(product, "n=3", "m=4", "l=5", "ld=-1")
    assert "b: elements would lie before its memory" in said
    said = refused(product, "n=3", "m=4", "l=5", "ld=1152921504606846975")
    assert "product: 'b' is too large\n" in said
    said = refused(built / "program", "n=600000000")
    assert "'a' is too large for indices of 32 bits: declare a size as int64" in said
    assert "start has to be given" in refused(rows, "n=4", "m=3")


def test_what_is_filled(built: Path) -> None:
    """Arrays that are not given are filled, by a rule; arrays of nothing are fine."""
    found = run_host(built / "axpy", {}, {"n": 200, "alpha": 0.5}, ["out"])
    a, b = (filled(number, (200,), "float32") for number in (0, 1))
    np.testing.assert_allclose(found["out"], np.float32(0.5) * a + b)
    found = run_host(built / "halves", {}, {"n": 70}, ["h_out", "b_out", "s_out", "c_out"])
    arrays = ["b", "b_out", "c", "c_out", "h", "h_out", "s", "s_out"]
    given = {n: filled(arrays.index(n), (70,), found[f"{n}_out"].dtype.name) for n in "bchs"}
    np.testing.assert_array_equal(found["h_out"], 2 * given["h"])
    np.testing.assert_array_equal(found["b_out"], ~given["b"])
    np.testing.assert_array_equal(found["s_out"], given["s"] - np.int8(100))
    np.testing.assert_allclose(found["c_out"], given["c"] ** 2, rtol=1e-6)
    assert run_host(built / "axpy", {}, {"n": 0, "alpha": 0.5}, ["out"])["out"].shape == (0,)


def test_files_that_do_not_fit(built: Path, tmp_path: Path) -> None:
    axpy = built / "axpy"
    np.save(tmp_path / "wide.npy", np.zeros(8))
    np.save(tmp_path / "short.npy", np.zeros(4, np.float32))
    (tmp_path / "text.npy").write_text("1, 2, 3")
    wide, short, text = (tmp_path / f"{name}.npy" for name in ("wide", "short", "text"))
    assert f"{wide}: 'a' is an array of float32" in refused(axpy, "alpha=1", f"a={wide}")
    said = refused(axpy, "alpha=1", f"a={short}", "n=8")
    assert f"{short}: 'a' has to have the shape (8)" in said
    assert f"{text}: no .npy file" in refused(axpy, f"a={text}")
    assert "No such file" in refused(axpy, f"a={tmp_path}/none.npy")


def test_fortran_order(built: Path) -> None:
    """Arrays in .npy files may be in Fortran's order, which is not where the kernel has them."""
    case = CASES["product"]
    arrays = {name: np.asfortranarray(array) for name, array in case.arrays.items()}
    found = run_host(built / "product", arrays, case.numbers, ["c"])
    np.testing.assert_allclose(found["c"], case.expected["c"])


@needs("g++")
def test_from_c_plus_plus(built: Path, tmp_path: Path) -> None:
    """The headers are C++ too, all of them together, and the library can be called."""
    includes = "".join(f'#include "{name}.h"\n' for name in CASES)
    (tmp_path / "main.cpp").write_text(
        includes + "int main()\n{\n"
        "    float a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8}, out[4];\n"
        "    int const status = axpy_run(a, 2, b, 4, out);\n"
        "    return status == 0 && out[3] == 16 && axpy_check(3) != 0 ? 0 : 1;\n}\n"
    )
    folders = [f"-I{built / name}" for name in CASES]
    objects = [str(built / "axpy" / name) for name in ("axpy.o", "axpy_run.o")]
    command = ["g++", *STRICT.split(), "-fopenmp", *folders, "main.cpp", *objects, "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert subprocess.run(["./main"], cwd=tmp_path, check=False).returncode == 0


def test_strides_that_are_left_to_the_call(built: Path) -> None:
    """A program is told them, or takes arrays to be row-major."""
    s = CASES["wide"].arrays["s"]
    found = run_host(built / "wide", {"s": s}, {"s_stride_0": 9}, ["t"])
    np.testing.assert_array_equal(found["t"], s.T)
    said = refused(built / "wide", "n=3", "m=4", "s_stride_0=-5")
    assert "s: elements would lie before its memory" in said


LAPLACIAN = """
{ [i, j]: 0<=i,j<n }
TYPES: u: float32
out[i, j] = u[i, j+1] + u[i+2, j+1] + u[i+1, j] + u[i+1, j+2] - 4*u[i+1, j+1]
"""


def test_what_is_filled_shows_differences(tmp_path: Path) -> None:
    """No differences of neighbours cancel, and elements that change places change a sum."""
    laplacian = read_short(LAPLACIAN, SourceLocation("text", 1)).copy(name="laplacian")
    laplacian = pg.prioritize_loops(laplacian, "i, j")
    pg.emit(laplacian, "c", tmp_path / "laplacian")
    make(tmp_path / "laplacian", f"CFLAGS={STRICT}")
    out = run_host(tmp_path / "laplacian", {}, {"n": 30}, ["out"])["out"]
    whole = np.abs(64 * out) % 61 == 0  # what differences of a ramp modulo 61 are
    assert np.count_nonzero(out) > 0.9 * out.size
    assert np.count_nonzero(whole) < 0.1 * out.size
    lines: list[list[str]] = []
    for text in ("out[i] = u[i]", "out[i] = u[n - 1 - i]"):
        knl = pg.make_kernel("{ [i]: 0<=i<n }", text, [pg.GlobalArg("u", shape="n"), "..."])
        knl = pg.add_dtypes(knl, {"u": "float64"}).copy(name="moved")
        pg.emit(knl, "c", tmp_path / "moved")
        make(tmp_path / "moved", f"CFLAGS={STRICT}")
        run_host(tmp_path / "moved", {}, {"n": 300}, ["out"])
        lines.append(make(tmp_path / "moved", "run", "ARGS=n=300").split())
    (plain, turned) = ([line[line.index(w) + 1] for w in ("sum", "mixed")] for line in lines)
    assert plain[0] == turned[0]
    assert plain[1] != turned[1]
