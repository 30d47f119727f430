"""Arrays in the host's memory that are not NumPy's: seen as NumPy's, without a copy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from polygen.errors import WrongArgumentType
from polygen.ir.array import GlobalArg
from polygen.ir.kernel import Kernel
from polygen.runtime.arrays.array_library import HOST, REFUSALS, ArrayLibrary
from polygen.runtime.arrays.outputs import written_arrays
from polygen.runtime.arrays.separate_arrays import passed_arguments
from polygen.source import caller_location

Libraries: TypeAlias = Mapping[str, ArrayLibrary]


def foreign_arrays(kernel: Kernel, args: Mapping[str, Any], libraries: Libraries) -> Libraries:
    """Return which arguments are of classes whose arrays may be in the host's memory.

    Arrays of one class may be in a GPU's memory as well: so it is with PyTorch's.
    """
    arrays = [arg.name for arg in passed_arguments(kernel) if isinstance(arg, GlobalArg)]
    known = {name: libraries[name] for name in arrays if name in libraries}
    return {n: library for n, library in known.items() if library.may_be_on_host(args[n])}


def seen_as_numpy(foreign: Libraries, args: Mapping[str, Any]) -> dict[str, Any]:
    """Return views of the arrays in the host's memory.

    Raises:
        WrongArgumentType: if a library does not give one.
    """
    return {
        name: _view(name, args[name], library)
        for name, library in foreign.items()
        if library.home(args[name]) == HOST
    }


def _view(name: str, value: Any, library: ArrayLibrary) -> Any:
    try:
        return library.view(value)
    except REFUSALS as error:
        raise WrongArgumentType(
            f"argument '{name}' is of type {type(value).__name__}, and cannot be used where it is: "
            f"{error}",
            where=caller_location(),
            remedy="pass a copy as an array of NumPy's",
        ) from None


def in_their_libraries(
    kernel: Kernel,
    args: Mapping[str, Any],
    foreign: Libraries,
    views: Mapping[str, Any],
    outputs: Any,
) -> Any:
    """Return the outputs of a call as its caller knows them.

    What was passed is what is returned; new arrays are of the first array's library.

    Parameters:
        kernel: what was called.
        args: what was passed.
        foreign: the libraries of what may be in the host's memory.
        views: NumPy's views of some of it.
        outputs: what was written, as calls return it.
    """
    arrays = [arg.name for arg in passed_arguments(kernel) if isinstance(arg, GlobalArg)]
    first = next(name for name in arrays if args.get(name) is not None)
    names, by_name = written_arrays(kernel), kernel.options.return_dict
    found = dict(outputs if by_name else zip(names, outputs, strict=True))
    for name in names:
        if name in views:
            found[name] = args[name]
        elif args.get(name) is None and first in views and isinstance(found[name], np.ndarray):
            found[name] = foreign[first].handed_over(args[first], name, found[name])
    return found if by_name else tuple(found.values())
