"""Measuring candidates, once for a kernel, its sizes and a device.

A `Bench` times kernels that compute the same, with random numbers.  `kept_on_disk` keeps what was
found, beside what was compiled: for the kernel, what it was measured with, the device, its driver
and compiler, and polygen's version.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from math import inf, prod
from typing import Any, SupportsIndex

from polygen.errors import OutOfMemory, UserError
from polygen.inspection.compare.random_arguments import laid_out, random_arguments
from polygen.inspection.devices.measured_device import measured_device, memory_of_process
from polygen.ir.array import GlobalArg
from polygen.ir.dtype import to_dtype
from polygen.ir.kernel import Kernel
from polygen.runtime.arrays.array_extents import extent_of
from polygen.runtime.backends.cuda.cuda_driver import has_cuda
from polygen.runtime.calls.call_recording import unheard
from polygen.runtime.disk import cache as disk
from polygen.runtime.executor import Executor
from polygen.runtime.timing import seconds_of
from polygen.source import caller_location
from polygen.transforms.kernels.infer_unknown_types import infer_unknown_types
from polygen.tuning.halving import halved

_SHARE = 4  # of memory: there are the arguments, copies of them, and results


class Bench:
    """Times kernels that compute the same.

    Parameters:
        kernel: what all of them compute; the types of its inputs are known.
        sizes: the value of each size.
        target: that of the device: ``"c"``, ``"opencl"`` or ``"cuda"``.

    Attributes:
        failed: the kernels that could not be called, with the reasons.

    Raises:
        NoDevice: if there is none.
    """

    def __init__(self, kernel: Kernel, sizes: Mapping[str, SupportsIndex], target: str) -> None:
        self.kernel, self.target = kernel, target
        self.sizes = {name: sizes[name].__index__() for name in sorted(sizes)}
        self.device: str = measured_device(target).identity
        self.failed: dict[Kernel, UserError] = {}
        self._runs: dict[Kernel, Executor] = {}

    @cached_property
    def arguments(self) -> dict[str, Any]:
        """Random numbers for all arguments.

        Raises:
            OutOfMemory: if they need more memory than there is for them.
            UserError: if there are none that fit.
        """
        own = {name: n for name, n in self.sizes.items() if name in self.kernel.variables}
        self._check_memory()
        return random_arguments(self.kernel, own)

    def _check_memory(self) -> None:
        typed = infer_unknown_types(self.kernel, expect_completion=True)
        arrays = [a for a in typed.arguments if isinstance(a, GlobalArg) and a.shape]
        needed = sum(
            to_dtype(a.dtype).itemsize
            * prod(extent_of(self.kernel, extent, self.sizes) for extent in a.shape or ())
            for a in arrays
            if a.dtype is not None
        )
        if needed * _SHARE > memory_of_process():
            raise OutOfMemory(
                f"kernel '{self.kernel.name}' cannot be measured with arrays of "
                f"{needed / 1e9:.3g} GB together, more than a quarter of the memory",
                where=caller_location(),
                remedy="pass smaller sizes: sizes={'n': 256}",
            )

    def seconds(self, candidate: Kernel, enough: float) -> float:
        """Return how long a call takes at least; infinite if the call failed.

        Parameters:
            candidate: the kernel.
            enough: for about how many seconds to look.
        """
        given = self.arguments
        if candidate in self.failed:
            return inf
        try:
            with unheard():  # by profiles, for which calls take longer
                if candidate not in self._runs:
                    self._runs[candidate] = candidate.executor(self.target)
                return seconds_of(
                    self._runs[candidate], partial(laid_out, candidate, given), enough
                )
        except UserError as error:  # it asks for more than the device has, say
            self.failed[candidate] = error
            return inf


def kept_on_disk(
    bench: Bench,
    about: Sequence[str],
    measure: Callable[[], Any],
    is_usable: Callable[[Any], bool] = lambda _: True,
) -> Any:
    """Return what was measured, as JSON has it; measure it if it is not on disk.

    Parameters:
        bench: what is measured there, and with what.
        about: what else it depends on.
        measure: measures it.
        is_usable: tells whether what is on disk will do.
    """
    parts = (bench.device, str(bench.kernel), json.dumps(bench.sizes), *about)
    content = disk.kept(
        disk.key_of("tuned", *parts),
        lambda: json.dumps(measure()).encode(),
        lambda found: is_usable(json.loads(found)),
    )
    return json.loads(content)


def fastest(
    kernel: Kernel,
    candidates: Sequence[str],
    made: Callable[[int], Kernel],
    sizes: Mapping[str, SupportsIndex],
) -> int:
    """Return which of some candidates takes the least time.

    They run where the kernel's target is; without one, on CUDA's device if there is one, else in C.

    Parameters:
        kernel: what all of them compute.
        candidates: what tells them apart.
        made: makes the kernel of a candidate.
        sizes: the value of each size.

    Raises:
        NoDevice: if there is none.
    """
    bench = Bench(kernel, sizes, kernel.target or ("cuda" if has_cuda() else "c"))

    def measure() -> list[float]:
        kernels = list(map(made, range(len(candidates))))
        return halved([partial(bench.seconds, each) for each in kernels])

    times: list[float] = kept_on_disk(bench, candidates, measure)
    return min(range(len(candidates)), key=lambda k: times[k])
