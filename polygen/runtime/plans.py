"""Plans: what is found out once about calls with the same types, shapes, strides and sizes."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from polygen.ir.layout import Auto
from polygen.runtime.allocation import allocator, device_allocator
from polygen.runtime.arguments import Call, Form
from polygen.runtime.arrays import ArrayInfo
from polygen.runtime.cuda_arrays import array_class
from polygen.runtime.cuda_driver import build as build_cuda
from polygen.runtime.cuda_driver import check_clusters
from polygen.runtime.cuda_memory import cuda_allocator
from polygen.runtime.cuda_run import CudaRun
from polygen.runtime.device_array import DeviceArray
from polygen.runtime.evaluate import value_of
from polygen.runtime.layouts import value_of_hidden
from polygen.runtime.nvidia_opencl import register_options
from polygen.runtime.opencl import Queue, build, check_alignments, is_gpu, pyopencl
from polygen.runtime.opencl_lacks import check_extensions
from polygen.runtime.opencl_run import Run, check_local_memory
from polygen.runtime.outputs import is_fully_written
from polygen.runtime.pocl import options_for
from polygen.runtime.recording import Called, recorded_on_host
from polygen.runtime.scalars import passed_as
from polygen.runtime.serial_work import warn_of_serial_work
from polygen.runtime.stack import check_stack
from polygen.runtime.temporaries import with_memory
from polygen.runtime.variant import Variant

_MOST_ALIGNED = 16  # bytes: more are never read at once

# The values of what the wrapper asks for: see `polygen.runtime.wrapper.Wrapper.plan`.
Plan: TypeAlias = tuple[Any, ...]


def plan_for_c(form: Form, call: Call, variant: Variant) -> dict[str, Any]:
    """Return what a wrapper for C may ask for."""
    check_stack(variant.program.launches[0])
    run = with_memory(variant.c_function, variant.program, call.sizes)
    plan: dict[str, Any] = {
        "pg_run": run,
        "pg_recorded": recorded_on_host(_called(form, call, variant, "c"), run),
        "pg_hidden": tuple(value_of_hidden(hidden, call.places) for hidden in variant.hidden),
    }
    plan |= {f"pg_size_{name}": size for name, size in call.sizes.items()}
    plan |= _places(form, call, variant)
    for arg in form.allocated:
        make = np.empty if is_fully_written(form.kernel, arg.name) else np.zeros
        dtype = variant.dtypes[arg.name]
        info = call.allocated[arg.name]
        plan[f"pg_new_{arg.name}"] = allocator(info, dtype, make, arg.alignment)
    return plan


def _called(form: Form, call: Call, variant: Variant, device: Any) -> Called:
    """Return what profiles want to know of calls."""
    return Called(form.kernel, variant.kernel, variant.program, call.sizes, form.target, device)


def _places(form: Form, call: Call, variant: Variant) -> dict[str, Any]:
    """Return what a wrapper that looks at addresses may ask for about them."""
    plan: dict[str, Any] = {}
    for name, array in call.arrays.items():
        size, (low, high) = array.dtype.itemsize, array.reach
        plan[f"pg_low_{name}"] = low * size
        plan[f"pg_high_{name}"] = (high + 1) * size
        # Where an empty array begins does not matter.
        plan[f"pg_mask_{name}"] = _alignment(form, array) - 1 if array.size else 0
    for arg in (*form.arrays, *form.allocated):
        if arg.offset != 0 and not isinstance(arg.offset, Auto):
            size = variant.dtypes[arg.name].itemsize
            plan[f"pg_before_{arg.name}"] = value_of(arg.offset, call.sizes) * size
    return plan


def _alignment(form: Form, array: ArrayInfo) -> int:
    """Return what the address of an array that is passed has to be a multiple of."""
    declared = {arg.name: arg.alignment or 1 for arg in form.arrays}
    own = array.dtype.alignment
    if form.target == "cuda":  # complex numbers and vectors are read at once
        own = min(_MOST_ALIGNED, array.dtype.itemsize * array.unit)
    return max(declared[array.name], own)


def plan_for_opencl(form: Form, call: Call, variant: Variant, queue: Queue) -> dict[str, Any]:
    """Return what a wrapper for OpenCL may ask for."""
    program = variant.program
    check_extensions(queue.device, program)
    options = (
        *options_for(queue.device, program.loop_program),
        *register_options(queue.device, program),
    )
    check_local_memory(queue.device, program.launches)  # compilers do not say it as clearly
    built = build(queue.context, program.source, options, form.kernel.name)
    fixed = {
        **call.sizes,
        **{hidden.name: value_of_hidden(hidden, call.places) for hidden in variant.hidden},
    }
    check_alignments(queue.device, (*form.arrays, *form.allocated))
    if is_gpu(queue.device):
        warn_of_serial_work(variant.kernel, program.loop_program, fixed)
    names = [arg.name for arg in (*form.arrays, *form.allocated)] + list(form.scalars)
    run = Run(queue, built, _called(form, call, variant, queue), fixed, names)
    plan: dict[str, Any] = {"pg_run": run, "pg_recorded": run.recorded}
    plan |= {f"pg_type_{name}": passed_as(variant.dtypes[name]) for name in form.scalars}
    array = pyopencl().array
    for arg in form.allocated:
        make = array.empty if is_fully_written(form.kernel, arg.name) else array.zeros
        dtype = variant.dtypes[arg.name]
        new = device_allocator(queue, call.allocated[arg.name], dtype, make)
        plan[f"pg_new_{arg.name}"] = new
    return plan


def plan_for_cuda(form: Form, call: Call, variant: Variant) -> dict[str, Any]:
    """Return what a wrapper for CUDA may ask for."""
    program = variant.program
    options = program.loop_program.options.build_options
    check_clusters(program)
    module = build_cuda(program.source, options, form.kernel.name)
    fixed = {
        **call.sizes,
        **{hidden.name: value_of_hidden(hidden, call.places) for hidden in variant.hidden},
    }
    warn_of_serial_work(variant.kernel, program.loop_program, fixed)
    names = [arg.name for arg in (*form.arrays, *form.allocated)] + list(form.scalars)
    run = CudaRun(module, _called(form, call, variant, "cuda"), fixed, names)
    plan: dict[str, Any] = {"pg_run": run.call, "pg_recorded": run.recorded}
    plan |= _places(form, call, variant)
    like = array_class(form.classes[form.arrays[0].name] if form.arrays else DeviceArray)
    for arg in form.allocated:
        cleared = not is_fully_written(form.kernel, arg.name)
        info, dtype = call.allocated[arg.name], variant.dtypes[arg.name]
        plan[f"pg_new_{arg.name}"] = cuda_allocator(like, info, dtype, cleared=cleared)
    return plan
