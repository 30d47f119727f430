"""The files for target OpenCL: the kernel, functions that enqueue it, a program in plain C."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from polygen.emission.c_text import quoted
from polygen.emission.device_calls import (
    DeviceApi,
    all_launches,
    binding,
    call_head,
    loop_values,
    passed,
    start_head,
    structure,
)
from polygen.emission.host_kernel import HostArray, HostKernel
from polygen.emission.main_program import main_program, value
from polygen.errors import CannotEmit
from polygen.runtime.pocl import needs_plain_code

_API = DeviceApi(
    name="opencl",
    own=("cl_command_queue pg_queue", "cl_kernel const *pg_kernels"),
    memory="cl_mem",
    status="cl_int",
    success="CL_SUCCESS",
    allocate="pg_buffer(pg_queue, ",
)


def files_for_opencl(kernel: HostKernel) -> Mapping[str, str]:
    """Return the texts of the files that are OpenCL's alone, by name."""
    name, loops = kernel.name, kernel.program.loop_program
    if "cl_khr_subgroups" in kernel.program.extensions:
        raise CannotEmit(
            f"kernel '{name}' counts on sub-groups of {loops.options.sub_group_size} work items, "
            "which the files for hosts do not ask the device about",
            where=kernel.kernel.location,
            remedy="set_options(kernel, sub_group_size=0)",
        )
    return {
        f"{name}.cl": kernel.program.source,
        f"{name}_opencl.h": _binding(kernel),
        f"{name}_main.c": _main(kernel),
    }


# --- functions that enqueue the kernel


def _binding(kernel: HostKernel) -> str:
    lines = [
        "/* What the source is to be compiled with. */",
        f"#define {kernel.name.upper()}_BUILD_OPTIONS {quoted(' '.join(_options(kernel)))}",
        f"#define {kernel.name.upper()}_PLAIN_ON_OLD_POCL {int(_is_plain_on_old_pocl(kernel))}",
        "",
        *structure(kernel, _API),
        *_functions(kernel),
        *_start(kernel),
        *_enqueue(kernel),
    ]
    return binding(kernel, _API, f"Enqueues kernel '{kernel.name}' through the OpenCL API.", lines)


def _options(kernel: HostKernel) -> tuple[str, ...]:
    return kernel.program.loop_program.options.build_options


def _is_plain_on_old_pocl(kernel: HostKernel) -> bool:
    return needs_plain_code(kernel.program.loop_program)


def _functions(kernel: HostKernel) -> Iterator[str]:
    name, count = kernel.name, f"{kernel.name.upper()}_FUNCTIONS"
    yield "/* Makes the kernels of a program that was built from the source: to be released. */"
    yield f"static inline cl_int {name}_kernels("
    yield f"    cl_program pg_program, cl_kernel pg_kernels[{count}])"
    yield "{"
    yield "    cl_int pg_status = CL_SUCCESS;"
    yield f"    for (int n = 0; n < {count} && pg_status == CL_SUCCESS; ++n)"
    yield f"        pg_kernels[n] = clCreateKernel(pg_program, {name}_function(n), &pg_status);"
    yield "    return pg_status;"
    yield "}"
    yield ""


def _start(kernel: HostKernel) -> Iterator[str]:
    yield from start_head(kernel)
    yield "    cl_kernel const pg_kernel = pg_call->pg_kernels[pg_function];"
    yield "    cl_int pg_status = CL_SUCCESS;"
    yield "    (void) pg_loops;"
    yield "    switch (pg_function) {"
    for number, (function, loops) in enumerate(kernel.launches):
        yield f"    case {number}: {{"
        yield from loop_values(kernel, function, loops)
        for index, (arg, kind, found) in enumerate(passed(kernel, function, loops)):
            where = f"&pg_loop_{arg}" if found is None else f"&pg_call->{arg}"
            size = "cl_mem" if isinstance(found, HostArray) else kind
            yield f"        pg_pass(pg_kernel, {index}, sizeof({size}), {where}, &pg_status);"
        yield "        break;"
        yield "    }"
    yield "    }"
    yield "    if (pg_status == CL_SUCCESS)"
    yield "        pg_status = pg_enqueue(pg_call->pg_queue, pg_kernel, pg_next);"
    yield "    return pg_status;"
    yield "}"
    yield ""


def _enqueue(kernel: HostKernel) -> Iterator[str]:
    name = kernel.name
    yield f"/* Enqueues the kernel: after {name}_check has said that the sizes are fine.  Memory"
    yield "   for temporaries is allocated, and released when all is done.  The queue is in order."
    yield "   Returns what OpenCL does. */"
    yield f"static inline cl_int {name}_enqueue("
    yield from call_head(kernel, _API)
    yield "    if (pg_status == CL_SUCCESS)"
    yield f"        pg_status = {all_launches(kernel)};"
    for array in kernel.temporaries:
        yield f"    if (pg_call.{array.name} != NULL)"
        yield f"        clReleaseMemObject(pg_call.{array.name});"
    yield "    return pg_status;"
    yield "}"
    yield ""


# --- the program


def _main(kernel: HostKernel) -> str:
    name, upper = kernel.name, kernel.name.upper()
    given = [f"buffer_{a.name}" if isinstance(a, HostArray) else value(a) for a in kernel.arguments]
    lines = [
        "    pg_device device;",
        f"    cl_kernel kernels[{upper}_FUNCTIONS] = {{0}};",
        "    pg_open_device(&device);",
        f'    pg_build(&device, "{name}.cl", {upper}_BUILD_OPTIONS, {upper}_PLAIN_ON_OLD_POCL);',
        f'    pg_must({name}_kernels(device.program, kernels), "clCreateKernel");',
        *(
            f"    cl_mem buffer_{a.name} = pg_upload(&device, &array_{a.name});"
            for a in kernel.arrays
        ),
        f"    pg_must({name}_enqueue(",
        "        " + ",\n        ".join(["device.queue", "kernels", *given]) + f'), "{name}");',
        *(
            f"    pg_download(&device, &array_{a.name}, buffer_{a.name});"
            for a in kernel.arrays
            if a.writes
        ),
        *(f"    clReleaseMemObject(buffer_{a.name});" for a in kernel.arrays),
        f"    for (int n = 0; n < {upper}_FUNCTIONS; ++n)",
        "        clReleaseKernel(kernels[n]);",
        "    pg_close_device(&device);",
    ]
    includes = [f'"{name}_opencl.h"', '"polygen_opencl_host.h"']
    return main_program(kernel, includes, lines)
