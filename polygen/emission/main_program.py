"""A minimal program that runs a kernel: in C, for every target.

It is a frame that is the same for all, around what the target needs to run the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from polygen.emission.c_text import in_c, number_type
from polygen.emission.host_kernel import HostArray, HostKernel, HostScalar, linear_terms
from polygen.emission.templates import filled, filled_lines, table
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.dtype import DType, dtype_name
from polygen.ir.expression import Expression

_KINDS = {"b": "PG_BOOL", "i": "PG_INT", "u": "PG_UINT", "f": "PG_FLOAT", "c": "PG_COMPLEX"}


def main_program(kernel: HostKernel, includes: Sequence[str], memory: str) -> str:
    """Return the text of ``NAME_main.c``.

    Parameters:
        kernel: the kernel.
        includes: the headers that the target needs.
        memory: how the program passes an array to the kernel, of its name.
    """
    values = table(kernel)
    for row, scalar in zip(values["scalar"], kernel.scalars, strict=True):
        row |= {"kind": _kind(scalar.dtype), "bits": 8 * scalar.dtype.itemsize}
    for number, (row, array) in enumerate(zip(values["array"], kernel.arrays, strict=True)):
        row |= {"number": number, **_facts(array)}
    passed = [
        memory.format(a.name) if isinstance(a, HostArray) else value(a) for a in kernel.arguments
    ]
    values |= {
        "usage": _usage(kernel),
        "include": [{"file": file} for file in includes],
        "values": ", ".join([*(f"&value_{s.name}" for s in kernel.scalars), "NULL"]),
        "arrays": ", ".join([*(f"&array_{a.name}" for a in kernel.arrays), "NULL"]),
        "both": f"values, {len(kernel.scalars)}, arrays, {len(kernel.arrays)}",
        "found": [*_sizes_from_arrays(kernel), *_hidden_sizes(kernel)],
        "size_values": ", ".join(f"value_{size.name}.i" for size in kernel.sizes),
        "given": "".join(f",\n        {argument}" for argument in passed),
        "given_alone": "".join(f",\n        {argument}" for argument in passed)[1:],
    }
    return filled("main.c", {**values, "run": filled_lines(f"main_{kernel.target}.c", values)})


def value(scalar: HostScalar) -> str:
    """Return what the program passes for a number."""
    number, kind = f"value_{scalar.name}", number_type(scalar.dtype)
    if scalar.dtype.kind == "c":
        make = "CMPLXF" if dtype_name(scalar.dtype) == "complex64" else "CMPLX"
        part = "(float) " if make == "CMPLXF" else ""
        return f"{make}({part}{number}.re, {part}{number}.im)"
    field = {"b": "i", "i": "i", "u": "u"}.get(scalar.dtype.kind, "re")
    return f"({kind}) {number}.{field}"


def _usage(kernel: HostKernel) -> str:
    words = [f"{s.name}=NUMBER" for s in kernel.scalars]
    words += [f"{a.name}=FILE.npy" for a in kernel.arrays if a.shows_before]
    words += [f"-o {a.name}=FILE.npy" for a in kernel.arrays if a.writes]
    return " ".join(words)


def _facts(array: HostArray) -> dict[str, Any]:
    """Return what the program's table says of an array."""
    more = [] if array.alignment is None else [f"        .alignment = {array.alignment},"]
    if array.reads and array.is_place:
        more.append("        .needs_file = 1,")
    return {
        "dtype": dtype_name(array.dtype),
        "descr": _descr(array.dtype),
        "kind": _kind(array.dtype),
        "itemsize": array.dtype.itemsize,
        "takes": int(array.shows_before),
        "reads": int(array.reads),
        "writes": int(array.writes),
        "more": more,
    }


def _descr(dtype: DType) -> str:
    """Return what the heads of .npy files call a type."""
    return "|V2" if dtype_name(dtype) == "bfloat16" else dtype.str


def _kind(dtype: DType) -> str:
    special = {"float16": "PG_HALF", "bfloat16": "PG_BFLOAT16"}
    return special.get(dtype_name(dtype)) or _KINDS[dtype.kind]


def _sizes_from_arrays(kernel: HostKernel) -> Iterator[str]:
    for array in kernel.arrays:
        for axis, extent in enumerate(array.shape):
            form = linear_terms(extent)
            if not array.shows_before or form is None or len(form[0]) != 1:
                continue
            ((name, factor),) = form[0].items()
            where = f"&array_{array.name}, {axis}, {len(array.shape)}"
            yield f"    pg_size_from(&value_{name}, {where}, {factor}, {form[1]});"


def _hidden_sizes(kernel: HostKernel) -> Iterator[str]:
    """Yield what strides and offsets are that are left to the call: arrays are row-major."""
    values = {size.name: ex.Variable(f"value_{size.name}.i") for size in kernel.sizes}
    for array in kernel.arrays:
        yield from _unless_given(kernel, array.offset, "0")
        step: Expression = array.unit
        for extent, stride in reversed([*zip(array.shape, array.strides, strict=True)]):
            yield from _unless_given(kernel, stride, in_c(walk.substitute(step, values)))
            step = ex.product_of(extent, step)


def _unless_given(kernel: HostKernel, place: Expression, text: str) -> Iterator[str]:
    """Yield what a stride or an offset is, if that is left to the call."""
    form = linear_terms(place)
    for size in kernel.sizes:
        if size.is_hidden and form is not None and size.name in form[0]:
            yield f"    pg_unless_given(&value_{size.name}, {text} / {form[0][size.name]});"
