"""Functions of C that take views: what they compute, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import polygen.workunits as pk
from polygen.errors import CompilationFailed, InvalidArgument, UnsupportedSpace, ViewMismatch

SOURCE = """
static double squared(double x) { return x * x; }

PK_FUNCTION double dot(PK_VIEW1(double) x, const PK_VIEW1(double) y)
{
    double sum = 0;
    for (int64_t i = 0; i < x.extent[0]; i++)
        sum += PK_AT1(double, x, i) * PK_AT1(double, y, i);
    return sum;
}

PK_FUNCTION void add(PK_VIEW2(float) a, int32_t by, bool twice)
{
    for (int64_t i = 0; i < a.extent[0]; i++)
        for (int64_t j = 0; j < a.extent[1]; j++)
            PK_AT2(float, a, i, j) += (twice ? 2 : 1) * by;
}

PK_FUNCTION int64_t nine(void) { return (int64_t)squared(3.0); }
"""


def test_values(tmp_path: Path) -> None:
    path = tmp_path / "functions.c"
    path.write_text(SOURCE)
    module = pk.compile_into_module(path, name="functions", space=pk.OpenMP)
    x = np.arange(12.0)
    assert module.dot(pk.from_numpy(x), x[::-1]) == x @ x[::-1]
    assert module.dot(pk.from_numpy(x)[::3], pk.from_numpy(x)[4:8]) == x[::3] @ x[4:8]
    a = pk.View([2, 3], pk.float32, layout=pk.LayoutLeft)
    module.add(a, 5, True)
    np.testing.assert_array_equal(np.asarray(a), np.full((2, 3), 10.0))
    assert module.nine() == 9


def test_calls_that_wait_run_before() -> None:
    module = pk.compile_into_module(None, SOURCE)
    x = pk.View([4], pk.double)

    @pk.workunit
    def count(i: int, x: pk.View1D[pk.double]) -> None:
        x[i] = i

    with pk.lazy():
        pk.parallel_for(4, count, x=x)
        assert module.dot(x, x) == 14.0


def test_arguments_are_checked() -> None:
    module = pk.compile_into_module(None, SOURCE)
    x, constant = np.arange(3.0), np.arange(3.0)
    constant.flags.writeable = False
    for given, why in (
        ((x,), "'dot' takes 2 arguments, and is given 1"),
        ((x, [1.0, 2.0, 3.0]), "'y' is declared as a view of double with 1 subscripts, and is a l"),
        ((x, x.astype(np.float32)), "has 1 subscripts and the type float32"),
        ((x, x.reshape(3, 1)), "has 2 subscripts and the type float64"),
        ((x, constant), "may not be written"),
    ):
        with pytest.raises(ViewMismatch, match=why):
            module.dot(*given)
    with pytest.raises(ViewMismatch, match="'by' is declared as int32_t, and is a str"):
        module.add(np.zeros((1, 1), np.float32), "1", False)
    with pytest.raises(ViewMismatch, match="'by' is declared as int32_t, and is 1099511627776"):
        module.add(np.zeros((1, 1), np.float32), 2**40, False)


def test_sources_that_are_refused() -> None:
    kokkos = "#include <Kokkos_Core.hpp>\nvoid f(Kokkos::View<double*> x) {}"
    for source, why in (
        (kokkos, "'Kokkos_Core.hpp': it is Kokkos' C..,"),
        ("void f(void) {}", "marks no function by PK_FUNCTION"),
        ("PK_FUNCTION void f(char *x) {}", r"'char \*x' of the function 'f' in 'own' is neither"),
        ("PK_FUNCTION size_t f(void) {}", "'size_t' of the function 'f'"),
        (None, "neither a file nor a source"),
    ):
        with pytest.raises(InvalidArgument, match=why):
            pk.compile_into_module(None, source, "own")
    with pytest.raises(CompilationFailed, match="source:1"):
        pk.compile_into_module(None, "PK_FUNCTION void f(double x) { y = x; }")
    with pytest.raises(UnsupportedSpace, match="in the space Cuda"):
        pk.compile_into_module(None, SOURCE, "own", pk.Cuda)
