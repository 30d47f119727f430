"""Calls of libraries between launches on a GPU: NumPy does the mathematics, by pointers."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    CannotEmit,
    LibraryInGraph,
    LibraryLayout,
    LibraryNotPossible,
    NoLibrary,
    NotPositiveDefinite,
    SingularMatrix,
)
from polygen.runtime.backends.cuda import library_launches
from tests.few import few
from tests.nvidia.fake_cupy import FakeCuPy
from tests.nvidia.host_driver import HostDriver
from tests.nvidia.test_runtime import Foreign
from tests.oracle.cases import kernel
from tests.routines import CASES
from tests.runtime.backends.c.test_numerical_libraries import SIZES, TYPES, dtype_of, padded


@pytest.fixture
def cupy(host: HostDriver, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCuPy]:
    """CuPy on the host's processor, beside a driver for it."""
    fake = FakeCuPy()
    for name, module in fake.modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    library_launches.loaded_libraries.cache_clear()
    yield fake
    library_launches.loaded_libraries.cache_clear()
    assert fake.stream == 0  # which was current before
    assert fake.mode == 1  # what users set, is set again


@pytest.mark.usefixtures("cupy")
@few(1, "start", range(3))
def test_values(start: int) -> None:
    """Some of the cases, with sizes 0 and 1."""
    for number in range(start, len(CASES), 9):
        check(number, SIZES[::3])


@pytest.mark.more
@pytest.mark.usefixtures("cupy")
@pytest.mark.parametrize("number", range(len(CASES)))
def test_each_case(number: int) -> None:
    """Each routine with each of its options, a type for each, in turns; sizes 0 and 1."""
    check(number, SIZES)


def check(number: int, every: Any) -> None:
    case = CASES[number]
    for sizes in every:
        case.check(case.kernel, dtype_of(number), sizes, target="cuda")
    orders = [padded("C"), padded("F"), np.asfortranarray]
    case.check(case.kernel, dtype_of(number), (3, 4, 5), orders[number % 3], "cuda", Foreign)


@pytest.mark.more
@pytest.mark.usefixtures("cupy")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_all_values(case: Any) -> None:
    for dtype in TYPES[1::2] if case.routine == "fft" else TYPES:
        for sizes in ((2, 5, 3), (0, 2, 1), (3, 1, 1)):
            for order in (np.copy, padded("C"), padded("F")):
                case.check(case.kernel, dtype, sizes, order, "cuda", Foreign)


@pytest.mark.usefixtures("cupy")
@pytest.mark.parametrize("first", ["C", "F"])
def test_arrays_that_lie_otherwise(first: str) -> None:
    """Of the arrays of a call, every other one lies by columns."""
    for case in CASES[::2]:
        orders = itertools.cycle(first + ("F" if first == "C" else "C"))
        dtype = np.complex128 if case.routine in ("fft", "herk") else np.float64

        def order(x: Any, orders: Iterator[str] = orders) -> Any:
            return padded(next(orders))(x)

        case.check(case.kernel, dtype, (3, 4, 5), order, target="cuda", move=Foreign)


POWER = """
for t
    y = library("gemv", a, x)     {id=y, dep=*}
    <> s = sum(j, abs(y[j]))      {id=s, dep=y}
    x[i] = y[i]/s                 {id=x, dep=s:y}
end
"""


def global_array(name: str, shape: str, dtype: Any = np.float64) -> pg.GlobalArg:
    return pg.GlobalArg(name, dtype, shape=shape)


def powers() -> pg.Kernel:
    """Return a time loop in which a call and a launch take turns."""
    temporary = pg.TemporaryVariable(
        "y", np.float64, shape="n", address_space=pg.AddressSpace.GLOBAL
    )
    domains = ["{ [t]: 0<=t<T }", "{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"]
    data = [global_array("a", "n, n"), global_array("x", "n"), temporary]
    knl = kernel(domains, POWER, *data)
    return pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")


def test_a_time_loop(cupy: FakeCuPy, host: HostDriver) -> None:
    """On the stream of the call; no graph of polygen's holds a call."""
    run = powers().executor("cuda")
    rng = np.random.default_rng(0)
    for n, steps in ((5, 7), (1, 200), (4, 0)):
        a, x = rng.random((n, n)), rng.random(n)
        expected = x.copy()
        for _ in range(steps):
            expected = a @ expected
            expected /= np.abs(expected).sum()
        for stream in (0, 7):
            cupy.calls.clear()
            found = x.copy()
            run(stream, a=Foreign(a), x=Foreign(found), T=steps)
            np.testing.assert_allclose(found, expected, rtol=1e-13)
            assert cupy.calls == [("dgemv", stream)] * steps
    assert not host.graphs


@pytest.mark.usefixtures("cupy")
def test_numbers_that_the_host_finds(host: HostDriver) -> None:
    """Some are read from the device, others follow from sizes and loops on the host."""
    text = """
    for t
        s = sum(j, x[j])                                                 {id=s, dep=*}
        y = library("gemv", a, x, alpha=2*s/(n + 1) - t, beta=al*2)  {id=y, dep=s, if=2*t >= T}
        z = library("gemv", a, x, beta=1)     {id=z, dep=s:y, if=s > 0 and y[0] < 9}
    end
    """
    auto = pg.TemporaryVariable("s", address_space=pg.AddressSpace.AUTO)
    data = [global_array("a", "n, n"), *(global_array(name, "n") for name in "xyz")]
    domains = ["{ [t]: 0<=t<T }", "{ [j]: 0<=j<n }"]
    knl = kernel(domains, text, *data, auto, pg.ValueArg("al", np.float32))
    run, rng = knl.executor("cuda"), np.random.default_rng(1)
    for n, steps, sign in ((3, 1, 1), (3, 4, 1), (2, 5, -1), (1, 0, 1)):
        a, x = rng.random((n, n)), sign * rng.random(n)
        y, z = rng.random(n), rng.random(n)
        found = {"y": y.copy(), "z": z.copy()}
        for t in range(steps):
            s = x.sum()
            if 2 * t >= steps:
                y = (2 * s / (n + 1) - t) * (a @ x) + 0.5 * y
            if s > 0 and y[0] < 9:
                z = a @ x + z
        run(a=a, x=x, **found, T=steps, al=0.25)
        np.testing.assert_allclose(found["y"], y, rtol=1e-13)
        np.testing.assert_allclose(found["z"], z, rtol=1e-13)
    assert not host.held


@pytest.mark.usefixtures("cupy")
def test_what_fails() -> None:
    """The error comes of the first call that fails, when all of it has run; then, it is gone."""
    text = '[i, j]: a[t, i, j] = library("potrf", [i, j]: a[t, i, j], n=2)  {inames=t}'
    run = kernel("{ [t]: 0<=t<T }", text, pg.GlobalArg("a", shape="T, 2, 2")).executor("cuda")
    good, bad = np.array([[2.0, 1], [1, 2]]), np.array([[1.0, 2], [2, 1]])
    for count in (1, 70):  # more than are asked at once
        with pytest.raises(NotPositiveDefinite, match=r"potrf .* minor of 2 rows is not positive"):
            run(a=np.stack([*[good] * count, bad, np.eye(2), -good]))
    (a,) = run(a=np.stack([good, np.eye(2)]))[1]
    np.testing.assert_allclose(np.tril(a[0]), np.linalg.cholesky(good), rtol=1e-14)
    data = [pg.GlobalArg(name, shape="n, n") for name in "ab"]
    solve = kernel("{ : }", 'a, p, b = library("gesv", a, b)', *data).executor("cuda")
    singular = np.array([[1, 2, 3], [2, 4, 6], [1, 0, 1]], np.complex64)
    with pytest.raises(SingularMatrix, match=r"gesv in kernel .* a pivot of 0, at 2"):
        solve(a=singular, b=np.eye(3, dtype=np.complex64))
    a = np.array([[0.0, 1], [2, 1]])
    _, (_, b, p) = solve(a=a.copy(), b=np.eye(2))
    np.testing.assert_array_equal(p, [1, 1])
    np.testing.assert_allclose(b, np.linalg.inv(a), rtol=1e-14)


@pytest.mark.usefixtures("cupy")
def test_layouts_that_are_refused() -> None:
    knl = kernel("{ : }", 'c = library("gemm", a, b)', *(global_array(n, "n, n") for n in "abc"))
    run, a, c = knl.executor("cuda"), np.ones((3, 3)), np.zeros((3, 3))
    apart = np.ones((6, 6))[::2, ::2]
    with pytest.raises(LibraryLayout, match=r"gemm in kernel 'polygen_kernel' .* its second opera"):
        run(a=Foreign(a), b=Foreign(apart), c=Foreign(c))
    with pytest.raises(LibraryLayout, match="its result"):
        run(a=Foreign(a), b=Foreign(a), c=Foreign(apart))
    for orders in ("CFC", "FCC", "CCF", "FFC"):  # those that lie otherwise are transposed
        x: list[Any] = [np.array(np.random.default_rng(3).random((3, 3)), order=o) for o in orders]  # type: ignore[call-overload]
        run(a=Foreign(x[0]), b=Foreign(x[1]), c=Foreign(x[2]))
        np.testing.assert_allclose(x[2], x[0] @ x[1], rtol=1e-14)


def test_graphs_of_users_are_refused(cupy: FakeCuPy, host: HostDriver) -> None:
    run = powers().executor("cuda")
    a, x = np.eye(3), np.ones(3)
    run(5, a=Foreign(a), x=Foreign(x), T=1)
    host.recorded.add(5)
    cupy.calls.clear()
    with pytest.raises(LibraryInGraph, match=r"while a graph is made .* it calls gemv") as caught:
        run(5, a=Foreign(a), x=Foreign(x), T=1)
    assert "inline_callable_kernel(kernel, 'gemv')" in str(caught.value.remedy)
    assert not cupy.calls


@pytest.mark.usefixtures("cupy")
def test_profiles_see_calls(host: HostDriver) -> None:
    run, a = powers().executor("cuda"), np.eye(3)
    with pg.profile(pg.Limits(1e12, 1e13)) as found:
        run(a=Foreign(a), x=Foreign(np.ones(3)), T=3)
    rows = found.table().rows
    assert sorted((row.launches, row.timed) for row in rows) == [(3, 3), (3, 3)]
    assert not host.held


def test_without_cupy(host: HostDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = dict.fromkeys(("cupy", "cupy_backends.cuda.libs.cublas"))
    library_launches.loaded_libraries.cache_clear()
    with mock.patch.dict(sys.modules, hidden), pytest.raises(NoLibrary, match="CuPy") as caught:
        powers().executor("cuda")(a=Foreign(np.eye(3)), x=Foreign(np.ones(3)), T=1)
    assert "pip install 'cupy-cuda13x[ctk]'" in str(caught.value.remedy)


def test_numbers_that_the_host_cannot_find() -> None:
    data = [global_array("a", "3, 3"), *(global_array(name, "3") for name in "xy")]
    text = 'y = library("gemv", a, x, alpha=sqrt(x[0]))'
    with pytest.raises(LibraryNotPossible, match=r"'sqrt\(x\[0\]\)' has .* no sum") as caught:
        pg.generate_code(kernel("{ : }", text, *data), "cuda")
    assert "in an instruction of its own" in str(caught.value.remedy)


def test_files_for_hosts_are_refused() -> None:
    with pytest.raises(CannotEmit, match="calls gemv between launches"):
        pg.emit(powers(), target="cuda")
