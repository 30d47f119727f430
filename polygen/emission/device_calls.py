"""What hosts of devices share: an argument for each parameter of each launch."""

from __future__ import annotations

from collections.abc import Iterator

from polygen.emission.c_text import number_type
from polygen.emission.host_kernel import HostArray, HostKernel, HostScalar
from polygen.ir.array import ValueArg
from polygen.lower.program import HostLoop
from polygen.targets.program import DeviceFunction


def call_fields(kernel: HostKernel, memory: str) -> Iterator[str]:
    """Yield the members of a structure with all that launches are passed.

    Parameters:
        kernel: the kernel.
        memory: the type of an array in the device's memory.
    """
    for arg in (*kernel.arguments, *kernel.temporaries):
        kind = memory if isinstance(arg, HostArray) else number_type(arg.dtype)
        yield f"    {kind} {arg.name};"


def call_parameters(kernel: HostKernel, memory: str) -> list[str]:
    """Return the parameters of a function that takes what the kernel takes."""
    return [
        f"{memory if isinstance(arg, HostArray) else number_type(arg.dtype)} {arg.name}"
        for arg in kernel.arguments
    ]


def passed(
    kernel: HostKernel, function: DeviceFunction, loops: tuple[HostLoop, ...]
) -> Iterator[tuple[str, str, HostArray | HostScalar | None]]:
    """Yield, for each parameter of a launch, its name, its type, and what is passed.

    That is nothing for the variable of a loop on the host: its value is declared by `loop_values`.
    """
    known = {arg.name: arg for arg in (*kernel.arguments, *kernel.temporaries)}
    counters = {loop.iname for loop in loops}
    for arg in function.arguments:
        if arg.name in counters and arg.dtype is not None:
            yield arg.name, number_type(arg.dtype), None
        else:
            found = known[arg.name]
            assert isinstance(found, HostScalar) == isinstance(arg, ValueArg)
            yield arg.name, number_type(found.dtype), found


def loop_values(
    kernel: HostKernel, function: DeviceFunction, loops: tuple[HostLoop, ...]
) -> Iterator[str]:
    """Yield declarations of those variables of loops on the host that a launch is passed."""
    depth = {loop.iname: number for number, loop in enumerate(loops)}
    for name, kind, found in passed(kernel, function, loops):
        if found is None:
            yield f"        {kind} const pg_loop_{name} = ({kind}) pg_loops[{depth[name]}];"
