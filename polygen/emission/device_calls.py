"""What hosts of devices share: a header around the functions, and all that launches are passed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from polygen.emission.c_text import element_type, number_type
from polygen.emission.host_kernel import HostArray, HostKernel, HostScalar
from polygen.ir.array import ValueArg
from polygen.lower.program import HostLoop
from polygen.targets.program import DeviceFunction


def binding(kernel: HostKernel, api: str, purpose: str, lines: Iterable[str]) -> str:
    """Return a header of functions that run the kernel.

    Parameters:
        kernel: the kernel.
        api: the interface that they use, as file names call it.
        purpose: what they do with it.
        lines: what is in it.
    """
    guard = f"POLYGEN_{kernel.name.upper()}_{api.upper()}_H"
    begin = [
        f"/* {purpose} */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        f'#include "{kernel.name}.h"',
        f'#include "polygen_{api}.h"',
        "",
    ]
    return "\n".join([*begin, *lines, "#endif", ""])


def start_head(kernel: HostKernel) -> Iterator[str]:
    """Yield how a function begins that starts one launch."""
    name = kernel.name
    yield f"static inline int {name}_start_launch("
    yield "    void *pg_context, int pg_function,"
    yield "    pg_launch const *pg_next, int64_t const *pg_loops)"
    yield "{"
    yield f"    {name}_call *const pg_call = ({name}_call *) pg_context;"


def call_values(kernel: HostKernel, allocate: str) -> Iterator[str]:
    """Yield what fills the structure with all that launches are passed.

    Parameters:
        kernel: the kernel.
        allocate: the call that returns memory for a temporary, up to the number of its elements.
    """
    sizes = ", ".join(size.name for size in kernel.sizes)
    yield from (f"    pg_call.{arg.name} = {arg.name};" for arg in kernel.arguments)
    for array in kernel.temporaries:
        size = f"sizeof({element_type(array.dtype)})"
        count = f"{kernel.name}_elements_{array.name}({sizes})"
        yield f"    pg_call.{array.name} = {allocate}{count}, {size}, &pg_status);"


def all_launches(kernel: HostKernel) -> str:
    """Return the call that starts all launches, each by the function with `start_head`."""
    given = [*(s.name for s in kernel.sizes), f"{kernel.name}_start_launch", "&pg_call"]
    return f"{kernel.name}_launches({', '.join(given)})"


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
