"""Calls on a GPU, whose part the host's processor plays."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    CompilationFailed,
    KernelFault,
    LaunchFailed,
    MisalignedArray,
    NoDevice,
    NotParallel,
    OutOfMemory,
    OverlappingArguments,
    ReadOnlyOutput,
    WrongArgumentType,
    WrongDevice,
)
from polygen.ir.dtype import to_dtype
from polygen.runtime.backends.cuda import cuda_driver
from polygen.runtime.backends.cuda.cuda_seen import seen_by_dlpack
from polygen.runtime.backends.cuda.device_array import DeviceArray, DeviceMemory
from polygen.runtime.calls.device_errors import DriverError
from tests.nvidia.host_driver import HostDriver

pytestmark = pytest.mark.more  # CUDA on the processor of the host


def doubling(**options: Any) -> pg.Kernel:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i] + shift", **options)
    return pg.split_iname(knl, "i", 8, outer_tag="g.0", inner_tag="l.0")


class Foreign:
    """An array of a library that polygen has never heard of."""

    def __init__(self, data: Any) -> None:
        self.data = data

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return dict(self.data.__array_interface__)


class Stream:
    """A stream of a library that polygen has never heard of."""

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, 7


def on_device(values: Any) -> DeviceArray:
    memory = DeviceMemory(values.nbytes)
    found = DeviceArray(memory, values.shape, values.dtype, values.strides, 0)
    np.asarray(_Seen(found))[...] = values
    return found


class _Seen:
    def __init__(self, array: DeviceArray) -> None:
        self.__array_interface__ = array.__cuda_array_interface__


def test_numpy_arrays_are_copied(host: HostDriver) -> None:
    run = doubling().executor("cuda")
    assert run.target == "cuda"
    for n in (0, 1, 8, 13):
        a = np.arange(n, dtype=np.float32)
        _, (out,) = run(a=a, shift=1.0)
        assert isinstance(out, np.ndarray)
        np.testing.assert_array_equal(out, 2 * a + 1)
        given = np.zeros(n, np.float32)
        run(a=a[::-1], out=given, shift=np.float32(2))
        np.testing.assert_array_equal(given, 2 * a[::-1] + 2)
    assert not host.live  # all memory is given back


class Anywhere:
    """An array of a library whose arrays are in the host's memory, or in a GPU's."""

    def __init__(self, data: Any, place: str) -> None:
        self.data, self.place = data, place

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.place == "host":
            raise AttributeError("it is on the host")
        return dict(self.data.__cuda_array_interface__)

    def __dlpack__(self, **asked: Any) -> Any:
        return self.data.__dlpack__(**asked)

    def __dlpack_device__(self) -> Any:
        return self.data.__dlpack_device__()


def test_arrays_of_one_class_in_two_places(host: HostDriver) -> None:
    knl, a = doubling(), np.arange(12, dtype=np.float64)
    there = Anywhere(on_device(a), "gpu")
    for _ in range(2):  # in either order
        _, (out,) = knl(a=there, shift=1)
        assert isinstance(out, DeviceArray)
        np.testing.assert_array_equal(out.get(), 2 * a + 1)
        _, (out,) = knl(a=Anywhere(a, "host"), shift=1)
        assert isinstance(out, np.ndarray)
        np.testing.assert_array_equal(out, 2 * a + 1)
    _, (out,) = knl.executor("cuda")(a=Anywhere(a, "host"), shift=1)
    np.testing.assert_array_equal(out, 2 * a + 1)


def test_arrays_of_polygen_and_of_others(host: HostDriver) -> None:
    a = np.arange(12, dtype=np.float64)
    knl = doubling()
    _, (out,) = knl(a=on_device(a), shift=1)
    assert isinstance(out, DeviceArray)
    np.testing.assert_array_equal(out.get(), 2 * a + 1)
    _, (again,) = knl(a=out, shift=0)
    np.testing.assert_array_equal(again.get(), 4 * a + 2)
    foreign = np.zeros(6)
    knl(a=Foreign(a[::2]), out=Foreign(foreign), shift=3)
    np.testing.assert_array_equal(foreign, 2 * a[::2] + 3)
    # Arrays of NumPy's are copied beside it.
    _, (found,) = knl(a=a, out=Foreign(np.empty(12)), shift=1)
    assert isinstance(found, Foreign)
    np.testing.assert_array_equal(found.data, 2 * a + 1)


def test_two_dimensions_and_declared_layouts(host: HostDriver) -> None:
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i<n and 0<=j<m }",
        "b[i,j] = a[j,i]",
        [pg.GlobalArg("b", shape="n, m", order="F"), "..."],
    )
    knl = pg.tag_inames(knl, "i:g.1, j:g.0")
    a = np.arange(12.0).reshape(3, 4)
    _, (b,) = knl(a=on_device(a))
    assert b.strides == (8, 32)
    np.testing.assert_array_equal(b.get(), a.T)
    _, (b,) = knl(a=Foreign(a[::-1, ::2]))
    np.testing.assert_array_equal(b.get(), a[::-1, ::2].T)


def test_memory_between_launches(host: HostDriver) -> None:
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i,j<n }",
        "u[i] = a[i]*a[i] {id=first}\nb[j] = u[n - 1 - j] {dep=first}",
        [pg.TemporaryVariable("u", shape="n", address_space=pg.AddressSpace.GLOBAL), "..."],
    )
    for iname in "ij":
        knl = pg.split_iname(knl, iname, 8, outer_tag="g.0", inner_tag="l.0")
    for n in (0, 1, 8, 13):
        a = np.arange(n, dtype=np.float64)
        event, (b,) = knl(a=on_device(a))
        _, (again,) = knl(5, a=on_device(a), wait_for=[event])  # on another stream
        event.wait()
        np.testing.assert_array_equal(b.get(), (a * a)[::-1])
        np.testing.assert_array_equal(again.get(), (a * a)[::-1])


def test_loops_around_launches(host: HostDriver) -> None:
    knl = pg.make_kernel(
        "{ [t,i,j]: 0<=t<steps and 0<=i,j<n }",
        """
        for t
            u[i] = a[(i + 1) % n] + t {id=first, dep=*}
            a[j] = u[j]               {id=second, dep=first}
        end
        """,
        [pg.TemporaryVariable("u", shape="n", address_space=pg.AddressSpace.GLOBAL), "..."],
    )
    knl = pg.tag_inames(knl, "i:g.0, j:g.0")
    a = np.arange(5.0)
    knl.executor("cuda")(a=a, steps=3)
    np.testing.assert_array_equal(a, np.roll(np.arange(5.0), -3) + 3)


@pytest.mark.parametrize("value", [2, 2.5, np.float32(2.5), 1 + 2j, np.complex64(1 - 2j), True])
def test_scalars(host: HostDriver, value: Any) -> None:
    knl = pg.tag_inames(pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = a[i] + s"), "i:g.0")
    dtype = np.complex128 if isinstance(value, complex | np.complexfloating) else np.float64
    a = np.arange(3).astype(dtype)
    np.testing.assert_array_equal(knl.executor("cuda")(a=a, s=value)[1][0], a + value)
    half = pg.add_dtypes(pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = s"), {"s": "float16"})
    half = pg.tag_inames(half, "i:g.0")
    np.testing.assert_array_equal(
        half.executor("cuda")(s=0.1, n=2)[1][0], np.full(2, np.float16(0.1))
    )


def test_streams(host: HostDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    launch = host.launch

    def noted(function: int, grid: Any, group: Any, shared: int, stream: int, at: int) -> None:
        seen.append(stream)
        launch(function, grid, group, shared, stream, at)

    monkeypatch.setattr(host, "launch", noted)
    knl, a = doubling(), on_device(np.arange(3.0))
    for queue in (None, 5, Stream()):
        knl(queue, a=a, shift=0.0)
    assert seen == [0, 5, 7]
    with pytest.raises(WrongArgumentType, match=r"with .a queue. for a queue"):
        knl("a queue", a=a, shift=0.0)


def test_streams_of_arrays(host: HostDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an array's library still does with it comes first; and so it is with our arrays."""

    class Written(Foreign):
        stream: int | None = None

        @property
        def __cuda_array_interface__(self) -> dict[str, Any]:
            return {**super().__cuda_array_interface__, "stream": self.stream}

    waited: list[tuple[int, int]] = []
    monkeypatch.setattr(host, "wait_on", lambda stream, other: waited.append((stream, other)))
    knl, a = doubling(), Written(np.arange(3.0))
    for stream, queue, expected in ((None, 5, []), (9, 5, [(5, 9)]), (1, None, []), (5, 5, [])):
        a.stream = stream
        waited.clear()
        _, (out,) = knl(queue, a=a, shift=0.0)
        assert waited == expected
        assert out.__cuda_array_interface__["stream"] == (queue or 1)


class Packed:
    """An array of a library that has DLPack alone."""

    def __init__(self, data: Any) -> None:
        self.data = data
        self.streams: list[int] = []

    def __dlpack__(self, *, stream: int) -> Any:
        self.streams.append(stream)
        return self.data.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0  # CUDA's first device, for which the host's memory stands


def test_arrays_that_have_dlpack_alone(host: HostDriver) -> None:
    knl, a = doubling(), np.arange(24.0).reshape(4, 6)[1, ::-2]
    given = Packed(a)
    _, (out,) = knl(7, a=given, shift=1.0)
    assert isinstance(out, DeviceArray)
    np.testing.assert_array_equal(out.get(), 2 * a + 1)
    assert given.streams[0] == 7
    found = np.zeros(3)
    for _ in range(2):
        _, (same,) = knl(a=Packed(a), out=Packed(found), shift=2.0)
        assert same.data is found
        np.testing.assert_array_equal(found, 2 * a + 2)
    for dtype in ("bool", "int8", "uint16", "float16", "complex64"):
        values = np.array([0, 1, 1], dtype)
        copy = pg.tag_inames(pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = a[i]"), "i:g.0")
        _, (out,) = copy(a=Packed(values))
        np.testing.assert_array_equal(out.get(), values, strict=True)


def test_arrays_that_must_not_be_written(host: HostDriver) -> None:
    a = np.arange(3.0)
    a.flags.writeable = False
    _, (out,) = doubling()(a=Foreign(a), shift=0)
    np.testing.assert_array_equal(out.get(), 2 * a)
    with pytest.raises(ReadOnlyOutput, match=r"'out' is written, and .* is read-only"):
        doubling()(a=Foreign(np.ones(3)), out=Foreign(a), shift=0)


def test_what_is_wrong_with_arrays(host: HostDriver) -> None:
    knl, a = doubling(), np.arange(32.0)
    with pytest.raises(OverlappingArguments, match="'out' and 'a' overlap"):
        knl(a=Foreign(a[:8]), out=Foreign(a[4:12]), shift=0.0)
    knl(a=Foreign(a[:8]), out=Foreign(a[8:16]), shift=0.0)
    bytes_ = np.zeros(17, np.uint8)[1:].view(np.float64)
    with pytest.raises(MisalignedArray):
        knl(a=Foreign(bytes_), shift=0.0)
    with pytest.raises(WrongDevice, match="runs in C here, and was passed the array 'a'"):
        knl.executor("c")(a=Foreign(a), shift=0.0)
    text = np.array(["a", "b"])
    with pytest.raises(WrongArgumentType, match="which is no type of numbers"):
        knl(a=Foreign(text), shift=0.0)


def test_grids_that_the_device_does_not_take(host: HostDriver) -> None:
    knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i,j] = a[i]")
    tall = pg.tag_inames(knl, "i:g.1, j:g.0")
    with pytest.raises(LaunchFailed, match=r"\(2, 70000\) groups; the device has at most"):
        tall.executor("cuda")(a=np.zeros(70_000), m=2)
    wide = pg.tag_inames(pg.split_iname(knl, "j", 2048, inner_tag="l.0"), "i:g.0")
    with pytest.raises(LaunchFailed, match="the device has at most 1024 in a group"):
        wide.executor("cuda")(a=np.zeros(3), m=2)


def test_refusals_of_the_driver(
    host: HostDriver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("POLYGEN_CACHE_DIR", str(tmp_path))

    def refuse(*_: Any) -> int:
        raise DriverError("too many resources")

    with monkeypatch.context() as patch:
        patch.setattr(host, "launch", refuse)
        with pytest.raises(LaunchFailed, match=r"refused launch 'polygen_kernel'.*too many"):
            doubling().executor("cuda")(a=np.zeros(3), shift=1)
    with monkeypatch.context() as patch:
        patch.setattr(host, "compile", lambda *_: (b"", "polygen.cu(2): error: no such thing"))
        said = (
            "NVRTC failed for kernel 'polygen_kernel':\n.*: no such thing(.*\n)*.*->    2 polygen_"
        )
        with pytest.raises(CompilationFailed, match=said):
            doubling().executor("cuda")(a=np.zeros(3), shift=2.5)
    with monkeypatch.context() as patch:
        patch.setattr(host, "load", refuse)
        said = "CUDA's driver failed for kernel 'polygen_kernel':\ntoo many"
        with pytest.raises(CompilationFailed, match=said):
            doubling().executor("cuda")(a=np.zeros(3), shift=2.5)
        patch.setattr(host, "load", _failing("an illegal memory access", 700))
        with pytest.raises(KernelFault, match="an illegal memory access"):
            doubling().executor("cuda")(a=np.zeros(3), shift=2.5)
    run = doubling().executor("cuda")
    np.testing.assert_array_equal(run(a=np.ones(3), shift=1)[1][0], [3, 3, 3])


def _failing(message: str, code: int) -> Any:
    def fail(*_: Any, **__: Any) -> Any:
        raise DriverError(message, code)

    return fail


def test_a_kernel_that_fails_as_it_runs(host: HostDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    knl, a = doubling(name="scaling"), on_device(np.arange(4.0))
    event, _ = knl(a=a, shift=1.0)
    illegal = _failing("an illegal memory access was encountered", 700)
    said = "failed in kernel 'scaling', or in what was started before it: an illegal memory access"
    with monkeypatch.context() as patch:
        patch.setattr(host, "wait", illegal)
        with pytest.raises(KernelFault, match=said):
            event.wait()
    for where in ("launch", "allocate", "copy"):
        with monkeypatch.context() as patch:
            patch.setattr(host, where, illegal)
            with pytest.raises(KernelFault, match=f"{said}.*\n.*\n.*CUDA_LAUNCH_BLOCKING=1"):
                knl.executor("cuda")(a=np.arange(4.0), shift=1.0)
    np.testing.assert_array_equal(knl(a=a, shift=1.0)[1][0].get(), 2 * np.arange(4.0) + 1)


def test_memory_that_the_device_has_not(host: HostDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i,j<n }",
        "u[i] = a[i]*a[i] {id=first}\nb[j] = u[n - 1 - j] {dep=first}",
        [pg.TemporaryVariable("u", shape="n", address_space=pg.AddressSpace.GLOBAL), "..."],
    )
    knl, a = pg.tag_inames(knl, "i:g.0, j:g.0"), np.arange(1000.0)
    allocate, taken = host.allocate, [0]

    def limited(size: int) -> int:
        if size + taken[0] > limit:
            raise DriverError("out of memory", 2)
        taken[0] += size
        return allocate(size)

    wanted = ("the copy of 'a'", "a new array would be made for 'b', .*1000", "the temporary 'u'")
    for step, said in enumerate(wanted):
        limit, taken[0] = 8000 * step, 0
        with monkeypatch.context() as patch:
            patch.setattr(host, "allocate", limited)
            with pytest.raises(OutOfMemory, match=f"{said}.*: .*out of memory"):
                knl.executor("cuda")(a=a)
    np.testing.assert_array_equal(knl.executor("cuda")(a=a)[1][0], (a * a)[::-1])
    assert len(host.live) == 1  # the temporary's, which the plan keeps


def test_a_source_is_compiled_once(
    host: HostDriver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("POLYGEN_CACHE_DIR", str(tmp_path))
    for _ in range(2):
        doubling().executor("cuda")(a=np.zeros(3), shift=1)
    assert host.compiled == 1
    # What is on disk is loaded by a process that begins.
    monkeypatch.setattr(cuda_driver, "_MODULES", {})
    doubling().executor("cuda")(a=np.zeros(3), shift=1)
    assert host.compiled == 1


def test_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> Any:
        raise ImportError("no module")

    nothing = SimpleNamespace(import_module=missing)  # to others, importlib stays what it is
    monkeypatch.setattr("polygen.runtime.backends.cuda.cuda_driver.importlib", nothing)
    cuda_driver.driver.cache_clear()
    with pytest.raises(NoDevice, match="CUDA cannot be used: no module; no module"):
        doubling().executor("cuda")(a=np.zeros(3), shift=1)
    assert not cuda_driver.has_cuda()


class OnHost(DeviceArray):
    """An array that says where it is here, so that NumPy can be asked what it makes of it."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float16", "float64", "complex64"])
def test_arrays_that_other_libraries_take_over(host: HostDriver, dtype: str) -> None:
    values = np.arange(24).reshape(4, 6).astype(dtype)
    memory = DeviceMemory(values.nbytes)
    whole = OnHost(memory, values.shape, values.dtype, values.strides, 0)
    np.asarray(_Seen(whole))[...] = values
    part = OnHost(memory, (2, 3), values.dtype, tuple(2 * s for s in values.strides), 0)
    capsule, taken = whole.__dlpack__(stream=7, max_version=(1, 0)), np.from_dlpack(part)
    del memory, whole, part
    np.testing.assert_array_equal(taken, values[::2, ::2])
    assert host.live
    del taken
    assert host.live  # for the capsule, which nobody has taken
    del capsule
    assert not host.live


def test_arrays_that_other_libraries_cannot_have(host: HostDriver) -> None:
    array = on_device(np.arange(3.0))
    assert array.__dlpack_device__() == (2, 0)
    for asked in ({"copy": True}, {"dl_device": (1, 0)}):
        with pytest.raises(BufferError, match="without copies"):
            array.__dlpack__(**asked)


def test_streams_of_arrays_that_are_taken_over(
    host: HostDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[tuple[int, int]] = []
    monkeypatch.setattr(host, "wait_on", lambda stream, other: waits.append((stream, other)))
    array = on_device(np.arange(3.0))
    array.stream = 7
    for stream in (None, 9, 7, -1):
        array.__dlpack__(stream=stream)
    assert waits == [(1, 7), (9, 7)]
    copied: list[int] = []
    monkeypatch.setattr(host, "copy", lambda *args, to_host: copied.append(args[3]))
    array.get()
    array.get(5)
    assert copied == [7, 5]


def test_types_that_numpy_does_not_take_over(host: HostDriver) -> None:
    array = DeviceArray(DeviceMemory(12), (2, 3), to_dtype("bfloat16"), (6, 2), 0)
    seen = seen_by_dlpack(array, 0)
    assert (seen.dtype.name, seen.shape, seen.address) == ("bfloat16", (2, 3), array.address)


def test_limits_of_the_device(host: HostDriver) -> None:
    found = pg.Limits.of_device()
    # Two transfers a cycle of 2 GHz, 5120 bits wide; 132 units with 128 lanes at 1 GHz.
    assert found.bytes_per_second == pytest.approx(2 * 2e9 * 640)
    assert found.rate_of("float32") == pytest.approx(2 * 128 * 132 * 1e9)
    assert (found.compute_units, found.cache_bytes) == (132, 50 * 2**20)


def test_work_of_one_work_item(host: HostDriver) -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")
    run, a = knl.executor("cuda"), np.arange(5000.0)
    run(a=a[:1000])
    with pytest.warns(NotParallel, match="executes 'insn' 5000 times or so, alone"):
        _, (out,) = run(a=a)
    np.testing.assert_array_equal(out, 2 * a)
    run(a=a)  # it is said once
    assert host.compiled == 1
