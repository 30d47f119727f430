r"""Calls of `printf`, as kernels have them: values in temporaries, then a text of C.

    pg.printf("%d: %g\n", i, x[i])     ->     shown = i
                                              shown_0 = x[i]
                                              printf("%ld: %lg\n", (long)(shown), shown_0);

All languages have integers of 64 bits that are called ``long``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polygen.errors import MalformedFormat
from polygen.ir import expression as ex
from polygen.python.affine import number
from polygen.python.nodes import Assign, Print
from polygen.python.print_formats import (
    Part,
    Shown,
    check_count,
    parts_of_format,
    printf,
    wrong_value,
)
from polygen.python.refused import Refused
from polygen.python.values import BOOL, INT64, Constant, Number, Value, converted_tree

_UINT64 = np.dtype("uint64")
_SMALL = (np.dtype("float16"), np.dtype("float32"))


def _printf(trace: Any, format: Value, *values: Value) -> Value:  # noqa: A002  (as `printf` has it)
    if not isinstance(format, Constant) or not isinstance(format.value, str):
        raise Refused("the format of pg.printf is no text that is known", "write it in the call")
    if trace.asked:
        raise Refused("pg.printf is called in an expression", "write 'if' around a call of its own")
    text = format.value
    try:
        parts = parts_of_format(text)
        check_count(text, parts, len(values))
        given = iter(values)
        made = [p if isinstance(p, str) else _kept(trace, text, p, next(given)) for p in parts]
    except MalformedFormat as error:
        raise Refused(error.what, error.remedy or "") from None
    if trace.nodes.printed is None:
        made_array = trace.storage(
            "printed", np.dtype("int32"), (number(1),), "made", zeros=True, is_written=True
        )
        trace.nodes.printed = made_array.name
    trace.emit(Print(tuple(made), trace.node))
    return Constant(None)


def _kept(trace: Any, text: str, shown: Shown, value: Value) -> str | tuple[Shown, str, np.dtype]:
    """Return a text, or the temporary that keeps a value."""
    if shown.takes_text:
        if not isinstance(value, Constant) or not isinstance(value.value, str):
            raise wrong_value(text, shown, "something that is no text")
        return shown.in_python(value.value)
    if not isinstance(value, Number):
        raise wrong_value(text, shown, "something that is no number")
    kinds = "biu" if shown.takes_integer else "biuf"
    if value.dtype.kind not in kinds:
        raise wrong_value(text, shown, f"a number of the type {value.dtype}")
    if shown.takes_integer:
        return shown, _integer(trace, shown, value), _shown_type(shown, value.dtype)
    wanted = np.dtype("float32" if value.dtype in _SMALL else "float64")
    return shown, _real(trace, value, wanted), wanted


def _shown_type(shown: Shown, dtype: np.dtype) -> np.dtype:
    """Return the type of 64 bits that an integer is shown as."""
    return _UINT64 if shown.is_unsigned or dtype == _UINT64 else INT64


def _integer(trace: Any, shown: Shown, value: Number) -> str:
    tree, dtype = value.element(), value.dtype
    if shown.is_unsigned and dtype.kind == "i":  # the bits that the type has
        unsigned = np.dtype(f"uint{8 * dtype.itemsize}")
        tree, dtype = converted_tree(tree, dtype, unsigned), unsigned
    wanted = _shown_type(shown, dtype)
    return _temporary(trace, converted_tree(tree, dtype, wanted), wanted)


def _real(trace: Any, value: Number, wanted: np.dtype) -> str:
    """Return the temporary with a number; Python shows no sign of NaN, and C does."""
    tree, dtype = value.element(), value.dtype
    name = _temporary(trace, converted_tree(tree, dtype, wanted), wanted)
    if dtype == BOOL or dtype.kind in "iu":
        return name
    kept: Any = ex.Variable(name)
    positive = ex.Call(ex.Variable("abs"), (kept,))
    return _temporary(trace, ex.If(ex.Comparison(kept, "!=", kept), positive, kept), wanted)


def _temporary(trace: Any, tree: Any, dtype: np.dtype) -> str:
    name: str = trace.scalar("shown", dtype)
    trace.nodes.scalars[name].is_own = True
    trace.emit(Assign(ex.Variable(name), tree, trace.node))
    return name


def text_of_print(parts: tuple[str | tuple[Shown, str, np.dtype], ...]) -> str:
    """Return the statement of C, OpenCL C or CUDA C++ that prints.

    Parameters:
        parts: texts, and temporaries with how they are shown, and as what type.
    """
    shown = [p.replace("%", "%%") if isinstance(p, str) else p[0].in_c(p[2]) for p in parts]
    values = [_passed(*p) for p in parts if not isinstance(p, str)]
    return f"printf({', '.join([_literal(''.join(shown)), *values])});"


def _passed(shown: Shown, name: str, dtype: np.dtype) -> str:
    if shown.conversion == "c":
        return f"(int)({name} & 255)"
    if dtype.kind == "f":
        return name
    return f"(long)({name})" if dtype.kind == "i" else f"(unsigned long)({name})"


def _literal(text: str) -> str:
    """Return a text as C has it; what is no plain character is written as bytes in octal."""
    return '"' + "".join([_character(one) for one in text]) + '"'


def _character(one: str) -> str:
    if one == "\n":
        return "\\n"
    if " " <= one <= "~" and one not in '"\\?':  # of '??=', C makes something else
        return one
    return "".join([f"\\{byte:03o}" for byte in one.encode()])


ROWS: dict[Any, Any] = {printf: _printf}

__all__ = ["ROWS", "Part", "text_of_print"]
