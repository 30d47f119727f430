"""The types of functions' results, given those of their arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from polygen.analysis.typing.functions import ResultType, check_call, signature_of
from polygen.analysis.typing.kinds import (
    BOOL,
    FLOAT64,
    INT64,
    Kind,
    default_dtype,
    is_index,
    join_all,
    kind_name,
    letter,
)
from polygen.analysis.typing.operator_types import (
    REAL,
    WHOLE,
    floating,
    number,
    power,
    require,
    whole_number,
)
from polygen.errors import TypeMismatch
from polygen.ir import expression as ex
from polygen.ir.dtype import DType, is_exact
from polygen.ir.expression import Expression
from polygen.ir.show_expression import show_expression


def type_of_call(node: Any, parts: Sequence[Kind]) -> Any:
    """Return the type of a call, given those of its arguments: a tuple, if it has two results."""
    function = check_call(node)
    if function.result is ResultType.DECLARED:
        return _results(signature_of(node, parts).results)
    if not function.takes_complex:
        require(node, parts, "biuf", REAL)
    if function.result is ResultType.RANDOM:
        require(node, parts, "biu", WHOLE)
    if function.name == "pow":
        return power(ex.Power(*node.parameters), parts)
    if function.exponent:
        require(node, parts[-1:], "biu", "an integer as the last argument")
        if function.name in ("pown", "rootn"):
            _check_small(node, parts[-1])
        parts = parts[:-1]
    own = _OF_CALLS.get(function.result)
    if own is not None:
        return own(node, parts)
    kind = join_all(parts)
    rule = _RESULTS.get(function.result)
    return cast("DType", function.dtype) if rule is None else rule(kind)


def type_of_component(node: Any, parts: Sequence[Any]) -> Kind:
    """Return the type of one of several results."""
    position: int = node.position
    if isinstance(parts[0], tuple):  # of a reduction, or a function with two results
        return cast("Sequence[Kind]", parts[0])[position]
    one = cast("Kind", parts[0])  # random numbers have one type
    if isinstance(one, np.dtype) and one.fields is not None:  # of a user's function
        return one[position]
    return one


def _results(dtypes: Sequence[DType]) -> DType:
    """Return the type of all results of a function together."""
    if len(dtypes) == 1:
        return dtypes[0]
    return np.dtype([(f"r{number}", dtype) for number, dtype in enumerate(dtypes)])


def _check_small(node: Expression, kind: Kind) -> None:
    """Check that an exponent is an ``int``, which is what functions of targets take."""
    if isinstance(kind, np.dtype) and not np.can_cast(kind, np.int32):
        raise TypeMismatch(
            f"'{show_expression(node)}' has a last argument of type '{kind_name(kind)}', of which "
            "int32 does not hold all numbers",
            remedy="convert it: int32(n)",
        )


def integer_kind(node: Expression, parts: Sequence[Kind]) -> DType:
    """Return the type in which a function of integers computes, given those of its arguments.

    Its result depends on their size, so that integers without a type get NumPy's default.

    Raises:
        TypeMismatch: if some are no integers, or have no type in common that is one of integers.
    """
    return default_dtype(whole_number(node, parts))


def word_kind(node: Expression, parts: Sequence[Kind]) -> DType:
    """Return the type in which a function of 24-bit integers computes: `integer_kind`, of 32 bits.

    Raises:
        TypeMismatch: if some are no integers, or larger.
    """
    kind = whole_number(node, parts)
    if isinstance(kind, np.dtype) and kind.itemsize > 4:
        raise TypeMismatch(
            f"'{show_expression(node)}' has operands of type '{kind_name(kind)}'; it is only there "
            "for integers of at most 32 bits",
            remedy="convert them, as in int32(x), or write a product",
        )
    return np.dtype(np.uint32 if letter(kind) == "u" else np.int32)


def _doubled(node: Expression, parts: Sequence[Kind]) -> DType:
    upper, lower = parts
    require(node, parts, "iu", WHOLE)
    sized = [kind for kind in parts if isinstance(kind, np.dtype) and kind.itemsize <= 4]
    if len(sized) < 2 or sized[0].itemsize != sized[1].itemsize or sized[1].kind != "u":
        raise TypeMismatch(
            f"'{show_expression(node)}' has operands of types '{kind_name(upper)}' and "
            f"'{kind_name(lower)}'; it takes two integers of one size, up to 32 bits, the second "
            "of them unsigned",
            remedy="convert them, as in upsample(int16(x), uint16(y))",
        )
    return np.dtype(f"{sized[0].kind}{2 * sized[0].itemsize}")


def _chosen(node: Expression, parts: Sequence[Kind]) -> Kind:
    require(node, parts[-1:], "biu", "an integer or a truth value as the last argument")
    return join_all(parts[:-1])


def _sized(node: Expression, parts: Sequence[Kind]) -> Kind:
    (kind,) = parts
    if is_index(kind):
        return float
    if letter(kind) != "u" or default_dtype(kind).itemsize == 1:
        raise TypeMismatch(
            f"'{show_expression(node)}' has an operand of type '{kind_name(kind)}'; it is only "
            "there for uint16, uint32 and uint64",
            remedy="convert it, as in nan(uint32(x))",
        )
    return np.dtype(f"f{default_dtype(kind).itemsize}")


def _of_function(kind: Kind) -> Kind:
    """Return the type of NumPy's sine: for integers, a floating-point type that holds them."""
    if isinstance(kind, np.dtype) and is_exact(kind):
        return _FLOATS.get(kind.itemsize, FLOAT64)
    return floating(kind)


# What NumPy's functions give for integers of that many bytes.
_FLOATS: dict[int, DType] = {1: np.dtype(np.float16), 2: np.dtype(np.float32)}


def _twice(_node: Expression, parts: Sequence[Kind]) -> tuple[Kind, Kind]:
    kind = _of_function(join_all(parts))
    return kind, kind


def _with_whole(_node: Expression, parts: Sequence[Kind]) -> tuple[Kind, Kind]:
    return _of_function(join_all(parts)), np.dtype(np.int32)


# The results of functions whose arguments have to be of certain types, or that have several.
_OF_CALLS: dict[ResultType, Callable[[Expression, Sequence[Kind]], Any]] = {
    ResultType.INTEGER: integer_kind,
    ResultType.UNSIGNED: lambda node, parts: np.dtype(f"u{integer_kind(node, parts).itemsize}"),
    ResultType.WORD: word_kind,
    ResultType.DOUBLED: _doubled,
    ResultType.CHOSEN: _chosen,
    ResultType.SIZED: _sized,
    ResultType.TWICE: _twice,
    ResultType.WITH_WHOLE: _with_whole,
}


def _part(kind: Kind) -> Kind:
    if kind is complex:
        return float
    return _PARTS.get(kind, kind)


# The type of the real part of complex numbers.
_PARTS: dict[Kind, DType] = {
    np.dtype(np.complex64): np.dtype(np.float32),
    np.dtype(np.complex128): FLOAT64,
}


_RESULTS: dict[ResultType, Callable[[Kind], Kind]] = {
    ResultType.FLOATING: _of_function,
    ResultType.KEPT: lambda kind: kind,
    ResultType.NUMBER: number,
    ResultType.MAGNITUDE: _part,
    ResultType.PHASE: lambda kind: _part(_of_function(kind)),
    ResultType.TRUTH: lambda kind: BOOL,
    ResultType.WHOLE: lambda kind: np.dtype(np.int32),
    ResultType.LONG: lambda kind: INT64,
}
