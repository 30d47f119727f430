"""Generated CUDA C++ on a GPU, on arrays of CuPy's, PyTorch's and NumPy's."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    LaunchFailed,
    MisalignedArray,
    NotParallel,
    OverlappingArguments,
    WrongDevice,
)
from polygen.runtime.backends.cuda.cuda_driver import driver
from polygen.runtime.backends.cuda.device_array import DeviceArray, DeviceMemory
from tests.nvidia.copied_tiles import matrices, product
from tests.random_kernels.check import check_compiled, make_case


class _Library:
    """A library that is loaded when a test asks for something of it: not where there is no GPU."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what collections of tests ask of everything
            raise AttributeError(name)
        return getattr(import_module(self._name), name)


cupy, torch = _Library("cupy"), _Library("torch")
SIZES = (0, 1, 31, 128, 1000)


def tiled_product() -> Any:
    knl = pg.make_kernel(
        "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<l }", "c[i,j] = sum(k, a[i,k]*b[k,j])"
    )
    knl = pg.split_iname(knl, "i", 16, outer_tag="g.1", inner_tag="l.1")
    knl = pg.split_iname(knl, "j", 16, outer_tag="g.0", inner_tag="l.0")
    knl = pg.split_iname(knl, "k", 16)
    knl = pg.add_prefetch(knl, "a", ["k_inner", "i_inner"], default_tag="l.auto")
    return pg.add_prefetch(knl, "b", ["j_inner", "k_inner"], default_tag="l.auto")


def doubling() -> Any:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i] + shift")
    return pg.split_iname(knl, "i", 128, outer_tag="g.0", inner_tag="l.0")


@pytest.mark.parametrize("n", SIZES)
def test_product_of_every_library(n: int) -> None:
    knl = tiled_product()
    a, b = (np.random.default_rng(k).standard_normal((n, n)).astype(np.float32) for k in (1, 2))
    expected = a.astype(np.float64) @ b.astype(np.float64)
    on_host = knl.executor("cuda")(a=a, b=b)[1][0]
    assert isinstance(on_host, np.ndarray)
    of_cupy = knl(a=cupy.asarray(a), b=cupy.asarray(b))[1][0]
    assert isinstance(of_cupy, cupy.ndarray)
    of_torch = knl(a=torch.tensor(a).cuda(), b=torch.tensor(b).cuda())[1][0]
    assert isinstance(of_torch, torch.Tensor)
    results: list[Any] = [on_host, of_cupy.get(), of_torch.cpu().numpy()]
    for found in results:
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("ahead", [False, True])
def test_tiles_that_are_copied_asynchronously(dtype: str, ahead: bool) -> None:
    knl = product(dtype, ahead=ahead, name=f"product_{dtype}_{ahead}")
    for n, m, l in ((1, 2, 13), (64, 8, 0), (67, 70, 129)):  # noqa: E741
        a, b = matrices(dtype, n, m, l)
        np.testing.assert_array_equal(knl.executor("cuda")(a=a, b=b)[1][0], a @ b)


@pytest.mark.parametrize(("dtype", "width"), [("float32", 2), ("float32", 4), ("float64", 4)])
@pytest.mark.parametrize("alignment", [None, 16])
def test_vectors_that_are_copied_asynchronously(
    dtype: str, width: int, alignment: int | None
) -> None:
    knl = product(dtype, width, whole=True, alignment=alignment, name=f"in_{width}_{alignment}")
    for n, m, l in ((4, 8, 4), (64, 68, 0), (68, 64, 128)):  # noqa: E741
        a, b = (cupy.asarray(x) for x in matrices(dtype, n, m, l))
        cupy.testing.assert_array_equal(knl(a=a, b=b)[1][0], a @ b)


@pytest.mark.parametrize("space", ["global", "local"])
def test_atomic_sums_of_halves(space: str) -> None:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<32 }", "{ [j]: 0<=j<4 }", "{ [k]: 0<=k<4 }"],
        "t[k] = 2048 {id=z}\nt[i % 4] = t[i % 4] + a[i] {id=u, dep=z, atomic}\nb[j] = t[j] {dep=u}",
        [
            pg.TemporaryVariable("t", "float16", shape=4, address_space=pg.AddressSpace(space)),
            "...",
        ],
    )
    knl = pg.tag_inames(pg.add_dtypes(knl, {"b": "float16"}), "i:l.0, j:l.0, k:l.0")
    a = np.tile(np.array([1, 1.5, 3, 2], np.float16), 8)
    _, (b,) = knl(a=cupy.asarray(a))
    # To the nearest one, and from halfway to an even one.
    np.testing.assert_array_equal(b.get(), np.array([2048, 2064, 2080, 2064], np.float16))


def test_streams_and_strides() -> None:
    knl = doubling()
    a = cupy.arange(4000, dtype=np.float64)
    stream = cupy.cuda.Stream(non_blocking=True)
    event, (out,) = knl(stream, a=a[1::2], shift=1.0)
    event.wait()
    np.testing.assert_array_equal(out.get(), 2 * np.arange(4000.0)[1::2] + 1)
    with stream:
        _, (out,) = knl(a=a[::-1], shift=0.0, wait_for=[event])
        stream.synchronize()
    np.testing.assert_array_equal(out.get(), 2 * np.arange(4000.0)[::-1])
    other = torch.cuda.Stream()
    tensor = torch.arange(64, dtype=torch.float64, device="cuda").reshape(8, 8).T
    with torch.cuda.stream(other):
        copy = pg.make_kernel("{ [i,j]: 0<=i,j<8 }", "b[i,j] = a[i,j]")
        copy = pg.tag_inames(copy, "i:g.0, j:l.0")
        _, (out,) = copy(a=tensor)
    other.synchronize()
    np.testing.assert_array_equal(out.cpu().numpy(), np.arange(64.0).reshape(8, 8).T)


class _DlpackAlone:
    """An array of a library that polygen has never heard of: new ones are polygen's then."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack__(self, **asked: Any) -> Any:
        return self._array.__dlpack__(**asked)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


def test_new_arrays_that_other_libraries_take_over() -> None:
    knl, values = doubling(), np.arange(5000.0)
    a = torch.tensor(values).cuda()
    for stream in (torch.cuda.Stream(), cupy.cuda.Stream(non_blocking=True)):
        _, (out,) = knl(stream, a=_DlpackAlone(a), shift=1.0)
        assert isinstance(out, DeviceArray)
        np.testing.assert_array_equal(out.get(), 2 * values + 1)
        of_torch, of_cupy = torch.from_dlpack(out), cupy.from_dlpack(out)
        assert of_torch.data_ptr() == of_cupy.data.ptr == out.address
        del out
        np.testing.assert_array_equal(of_torch.cpu().numpy(), 2 * values + 1)
        np.testing.assert_array_equal(of_cupy.get(), 2 * values + 1)


def test_what_is_wrong() -> None:
    knl = doubling()
    a = cupy.arange(10, dtype=np.float32)
    with pytest.raises(OverlappingArguments):
        knl(a=a[:8], out=a[1:9], shift=0.0)
    with pytest.raises(WrongDevice, match="runs in C here"):
        knl.executor("c")(a=a, shift=0.0)
    long = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<1 }", "out[i] = 2*a[i] {inames=i:j}")
    long = pg.tag_inames(long, "i:g.1, j:g.0")
    with pytest.raises(LaunchFailed, match="65535"):
        long(a=cupy.zeros(70_000))
    vectors = pg.make_kernel(
        "{ [i,j]: 0<=i<n and 0<=j<4 }",
        "out[i,j] = 2*a[i,j]",
        [pg.GlobalArg("a", "float32", "n, 4", dim_tags="N0, vec"), "..."],
    )
    vectors = pg.tag_inames(vectors, "i:g.0, j:unr")
    data = cupy.arange(33, dtype=np.float32)
    _, (out,) = vectors(a=data[:32].reshape(8, 4))
    np.testing.assert_array_equal(out.get(), 2 * np.arange(32, dtype=np.float32).reshape(8, 4))
    with pytest.raises(MisalignedArray):
        vectors(a=data[1:].reshape(8, 4))


def test_threads() -> None:
    """Each thread has to make the device's context current, also one that only waits, or frees."""
    knl, given = doubling(), np.arange(1000.0)
    run = knl.executor("cuda")

    def call(k: int) -> Any:
        return run(a=given + k, shift=1.0)[1][0]

    with ThreadPoolExecutor(4) as pool:
        for k, found in enumerate(pool.map(call, range(20))):
            np.testing.assert_array_equal(found, 2 * (given + k) + 1)
    event, (out,) = knl(a=DeviceArray(*_on_device(given)), shift=2.0)
    kept = [out]
    del out
    with ThreadPoolExecutor(1) as pool:
        pool.submit(event.wait).result()
        found = pool.submit(kept[0].get).result()
        pool.submit(kept.clear).result()
    np.testing.assert_array_equal(found, 2 * given + 2)


def _on_device(values: Any) -> tuple[Any, ...]:
    memory = DeviceMemory(values.nbytes)
    driver().copy(memory.address, values.ctypes.data, values.nbytes, 0, to_host=False)
    return memory, values.shape, values.dtype, values.strides, 0


def test_two_launches_and_memory_between_them() -> None:
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i,j<n }",
        "u[i] = a[i]*a[i] {id=first}\nb[j] = u[n - 1 - j] {dep=first}",
        [pg.TemporaryVariable("u", shape="n", address_space=pg.AddressSpace.GLOBAL), "..."],
    )
    knl = pg.split_iname(knl, "i", 32, outer_tag="g.0", inner_tag="l.0")
    knl = pg.split_iname(knl, "j", 32, outer_tag="g.0", inner_tag="l.0")
    for n in SIZES:
        a = cupy.arange(n, dtype=np.float64)
        _, (b,) = knl(a=a)
        np.testing.assert_array_equal(b.get(), (np.arange(n, dtype=np.float64) ** 2)[::-1])


def test_extrema_of_three() -> None:
    """Compilers of CUDA 13.0 for an H200 lose the sign of -b, if they see that they are three."""
    text = """
        low[i] = min(min(a[i], -b[i]), c[i])
        high[i] = max(max(a[i], -b[i]), c[i])
        most[i] = max(k, -d[i, k])
    """
    knl = pg.make_kernel("{ [i,k]: 0<=i<n and 0<=k<m }", text)
    knl = pg.tag_inames(knl, "i:g.0")
    for dtype in ("int8", "int32", "int64"):
        draw = np.random.default_rng(5).integers
        a, b, c = (draw(-100, 100, 99).astype(dtype) for _ in range(3))
        d = draw(-100, 100, (99, 17)).astype(dtype)
        low, high, most = (cupy.zeros(99, dtype) for _ in range(3))
        given = {name: cupy.asarray(v) for name, v in zip("abcd", (a, b, c, d), strict=True)}
        knl(**given, low=low, high=high, most=most)
        np.testing.assert_array_equal(low.get(), np.minimum(np.minimum(a, -b), c))
        np.testing.assert_array_equal(high.get(), np.maximum(np.maximum(a, -b), c))
        np.testing.assert_array_equal(most.get(), (-d).max(axis=1))


@pytest.mark.parametrize("start", range(0, 300, 50))
def test_random_kernels(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = [make_case(seed, target="c") for seed in range(start, start + 50)]
        assert check_compiled(cases, "cuda", monkeypatch, validated=False) == 50


@pytest.mark.parametrize("start", range(2_000, 2_200, 50))
def test_random_kernels_after_steps(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = [make_case(seed, steps=6, target="c") for seed in range(start, start + 50)]
        assert check_compiled(cases, "cuda", monkeypatch, validated=False) > 25


def test_work_of_one_work_item() -> None:
    a = cupy.arange(5000, dtype=np.float32)
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")
    knl(a=a[:1000])
    with pytest.warns(NotParallel, match="executes 'insn' 5000 times or so, alone"):
        _, (out,) = knl(a=a)
    np.testing.assert_array_equal(out.get(), 2 * a.get())
    knl(a=a)  # it is said once
    split = pg.split_iname(knl, "i", 256, outer_tag="g.0", inner_tag="l.0")
    np.testing.assert_array_equal(split(a=a)[1][0].get(), out.get())
