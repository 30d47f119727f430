"""Kernels that call BLAS and LAPACK, as files for other hosts: linked with what the user names."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import CannotEmit, CompilationFailed
from tests.oracle.cases import kernel

# As much of BLAS and LAPACK as the tests need: what Fortran's routines do, by columns.
BLAS = r"""
void dgemm_(char *ta, char *tb, int *m, int *n, int *k, double *alpha, double *a, int *lda,
            double *b, int *ldb, double *beta, double *c, int *ldc)
{
    for (int i = 0; i < *m; ++i)
        for (int j = 0; j < *n; ++j) {
            double sum = 0;
            for (int l = 0; l < *k; ++l)
                sum += (*ta == 'N' ? a[i + l**lda] : a[l + i**lda])
                    * (*tb == 'N' ? b[l + j**ldb] : b[j + l**ldb]);
            c[i + j**ldc] = *alpha*sum + (*beta == 0 ? 0 : *beta*c[i + j**ldc]);
        }
}
void dpotrf_(char *uplo, int *n, double *a, int *lda, int *info)
{
    *info = *n == 1 && a[0] >= 1 ? 0 : 1; // of one element only
    a[0] = a[0] == 4 ? 2 : a[0];
    (void) uplo; (void) lda;
}
"""
TEXT = """
d = library("gemm", a, b, alpha=s)           {id=d}
[i, j]: q[i, j] = library("potrf", [i, j]: q[i, j], n=1)
out[i, j] = d[i, j] + q[0, 0]                {dep=d:potrf}
"""


def emitted() -> pg.Kernel:
    shapes = {"a": "n, l", "b": "l, m", "q": "2, 2", "out": "n, m"}
    return kernel(
        "{ [i, j]: 0<=i<n and 0<=j<m }",
        TEXT,
        *(pg.GlobalArg(name, np.float64, shape=shape) for name, shape in shapes.items()),
        pg.TemporaryVariable("d", np.float64, shape="n, m", address_space=pg.AddressSpace.GLOBAL),
        pg.ValueArg("s", np.float64),
        name="summed",
        loop_priority="i, j",
    )


@pytest.fixture(scope="module")
def blas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile a small BLAS."""
    folder = tmp_path_factory.mktemp("blas")
    (folder / "blas.c").write_text(BLAS)
    found = folder / "libsmall.a"
    for command in (["cc", "-O1", "-fPIC", "-c", "blas.c"], ["ar", "rc", found.name, "blas.o"]):
        subprocess.run(command, cwd=folder, check=True)
    return found


def test_build(blas: Path, tmp_path: Path) -> None:
    knl = emitted()
    path = pg.build(knl, tmp_path, [str(blas)])
    spec = importlib.util.spec_from_file_location("built_summed", path)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rng = np.random.default_rng(2)
    a, b = rng.random((3, 4)), rng.random((4, 5))
    out = module.summed(a=a, b=b, q=np.full((2, 2), 4.0), s=3.0)[-1]
    np.testing.assert_allclose(out, 3 * (a @ b) + 2, rtol=1e-13)
    with pytest.raises(ValueError, match="'summed': potrf: the matrix is not positive definite"):
        module.summed(a=a, b=b, q=np.full((2, 2), -4.0), s=3.0)


def test_a_library_has_to_be_named(blas: Path, tmp_path: Path) -> None:
    knl = emitted()
    with pytest.raises(CannotEmit, match="calls gemm, and no library is named") as caught:
        pg.build(knl, tmp_path)
    assert "-lopenblas" in str(caught.value.remedy)
    with pytest.raises(CompilationFailed, match="dgemm_"):
        pg.build(knl, tmp_path, ["-lc"])
    assert not list(tmp_path.iterdir())


def test_what_only_python_has(tmp_path: Path) -> None:
    data = [pg.GlobalArg(name, np.complex128, shape="n") for name in "xy"]
    knl = kernel("{ : }", 'y = library("fft", x)', *data)
    with pytest.raises(CannotEmit, match="calls fft, which polygen has from SciPy"):
        pg.emit(knl, "c")
    with pytest.raises(CannotEmit, match="calls fft, which polygen has from SciPy"):
        pg.build(knl, tmp_path, ["-lm"])


def test_emit(blas: Path, tmp_path: Path) -> None:
    """The program of the Makefile runs, and says what fails."""
    files = pg.emit(emitted(), "c", tmp_path).files
    assert "LIBRARIES ?= -llapack -lblas" in files["Makefile"]
    assert "unless a\n" in files["summed.h"]
    command = ["make", "--silent", f"LIBRARIES={blas}", "OPENMP=", "CFLAGS=-O1", "run"]
    done = subprocess.run(
        [*command, "ARGS=n=3 m=2 l=2 s=1"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "potrf: the matrix is not positive definite" in done.stdout + done.stderr
    plain = pg.make_kernel("{ [i]: 0<=i<n }", "y[i] = 2*x[i]", name="twice")
    twice = pg.emit(pg.add_dtypes(plain, {"x": np.float64}), "c").files
    assert not any("LIBRARIES" in text or "library" in text for text in twice.values())
