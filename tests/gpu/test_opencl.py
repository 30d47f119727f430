"""Generated OpenCL C on a GPU: against NumPy, on sizes that divide and sizes that do not."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import pytest

import polygen as pg
from tests.random_kernels.check import check_compiled, make_case

SIZES = (1, 31, 128, 1000)


@pytest.fixture(scope="module")
def queue() -> Any:
    devices = [
        device
        for platform in cl.get_platforms()
        for device in platform.get_devices()
        if device.type & cl.device_type.GPU
    ]
    return cl.CommandQueue(cl.Context(devices[:1]))


def _random(*shape: int) -> Any:
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("n", (0, *SIZES))
def test_doubling(queue: Any, n: int) -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")
    knl = pg.split_iname(knl, "i", 128, outer_tag="g.0", inner_tag="l.0")
    a = _random(n)
    _, (out,) = knl(queue, a=a)
    np.testing.assert_array_equal(out, 2 * a)


@pytest.mark.parametrize("n", SIZES)
def test_product(queue: Any, n: int) -> None:
    knl = pg.make_kernel(
        "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<l }", "c[i,j] = sum(k, a[i,k]*b[k,j])"
    )
    knl = pg.split_iname(knl, "i", 16, outer_tag="g.1", inner_tag="l.1")
    knl = pg.split_iname(knl, "j", 16, outer_tag="g.0", inner_tag="l.0")
    knl = pg.split_iname(knl, "k", 8, inner_tag="unr")
    knl = pg.prioritize_loops(knl, "k_outer, k_inner")
    a, b = _random(n, n + 3), _random(n + 3, n + 1)
    _, (c,) = knl(queue, a=cla.to_device(queue, a), b=cla.to_device(queue, b))
    reference = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(c.get(), reference, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n", SIZES)
def test_launch_boundary(queue: Any, n: int) -> None:
    knl = pg.make_kernel(
        "{ [i,j,ii,jj]: 0<=i,j,ii,jj<n }",
        """
        out[j,i] = a[i,j] {id=transpose}
        out[ii,jj] = 2*out[ii,jj] {dep=transpose}
        """,
    )
    for iname, axis in (("i", 1), ("j", 0), ("ii", 1), ("jj", 0)):
        knl = pg.split_iname(knl, iname, 16, outer_tag=f"g.{axis}", inner_tag=f"l.{axis}")
    a = _random(n, n)
    typed = pg.add_dtypes(knl, {"a": np.float32})
    assert len(pg.generate_code(typed).launches) == 2
    _, (out,) = knl(queue, a=a)
    np.testing.assert_array_equal(out, 2 * a.T)


@pytest.mark.parametrize("steps", (0, 1, 5))
def test_host_loop(queue: Any, steps: int) -> None:
    knl = pg.make_kernel(
        "{ [t,i,j]: 0<=t<steps and 1<=i<n-1 and 1<=j<n-1 }",
        """
        b[i] = a[i-1] + a[i] + a[i+1] {id=new, inames=t:i, dep=*}
        a[j] = b[j]/3 {id=old, inames=t:j, dep=new}
        """,
        [pg.GlobalArg("a", shape="n"), pg.GlobalArg("b", shape="n"), "..."],
    )
    knl = pg.split_iname(knl, "i", 64, outer_tag="g.0", inner_tag="l.0")
    knl = pg.split_iname(knl, "j", 64, outer_tag="g.0", inner_tag="l.0")
    expected, a = _random(1000), _random(1000)
    for _ in range(steps):
        expected[1:-1] = (expected[:-2] + expected[1:-1] + expected[2:]) / np.float32(3)
    knl(queue, a=a, b=np.zeros_like(a), steps=steps)
    np.testing.assert_allclose(a, expected, rtol=1e-5, atol=1e-6)


def test_local_memory(queue: Any) -> None:
    knl = pg.make_kernel(
        "{ [g,i,j]: 0<=g<n and 0<=i,j<64 }",
        """
        tile[i] = a[g,i] {id=load, inames=g:i}
        out[g,j] = tile[63-j] {inames=g:j, dep=load}
        """,
        [
            pg.TemporaryVariable("tile", shape=(64,), address_space=pg.AddressSpace.LOCAL),
            "...",
        ],
    )
    knl = pg.tag_inames(knl, {"g": "g.0", "i": "l.0", "j": "l.0"})
    a = _random(100, 64)
    _, (out,) = knl(queue, a=a)
    np.testing.assert_array_equal(out, a[:, ::-1])


@pytest.mark.parametrize("n", SIZES)
def test_sparse_rows(queue: Any, n: int) -> None:
    rng = np.random.default_rng(n)
    lengths = rng.integers(0, 9, n)
    lengths[0] = 5000
    rowptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    col = rng.integers(0, n, rowptr[-1]).astype(np.int32)
    val, x = _random(rowptr[-1]), _random(n)
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: first<=j<last }"],
        """
        <> first = rowptr[i]
        <> last = rowptr[i+1]
        y[i] = sum(j, val[j]*x[col[j]])
        """,
    )
    knl = pg.split_iname(knl, "i", 64, outer_tag="g.0", inner_tag="l.0")
    _, (y,) = knl(queue, rowptr=rowptr, col=col, val=val, x=x)
    terms = val.astype(np.float64) * x[col]
    expected = [terms[s:e].sum() for s, e in itertools.pairwise(rowptr)]
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-3)


def test_same_source_twice() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = sin(a[i])**2 + a[i]//3")
        knl = pg.add_dtypes(knl, {"a": np.float32})
        assert str(pg.generate_code(knl)) == str(pg.generate_code(pg.parse_kernel(str(knl))))


@pytest.mark.parametrize(("start", "steps"), [(1_000, 0), (1_050, 0), (3_000, 6)])
def test_random_kernels(start: int, steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seeds = range(start, start + 50)
        cases = [make_case(seed, steps=steps, target="opencl") for seed in seeds]
        least = 25 if steps else 49
        assert check_compiled(cases, "opencl", monkeypatch, validated=False) > least


PEAKS = pg.Limits(4e12, {"float32": 60e12})
BIG = 2**26


def triad() -> pg.Kernel:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "c[i] = a[i] + 3*b[i]", name="triad")
    return pg.split_iname(knl, "i", 256, outer_tag="g.0", inner_tag="l.0")


@pytest.mark.parametrize("properties", ["", "PROFILING_ENABLE", "OUT_OF_ORDER_EXEC_MODE_ENABLE"])
def test_profiles(queue: Any, properties: str) -> None:
    wanted: Any = getattr(cl.command_queue_properties, properties) if properties else 0
    own = cl.CommandQueue(queue.context, properties=wanted)
    knl = triad()
    a, b = (cla.to_device(own, np.ones(BIG, np.float32)) for _ in range(2))
    c = cla.zeros_like(a)
    knl(own, a=a, b=b, c=c)
    own.finish()
    with pg.profile(PEAKS) as p:
        for _ in range(5):
            knl(own, a=b, b=c, c=a)
            knl(own, a=b, b=a, c=c)
    (row,) = p.table().rows
    # Each of the ten calls waits for the one before: x -> 3*x + 1.
    value = 4.0
    for _ in range(10):
        value = 3 * value + 1
    np.testing.assert_allclose(c.get(), value, rtol=1e-5)
    assert (row.launches, row.bytes) == (10, 10 * 12 * BIG)
    assert row.mean_seconds is not None
    assert 12 * BIG / 5e12 < row.mean_seconds < 12 * BIG / 1e12


def test_work_of_one_work_item(queue: Any) -> None:
    a = _random(5000)
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")
    with pytest.warns(pg.errors.NotParallel, match="executes 'insn' 5000 times or so, alone"):
        _, (out,) = knl(queue, a=a)
    np.testing.assert_array_equal(out, 2 * a)
