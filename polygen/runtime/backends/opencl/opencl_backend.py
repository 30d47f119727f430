"""The target OpenCL: kernels that are enqueued, through PyOpenCL."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from polygen.errors import WrongDevice
from polygen.forks import FORKED
from polygen.ir.array import GlobalArg
from polygen.ir.kernel import Kernel
from polygen.runtime.arrays.outputs import is_fully_written
from polygen.runtime.backends.backend import Backend, Copy
from polygen.runtime.backends.opencl.image_arguments import with_arrays, with_images
from polygen.runtime.backends.opencl.nvidia_opencl import register_options
from polygen.runtime.backends.opencl.opencl_arrays import (
    OPENCL_LIBRARIES,
    copied,
    device_allocator,
    memory_of,
)
from polygen.runtime.backends.opencl.opencl_driver import (
    Queue,
    build,
    check_alignments,
    default_context,
    has_device,
    is_context,
    is_device,
    is_gpu,
    is_queue,
    pyopencl,
    queue_of,
)
from polygen.runtime.backends.opencl.opencl_lacks import check_extensions
from polygen.runtime.backends.opencl.opencl_run import Run, check_local_memory
from polygen.runtime.backends.opencl.opencl_staging import stage_all
from polygen.runtime.backends.opencl.opencl_wrapper import opencl_writer
from polygen.runtime.backends.opencl.pocl import options_for
from polygen.runtime.calls.arguments import Call, Form
from polygen.runtime.calls.awaited_events import enqueued_events
from polygen.runtime.calls.call_plans import called, changing, fixed_values
from polygen.runtime.calls.call_wrapper import Writer
from polygen.runtime.calls.device_errors import raise_forked
from polygen.runtime.calls.execution_place import Place
from polygen.runtime.calls.kernel_variant import Variant
from polygen.runtime.calls.scalar_arguments import passed_as
from polygen.runtime.calls.serial_work import warn_of_serial_work
from polygen.source import caller_location


class _OpenCLBackend(Backend):
    """OpenCL's kernels on PyOpenCL's arrays."""

    target = "opencl"
    title = "OpenCL"
    owner = "pyopencl's"
    libraries = OPENCL_LIBRARIES
    has_memory = True
    has_images = True

    # --- where

    def is_default(self) -> bool:
        return has_device()

    def place_of(self, device: Any, /) -> Place | None:
        if is_queue(device):
            return Place(self.target, device.context, device)
        if is_context(device):
            return Place(self.target, device)
        if is_device(device):
            return Place(self.target, pyopencl().Context([device]))
        return None

    def is_queue(self, queue: Any, /) -> bool:
        return is_queue(queue)

    def default_queue(self, place: Place, /) -> Queue:
        if place.queue is not None:
            return place.queue
        return queue_of(default_context() if place.context is None else place.context)

    def queue_of_copies(self, place: Place, arrays: tuple[Any, ...], /) -> Queue:
        if place.queue is not None:
            return place.queue
        queues = [array.queue for array in arrays if array.queue is not None]
        return queues[0] if queues else self.default_queue(place)

    # --- arrays of the host's

    def stage(self, queue: Any, form: Form, args: Mapping[str, Any], /) -> Mapping[str, Copy]:
        return stage_all(queue, form, args)

    def to_host(self, _queue: Any, arg: GlobalArg, array: Any, /) -> Any:
        return copied(arg, array)

    def with_images(
        self, kernel: Kernel, args: Mapping[str, Any], place: Place, queue: Any, /
    ) -> Mapping[str, Any]:
        return with_images(kernel, args, lambda a: queue or self.queue_of_copies(place, a))

    def with_arrays(
        self, kernel: Kernel, args: Mapping[str, Any], place: Place, queue: Any, /
    ) -> Mapping[str, Any]:
        return with_arrays(kernel, args, lambda _: queue or self.default_queue(place))

    # --- calls

    def writer(self, form: Form, /) -> Writer:
        return opencl_writer(form)

    def names(self, place: Place, _form: Form, /) -> dict[str, Any]:
        return {
            "pg_enqueued": enqueued_events,
            "pg_find_queue": partial(self.queue_of_copies, place),
            "pg_forked": FORKED,
            "pg_memory_of": memory_of,
            "pg_raise_forked": raise_forked,
        }

    def check_place(
        self, place: Place, queue: Queue, form: Form, args: Mapping[str, Any], /
    ) -> None:
        name = form.kernel.name
        if place.context is not None and queue.context != place.context:
            raise WrongDevice(
                f"an executor of kernel '{name}' for {place.context.devices} was called "
                f"with a queue or an array of another context, for {queue.context.devices}",
                where=caller_location(),
                remedy="use kernel.executor(queue) of that queue",
            )
        for arg in form.arrays:
            if args[arg.name].context != queue.context:
                raise WrongDevice(
                    f"argument '{arg.name}' of kernel '{name}' is an array of another "
                    "context than the queue's",
                    where=caller_location(),
                    remedy="pass the queue that the arrays were made with",
                )

    def plan(self, form: Form, call: Call, variant: Variant, queue: Queue, /) -> dict[str, Any]:
        program = variant.program
        check_extensions(queue.device, program)
        options = (
            *options_for(queue.device, program.loop_program),
            *register_options(queue.device, program),
        )
        check_local_memory(queue.device, program.launches)  # compilers do not say it as clearly
        built = build(queue.context, program.source, options, form.kernel.name)
        fixed = fixed_values(call, variant)
        check_alignments(queue.device, (*form.arrays, *form.allocated))
        if is_gpu(queue.device):
            warn_of_serial_work(variant.kernel, program.loop_program, fixed)
        run = Run(queue, built, called(form, call, variant, queue), fixed, changing(form))
        plan: dict[str, Any] = {"pg_run": run, "pg_recorded": run.recorded}
        plan |= {f"pg_type_{name}": passed_as(variant.dtypes[name]) for name in form.scalars}
        array = pyopencl().array
        for arg in form.allocated:
            make = array.empty if is_fully_written(form.kernel, arg.name) else array.zeros
            dtype = variant.dtypes[arg.name]
            new = device_allocator(queue, call.allocated[arg.name], dtype, make)
            plan[f"pg_new_{arg.name}"] = new
        return plan


OPENCL = _OpenCLBackend()
