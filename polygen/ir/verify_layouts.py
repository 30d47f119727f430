"""Checks each array's layout against its shape and its uses."""

from __future__ import annotations

from math import prod

from polygen.errors import MalformedLayout, NameTaken
from polygen.ir.array import Array, GlobalArg, TemporaryVariable
from polygen.ir.instruction import Assigning, CInstruction
from polygen.ir.kernel import Kernel
from polygen.ir.layout import (
    VECTOR_LENGTHS,
    Auto,
    Nested,
    Separate,
    Strided,
    Vector,
    constant_axes,
    has_vectors,
    in_units,
    length_of,
    offset_of,
    unit,
    vector_length,
)
from polygen.ir.parts import is_separate, part_indices, part_name
from polygen.ir.show import show_tuple
from polygen.ir.show_expression import show_expression

_ALIGNMENTS = [2**k for k in range(13)]  # in bytes: up to a page
_MOST_PARTS = 256  # arguments that one array may become


def check_layouts(kernel: Kernel) -> None:
    """Check the layouts of a kernel's arrays.

    Raises:
        MalformedLayout: if one does not fit the array's shape or type, or what is done with it.
        NameTaken: if a part of an array would have the name of something else.
    """
    for array in (*kernel.arguments, *kernel.temporaries):
        if isinstance(array, GlobalArg | TemporaryVariable) and _is_declared(array):
            _check_axes(kernel, array)
            _check_levels(kernel, array)
            _check_constant_axes(kernel, array)
            _check_offset(kernel, array)
            _check_alignment(kernel, array)
            if isinstance(array, TemporaryVariable):
                _check_temporary(kernel, array)
            if constant_axes(array):
                _check_uses(kernel, array)


def _is_declared(array: Array) -> bool:
    if array.shape is None:
        return False  # what is called with parts of it tells, once that is known
    given = array.dim_tags is not None or array.dim_names is not None
    return given or array.alignment is not None or offset_of(array) != 0


def _refused(kernel: Kernel, array: Array, why: str, remedy: str) -> MalformedLayout:
    where = array.location or kernel.location
    return MalformedLayout(f"'{array.name}' {why}", where=where, remedy=remedy)


def _check_axes(kernel: Kernel, array: Array) -> None:
    shape = array.shape or ()
    for found, what in ((array.dim_tags, "tags or strides"), (array.dim_names, "names")):
        if found is not None and len(found) != len(shape):
            why = f"has the shape {show_tuple(shape)}, and {what} for {len(found)} axes"
            raise _refused(kernel, array, why, "give one for each axis")


def _check_levels(kernel: Kernel, array: Array) -> None:
    levels = sorted(tag.level for tag in array.dim_tags or () if isinstance(tag, Nested))
    if levels != list(range(len(levels))):
        found = ", ".join(f"N{level}" for level in levels)
        why = f"has axes with the tags {found}, which give no order"
        raise _refused(kernel, array, why, "use each of N0, N1, ... once")


def _check_constant_axes(kernel: Kernel, array: Array) -> None:
    vectors = [a for a, tag in enumerate(array.dim_tags or ()) if isinstance(tag, Vector)]
    if len(vectors) > 1:
        remedy = "tag one of them vec: a vector has one axis"
        raise _refused(kernel, array, "has two axes that are tagged vec", remedy)
    for axis in constant_axes(array):
        extent = (array.shape or ())[axis]
        if not isinstance(extent, int):
            why = f"has the extent {show_expression(extent)} along an axis tagged "
            tag = "vec" if axis in vectors else "sep"
            raise _refused(kernel, array, why + tag, "write a number, or fix the parameter")
    if vectors:
        _check_vector(kernel, array, vectors[0])
    if isinstance(array, GlobalArg) and is_separate(array):
        _check_parts(kernel, array)


def _check_vector(kernel: Kernel, array: Array, axis: int) -> None:
    length = length_of(array, axis)
    if length not in VECTOR_LENGTHS:
        allowed = ", ".join(map(str, VECTOR_LENGTHS))
        why = f"has vectors of {length} components"
        raise _refused(kernel, array, why, f"there are vectors of {allowed}")
    dtype = array.dtype
    if length > 1 and dtype is not None and not has_vectors(dtype):
        why = f"has vectors of numbers of type {dtype.name}, which targets do not have"
        raise _refused(kernel, array, why, "use stride:1 in place of vec")
    for other, tag in enumerate(array.dim_tags or ()):
        if not isinstance(tag, Strided) or isinstance(tag.stride, Auto):
            continue
        if in_units(tag.stride, unit(array)) is None:
            why = (
                f"has the stride {show_expression(tag.stride)} along axis {other}, which is no "
                f"multiple of what a vector takes: {unit(array)} elements"
            )
            raise _refused(kernel, array, why, f"write a multiple, as in stride:{unit(array)}*n")


def _check_parts(kernel: Kernel, array: GlobalArg) -> None:
    count = prod(
        length_of(array, axis)
        for axis, tag in enumerate(array.dim_tags or ())
        if isinstance(tag, Separate)
    )
    if not 1 <= count <= _MOST_PARTS:
        why = f"would become {count} arrays"
        raise _refused(kernel, array, why, f"tag axes sep that have 1 to {_MOST_PARTS} subscripts")
    if isinstance(array.offset, Auto) or any(
        isinstance(tag, Strided) and isinstance(tag.stride, Auto) for tag in array.dim_tags or ()
    ):
        why = "is several arrays, whose strides and offsets may differ: they cannot be auto"
        raise _refused(kernel, array, why, "declare them, or leave out sep")
    taken = {*kernel.variables, *kernel.inames} - {array.name}
    for index in part_indices(array):
        name = part_name(array.name, index)
        if name in taken:
            raise NameTaken(
                f"a part of '{array.name}', an axis of which is tagged sep, is called '{name}', "
                "as something else is",
                where=kernel.location,
                remedy=f"give '{name}' another name",
            )


def _check_offset(kernel: Kernel, array: Array) -> None:
    offset = offset_of(array)
    if isinstance(offset, Auto):
        return
    if isinstance(offset, int) and offset < 0:
        why = f"has the offset {offset}: it would begin before its memory does"
        raise _refused(kernel, array, why, "pass the number of elements before the first one")
    if in_units(offset, unit(array)) is None:
        why = (
            f"has the offset {show_expression(offset)}, which is no multiple of what a vector "
            f"takes: {unit(array)} elements"
        )
        raise _refused(kernel, array, why, f"write a multiple, as in {unit(array)}*n")


def _check_alignment(kernel: Kernel, array: Array) -> None:
    found: object = array.alignment
    if found is not None and (type(found) is not int or found not in _ALIGNMENTS):
        why = f"has the alignment {found!r}, which is no power of two from 1 to {_ALIGNMENTS[-1]}"
        raise _refused(kernel, array, why, "pass a number of bytes, as in alignment=64")
    plain = isinstance(array, TemporaryVariable) and (array.read_only or not array.shape)
    if found is not None and plain:
        what = "a constant" if array.shape else "a scalar"
        raise _refused(kernel, array, f"is {what}, and has an alignment", "leave it out")


def _check_temporary(kernel: Kernel, array: TemporaryVariable) -> None:
    if array.read_only and array.dim_tags is not None:
        remedy = "leave the layout out, or pass the table as an argument"
        raise _refused(kernel, array, "is a table of constants, which is row-major", remedy)
    if is_separate(array):
        why = "is a temporary with an axis tagged sep, which makes arguments of an array"
        raise _refused(kernel, array, why, "declare several temporaries, or leave out sep")
    for tag in array.dim_tags or ():
        if not isinstance(tag, Strided):
            continue
        if not isinstance(tag.stride, int) or tag.stride < 0:
            why = f"is a temporary with the tag {tag}"
            raise _refused(kernel, array, why, "write a number that is not negative")
        if not all(isinstance(extent, int) for extent in array.shape):
            why = f"is a temporary of the shape {show_tuple(array.shape)} with the tag {tag}"
            raise _refused(kernel, array, why, "use C, F, or N0, N1, ...: sizes decide the strides")


def _check_uses(kernel: Kernel, array: Array) -> None:
    """Check what instructions cannot do with arrays of vectors, and with arrays in parts."""
    for insn in kernel.expanded.instructions:
        if array.name not in insn.read_names.union(insn.written_names):
            continue
        if isinstance(insn, CInstruction) and is_separate(array):
            why = f"has an axis tagged sep, and the verbatim C of '{insn.id}' mentions it"
            raise _refused(kernel, array, why, "leave out sep: there is no array of this name")
        # What returns an old value updates the last of its assignees.
        atomic = isinstance(insn, Assigning) and insn.atomicity is not None
        if atomic and array.name == insn.written_names[-1] and (vector_length(array) or 1) > 1:
            why = f"has an axis tagged vec, and '{insn.id}' updates a component atomically"
            raise _refused(kernel, array, why, "use stride:1 in place of vec")
