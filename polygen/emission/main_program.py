"""A minimal program that runs a kernel: in C, for every target.

It is a frame that is the same for all, around what the target needs to run the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polygen.emission.c_text import in_c, number_type, quoted
from polygen.emission.host_kernel import HostArray, HostKernel, HostScalar, linear_terms
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.dtype import DType, dtype_name
from polygen.ir.expression import Expression

_KINDS = {"b": "PG_BOOL", "i": "PG_INT", "u": "PG_UINT", "f": "PG_FLOAT", "c": "PG_COMPLEX"}


def main_program(kernel: HostKernel, includes: Sequence[str], lines: Sequence[str]) -> str:
    """Return the text of ``NAME_main.c``.

    Parameters:
        kernel: the kernel.
        includes: the headers that the target needs.
        lines: what runs the kernel on ``array_x.data``, with numbers as `value` has them.
    """
    name = kernel.name
    text = [
        f"/* Runs kernel '{name}': ./{name}_host {_usage(kernel)}",
        "   Arrays that are not given are filled: polygen_host.h says with what. */",
        "#define _POSIX_C_SOURCE 200809L",
        *(f"#include {include}" for include in includes),
        "",
        '#include "polygen_host.h"',
        "",
        "int main(int argc, char **argv)",
        "{",
        *_tables(kernel),
        f"    pg_read_arguments(argc, argv, {_both(kernel)});",
        *_sizes_from_arrays(kernel),
        *_hidden_sizes(kernel),
        f"    pg_need_values(argv[0], {_both(kernel)});",
        "",
        f"    int status = {name}_check({sizes_given(kernel)});",
        "    if (status)",
        f'        pg_fail("{name}", {name}_message(status));',
        *(
            f"    pg_make(&array_{a.name}, {name}_layout_{a.name}({sizes_given(kernel)}));"
            for a in kernel.arrays
        ),
        "",
        *lines,
        "",
        *(f"    pg_show(&array_{array.name});" for array in kernel.arrays if array.writes),
        *(f"    free(array_{array.name}.data);" for array in kernel.arrays),
        "    return 0;",
        "}",
        "",
    ]
    return "\n".join(text)


def value(scalar: HostScalar) -> str:
    """Return what the program passes for a number."""
    number, kind = f"value_{scalar.name}", number_type(scalar.dtype)
    if scalar.dtype.kind == "c":
        make = "CMPLXF" if dtype_name(scalar.dtype) == "complex64" else "CMPLX"
        part = "(float) " if make == "CMPLXF" else ""
        return f"{make}({part}{number}.re, {part}{number}.im)"
    field = {"b": "i", "i": "i", "u": "u"}.get(scalar.dtype.kind, "re")
    return f"({kind}) {number}.{field}"


def sizes_given(kernel: HostKernel) -> str:
    """Return the sizes, as the program passes them to functions of the header."""
    return ", ".join(f"value_{size.name}.i" for size in kernel.sizes)


def _both(kernel: HostKernel) -> str:
    return f"values, {len(kernel.scalars)}, arrays, {len(kernel.arrays)}"


def _usage(kernel: HostKernel) -> str:
    words = [f"{s.name}=NUMBER" for s in kernel.scalars]
    words += [f"{a.name}=FILE.npy" for a in kernel.arrays if a.shows_before]
    words += [f"-o {a.name}=FILE.npy" for a in kernel.arrays if a.writes]
    return " ".join(words)


def _tables(kernel: HostKernel) -> Iterator[str]:
    for scalar in kernel.scalars:
        bits = 8 * scalar.dtype.itemsize
        yield f"    pg_value value_{scalar.name} = {{"
        yield f"        .name = {quoted(scalar.name)},"
        yield f"        .kind = {_kind(scalar.dtype)},"
        yield f"        .bits = {bits},"
        yield "    };"
    for number, array in enumerate(kernel.arrays):
        yield f"    pg_array array_{array.name} = {{"
        yield from (f"        .{field} = {text}," for field, text in _fields(array))
        yield f"        .number = {number},"
        yield "    };"
    for what, kind, names in (
        ("values", "pg_value", [f"&value_{s.name}" for s in kernel.scalars]),
        ("arrays", "pg_array", [f"&array_{a.name}" for a in kernel.arrays]),
    ):
        yield f"    {kind} *const {what}[] = {{{', '.join([*names, 'NULL'])}}};"


def _fields(array: HostArray) -> Iterator[tuple[str, str]]:
    yield "name", quoted(array.name)
    yield "type", quoted(dtype_name(array.dtype))
    yield "descr", quoted(_descr(array.dtype))
    yield "kind", _kind(array.dtype)
    yield "itemsize", str(array.dtype.itemsize)
    yield "takes", str(int(array.shows_before))
    yield "reads", str(int(array.reads))
    yield "writes", str(int(array.writes))
    if array.alignment is not None:
        yield "alignment", str(array.alignment)
    if array.reads and array.is_place:
        yield "needs_file", "1"


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
