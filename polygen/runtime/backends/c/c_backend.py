"""The target C: functions of this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from polygen.runtime.arrays.global_temporaries import with_memory
from polygen.runtime.arrays.memory_layouts import value_of_hidden
from polygen.runtime.arrays.output_allocation import allocator
from polygen.runtime.arrays.outputs import is_fully_written
from polygen.runtime.backends.backend import Backend, QuickCall
from polygen.runtime.backends.c.c_compiler import compiler_command
from polygen.runtime.backends.c.c_function import function_of, load
from polygen.runtime.backends.c.c_wrapper import c_writer
from polygen.runtime.backends.c.quick_calls import quick_call
from polygen.runtime.backends.c.thread_stacks import check_stack
from polygen.runtime.calls.arguments import Call, Form
from polygen.runtime.calls.call_plans import called, places
from polygen.runtime.calls.call_recording import recorded_on_host
from polygen.runtime.calls.call_wrapper import Writer
from polygen.runtime.calls.kernel_variant import Variant


class _CBackend(Backend):
    """C functions on NumPy arrays."""

    target = "c"
    title = "C"

    def is_default(self) -> bool:
        return compiler_command() is not None

    def writer(self, form: Form, /) -> Writer:
        return c_writer(form)

    def plan(self, form: Form, call: Call, variant: Variant, _queue: Any, /) -> dict[str, Any]:
        check_stack(variant.program.launches[0])
        if "function" not in variant.kept:
            library = load(variant.program)
            variant.kept["library"] = library
            variant.kept["function"] = function_of(library, variant.program)
        run = with_memory(variant.kept["function"], variant.program, call.sizes)
        plan: dict[str, Any] = {
            "pg_run": run,
            "pg_recorded": recorded_on_host(called(form, call, variant, "c"), run),
            "pg_hidden": tuple(value_of_hidden(hidden, call.places) for hidden in variant.hidden),
        }
        plan |= {f"pg_size_{name}": size for name, size in call.sizes.items()}
        plan |= places(form, call, variant, lambda array: array.dtype.alignment)
        for arg in form.allocated:
            make = np.empty if is_fully_written(form.kernel, arg.name) else np.zeros
            dtype = variant.dtypes[arg.name]
            info = call.allocated[arg.name]
            plan[f"pg_new_{arg.name}"] = allocator(info, dtype, make, arg.alignment)
        return plan

    def quick_call(
        self, form: Form, variant: Variant, plan: Mapping[str, Any], values: Mapping[str, Any], /
    ) -> QuickCall | None:
        return quick_call(form, variant.program, variant.kept["library"], plan, values)


C = _CBackend()
