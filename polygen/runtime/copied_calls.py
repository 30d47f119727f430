"""Calls with arrays that have to be copied to the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from polygen.ir.kernel import Kernel
from polygen.runtime.arguments import Form
from polygen.runtime.cuda_arrays import to_host
from polygen.runtime.cuda_memory import stage_on_gpu
from polygen.runtime.cuda_streams import stream_address
from polygen.runtime.device_image import HostImage
from polygen.runtime.host_data import copied
from polygen.runtime.opencl import Queue, is_opencl_array
from polygen.runtime.outputs import written_arrays
from polygen.runtime.staging import stage_all

Run: TypeAlias = Callable[[Any, Any, dict[str, Any]], Any]  # of a queue, events and arguments
FindQueue: TypeAlias = Callable[[tuple[Any, ...]], Queue]


def run_with_copies(
    kernel: Kernel,
    run: Run,
    find_queue: FindQueue,
    form: Form,
    queue: Queue | None,
    wait_for: Any,
    *values: Any,
) -> tuple[Any, Any]:
    """Run on a device that has memory of its own, with arrays of NumPy's among others."""
    args = dict(zip(form.passed, values, strict=True))
    passed = [args[arg.name] for arg in form.arrays]
    on_device = [v for v in passed if is_opencl_array(v) and not isinstance(v, HostImage)]
    if queue is None:
        queue = find_queue(tuple(on_device))
    staged = stage_all(queue, form, args)
    copies = {name: copy.array for name, copy in staged.items()}
    copies |= {n: v.on_device() for n, v in args.items() if isinstance(v, HostImage)}
    event, outputs = run(queue, wait_for, {**args, **copies})
    names = written_arrays(kernel)
    allocated = {arg.name: arg for arg in form.allocated}
    by_name = kernel.options.return_dict
    found = dict(outputs if by_name else zip(names, outputs, strict=True))
    for name in names:
        if name in staged:
            staged[name].copy_back()
            found[name] = args[name]
        elif not on_device and name in allocated:
            found[name] = copied(allocated[name], found[name])
    return event, found if by_name else tuple(found.values())


def run_with_gpu_copies(
    kernel: Kernel, run: Run, form: Form, queue: Any, wait_for: Any, *values: Any
) -> tuple[Any, Any]:
    """Run on a GPU with arrays of NumPy's among others."""
    args = dict(zip(form.passed, values, strict=True))
    stream = stream_address(queue) or 0
    staged = stage_on_gpu(stream, form, args)
    copies = {name: copy.array for name, copy in staged.items()}
    event, outputs = run(0 if queue is None else queue, wait_for, {**args, **copies})
    names = written_arrays(kernel)
    by_name = kernel.options.return_dict
    found = dict(outputs if by_name else zip(names, outputs, strict=True))
    all_on_host = len(staged) == len(form.arrays)
    for name in names:
        if name in staged:
            staged[name].copy_back(stream)
            found[name] = args[name]
        elif all_on_host:
            found[name] = to_host(found[name], stream)
    return event, found if by_name else tuple(found.values())
