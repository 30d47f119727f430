"""Rows of the arguments of a call and of each launch, which hosts of devices share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from polygen.emission.c_text import number_type
from polygen.emission.host_kernel import HostArray, HostKernel, HostScalar
from polygen.emission.templates import filled_lines, table
from polygen.ir.array import ValueArg
from polygen.lower.program import HostLoop
from polygen.targets.programs.program import DeviceFunction


def device_table(kernel: HostKernel, memory: str) -> dict[str, Any]:
    """Return what the functions that run a kernel are filled from: `table`, and launches.

    Parameters:
        kernel: the kernel.
        memory: the type of an array in the device's memory.
    """
    values = table(kernel)
    scalars = {scalar.name for scalar in kernel.scalars}
    for row in (*values["passed"], *values["argument"]):
        row["handle"] = row["type"] if row["a"] in scalars else memory
    given = [*(s.name for s in kernel.sizes), f"{kernel.name}_start_launch"]
    if kernel.flags:
        given.append(f"{kernel.name}_ask_flag")
    values |= {
        "parameters": "".join(f",\n    {r['handle']} {r['a']}" for r in values["argument"]),
        "launches_given": ", ".join([*given, "&pg_call"]),
        "launch": [
            _launch(kernel, number, function, loops)
            for number, (function, loops) in enumerate(kernel.launches)
        ],
    }
    return values


def asking(kernel: HostKernel, values: Mapping[str, Any]) -> list[str]:
    """Return the function that reads a flag back; nothing if no loop on the host asks one.

    Parameters:
        kernel: the kernel.
        values: what the function is filled from: `device_table`, ``status``, the type of a status,
            and ``wrong``, the one of a number that no flag has.
    """
    if not kernel.flags:
        return []
    rows = [
        {**row, "test": _HALF if flag.dtype.kind == "f" and flag.dtype.itemsize == 2 else _OTHER}
        for row, flag in zip(values["flag"], kernel.flags, strict=True)
    ]
    return filled_lines("ask.h", {**values, "flag": rows})


_HALF, _OTHER = "(pg_value & 0x7fff) != 0", "pg_value != 0"  # a half is its bits


def _launch(
    kernel: HostKernel, number: int, function: DeviceFunction, loops: tuple[HostLoop, ...]
) -> dict[str, Any]:
    """Return the row of a launch; ``passed`` has the place and the type of each parameter."""
    depth = {loop.iname: number for number, loop in enumerate(loops)}
    passed = [*_passed(kernel, function, loops)]
    return {
        "number": number,
        "function": function.name,
        "shared": function.shared_bytes,
        "loop_values": [
            f"        {kind} const pg_loop_{name} = ({kind}) pg_loops[{depth[name]}];"
            for name, kind, found in passed
            if found is None
        ],
        "passed": [
            (
                f"&pg_loop_{name}" if found is None else f"&pg_call->{name}",
                "" if isinstance(found, HostArray) else kind,
                found is None,
            )
            for name, kind, found in passed
        ],
    }


def _passed(
    kernel: HostKernel, function: DeviceFunction, loops: tuple[HostLoop, ...]
) -> Iterator[tuple[str, str, HostArray | HostScalar | None]]:
    """Yield, for each parameter of a launch, its name, its type, and what is passed.

    That is nothing for the variable of a loop on the host.
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
