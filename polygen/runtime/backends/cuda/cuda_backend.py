"""The target CUDA: functions that are started on streams, through cuda-python or CuPy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polygen.errors import WrongDevice
from polygen.ir.array import GlobalArg
from polygen.runtime.arrays.array_facts import ArrayInfo
from polygen.runtime.arrays.outputs import is_fully_written
from polygen.runtime.backends.backend import Backend, Copy
from polygen.runtime.backends.cuda.cuda_arrays import CUDA_LIBRARIES, POLYGEN
from polygen.runtime.backends.cuda.cuda_driver import build, check_clusters, driver
from polygen.runtime.backends.cuda.cuda_memory import cuda_allocator, stage_on_gpu
from polygen.runtime.backends.cuda.cuda_run import CudaRun
from polygen.runtime.backends.cuda.cuda_streams import (
    CudaEvent,
    event_address,
    stream_address,
    stream_of,
)
from polygen.runtime.backends.cuda.cuda_wrapper import cuda_libraries, cuda_writer
from polygen.runtime.backends.cuda.device_array import on_host, wait_on_stream
from polygen.runtime.calls.arguments import Call, Form
from polygen.runtime.calls.awaited_events import wait_here
from polygen.runtime.calls.call_plans import called, changing, fixed_values, places
from polygen.runtime.calls.call_wrapper import Writer
from polygen.runtime.calls.execution_place import Place
from polygen.runtime.calls.kernel_variant import Variant
from polygen.runtime.calls.serial_work import warn_of_serial_work
from polygen.source import caller_location

_MOST_ALIGNED = 16  # bytes: more are never read at once


class _CudaBackend(Backend):
    """CUDA's functions on arrays in a GPU's memory, whichever library made them."""

    target = "cuda"
    title = "CUDA"
    owner = "CUDA's"
    libraries = CUDA_LIBRARIES
    has_memory = True

    def is_queue(self, queue: Any, /) -> bool:
        return stream_address(queue) is not None

    # --- arrays of the host's

    def queue_of_copies(self, _place: Place, _arrays: tuple[Any, ...], /) -> int:
        return 0

    def stage(self, queue: Any, form: Form, args: Mapping[str, Any], /) -> Mapping[str, Copy]:
        return stage_on_gpu(stream_address(queue) or 0, form, args)

    def to_host(self, queue: Any, _arg: GlobalArg, array: Any, /) -> Any:
        return on_host(array, stream_address(queue) or 0)

    # --- calls

    def writer(self, form: Form, /) -> Writer:
        return cuda_writer(form)

    def names(self, _place: Place, form: Form, /) -> dict[str, Any]:
        names: dict[str, Any] = {
            "pg_device": driver().device,
            "pg_no_stream": POLYGEN.stream[0](),
            "pg_stream_of": stream_of,
            "pg_wait_on": _wait_on,
            "pg_wait_on_stream": wait_on_stream,
        }
        for name, library in cuda_libraries(form).items():
            names[f"pg_stream_{name}"] = library.stream[0]()
            names[f"pg_see_{name}"] = library.seen_on
        return names

    def check_place(
        self, _place: Place, _queue: Any, form: Form, args: Mapping[str, Any], /
    ) -> None:
        current = driver().device()
        for name, library in cuda_libraries(form).items():
            found = library.device(args[name])
            if found not in (None, current):
                raise WrongDevice(
                    f"argument '{name}' of kernel '{form.kernel.name}' is an array on device "
                    f"{found}; the current device is {current}",
                    where=caller_location(),
                    remedy="copy it there, or make its device current",
                )

    def plan(self, form: Form, call: Call, variant: Variant, _queue: Any, /) -> dict[str, Any]:
        program = variant.program
        check_clusters(program)
        is_empty = all(function.calls_library for function in program.launches)
        options, name = program.compiler_options, form.kernel.name
        module = None if is_empty else build(program.source, options, name)
        fixed = fixed_values(call, variant)
        warn_of_serial_work(variant.kernel, program.loop_program, fixed)
        run = CudaRun(module, called(form, call, variant, "cuda"), fixed, changing(form))
        plan: dict[str, Any] = {"pg_run": run.call, "pg_recorded": run.recorded}
        plan |= places(form, call, variant, _alignment)
        like = next(iter(cuda_libraries(form).values()), POLYGEN)
        for arg in form.allocated:
            cleared = not is_fully_written(form.kernel, arg.name)
            info, dtype = call.allocated[arg.name], variant.dtypes[arg.name]
            plan[f"pg_new_{arg.name}"] = cuda_allocator(like, info, dtype, cleared=cleared)
        return plan


CUDA = _CudaBackend()


def _alignment(array: ArrayInfo) -> int:
    # Complex numbers and vectors are read at once.
    return min(_MOST_ALIGNED, array.dtype.itemsize * array.unit)


def _wait_on(stream: int, event: Any) -> None:
    """Let a stream wait for an event of CUDA's; wait for any other here."""
    if isinstance(event, CudaEvent):
        wait_on_stream(stream, event.stream)
    elif (address := event_address(event)) is not None:
        driver().wait_for_event(stream, address)
    else:
        wait_here(event)
