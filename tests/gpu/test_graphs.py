"""Loops on the host, streams and graphs on a GPU; tensors that are not what they seem."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import WrongArgumentType
from polygen.runtime.backends.cuda import cuda_library
from tests.gpu.test_cuda import cupy, doubling, torch
from tests.nvidia.test_graphs import growing, grown, steady


def rolled(a: Any, steps: int, c: float) -> Any:
    return np.roll(a, -steps) + steps * c


def random(*shape: int) -> Any:
    return np.random.default_rng(3).integers(0, 9, shape).astype(np.float64)


@pytest.mark.parametrize("steps", [0, 1, 3, 17, 100, 1000])
def test_steps_that_are_the_same(steps: int) -> None:
    run, expected = steady(), random(999)
    a, other = cupy.asarray(expected), cupy.asarray(expected)
    first = expected
    for repeat in range(1, 4):
        expected = rolled(expected, steps, 0.5)
        run(a=a, steps=steps, c=0.5)
        np.testing.assert_array_equal(a.get(), expected)
        run(a=other, steps=steps, c=float(repeat))
        first = rolled(first, steps, repeat)
        np.testing.assert_array_equal(other.get(), first)


def test_many_steps_and_many_arrays() -> None:
    run = steady()
    a = [cupy.asarray(random(100) + k) for k in range(7)]
    for _ in range(3):
        for array in a:
            run(a=array, steps=200_000, c=0.0)
    for k, array in enumerate(a):
        np.testing.assert_array_equal(array.get(), random(100) + k)


def test_steps_that_differ() -> None:
    run, u = growing(), cupy.zeros((300, 300))
    for seed in range(4):
        start = np.random.default_rng(seed).integers(0, 9, (300, 300)).astype(np.float64)
        u[...] = cupy.asarray(start)
        run(u=u)
        np.testing.assert_array_equal(u.get(), grown(start))


def test_streams_share_what_is_between_launches() -> None:
    """On many streams in turn: memory of a kernel is used by one call at a time."""
    run, streams = steady(), [cupy.cuda.Stream(non_blocking=True) for _ in range(3)]
    arrays = [cupy.asarray(random(50_000)) for _ in streams]
    cupy.cuda.Device().synchronize()
    for _ in range(20):
        for stream, array in zip(streams, arrays, strict=True):
            run(stream, a=array, steps=3, c=1.0)
    cupy.cuda.Device().synchronize()
    for array in arrays:
        np.testing.assert_array_equal(array.get(), rolled(random(50_000), 60, 1.0))


def test_threads() -> None:
    knl, run, found = doubling(), steady(), dict[int, Any]()

    def work(k: int) -> None:
        out = None
        with cupy.cuda.Stream(non_blocking=True) as stream:
            a = cupy.asarray(random(1000) + k)
            for _ in range(50):
                _, (out,) = knl(a=a, shift=float(k))
            run(a=a, steps=20, c=float(k))
            stream.synchronize()
            found[k] = (cupy.asnumpy(out), a.get())

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(4):
        np.testing.assert_array_equal(found[k][0], 2 * (random(1000) + k) + k)
        np.testing.assert_array_equal(found[k][1], rolled(random(1000) + k, 20, k))


def in_cupy(work: Callable[[], Any]) -> Callable[[], None]:
    """Return what repeats work, as a graph of CuPy's."""
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        work()
        graph = stream.end_capture()

    def replay() -> None:
        graph.launch(stream)
        stream.synchronize()

    return replay


def in_torch(work: Callable[[], Any]) -> Callable[[], None]:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()

    def replay() -> None:
        graph.replay()
        torch.cuda.synchronize()

    return replay


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_graphs_of_users(library: str) -> None:
    run, knl = steady(), doubling()
    if library == "cupy":
        a, out = cupy.asarray(random(500)), cupy.zeros(500)
    else:
        a = torch.tensor(random(500), device="cuda")
        out = torch.zeros(500, dtype=torch.float64, device="cuda")

    def work() -> None:
        run(a=a, steps=9, c=1.0)
        knl(a=a, out=out, shift=3.0)

    work()  # compiles
    cupy.cuda.Device().synchronize()
    expected = rolled(random(500), 9, 1.0)
    replay = (in_cupy if library == "cupy" else in_torch)(work)
    for steps in (30, 0, 40):
        replay()
        expected = rolled(expected, 9, 1.0)
        np.testing.assert_array_equal(np.asarray(out.tolist()), 2 * expected + 3)
        run(a=a, steps=steps, c=2.0)  # on another stream than the graph
        cupy.cuda.Device().synchronize()
        expected = rolled(expected, steps, 2.0)
        np.testing.assert_array_equal(np.asarray(a.tolist()), expected)


def test_outputs_that_are_passed_as_out() -> None:
    knl = doubling()
    for a, out in (
        (cupy.arange(9.0), cupy.zeros(9)),
        (torch.arange(9.0, device="cuda"), torch.zeros(9, device="cuda")),
    ):
        _, (found,) = knl(a=a, out=out, shift=1.0)
        assert found is out
        np.testing.assert_array_equal(out.tolist(), 2 * np.arange(9.0) + 1)
    both = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = a[i] + 1\nc[i] = a[i] - 1")
    both = pg.split_iname(both, "i", 32, outer_tag="g.0", inner_tag="l.0")
    b = cupy.zeros(5)
    _, (first, second) = both(a=cupy.arange(5.0), out=(b, None))
    assert first is b
    np.testing.assert_array_equal(b.get(), np.arange(5.0) + 1)
    np.testing.assert_array_equal(second.get(), np.arange(5.0) - 1)


def test_tensors_that_are_not_what_they_seem() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")
    knl = pg.split_iname(knl, "i", 32, outer_tag="g.0", inner_tag="l.0")
    z = torch.randn(5, dtype=torch.complex64, device="cuda")
    for tensor, method in (
        (z.conj(), "resolve_conj"),
        (z.conj().imag, "resolve_neg"),
        (torch.randn(5, device="cuda", requires_grad=True), "detach"),
    ):
        for _ in range(2):  # once more when plain ones have been passed
            with pytest.raises(WrongArgumentType, match=method):
                knl(a=tensor)
            plain = getattr(tensor, method)()
            _, (out,) = knl(a=plain)
            assert torch.equal(out, 2 * plain)
    with pytest.raises(WrongArgumentType, match="has to be an array; it is of type Tensor"):
        knl(a=torch.eye(3, device="cuda").to_sparse())


@pytest.mark.parametrize("recorded", [False, True])
def test_early_launches_wait_for_all_before_them(recorded: bool) -> None:
    """Other libraries' launches, copies, and calls before this one write what each call reads."""
    knl = pg.make_kernel(
        "{ [i,j,k]: 0<=i,j,k<n }",
        """
        u[i] = a[(i + 1) % n] + 1
        v[j] = u[n - 1 - j] + a[j]
        a[k] = v[(k + 5) % n] - u[k] % 7
        """,
        [
            *(
                pg.TemporaryVariable(x, shape="n", address_space=pg.AddressSpace.GLOBAL)
                for x in "uv"
            ),
            "...",
        ],
        seq_dependencies=True,
    )
    knl = pg.add_dtypes(knl, {"a": np.int64})
    for iname in "ijk":
        knl = pg.split_iname(knl, iname, 128, outer_tag="g.0", inner_tag="l.0")
    run = knl.executor("cuda")
    n, rounds = 3001, 40
    start = np.random.default_rng(0).integers(0, 1000, n)
    a = torch.tensor(start, device="cuda")
    b = torch.empty_like(a)

    def call() -> None:
        for _ in range(rounds):
            a.mul_(3).remainder_(1009)
            run(a=a)
            b.copy_(a)
            run(a=b)
            a.copy_(b)

    if recorded:
        run(a=b)
        stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        with torch.cuda.stream(stream), torch.cuda.graph(graph, stream=stream):
            call()
        torch.cuda.synchronize()
        for _ in range(20):
            graph.replay()
    else:
        for _ in range(20):
            call()

    def applied(x: Any) -> Any:
        u = np.roll(x, -1) + 1
        return np.roll(u[::-1] + x, -5) - u % 7

    expected = start
    for _ in range(20 * rounds):
        expected = applied(applied(3 * expected % 1009))
    np.testing.assert_array_equal(a.cpu().numpy(), expected)


def test_memory_of_graphs_that_are_gone() -> None:
    run, a = steady().executor("cuda"), torch.zeros(2**24, device="cuda", dtype=torch.float64)
    run(a=a, steps=2, c=1.0)
    stream = torch.cuda.Stream()
    kept: list[int] = []
    for _ in range(8):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(stream), torch.cuda.graph(graph, stream=stream):
            run(a=a, steps=2, c=1.0)
        graph.replay()
        torch.cuda.synchronize()
        del graph
        kept.append(len(cuda_library._KEPT))  # pyright: ignore[reportPrivateUsage]
    assert kept == [kept[0]] * 8  # the one before was given back when the next came
    assert float(a[0]) == 2 + 8 * 2
