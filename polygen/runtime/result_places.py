"""Calls that say where results are to be: ``out_host=``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from polygen.errors import WrongArgumentType
from polygen.ir.array import GlobalArg
from polygen.ir.kernel import Kernel
from polygen.runtime.arrays.array_library import NUMPY
from polygen.runtime.arrays.outputs import written_arrays
from polygen.runtime.backends.backend import Copy
from polygen.runtime.backends.backend_table import libraries_of
from polygen.source import caller_location


def has_place(kernel: Kernel, args: Mapping[str, Any]) -> bool:
    """Tell whether a call says where results are to be."""
    return "out_host" in args and "out_host" not in kernel.variables


def without_place(kernel: Kernel, args: Mapping[str, Any]) -> tuple[bool | None, dict[str, Any]]:
    """Return whether results are to be the host's, None if that was left open, and the arguments.

    Raises:
        WrongArgumentType: if it is said otherwise than by a truth value.
    """
    found = dict(args)
    on_host = found.pop("out_host")
    if on_host is not None and not isinstance(on_host, bool):
        raise WrongArgumentType(
            f"kernel '{kernel.name}' was called with out_host={on_host!r}",
            where=caller_location(),
            remedy="say True for arrays of NumPy's, False for arrays on the device",
        )
    return on_host, found


def on_host(kernel: Kernel, outputs: Any) -> Any:
    """Return what a call returned, with arrays of NumPy's in place of those on the device."""
    by_name = kernel.options.return_dict
    names = written_arrays(kernel)
    found = outputs if by_name else dict(zip(names, outputs, strict=True))
    libraries = libraries_of(found)
    copied = {
        name: library.to_host(arg, found[name])
        for name, library in libraries.items()
        if library is not NUMPY and isinstance(arg := kernel.variables.get(name), GlobalArg)
    }
    found = {**found, **copied}
    return found if by_name else tuple(found.values())


def on_device(
    kernel: Kernel, copies: Mapping[str, Copy], args: Mapping[str, Any], run: Callable[..., Any]
) -> tuple[Any, Any]:
    """Run on copies of the host's arrays: what is allocated stays on the device.

    Arrays of the host's that are written have the results, too, afterwards.

    Parameters:
        kernel: what is run.
        copies: those of the host's arrays.
        args: what the call passes.
        run: takes the arguments.
    """
    event, outputs = run({**args, **{name: copy.array for name, copy in copies.items()}})
    by_name = kernel.options.return_dict
    names = written_arrays(kernel)
    found = dict(outputs if by_name else zip(names, outputs, strict=True))
    for name in names:
        if name in copies:
            copies[name].copy_back()
            found[name] = args[name]
    return event, found if by_name else tuple(found.values())
