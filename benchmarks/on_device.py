"""Where benchmarks run, CUDA through CuPy or OpenCL through PyOpenCL: times are the device's own.

NVIDIA's OpenCL and NVRTC do not work in one process: a script takes one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any, Protocol

import numpy as np

import polygen as pg

WARM = 3


class Device(Protocol):
    """A device with memory of its own.

    Attributes:
        name: what it is called.
    """

    name: str

    def random(self, shape: tuple[int, ...], dtype: str = "float32") -> Any:
        """Return an array of random numbers between 0 and 1."""
        ...

    def upload(self, array: Any) -> Any:
        """Return an array with the values of one of NumPy's."""
        ...

    def download(self, array: Any) -> Any:
        """Return an array of NumPy's with the values of one, or of a part of it."""
        ...

    def call(self, knl: Any, **arguments: Any) -> Any:
        """Call a kernel: return what says when it is over."""
        ...

    def copy(self, target: Any, source: Any) -> Any:
        """Copy an array to another one."""
        ...

    def milliseconds(self, run: Callable[[], Any], times: int = 20) -> float:
        """Return how long something takes on the device: the median."""
        ...


class Cuda:
    """An NVIDIA GPU, its memory CuPy's arrays."""

    def __init__(self) -> None:
        import cupy  # noqa: PLC0415  (only where it is used)

        self.cupy: Any = cupy
        self.name: str = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()

    def random(self, shape: tuple[int, ...], dtype: str = "float32") -> Any:
        """Return an array of random numbers between 0 and 1."""
        return self.cupy.random.rand(*shape, dtype=dtype)

    def upload(self, array: Any) -> Any:
        """Return an array with the values of one of NumPy's."""
        return self.cupy.asarray(array)

    def download(self, array: Any) -> Any:
        """Return an array of NumPy's with the values of one."""
        return array.get()

    def call(self, knl: Any, **arguments: Any) -> Any:
        """Call a kernel."""
        return knl(**arguments)[0]

    def copy(self, target: Any, source: Any) -> Any:
        """Copy an array to another one."""
        to_device = 3  # cudaMemcpyDeviceToDevice
        self.cupy.cuda.runtime.memcpyAsync(
            target.data.ptr, source.data.ptr, source.nbytes, to_device, 0
        )

    def milliseconds(self, run: Callable[[], Any], times: int = 20) -> float:
        """Return how long something takes on the device: the median."""
        for _ in range(WARM):
            run()
        events = [(self.cupy.cuda.Event(), self.cupy.cuda.Event()) for _ in range(times)]
        for start, end in events:
            start.record()
            run()
            end.record()
        self.cupy.cuda.Device().synchronize()
        return float(median(self.cupy.cuda.get_elapsed_time(*pair) for pair in events))


class OpenCL:
    """The device that PyOpenCL chooses (`PYOPENCL_CTX`)."""

    def __init__(self) -> None:
        import pyopencl as cl  # noqa: PLC0415  (only where it is used)
        import pyopencl.array as cla  # noqa: PLC0415

        self.cl: Any = cl
        self.cla: Any = cla
        context = cl.create_some_context(interactive=False)
        profiling = cl.command_queue_properties.PROFILING_ENABLE
        self.queue = cl.CommandQueue(context, properties=profiling)
        self.name: str = context.devices[0].name

    def random(self, shape: tuple[int, ...], dtype: str = "float32") -> Any:
        """Return an array of random numbers between 0 and 1."""
        found = self.cla.empty(self.queue, shape, dtype)
        some = np.random.default_rng(0).random(min(found.size, 2**24)).astype(dtype)
        part = self.cla.to_device(self.queue, some)
        for start in range(0, found.nbytes, part.nbytes):
            count = min(part.nbytes, found.nbytes - start)
            self.cl.enqueue_copy(
                self.queue, found.base_data, part.base_data, dst_offset=start, byte_count=count
            )
        return found

    def upload(self, array: Any) -> Any:
        """Return an array with the values of one of NumPy's."""
        return self.cla.to_device(self.queue, np.ascontiguousarray(array))

    def download(self, array: Any) -> Any:
        """Return an array of NumPy's with the values of one."""
        return array.get()

    def call(self, knl: Any, **arguments: Any) -> Any:
        """Call a kernel."""
        return knl(self.queue, **arguments)[0]

    def copy(self, target: Any, source: Any) -> Any:
        """Copy an array to another one."""
        return self.cl.enqueue_copy(self.queue, target.base_data, source.base_data)

    def milliseconds(self, run: Callable[[], Any], times: int = 20) -> float:
        """Return how long something takes on the device: the median."""
        taken: list[float] = []
        for _ in range(WARM + times):
            event = run()
            event.wait()
            taken.append((event.profile.end - event.profile.start) * 1e-6)
        return median(taken[WARM:])


def copied_bytes_per_second(device: Device, count: int = 2**28) -> float:
    """Return how many bytes a copy of the device's own reads and writes in a second."""
    source = device.random((count,))
    target = device.random((count,))
    taken = device.milliseconds(lambda: device.copy(target, source))
    return float(2 * source.nbytes / taken * 1e3)


def rate(device: Device, step: str, dtype: str, steps: int = 2048) -> float:
    """Return how often the device carries out an instruction in a second.

    Each work item has eight values that do not depend on each other.

    Parameters:
        step: the instruction, of ``t``, ``s`` and ``r``.
        dtype: the type of these.
        steps: how often each work item carries it out on each of its values.
    """
    knl = pg.make_kernel(
        f"{{ [i, l, k]: 0<=i<n and 0<=l<8 and 0<=k<{steps} }}",
        f"""
        for i, l
            <> t = i + l + 1  {{id=first}}
            for k
                t = {step}  {{id=step, dep=first}}
            end
            out[i, l] = t  {{dep=step}}
        end
        """,
        [pg.GlobalArg("out", dtype, "n, 8"), "..."],
        assumptions="n mod 256 = 0",
    )
    knl = pg.split_iname(pg.tag_inames(knl, "l: ilp"), "i", 256, outer_tag="g.0", inner_tag="l.0")
    knl = pg.split_iname(knl, "k", 16, inner_tag="unr")
    knl = pg.prioritize_loops(knl, "k_outer, k_inner")
    out = device.random((2**19, 8), dtype)
    given = {name: np.dtype(dtype).type(0.5) for name in "sr" if name in knl.variables}
    knl = pg.add_dtypes(knl, {"t": dtype, **dict.fromkeys(given, dtype)})
    taken = device.milliseconds(lambda: device.call(knl, out=out, **given))
    return float(out.size * steps / taken * 1e3)
