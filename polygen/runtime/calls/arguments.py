"""Arguments of calls: checked, and completed with what follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import islpy as isl
import numpy as np

from polygen.analysis.access.empty_reductions import of_nothing, sizes_with_something
from polygen.analysis.integers.isl_affine import to_val
from polygen.analysis.typing.index_type import INT32, INT64, USUAL, index_type
from polygen.analysis.typing.inference import sizes as sizes_in_types
from polygen.analysis.typing.magnitude import MOST_FOR_INT32
from polygen.errors import (
    AssumptionViolated,
    EmptyReduction,
    MissingArgument,
    NegativeSize,
    UnknownArgument,
    WrongArgumentType,
    did_you_mean,
)
from polygen.ir.array import GlobalArg, ValueArg
from polygen.ir.domain import flat_names
from polygen.ir.dtype import DType, computed_in, is_bfloat16, is_inexact
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import name_of
from polygen.ir.show import show_tuple
from polygen.ir.show_expression import show_expression
from polygen.lower.hidden import has_auto
from polygen.runtime.arrays.array_extents import extent_of
from polygen.runtime.arrays.array_facts import ArrayInfo, describe
from polygen.runtime.arrays.array_library import ArrayLibrary
from polygen.runtime.arrays.distinct_elements import check_distinct
from polygen.runtime.arrays.global_temporaries import check_temporaries
from polygen.runtime.arrays.inferred_sizes import find_sizes, fixed_sizes, size_names
from polygen.runtime.arrays.memory_layouts import PLAIN, Layout, layout_of
from polygen.runtime.arrays.output_allocation import placed
from polygen.runtime.arrays.outputs import must_be_passed, written_arrays
from polygen.runtime.arrays.separate_arrays import passed_arguments
from polygen.runtime.calls.scalar_arguments import check_range, scalar_dtype
from polygen.source import caller_location

# --- forms


@dataclass(frozen=True)
class Form:
    """The form of a call: its arguments and their classes, for which a wrapper is made.

    Attributes:
        kernel: what is called.
        target: where it runs.
        passed: the names of the arguments in the order in which they are passed.
        arrays: the arrays that are passed, in the order of the kernel's arguments.
        allocated: the arrays that are not passed, and returned.
        sizes: the scalars that are passed and that loops or shapes depend on.
        scalars: the type of each other scalar.
        index_scalars: those of them that are passed as Python's ``int``, without a declared type,
            and stand in subscripts: their type is that of subscripts, if their values permit it.
        numpy_scalars: those of them that are passed as NumPy's scalars.
        weak_floats: those of them that are passed as Python's, without a declared type: they
            have the arrays' type, as ``2.5*a`` has the type of ``a`` in NumPy.
        libraries: that of each array that is passed, in the same order.
    """

    kernel: Kernel
    target: str
    passed: tuple[str, ...]
    arrays: tuple[GlobalArg, ...]
    allocated: tuple[GlobalArg, ...]
    sizes: tuple[ValueArg, ...]
    scalars: Mapping[str, DType]
    index_scalars: tuple[str, ...]
    numpy_scalars: frozenset[str]
    weak_floats: frozenset[str]
    libraries: Mapping[str, ArrayLibrary]


# What calls take in Loo.py besides arguments.
_OTHERWISE = {
    "allocator": "pass arrays of your own for what is written",
}


def form_of(
    kernel: Kernel,
    target: str,
    classes: Mapping[str, type],
    libraries: Mapping[str, ArrayLibrary],
) -> Form:
    """Return the form of a call.

    Parameters:
        kernel: what is called.
        target: where it runs.
        classes: that of each value that is passed.
        libraries: that of each value that is an array.

    Raises:
        UnknownArgument: if the kernel has no such argument.
        MissingArgument: if one that nothing else tells is not passed.
        WrongArgumentType: if a scalar is passed a value that it cannot have.
    """
    arguments = passed_arguments(kernel)
    args = {arg.name: arg for arg in arguments}
    for name in classes:
        if name not in args:
            raise UnknownArgument(
                f"kernel '{kernel.name}' has no argument '{name}'",
                where=caller_location(),
                remedy=_OTHERWISE.get(name) or did_you_mean(name, args),
            )
    # None is what callers pass for what they do not have.
    given = {name: kind for name, kind in classes.items() if kind is not type(None)}
    values = [arg for arg in arguments if isinstance(arg, ValueArg)]
    arrays = [arg for arg in arguments if isinstance(arg, GlobalArg)]
    sizes = size_names(kernel)
    scalars: dict[str, DType] = {}
    for arg in values:
        if arg.name in given:
            dtype = scalar_dtype(arg, given[arg.name], arg.name in sizes)
            if dtype is not None and arg.name not in sizes:
                scalars[arg.name] = dtype
        elif arg.name not in sizes:
            raise _missing(kernel, arg.name, "a scalar that its instructions read")
    for array in arrays:
        if array.name not in given and must_be_passed(kernel, array.name):
            raise _missing(kernel, array.name, "an array that it reads")
    passed = tuple(arg for arg in arrays if arg.name in given)
    return Form(
        kernel,
        target,
        tuple(classes),
        passed,
        tuple(arg for arg in arrays if arg.name not in given),
        tuple(arg for arg in values if arg.name in given and arg.name in sizes),
        scalars,
        tuple(a.name for a in values if given.get(a.name) is int and _is_index(kernel, a)),
        frozenset(name for name in scalars if issubclass(given[name], np.generic)),
        frozenset(a.name for a in values if a.dtype is None and given.get(a.name) is float),
        {arg.name: libraries[arg.name] for arg in passed if arg.name in libraries},
    )


def _is_index(kernel: Kernel, scalar: ValueArg) -> bool:
    """Tell whether a scalar has the type of subscripts: whatever it is, types are the same."""
    counted = scalar.dtype is None and scalar.name in sizes_in_types(kernel)
    return counted and scalar.name not in size_names(kernel)


def _missing(kernel: Kernel, name: str, what: str) -> MissingArgument:
    remedy = f"pass {name}=..."
    values = [i.expression for i in kernel.instructions if isinstance(i, Assignment)]
    if any(show_expression(value).endswith(f"//{name}") for value in values):
        remedy += f"; '//' divides, and a comment begins with '#': # {name}"
    return MissingArgument(
        f"kernel '{kernel.name}' was called without '{name}', {what}",
        where=caller_location(),
        remedy=remedy,
    )


# --- calls


@dataclass(frozen=True)
class VariantKey:
    """The key of a kernel's variant: all that its code depends on, beside the kernel.

    Attributes:
        target: the language.
        dtypes: the types of the arguments that are passed.
        layouts: where elements lie, for arrays that are not simply row-major.
        index_dtype: the type of loop counters and subscripts.
        sizes: the sizes that are numbers in it, if the kernel asks for that.
    """

    target: str
    dtypes: tuple[tuple[str, DType], ...]
    layouts: tuple[tuple[str, Layout], ...]
    index_dtype: DType
    sizes: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Call:
    """A call with these arguments, scalars that are no sizes left open.

    Attributes:
        arrays: the arrays that are passed.
        sizes: the value of every size.
        allocated: the arrays that are not passed, where they are to lie; their types are left open.
        variant: the code that it needs.
    """

    arrays: Mapping[str, ArrayInfo]
    sizes: Mapping[str, int]
    allocated: Mapping[str, ArrayInfo]
    variant: VariantKey

    @property
    def places(self) -> dict[str, ArrayInfo]:
        """The layouts of all arrays."""
        return {**self.arrays, **self.allocated}


def examine(form: Form, values: Mapping[str, Any]) -> Call:
    """Check the arguments of a call, and find what follows from them.

    Raises:
        UserError: the subclass that says what is wrong with an argument.
    """
    kernel = form.kernel
    check = not kernel.options.skip_arg_checks
    arrays = {
        arg.name: describe(arg, values[arg.name], form.libraries[arg.name]) for arg in form.arrays
    }
    if check:
        for arg in form.arrays:
            _check_dtype(kernel, arg, arrays[arg.name])
    given = {arg.name: int(values[arg.name]) for arg in form.sizes}
    sizes = find_sizes(kernel, arrays, given, check)
    for size in kernel.arguments:
        if size.name in sizes:
            check_range(size.name, sizes[size.name], size.dtype or INT64)
    if check:
        _check_assumptions(kernel, sizes)
    allocated = {arg.name: placed(arg, _shape(kernel, arg, sizes), sizes) for arg in form.allocated}
    if check:
        written = written_arrays(kernel)
        for array in (*arrays.values(), *allocated.values()):
            if array.name in written:
                check_distinct(kernel, array)
    most = check_temporaries(kernel, sizes)
    largest = {name: _bound(int(values[name])) for name in form.index_scalars}
    key = _variant_key(form, arrays, sizes, allocated, most, largest)
    return Call(arrays, sizes, allocated, key)


def _check_dtype(kernel: Kernel, arg: GlobalArg, array: ArrayInfo) -> None:
    if arg.dtype is not None and array.dtype != arg.dtype:
        name = arg.dtype.name
        named = f"'{name}'" if is_bfloat16(arg.dtype) else f"np.{name}"
        raise WrongArgumentType(
            f"argument '{arg.name}' is an array of {array.dtype}; kernel '{kernel.name}' "
            f"has it as {arg.dtype}",
            where=caller_location(),
            remedy=f"pass {arg.name}.astype({named}), or leave the type open when "
            "making the kernel",
        )


def _check_assumptions(kernel: Kernel, sizes: Mapping[str, int]) -> None:
    allowed = kernel.assumptions.flat
    if allowed.plain_is_universe():
        return
    if _given(allowed, sizes).is_empty():
        _check_reductions(kernel, sizes)
        names = kernel.assumptions.parameters
        found = ", ".join(f"{name} = {sizes[name]}" for name in names)
        raise AssumptionViolated(
            f"kernel '{kernel.name}' was made on assumptions that do not hold for {found}",
            where=caller_location(),
            excerpt=kernel.assumptions.text,
            remedy="pass arrays of other sizes, or make the kernel without the assumption",
        )


def _given(allowed: isl.Set, sizes: Mapping[str, int]) -> isl.Set:
    """Return a set of sizes with those that are known."""
    for name in flat_names(allowed):
        if name in sizes:
            position = allowed.find_dim_by_name(isl.dim_type.param, name)
            allowed = allowed.fix_val(isl.dim_type.param, position, to_val(sizes[name]))
    return allowed


def _check_reductions(kernel: Kernel, sizes: Mapping[str, int]) -> None:
    """Say which minimum or maximum would be of nothing, if one would."""
    for insn, reduction, allowed in sizes_with_something(kernel):
        if _given(allowed, sizes).is_empty():
            found = ", ".join(f"{name} = {sizes[name]}" for name in flat_names(allowed))
            raise EmptyReduction(
                f"'{show_expression(reduction)}' in instruction '{insn.id}' of kernel "
                f"'{kernel.name}' has nothing to reduce for {found}",
                where=caller_location(),
                remedy="pass arrays of other sizes, or " + of_nothing(name_of(reduction.operation)),
            )


def _shape(kernel: Kernel, arg: GlobalArg, sizes: Mapping[str, int]) -> tuple[int, ...]:
    declared = arg.shape or ()
    shape = tuple(extent_of(kernel, extent, sizes) for extent in declared)
    if any(extent < 0 for extent in shape):
        raise NegativeSize(
            f"array '{arg.name}' of kernel '{kernel.name}' would get the shape "
            f"{shape} = {show_tuple(declared)}",
            where=caller_location(),
            remedy="pass sizes that are not negative",
        )
    return shape


def _variant_key(
    form: Form,
    arrays: Mapping[str, ArrayInfo],
    sizes: Mapping[str, int],
    allocated: Mapping[str, ArrayInfo],
    most: int,
    bounds: Mapping[str, int | None],
) -> VariantKey:
    """Return the key of the variant for a call.

    Parameters:
        form: the form of the call.
        arrays: those that are passed.
        sizes: the value of every size.
        allocated: the arrays that are not passed.
        most: the most elements that a temporary has.
        bounds: what scalars in subscripts do not exceed; None if 32 bits may be too few.
    """
    dtypes = [(name, array.dtype) for name, array in arrays.items()]
    found = {arg.name: layout_of(arg, arrays[arg.name]) for arg in form.arrays}
    found |= {a.name: layout_of(a, allocated[a.name]) for a in form.allocated if has_auto(a)}
    layouts = [(name, layout) for name, layout in found.items() if layout != PLAIN]
    largest = max((abs(size) for size in sizes.values()), default=0)
    extents = (_extent(array) for array in (*arrays.values(), *allocated.values()))
    places = max((most, *extents))
    index_dtype = index_type(form.kernel, largest, places)
    narrow = {
        name
        for name, bound in bounds.items()
        if index_dtype == INT32
        and bound is not None
        and index_type(form.kernel, max(largest, bound), places) == INT32
    }
    used = [computed_in(array.dtype) for array in arrays.values()]
    floating = [dtype for dtype in used if is_inexact(dtype)]
    weak = np.result_type(0.0, *floating) if floating else np.dtype(np.float64)
    types = {
        **form.scalars,
        **dict.fromkeys(form.weak_floats, weak),
        **dict.fromkeys(narrow, INT32),
    }
    scalars = [(name, types[name]) for name in form.scalars]
    fixed = tuple([(name, sizes[name]) for name in sorted(fixed_sizes(form.kernel))])
    return VariantKey(form.target, (*dtypes, *scalars), tuple(layouts), index_dtype, fixed)


# The bounds between which plans tell scalars in subscripts apart.
INDEX_BOUNDS = (USUAL, MOST_FOR_INT32)


def _bound(value: int) -> int | None:
    return next((bound - 1 for bound in INDEX_BOUNDS if abs(value) < bound), None)


def alike(value: int) -> tuple[int, int]:
    """Return the least and the greatest scalar in subscripts that plans do not tell from one."""
    beyond = [bound for bound in INDEX_BOUNDS if abs(value) >= bound]
    above = [bound for bound in INDEX_BOUNDS if abs(value) < bound]
    most = above[0] - 1 if above else int(np.iinfo(INT64).max)
    if not beyond:
        return -most, most
    return (beyond[-1], most) if value > 0 else (-most, -beyond[-1])


def _extent(array: ArrayInfo) -> int:
    """Return the largest number that occurs in computing the place of an element."""
    low, high = array.reach
    return max(abs(array.offset), abs(array.offset + high), abs(low), array.size)
