"""Arguments that are several arrays: those with axes tagged ``sep``.

Whatever checks, compares and passes arrays sees each part as an argument of its own: ``a_s0``,
``a_s1``.  A call may pass the parts by these names, or all of them as ``a=(first, second)``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from polygen.errors import InvalidArgument, WrongArgumentType
from polygen.ir.array import Argument, GlobalArg, is_array
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Separate, length_of
from polygen.ir.parts import is_separate, part_name, parts
from polygen.ir.remembered import per_kernel
from polygen.source import caller_location


@per_kernel
def passed_arguments(kernel: Kernel) -> tuple[Argument, ...]:
    """Return the arguments of a kernel as they are passed: parts in place of what they make up."""
    found: list[Argument] = []
    for arg in kernel.arguments:
        found += parts(arg) if isinstance(arg, GlobalArg) else (arg,)
    return tuple(found)


@per_kernel
def separate_arguments(kernel: Kernel) -> Mapping[str, tuple[int, ...]]:
    """Return the arguments that are several arrays, each with how many there are along each axis.

    Only the axes that are tagged ``sep`` count.
    """
    return {
        arg.name: tuple(
            [
                length_of(arg, axis)
                for axis, tag in enumerate(arg.dim_tags or ())
                if isinstance(tag, Separate)
            ]
        )
        for arg in kernel.arguments
        if isinstance(arg, GlobalArg) and is_separate(arg)
    }


def whole(kernel: Kernel, name: str) -> str:
    """Return what the kernel calls an argument that is passed under a name."""
    separate = separate_arguments(kernel)
    if not separate or name in kernel.variables:
        return name
    of_parts = {n: array for array, lengths in separate.items() for n in _names(array, lengths)}
    return of_parts[name]


def taken_apart(kernel: Kernel, args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call with parts in place of what they make up.

    Raises:
        WrongArgumentType: if what is passed for several arrays is something else.
        InvalidArgument: if one of them is passed twice.
    """
    separate = separate_arguments(kernel)
    found: dict[str, Any] = {}
    for name, value in args.items():
        given = {name: value}
        if name in separate and value is not None:
            arrays = list(_flat(name, value, separate[name], separate[name]))
            given = dict(zip(_names(name, separate[name]), arrays, strict=True))
        for part, array in given.items():
            if array is not None and found.get(part) is not None:
                raise InvalidArgument(
                    f"argument '{part}' is passed twice: by its name, and as a part of another",
                    where=caller_location(),
                    remedy="leave out one of them",
                )
            if array is not None or part not in found:
                found[part] = array
    return found


def put_together(kernel: Kernel, outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outputs of a call with tuples in place of parts."""
    found: dict[str, Any] = {}
    left = dict(outputs)
    for arg in kernel.arguments:
        lengths = separate_arguments(kernel).get(arg.name)
        if lengths is None:
            if arg.name in left:
                found[arg.name] = left[arg.name]
        elif all(name in left for name in _names(arg.name, lengths)):
            found[arg.name] = _nested([left[n] for n in _names(arg.name, lengths)], lengths)
    return found


def joined(arg: GlobalArg, of_parts: Sequence[Any]) -> Any:
    """Return all elements of an argument as one array, from NumPy's arrays for its parts."""
    separate = [axis for axis, tag in enumerate(arg.dim_tags or ()) if isinstance(tag, Separate)]
    lengths = [length_of(arg, axis) for axis in separate]
    stacked = np.stack(of_parts).reshape(*lengths, *of_parts[0].shape)
    return np.moveaxis(stacked, range(len(separate)), separate)


def _names(array: str, lengths: Sequence[int]) -> list[str]:
    return [part_name(array, index) for index in np.ndindex(*lengths)]


def _flat(name: str, value: Any, lengths: Sequence[int], left: Sequence[int]) -> Iterator[Any]:
    if not left:
        yield value
        return
    kind = type(value).__name__
    of_objects = is_array(value) and value.dtype == np.dtype(object)
    is_sequence = isinstance(value, tuple | list) or of_objects
    found: list[Any] = [*value] if is_sequence else []
    if len(found) != left[0]:
        count = " x ".join(map(str, lengths))
        first = part_name(name, (0,) * len(lengths))
        raise WrongArgumentType(
            f"argument '{name}' has to be {count} arrays, for an axis of it is tagged sep; it is "
            + (f"{len(found)} of them" if is_sequence else f"of type {kind}"),
            where=caller_location(),
            remedy=f"pass a tuple of arrays, as tuple(np.moveaxis({name}, axis, 0)) is, or each "
            f"by its name: {first}=...",
        )
    for part in found:
        yield from _flat(name, part, lengths, left[1:])


def _nested(arrays: Sequence[Any], lengths: Sequence[int]) -> Any:
    if len(lengths) == 1:
        return tuple(arrays)
    size = len(arrays) // lengths[0]
    return tuple(
        [_nested(arrays[k * size : (k + 1) * size], lengths[1:]) for k in range(lengths[0])]
    )
