"""The files for target CUDA: the kernel, functions that launch it, a program in plain C.

The program uses the driver's interface, and what nvcc makes of the source.
"""

from __future__ import annotations

from collections.abc import Mapping

from polygen.emission.device_calls import asking, device_table
from polygen.emission.host_kernel import HostKernel
from polygen.emission.main_program import main_program
from polygen.emission.templates import filled


def files_for_cuda(kernel: HostKernel) -> Mapping[str, str]:
    """Return the texts of the files that are CUDA's alone, by name."""
    name = kernel.name
    return {
        f"{name}.cu": kernel.program.source,
        f"{name}_cuda.h": _binding(kernel),
        f"{name}_main.c": main_program(
            kernel, [f"{name}_cuda.h", "polygen_cuda_host.h"], "memory_{}"
        ),
    }


def _binding(kernel: HostKernel) -> str:
    """Return functions that launch the kernel."""
    values = device_table(kernel, "CUdeviceptr")
    for launch in values["launch"]:
        # The variable of a loop on the host is a constant of the function's own.
        places = [f"{'(void *) ' * own}{place}" for place, _, own in launch["passed"]]
        launch["places"] = ", ".join([*places, "NULL"])
    place = {
        "status": "CUresult",
        "queue": "pg_call->pg_stream",
        "wrong": "CUDA_ERROR_INVALID_VALUE",
    }
    values["asking"] = asking(kernel, {**values, **place})
    values["wait"] = _WAIT if kernel.temporaries else ()
    return filled("cuda.h", values)


_WAIT = (
    "    if (pg_status == CUDA_SUCCESS)",
    "        pg_status = cuStreamSynchronize(pg_stream);",
)
