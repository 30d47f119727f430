"""The data of a call as the host sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from polygen.ir.array import GlobalArg
from polygen.ir.parts import parts
from polygen.runtime.arrays.array_library import ArrayLibrary
from polygen.runtime.arrays.separate_arrays import joined
from polygen.runtime.claims.assumptions import CallData


def host_data(
    arrays: Sequence[GlobalArg],
    wholes: Sequence[GlobalArg],
    tables: Mapping[str, Any],
    given: Mapping[str, Any],
    libraries: Mapping[str, ArrayLibrary],
    sizes: Mapping[str, int],
    scalars: Mapping[str, Any],
) -> CallData:
    """Return what a call passes; arrays on a device are copied when they are asked for.

    Parameters:
        arrays: the arrays that are passed.
        wholes: arguments that several of these make up.
        tables: the elements of tables of constants, by name.
        given: what is passed, by name.
        libraries: that of each array.
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
        return libraries[name].to_host(known[name], given[name])

    def address(name: str) -> int | None:
        if name in tables or name in separate:
            return None
        return libraries[name].address(given[name])

    return CallData(sizes, scalars, array, address)
