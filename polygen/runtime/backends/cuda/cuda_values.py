"""Arguments of functions on a GPU, kept in memory whose address does not change."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polygen.ir.array import Argument, ValueArg

# How `struct` calls the types of scalars, and what it is given for one of the name that stands in
# braces.  Halves are passed as floats; what is too large for a float becomes infinite.
_CODES = {
    "bool": ("?", "{0}"),
    "int8": ("b", "{0}"),
    "int16": ("h", "{0}"),
    "int32": ("i", "{0}"),
    "int64": ("q", "{0}"),
    "uint8": ("B", "{0}"),
    "uint16": ("H", "{0}"),
    "uint32": ("I", "{0}"),
    "uint64": ("Q", "{0}"),
    "float16": ("f", "half({0})"),
    "float32": ("f", "single({0}).value"),
    "float64": ("d", "{0}"),
    "complex64": ("ff", "single({0}.real).value, single({0}.imag).value"),
    "complex128": ("dd", "{0}.real, {0}.imag"),
}
_ADDRESS = ("Q", "{0}")


class Packed:
    """The values of a call, one behind the other.

    Attributes:
        buffer: the memory.
        addresses: where each of them is.
        set: a function that takes all values and writes them there.
    """

    def __init__(self, arguments: Sequence[Argument | None]) -> None:
        """Find places.

        Parameters:
            arguments: what the values are for; None for one that no function is passed.
        """
        layout, starts, given = "", [0], list[str]()
        for position, arg in enumerate(arguments):
            code, text = ("", "") if arg is None else _code(arg)
            layout += f"{code}0q"  # padded, so that the next may be anything
            starts.append(struct.calcsize(layout))
            given += [text.format(f"v{position}")] if text else []
        packer = struct.Struct(layout)
        self.buffer = ctypes.create_string_buffer(max(1, packer.size))
        first = ctypes.addressof(self.buffer)
        self.addresses = tuple([first + start for start in starts[:-1]])
        names = {"pack": packer.pack_into, "buffer": self.buffer, **_CONVERSIONS}
        values = ", ".join(f"v{position}" for position in range(len(arguments)))
        self.set: Callable[..., None] = eval(  # noqa: S307  (no name in it is the user's)
            f"lambda {values}: pack({', '.join(['buffer', '0', *given])})", names
        )


def _code(arg: Argument) -> tuple[str, str]:
    if not isinstance(arg, ValueArg) or arg.dtype is None:
        return _ADDRESS
    return _CODES[arg.dtype.name]


def _half(value: Any) -> float:
    return float(np.float16(value))


_CONVERSIONS = {"half": _half, "single": ctypes.c_float}


def new_place(arg: Argument) -> Any:
    """Return the place of a size, an address, or the variable of a loop on the host."""
    if not isinstance(arg, ValueArg) or arg.dtype is None:
        return ctypes.c_uint64()
    return np.ctypeslib.as_ctypes_type(arg.dtype)()
