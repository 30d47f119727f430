"""What a call says when a device has not what it takes; the next call runs."""

from __future__ import annotations

import resource
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import KernelFault, LaunchFailed, OutOfMemory
from polygen.runtime.backends.c.thread_stacks import check_stack
from polygen.runtime.backends.opencl.opencl_run import check_local_memory
from polygen.runtime.calls.device_errors import translated
from polygen.runtime.calls.launch_grids import Grid

HUGE = 10**13


@pytest.fixture(scope="module")
def counting() -> pg.Kernel:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2.5*i", name="counting")
    return pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")


def check_usable(knl: pg.Kernel, target: str) -> None:
    np.testing.assert_array_equal(knl.executor(target)(n=3)[1][0], [0, 2.5, 5])


def test_new_arrays(counting: pg.Kernel) -> None:
    with pytest.raises(
        OutOfMemory, match=r"kernel 'counting' is called: Unable to allocate .*\d TiB"
    ):
        counting.executor("c")(n=HUGE)
    check_usable(counting, "c")
    text = r"new array would be made for 'out', of the shape \(10+,\) and the type float64: .*\w"
    with pytest.raises(OutOfMemory, match=text):
        counting.executor("opencl")(n=HUGE)
    check_usable(counting, "opencl")


def test_copies(queue: Any, double: pg.Kernel) -> None:
    huge = np.lib.stride_tricks.as_strided(np.zeros(1), (HUGE,), (0,))
    with pytest.raises(OutOfMemory, match="kernel 'polygen_kernel' is called"):
        double(queue, a=huge)


def test_local_memory(counting: pg.Kernel) -> None:
    launch = SimpleNamespace(name="tile", local_bytes=50_000)
    device: Any = SimpleNamespace(name="small", local_mem_size=49_152)
    with pytest.raises(LaunchFailed, match=r"'tile' has 50000 bytes .* 'small' has at most 49152"):
        check_local_memory(device, [launch])  # type: ignore[list-item]
    device.local_mem_size = 50_000
    check_local_memory(device, [launch])  # type: ignore[list-item]
    text = """
        tile[j] = a[i, j]      {id=load, inames=i:j}
        out[i, k] = tile[7 - k] {inames=i:k, dep=load}
    """
    tile = pg.TemporaryVariable("tile", np.float32, 8, address_space=pg.AddressSpace.LOCAL)
    knl = pg.make_kernel("{ [i,j,k]: 0<=i<n and 0<=j,k<8 }", text, [tile, "..."])
    knl = pg.add_dtypes(pg.tag_inames(knl, "i:g.0, j:l.0, k:l.0"), {"a": np.float32})
    for target in ("opencl", "cuda"):
        assert [launch.local_bytes for launch in pg.generate_code(knl, target).launches] == [32]


def test_groups_that_a_kernel_does_not_take(
    counting: pg.Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = counting.executor("opencl")
    with monkeypatch.context() as patch:
        # The driver knows of groups of 4.
        patch.setattr("polygen.runtime.calls.launch_grids.grid_of", lambda *_: Grid((6,), (3,)))
        text = (
            r"launch 'counting' .* groups of \(3,\): .*INVALID_WORK_GROUP_SIZE; .* at most \d+ work"
        )
        with pytest.raises(LaunchFailed, match=text):
            run(n=6)
    check_usable(counting, "opencl")


class _TorchOutOfMemoryError(RuntimeError):
    pass


_TorchOutOfMemoryError.__name__ = "OutOfMemoryError"


def test_errors_of_libraries() -> None:
    fault = "CUDA error: an illegal memory access was encountered\nSearch for `cudaError"
    found = translated("product", RuntimeError(fault))
    assert isinstance(found, KernelFault)
    assert "kernel 'product', or in what was started before it: an illegal" in str(found)
    assert "Search" not in str(found)
    for error in (MemoryError("Out of memory"), _TorchOutOfMemoryError("CUDA out of memory")):
        assert isinstance(translated("product", error), OutOfMemory)
    assert translated("product", RuntimeError("of somebody else")) is None
    assert translated("product", LaunchFailed("of polygen's")) is None


def reversed_tile(count: int) -> pg.Kernel:
    text = f"tile[i] = a[g, i] {{id=load}}\nout[g, j] = tile[{count - 1} - j] {{dep=load}}"
    tile = pg.TemporaryVariable("tile", np.float32, count, pg.AddressSpace.LOCAL)
    domain = f"{{ [g,i,j]: 0<=g<n and 0<=i,j<{count} }}"
    knl = pg.make_kernel(domain, text, [tile, "..."], name="tiled")
    return pg.tag_inames(knl, "g:g.0")


@pytest.mark.parametrize("in_thread", [False, True])
def test_tiles_that_no_stack_has_room_for(in_thread: bool) -> None:
    limit = resource.getrlimit(resource.RLIMIT_STACK)[0]
    if limit == resource.RLIM_INFINITY:  # then threads have 2 MiB
        in_thread, limit = True, 2**21
    count = limit // 4

    def call() -> None:
        with pytest.raises(LaunchFailed, match=rf"kernel 'tiled' keeps {4 * count} bytes"):
            reversed_tile(count).executor("c")(a=np.zeros((2, count), np.float32))
        a = np.arange(2.0 * count // 8, dtype=np.float32).reshape(2, -1)
        knl = reversed_tile(a.shape[1])
        np.testing.assert_array_equal(knl.executor("c")(a=a)[1][0], a[:, ::-1])

    if in_thread:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(call).result()
    else:
        call()


def test_tiles_for_which_threads_have_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_STACKSIZE", " 1 m")
    function = SimpleNamespace(name="wide", local_bytes=600_000)
    with pytest.raises(LaunchFailed, match=r"600000 bytes .* at most 524288 for them"):
        check_stack(function)  # type: ignore[arg-type]
    monkeypatch.setenv("OMP_STACKSIZE", "2000")
    check_stack(function)  # type: ignore[arg-type]


def test_tiles_that_a_device_of_opencl_has_not(queue: Any) -> None:
    count = queue.device.local_mem_size // 4 + 1
    with pytest.raises(LaunchFailed, match=rf"launch 'tiled' has {4 * count} bytes of local mem"):
        reversed_tile(count)(queue, a=np.zeros((1, count), np.float32))
