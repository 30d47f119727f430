"""Random arguments for a kernel, in the layouts that it declares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from polygen.errors import (
    InvalidArgument,
    MissingArgument,
    NegativeSize,
    UnknownArgument,
    did_you_mean,
)
from polygen.inspection.compare.random_subscripts import numbers_for
from polygen.ir.array import GlobalArg, ImageArg, ValueArg
from polygen.ir.dtype import DType, computed_in, is_exact
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Separate
from polygen.ir.parts import part_indices, parts
from polygen.runtime.arrays.array_extents import extent_of
from polygen.runtime.arrays.array_facts import describe
from polygen.runtime.arrays.array_library import NUMPY
from polygen.runtime.arrays.inferred_sizes import find_sizes, size_names
from polygen.runtime.arrays.output_allocation import allocator, placed
from polygen.runtime.arrays.separate_arrays import joined
from polygen.source import caller_location
from polygen.transforms.kernels.infer_unknown_types import infer_unknown_types


def random_arguments(kernel: Kernel, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters, and random numbers for what they do not tell.

    Parameters:
        kernel: what is to be called.
        parameters: the values of sizes, and of other arguments that are not to be random.

    Raises:
        TypeNotFound: if the type of an argument is not known.
        InvalidArgument: if a size or the shape of an array is not.
        NegativeSize: if an array would have fewer than no elements.
    """
    rng = np.random.default_rng(seed=0)
    typed = infer_unknown_types(kernel, expect_completion=True)
    sizes = sizes_in(typed, parameters)
    # Those that may be divisors are not 0; subscripts are anything that is inside.
    integers, decide = range(1, 10), numbers_for(typed, sizes)
    given = {**parameters, **{n: v for n, v in sizes.items() if n in typed.variables}}
    for arg in typed.arguments:
        if arg.name in given:
            continue
        assert arg.dtype is not None  # types were inferred
        if arg.name in decide and not isinstance(arg, ValueArg):
            numbers = decide[arg.name].draw(rng, _shape(typed, arg, sizes))
            given[arg.name] = numbers.astype(arg.dtype)
        elif isinstance(arg, ValueArg):
            given[arg.name] = _random(rng, (), arg.dtype, integers)[()]
        else:
            given[arg.name] = _random(rng, _shape(typed, arg, sizes), arg.dtype, integers)
    return given


def check_names(kernels: Sequence[Kernel], parameters: Mapping[str, Any]) -> None:
    """Raise UnknownArgument if parameters are none of any kernel's, and were none."""
    known = {arg.name for kernel in kernels for arg in kernel.arguments}
    fixed = {name: value for kernel in kernels for name, value in _fixed(kernel)}
    for name, value in parameters.items():
        if name in fixed and value != fixed[name]:
            raise InvalidArgument(
                f"parameters= has '{name}' = {value}, and fix_parameters made it {fixed[name]}",
                where=caller_location(),
                remedy="leave it out, or pass that value",
            )
        if name not in known and name not in fixed:
            raise UnknownArgument(
                f"parameters= has '{name}', and kernel '{kernels[0].name}' has no such argument",
                where=caller_location(),
                remedy=did_you_mean(name, known),
            )


def _fixed(kernel: Kernel) -> Iterator[tuple[str, Any]]:
    """Return the arguments that steps made numbers, each with its value."""
    for step in kernel.history:
        if step.name == "fix_parameters":
            yield from step.arguments


def sizes_in(kernel: Kernel, given: Mapping[str, Any]) -> dict[str, int]:
    """Return the value of each size, from integers and from the shapes of arrays.

    Raises:
        InvalidArgument: if there is one that these do not tell.
    """
    names = {arg.name for arg in kernel.arguments}
    integers: dict[str, Any] = {n: v for n, v in given.items() if isinstance(v, int | np.integer)}
    known = {name: int(value) for name, value in integers.items() if name in names}
    arrays = {
        arg.name: describe(arg, np.asarray(given[arg.name]), NUMPY)
        for arg in kernel.arguments
        if isinstance(arg, GlobalArg) and arg.name in given
    }
    try:
        return find_sizes(kernel, arrays, known, check=False)
    except MissingArgument as error:
        raise InvalidArgument(
            f"parameters= does not say enough: {error.what}",
            where=caller_location(),
            remedy="pass all sizes: parameters={'n': 64}",
        ) from None


def _shape(kernel: Kernel, arg: GlobalArg, sizes: Mapping[str, int]) -> tuple[int, ...]:
    if arg.shape is None:
        raise InvalidArgument(
            f"the shape of '{arg.name}' is not known, so no random numbers can be made for it",
            where=caller_location(),
            remedy=f"pass an array, parameters={{'{arg.name}': ...}}, or declare its shape",
        )
    shape = tuple([extent_of(kernel, extent, sizes) for extent in arg.shape])
    if any(extent < 0 for extent in shape):
        raise NegativeSize(
            f"array '{arg.name}' of kernel '{kernel.name}' would get the shape {shape}",
            where=caller_location(),
            remedy="pass sizes that are not negative",
        )
    return shape


def _random(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType, integers: range) -> Any:
    """Return integers out of a range, truth values, or numbers between 0 and 1."""
    if is_exact(dtype):
        possible = range(2) if dtype.kind == "b" else integers
        return rng.integers(possible.start, possible.stop, size=shape).astype(dtype)
    values = np.asarray(rng.uniform(size=shape))
    if computed_in(dtype).kind == "c":
        values = values + 1j * rng.uniform(size=shape)
    return values.astype(dtype)


# --- in the layouts of a kernel


def laid_out(kernel: Kernel, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return copies of arguments as a kernel wants them passed: with its strides, and in parts.

    Arguments that it does not have are left out.  One with as many elements, but other axes, has
    them in the same order: so it is after `split_array_dim`.

    Raises:
        InvalidArgument: if it has other arguments, or arrays of other shapes.
    """
    sizes = sizes_in(kernel, {n: v for n, v in given.items() if not _has_other_axes(kernel, n, v)})
    found: dict[str, Any] = {}
    for arg in kernel.arguments:
        if arg.name not in given:
            if arg.name in size_names(kernel):
                continue
            raise InvalidArgument(
                f"kernel '{kernel.name}' has the argument '{arg.name}', and the reference has not",
                where=caller_location(),
                remedy=f"say what it is: parameters={{'{arg.name}': ...}}",
            )
        value = given[arg.name]
        if not isinstance(arg, GlobalArg):
            found[arg.name] = value
            continue
        if _has_other_axes(kernel, arg.name, value):
            value = _with_its_axes(kernel, arg, value, sizes)
        _check_shape(kernel, arg, np.shape(value), sizes)
        pieces = [np.asarray(value)[index] for index in _indices(arg)]
        for part, piece in zip(parts(arg), pieces, strict=True):
            found[part.name] = _copy(part, piece, sizes)
    return found


def _has_other_axes(kernel: Kernel, name: str, value: Any) -> bool:
    """Tell whether an array has another number of axes than a kernel's argument."""
    arg = kernel.variables.get(name)
    return isinstance(arg, GlobalArg) and arg.shape is not None and np.ndim(value) != len(arg.shape)


def _with_its_axes(kernel: Kernel, arg: GlobalArg, value: Any, sizes: Mapping[str, int]) -> Any:
    """Return an array with the axes that a kernel wants, if it has as many elements then."""
    shape = _shape(kernel, arg, sizes)
    return np.reshape(value, shape) if prod(shape) == np.size(value) else value


def _indices(arg: GlobalArg) -> list[Any]:
    """Return where each part of an array is in it."""
    tags = arg.dim_tags or ()
    axes = [axis for axis, tag in enumerate(tags) if isinstance(tag, Separate)]
    if not axes:
        return [...]
    found: list[Any] = []
    for index in part_indices(arg):
        where: list[Any] = [slice(None)] * len(tags)
        for axis, position in zip(axes, index, strict=True):
            where[axis] = position
        found.append(tuple(where))
    return found


def _check_shape(
    kernel: Kernel, arg: GlobalArg, shape: tuple[int, ...], sizes: Mapping[str, int]
) -> None:
    if arg.shape is None:
        return
    wanted = tuple([extent_of(kernel, extent, sizes) for extent in arg.shape])
    if wanted != shape:
        raise InvalidArgument(
            f"'{arg.name}' has the shape {wanted} in kernel '{kernel.name}', and {shape} in the "
            "reference or in parameters=",
            where=caller_location(),
            remedy="compare before the step that changes the shape, or call both kernels",
        )


def _copy(arg: GlobalArg, value: Any, sizes: Mapping[str, int]) -> Any:
    array = np.asarray(value)
    if isinstance(arg, ImageArg):
        return array.copy()
    info = placed(arg, array.shape, sizes)
    copy = allocator(info, array.dtype, np.zeros, arg.alignment)()
    copy[...] = array
    return copy


def as_wholes(kernel: Kernel, args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arrays of `laid_out` with wholes in place of their parts."""
    found: dict[str, Any] = {}
    for arg in kernel.arguments:
        if isinstance(arg, GlobalArg):
            pieces = [args[part.name] for part in parts(arg)]
            is_whole = parts(arg)[0].name == arg.name
            found[arg.name] = pieces[0] if is_whole else joined(arg, pieces)
    return found
