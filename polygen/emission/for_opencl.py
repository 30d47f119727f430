"""The files for target OpenCL: the kernel, functions that enqueue it, a program in plain C."""

from __future__ import annotations

from collections.abc import Mapping

from polygen.emission.c_text import quoted
from polygen.emission.device_calls import asking, device_table
from polygen.emission.host_kernel import HostKernel
from polygen.emission.main_program import main_program
from polygen.emission.templates import filled
from polygen.errors import CannotEmit
from polygen.runtime.backends.opencl.pocl import needs_plain_code


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
        f"{name}_main.c": main_program(
            kernel, [f"{name}_opencl.h", "polygen_opencl_host.h"], "buffer_{}"
        ),
    }


def _binding(kernel: HostKernel) -> str:
    """Return functions that enqueue the kernel."""
    values, loops = device_table(kernel, "cl_mem"), kernel.program.loop_program
    for launch in values["launch"]:
        sizes = ((place, kind or "cl_mem") for place, kind, _ in launch["passed"])
        launch["pass"] = [
            f"        pg_pass(pg_kernel, {index}, sizeof({kind}), {place}, &pg_status);"
            for index, (place, kind) in enumerate(sizes)
        ]
    values["options"] = quoted(" ".join(kernel.program.compiler_options))
    place = {"status": "cl_int", "queue": "pg_call->pg_queue", "wrong": "CL_INVALID_VALUE"}
    values["asking"] = asking(kernel, {**values, **place})
    values["waits"] = _WAITS if kernel.flags else ""
    values["plain"] = int(needs_plain_code(loops))
    return filled("opencl.h", values)


_WAITS = "  It waits for the device each time that it\n   asks whether a loop on the host goes on."
