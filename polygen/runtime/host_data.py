"""The data of a call as the host sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from numpy.lib.stride_tricks import as_strided

from polygen.ir.array import GlobalArg
from polygen.ir.parts import parts
from polygen.runtime.arrays import describe
from polygen.runtime.assumptions import CallData
from polygen.runtime.cuda_arrays import is_cuda_array, seen, to_host
from polygen.runtime.opencl import is_opencl_array, pyopencl
from polygen.runtime.separate import joined


def host_data(
    arrays: Sequence[GlobalArg],
    wholes: Sequence[GlobalArg],
    tables: Mapping[str, Any],
    given: Mapping[str, Any],
    sizes: Mapping[str, int],
    scalars: Mapping[str, Any],
) -> CallData:
    """Return what a call passes; arrays on a device are copied when they are asked for.

    Parameters:
        arrays: the arrays that are passed.
        wholes: arguments that several of these make up.
        tables: the elements of tables of constants, by name.
        given: what is passed, by name.
        sizes: the value of each size.
        scalars: the value of each other scalar argument.
    """
    known = {arg.name: arg for arg in arrays}
    separate = {arg.name: arg for arg in wholes}

    @cache
    def array(name: str) -> Any:
        if name in separate:
            of_parts = [array(part.name) for part in parts(separate[name])]
            return (
                None if any(part is None for part in of_parts) else joined(separate[name], of_parts)
            )
        if name not in known:
            return tables.get(name)
        value = given[name]
        if is_cuda_array(value):
            return to_host(value)
        return copied(known[name], value) if is_opencl_array(value) else value

    def address(name: str) -> int | None:
        if name in tables or name in separate:
            return None
        value = given[name]
        if is_opencl_array(value):
            return None
        if is_cuda_array(value):
            return seen(value).address
        start: int = value.__array_interface__["data"][0]
        return start

    return CallData(sizes, scalars, array, address)


def copied(arg: GlobalArg, value: Any) -> Any:
    """Return a device's array as NumPy's, with the same strides."""
    cl = pyopencl()  # which says if its driver does nothing here
    if value.flags.c_contiguous:
        return value.get()
    info = describe(arg, value)
    low, high = info.reach
    flat = cl.array.Array(
        value.queue,
        (high - low + 1,),
        value.dtype,
        data=value.base_data,
        offset=(info.offset + low) * value.dtype.itemsize,
        events=value.events,
    )
    strides = [stride * value.dtype.itemsize for stride in info.strides]
    return as_strided(flat.get()[-low:], info.shape, strides)
