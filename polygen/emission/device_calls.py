"""What hosts of devices share: a header around the functions, and all that launches are passed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from polygen.emission.c_text import element_type, number_type
from polygen.emission.host_kernel import HostArray, HostKernel, HostScalar
from polygen.ir.array import ValueArg
from polygen.lower.program import HostLoop
from polygen.targets.programs.program import DeviceFunction


@dataclass(frozen=True)
class DeviceApi:
    """How an interface to devices looks in C.

    Attributes:
        name: the interface, as file names call it.
        own: declarations of what a launch takes beside the kernel's arguments.
        memory: the type of an array in the device's memory.
        status: the type of what its functions return.
        success: that of one that did what it should.
        allocate: a call that returns memory for a temporary, up to the number of its elements.
    """

    name: str
    own: tuple[str, ...]
    memory: str
    status: str
    success: str
    allocate: str

    def declared(self, arg: HostArray | HostScalar) -> str:
        """Return the declaration of what is passed for an argument."""
        kind = self.memory if isinstance(arg, HostArray) else number_type(arg.dtype)
        return f"{kind} {arg.name}"


def binding(kernel: HostKernel, api: DeviceApi, purpose: str, lines: Iterable[str]) -> str:
    """Return a header of functions that run the kernel.

    Parameters:
        kernel: the kernel.
        api: the interface that they use.
        purpose: what they do with it.
        lines: what is in it.
    """
    guard = f"POLYGEN_{kernel.name.upper()}_{api.name.upper()}_H"
    begin = [
        f"/* {purpose} */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        f'#include "{kernel.name}.h"',
        f'#include "polygen_{api.name}.h"',
        "",
    ]
    return "\n".join([*begin, *lines, "#endif", ""])


def structure(kernel: HostKernel, api: DeviceApi) -> Iterator[str]:
    """Yield a structure of all that launches are passed."""
    yield f"typedef struct {kernel.name}_call {{"
    yield from (f"    {own};" for own in api.own)
    for arg in (*kernel.arguments, *kernel.temporaries):
        yield f"    {api.declared(arg)};"
    yield f"}} {kernel.name}_call;"
    yield ""


def start_head(kernel: HostKernel) -> Iterator[str]:
    """Yield how a function begins that starts one launch."""
    name = kernel.name
    yield f"static inline int {name}_start_launch("
    yield "    void *pg_context, int pg_function,"
    yield "    pg_launch const *pg_next, int64_t const *pg_loops)"
    yield "{"
    yield f"    {name}_call *const pg_call = ({name}_call *) pg_context;"


def call_head(kernel: HostKernel, api: DeviceApi) -> Iterator[str]:
    """Yield how a function begins that starts all launches: from its parameters on.

    It fills the structure of all that launches are passed, and allocates temporaries.
    """
    parameters = [*api.own, *map(api.declared, kernel.arguments)]
    yield "    " + ",\n    ".join(parameters) + ")"
    yield "{"
    yield f"    {api.status} pg_status = {api.success};"
    yield f"    {kernel.name}_call pg_call;"
    own = [declaration.split()[-1].lstrip("*") for declaration in api.own]
    yield from (f"    pg_call.{n} = {n};" for n in (*own, *(a.name for a in kernel.arguments)))
    sizes = ", ".join(size.name for size in kernel.sizes)
    for array in kernel.temporaries:
        size = f"sizeof({element_type(array.dtype)})"
        count = f"{kernel.name}_elements_{array.name}({sizes})"
        yield f"    pg_call.{array.name} = {api.allocate}{count}, {size}, &pg_status);"


def all_launches(kernel: HostKernel) -> str:
    """Return the call that starts all launches, each by the function with `start_head`."""
    given = [*(s.name for s in kernel.sizes), f"{kernel.name}_start_launch", "&pg_call"]
    return f"{kernel.name}_launches({', '.join(given)})"


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
