"""The files for target CUDA: the kernel, functions that launch it, a program in plain C.

The program uses the driver's interface, and what nvcc makes of the source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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

_API = DeviceApi(
    name="cuda",
    own=("CUstream pg_stream", "CUfunction const *pg_functions"),
    memory="CUdeviceptr",
    status="CUresult",
    success="CUDA_SUCCESS",
    allocate="pg_memory(",
)


def files_for_cuda(kernel: HostKernel) -> Mapping[str, str]:
    """Return the texts of the files that are CUDA's alone, by name."""
    name = kernel.name
    return {
        f"{name}.cu": kernel.program.source,
        f"{name}_cuda.h": _binding(kernel),
        f"{name}_main.c": _main(kernel),
    }


# --- functions that launch the kernel


def _binding(kernel: HostKernel) -> str:
    lines = [
        *structure(kernel, _API),
        *_functions(kernel),
        *_start(kernel),
        *_enqueue(kernel),
    ]
    return binding(
        kernel, _API, f"Launches kernel '{kernel.name}' through CUDA's driver API.", lines
    )


def _functions(kernel: HostKernel) -> Iterator[str]:
    name, count = kernel.name, f"{kernel.name.upper()}_FUNCTIONS"
    yield "/* Finds the functions of a module that was made of the source. */"
    yield f"static inline CUresult {name}_functions("
    yield f"    CUmodule pg_module, CUfunction pg_functions[{count}])"
    yield "{"
    yield "    CUresult pg_status = CUDA_SUCCESS;"
    for number, (function, _) in enumerate(kernel.launches):
        given = f'"{function.name}", {function.shared_bytes}, &pg_functions[{number}]'
        yield f"    pg_find(pg_module, {given}, &pg_status);"
    yield "    return pg_status;"
    yield "}"
    yield ""


def _start(kernel: HostKernel) -> Iterator[str]:
    yield from start_head(kernel)
    yield "    CUfunction const pg_handle = pg_call->pg_functions[pg_function];"
    yield "    (void) pg_loops;"
    yield "    switch (pg_function) {"
    for number, (function, loops) in enumerate(kernel.launches):
        yield f"    case {number}: {{"
        yield from loop_values(kernel, function, loops)
        places = [
            f"(void *) &pg_loop_{arg}" if found is None else f"&pg_call->{arg}"
            for arg, _, found in passed(kernel, function, loops)
        ]
        yield f"        void *pg_passed[] = {{{', '.join([*places, 'NULL'])}}};"
        yield "        return pg_start(pg_handle, pg_next, pg_call->pg_stream, pg_passed);"
        yield "    }"
    yield "    }"
    yield "    return CUDA_ERROR_INVALID_VALUE;"
    yield "}"
    yield ""


def _enqueue(kernel: HostKernel) -> Iterator[str]:
    name = kernel.name
    yield f"/* Starts the kernel: after {name}_check has said that the sizes are fine. With"
    yield "   temporaries, it waits until all is done: their memory is allocated, and released."
    yield "   Returns what CUDA does. */"
    yield f"static inline CUresult {name}_launch("
    yield from call_head(kernel, _API)
    yield "    if (pg_status == CUDA_SUCCESS)"
    yield f"        pg_status = (CUresult) {all_launches(kernel)};"
    if kernel.temporaries:
        yield "    if (pg_status == CUDA_SUCCESS)"
        yield "        pg_status = cuStreamSynchronize(pg_stream);"
    for array in kernel.temporaries:
        yield f"    if (pg_call.{array.name} != 0)"
        yield f"        cuMemFree(pg_call.{array.name});"
    yield "    return pg_status;"
    yield "}"
    yield ""


# --- the program


def _main(kernel: HostKernel) -> str:
    name, upper = kernel.name, kernel.name.upper()
    given = [f"memory_{a.name}" if isinstance(a, HostArray) else value(a) for a in kernel.arguments]
    lines = [
        "    pg_device device;",
        f"    CUfunction functions[{upper}_FUNCTIONS];",
        f'    pg_open_device(&device, "{name}.fatbin");',
        f'    pg_must({name}_functions(device.module, functions), "cuModuleGetFunction");',
        *(f"    CUdeviceptr memory_{a.name} = pg_upload(&array_{a.name});" for a in kernel.arrays),
        f"    pg_must({name}_launch(",
        "        " + ",\n        ".join(["NULL", "functions", *given]) + f'), "{name}");',
        '    pg_must(cuCtxSynchronize(), "cuCtxSynchronize");',
        *(f"    pg_download(&array_{a.name}, memory_{a.name});" for a in kernel.arrays if a.writes),
        *(f'    pg_must(cuMemFree(memory_{a.name}), "cuMemFree");' for a in kernel.arrays),
        "    pg_close_device(&device);",
    ]
    includes = [f'"{name}_cuda.h"', '"polygen_cuda_host.h"']
    return main_program(kernel, includes, lines)
