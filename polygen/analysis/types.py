"""The type of an expression, by NumPy's rules.

A *kind* is a dtype, or one of Python's ``int``, ``float`` and ``complex`` for what has no type of
its own: Python's numbers, inames and sizes.  These adapt to what they are combined with:
``2*a[i]`` has the type of ``a``.

Beware when comparing kinds: NumPy's dtypes say that they equal Python's types, and even that
float64 equals None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, reduce
from typing import Any, TypeAlias, cast

import numpy as np

from polygen.analysis.functions import ResultType, check_call, signature_of
from polygen.errors import InternalError, TypeMismatch, TypeNotFound
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
from polygen.ir.operation import Definition
from polygen.ir.reduction import Facts, Result, definition_of, dtype_of, facts_of, widens
from polygen.ir.show_expression import show_expression

Kind: TypeAlias = DType | type[int] | type[float] | type[complex]

BOOL: DType = np.dtype(np.bool_)
INT64: DType = np.dtype(np.int64)
UINT64: DType = np.dtype(np.uint64)
FLOAT64: DType = np.dtype(np.float64)

_SAMPLES: dict[object, Any] = {int: 0, float: 0.0, complex: 0j}
_DEFAULTS: dict[object, DType] = {
    int: INT64,
    float: FLOAT64,
    complex: np.dtype(np.complex128),
}
_WEAK_ORDER = (int, float, complex)


def type_of(expr: Expression, kinds: Mapping[str, Kind]) -> Kind:
    """Return the type of an expression, or a Python type if it has none of its own.

    Parameters:
        expr: the expression.
        kinds: the type of each variable and element; of inames and sizes, ``int``.

    Raises:
        TypeNotFound: if it mentions a name that `kinds` does not have.
        TypeMismatch: if it has an operation for operands that it does not exist for.
        UnknownFunction: if it calls a function that does not exist.
        WrongArity: if it gives a function the wrong number of arguments.

    >>> from polygen.ir.expression import Variable
    >>> type_of(2 * Variable("a"), {"a": np.dtype("float32")})
    dtype('float32')
    """
    return node_type(expr, [type_of(part, kinds) for part in walk.parts(expr)], kinds)


def node_type(node: Expression, parts: Sequence[Kind], kinds: Mapping[str, Kind]) -> Kind:
    """Return the type of a node, given those of its parts (`walk.parts`); see `type_of`.

    Parameters:
        node: the node.
        parts: the type of each part.
        kinds: the type of each variable and element.
    """
    rule = _RULES.get(type(node))
    if rule is not None:
        # By identity, which is quick: NumPy says that int64 equals Python's int.
        if isinstance(node, ex.Sum) and any(kind is INT64 for kind in parts[1:]):
            parts = _subtracted(node, parts, kinds)
        return rule(node, parts)
    if isinstance(node, ex.Variable):
        kind = kinds.get(node.name)
        if kind is None:
            raise TypeNotFound(f"the type of '{node.name}' is not known")
        return kind
    if isinstance(node, ex.ExpressionNode):
        raise InternalError(f"no type for a node of class {type(node).__name__}")
    return literal_kind(node)


def _subtracted(node: ex.Sum, parts: Sequence[Kind], kinds: Mapping[str, Kind]) -> list[Kind]:
    """Return the types of summands, of ``-b`` with a truth value `b` that of `b`.

    Negative, truth values are integers; what they are subtracted from keeps its type.
    """
    if len(parts) < len(node.children):  # some are not known yet
        return list(parts)
    found = list(parts)
    for position, child in enumerate(node.children):
        others = opposite_of(child)
        if position and others and all(type_of(other, kinds) == BOOL for other in others):
            found[position] = BOOL
    if all(kind == BOOL for kind in found):
        raise TypeMismatch(
            f"'{show_expression(node)}' subtracts truth values",
            remedy="tell them apart with !=, or convert one of them: int8(...)",
        )
    return found


def opposite_of(node: Expression) -> tuple[Expression, ...]:
    """Return the factors of a product after the -1 that stands for a sign; none of others."""
    if isinstance(node, ex.Product) and type(node.children[0]) is int and node.children[0] == -1:
        return node.children[1:]
    return ()


def literal_kind(value: Any) -> Kind:
    """Return the type of a number: NumPy's numbers have one, Python's do not."""
    if isinstance(value, np.generic):
        return np.result_type(cast("Any", value))
    if isinstance(value, bool):
        return BOOL
    for kind in _WEAK_ORDER:
        if isinstance(value, kind):
            return kind
    raise InternalError(f"{value!r} is no number")


def join(first: Kind, second: Kind) -> Kind:
    """Return the type that operands of two types are computed in, as NumPy does.

    >>> join(np.dtype("int32"), np.dtype("float32"))
    dtype('float64')
    >>> join(np.dtype("float32"), float)
    dtype('float32')
    """
    return first if first is second else _join(first, second)  # type: ignore[arg-type]


@lru_cache(maxsize=1024)
def _join(first: Any, second: Any) -> Any:
    if isinstance(first, type) and isinstance(second, type):
        return max(first, second, key=_WEAK_ORDER.index)
    return np.result_type(_SAMPLES.get(first, first), _SAMPLES.get(second, second))


def join_all(kinds: Iterable[Kind]) -> Kind:
    """Return the type that some operands, at least one, are computed in."""
    return reduce(join, kinds)


def same_kind(first: Kind | None, second: Kind | None) -> bool:
    """Tell whether two kinds are the same, where ``==`` would take None for float64."""
    return type(first) is type(second) and first == second


def default_dtype(kind: Kind) -> DType:
    """Return the dtype itself, or the one that NumPy gives to Python's numbers."""
    return kind if isinstance(kind, np.dtype) else _DEFAULTS[kind]


def letter(kind: Kind) -> str:
    """Return NumPy's letter for a kind: b, i, u, f or c; Python's ``int`` counts as i."""
    return default_dtype(kind).kind


# --- the rules

_Rule: TypeAlias = Callable[[Any, Sequence[Kind]], Kind]


def _require(node: Expression, parts: Iterable[Kind], letters: str, what: str) -> None:
    for kind in parts:
        if letter(kind) not in letters:
            raise TypeMismatch(
                f"'{show_expression(node)}' has an operand of type '{kind_name(kind)}'; "
                f"it is only there for {what}",
                remedy="a power is written '**'" if isinstance(node, ex.BitwiseXor) else None,
            )


def kind_name(kind: Kind) -> str:
    """Return the name of a type for people."""
    return kind.name if isinstance(kind, np.dtype) else kind.__name__


_REAL, _WHOLE = "real numbers", "integers"


def _element(node: Expression, parts: Sequence[Kind]) -> Kind:
    for kind in parts[1:]:
        if kind is not int and letter(kind) not in "iu":
            raise TypeMismatch(
                f"'{show_expression(node)}' has a subscript of type '{kind_name(kind)}'",
                remedy="subscripts are integers: use // to divide, or convert: int64(...)",
            )
    return parts[0]


def _joined(_node: Expression, parts: Sequence[Kind]) -> Kind:
    return join_all(parts)


def _real(node: Expression, parts: Sequence[Kind]) -> Kind:
    _require(node, parts, "biuf", _REAL)
    return join_all(parts)


def _whole(node: Expression, parts: Sequence[Kind]) -> Kind:
    _require(node, parts, "biu", _WHOLE)
    kind = join_all(parts)
    if letter(kind) not in "biu":
        names = " and ".join(f"'{kind_name(part)}'" for part in parts)
        raise TypeMismatch(
            f"'{show_expression(node)}' has operands of types {names}, which have no integer "
            "type in common",
            remedy="convert one of them, as in int64(x)",
        )
    return kind


def _number(kind: Kind) -> Kind:
    # Truth values are numbers here, as small as they come.
    return np.dtype(np.int8) if kind == BOOL else kind


def _whole_number(node: Expression, parts: Sequence[Kind]) -> Kind:
    return _number(_whole(node, parts))


def _floor_quotient(node: Expression, parts: Sequence[Kind]) -> Kind:
    return _number(_real(node, parts))


def _quotient(_node: Expression, parts: Sequence[Kind]) -> Kind:
    return _floating(join_all(parts))


def _floating(kind: Kind) -> Kind:
    """Return the type of the quotient of two integers, or the type itself."""
    if kind is int:
        return float
    return FLOAT64 if letter(kind) in "biu" else kind


def _of_function(kind: Kind) -> Kind:
    """Return the type of NumPy's sine: for integers, a floating-point type that holds them."""
    if isinstance(kind, np.dtype) and kind.kind in "biu":
        return _FLOATS.get(kind.itemsize, FLOAT64)
    return _floating(kind)


def _complement(node: Expression, parts: Sequence[Kind]) -> Kind:
    # Of a truth value, NumPy returns the other one, Python and C an integer that is true.
    _require(node, parts, "iu", _WHOLE)
    return parts[0]


def _results(dtypes: Sequence[DType]) -> DType:
    """Return the type of all results of a function together."""
    if len(dtypes) == 1:
        return dtypes[0]
    return np.dtype([(f"r{number}", dtype) for number, dtype in enumerate(dtypes)])


def _component(node: Any, parts: Sequence[Any]) -> Kind:
    position: int = node.position
    if isinstance(parts[0], tuple):  # of a reduction, or a function with two results
        return cast("Sequence[Kind]", parts[0])[position]
    one = cast("Kind", parts[0])  # random numbers have one type
    if isinstance(one, np.dtype) and one.fields is not None:  # of a user's function
        return one[position]
    return one


def _power(node: Any, parts: Sequence[Kind]) -> Kind:
    base, exponent = parts
    negative = isinstance(node.exponent, int) and node.exponent < 0
    if negative and letter(base) in "biu":
        if base is int:
            return float
        raise TypeMismatch(
            f"'{show_expression(node)}' raises integers to a negative power",
            remedy="raise a floating-point number: write 1.0*x or float64(x)",
        )
    return _number(join(base, exponent))


def _comparison(node: Any, parts: Sequence[Kind]) -> Kind:
    if node.operator not in ("==", "!="):
        _require(node, parts, "biuf", _REAL)
    return BOOL


def _choice(_node: Expression, parts: Sequence[Kind]) -> Kind:
    return join_all(parts[1:])


def _call(node: Any, parts: Sequence[Kind]) -> Any:
    function = check_call(node)
    if function.result is ResultType.DECLARED:
        return _results(signature_of(node, parts).results)
    if not function.takes_complex:
        _require(node, parts, "biuf", _REAL)
    if function.result is ResultType.RANDOM:
        _require(node, parts, "biu", _WHOLE)
    if function.name == "pow":
        return _power(ex.Power(*node.parameters), parts)
    if function.exponent:
        _require(node, parts[-1:], "biu", "an integer as the last argument")
        if function.name in ("pown", "rootn"):
            _check_small(node, parts[-1])
        parts = parts[:-1]
    own = _OF_CALLS.get(function.result)
    if own is not None:
        return own(node, parts)
    kind = join_all(parts)
    rule = _RESULTS.get(function.result)
    return cast("DType", function.dtype) if rule is None else rule(kind)


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
    return default_dtype(_whole_number(node, parts))


def word_kind(node: Expression, parts: Sequence[Kind]) -> DType:
    """Return the type in which a function of 24-bit integers computes: `integer_kind`, of 32 bits.

    Raises:
        TypeMismatch: if some are no integers, or larger.
    """
    kind = _whole_number(node, parts)
    if isinstance(kind, np.dtype) and kind.itemsize > 4:
        raise TypeMismatch(
            f"'{show_expression(node)}' has operands of type '{kind_name(kind)}'; it is only there "
            "for integers of at most 32 bits",
            remedy="convert them, as in int32(x), or write a product",
        )
    return np.dtype(np.uint32 if letter(kind) == "u" else np.int32)


def _doubled(node: Expression, parts: Sequence[Kind]) -> DType:
    upper, lower = parts
    _require(node, parts, "iu", _WHOLE)
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
    _require(node, parts[-1:], "biu", "an integer or a truth value as the last argument")
    return join_all(parts[:-1])


def _sized(node: Expression, parts: Sequence[Kind]) -> Kind:
    (kind,) = parts
    if kind is int:
        return float
    if letter(kind) != "u" or default_dtype(kind).itemsize == 1:
        raise TypeMismatch(
            f"'{show_expression(node)}' has an operand of type '{kind_name(kind)}'; it is only "
            "there for uint16, uint32 and uint64",
            remedy="convert it, as in nan(uint32(x))",
        )
    return np.dtype(f"f{default_dtype(kind).itemsize}")


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


def _several(_node: Expression, parts: Sequence[Kind]) -> Any:
    return tuple(parts)  # no kind: only reductions and their components meet it


def _reduction(node: Any, parts: Sequence[Any]) -> Any:
    facts = facts_of(node.operation)
    if facts.seconds is None:
        return _result(node, parts[0], facts)
    first, second = parts[0]
    _require(node, [second], facts.operands, _REAL)
    return _result(node, first, facts), BOOL if facts.seconds is Result.TRUTH else second


def _result(node: Any, kind: Kind, facts: Facts) -> Kind:
    """Return the type of the only, or the first, result of a reduction."""
    _require(node, [kind], facts.operands, _REAL)
    dtype = dtype_of(node.operation)
    definition = definition_of(node.operation)
    if definition is not None:
        _check_definition(node, definition, kind)
    if dtype is not None:
        return _as_said(node, kind, dtype, facts)
    if facts.result is Result.TRUTH:
        return BOOL
    if isinstance(kind, np.dtype) and widens(node.operation):
        return _WIDENED.get(letter(kind), kind)
    return kind


def _as_said(node: Any, kind: Kind, dtype: DType, facts: Facts) -> DType:
    """Return the type that a reduction is said to be computed in, if it can be."""
    possible = can_assign(kind, dtype) and dtype.kind in facts.operands
    if facts.result is Result.TRUTH:
        possible = dtype == BOOL
    if not possible:
        raise TypeMismatch(
            f"'{show_expression(node)}' cannot compute in '{dtype.name}' with operands of type "
            f"'{kind_name(kind)}'",
            remedy="leave out the type, or name one of their kind of number",
        )
    return dtype


def _check_definition(node: Any, definition: Definition, kind: Kind) -> None:
    """Check that a user's own operation combines values of this type."""
    dtype = dtype_of(node.operation) or default_dtype(kind)
    made = type_of(definition.combined, dict(zip(definition.arguments, (dtype, kind), strict=True)))
    if not can_assign(made, dtype):
        raise TypeMismatch(
            f"'{show_expression(node)}' is computed in '{kind_name(dtype)}', and makes "
            f"'{kind_name(made)}' of two values",
            remedy=f"say what it is computed in: {node.operation.name}<{kind_name(made)}>(...)",
        )
    if definition.identity_of(dtype) is None:
        raise TypeMismatch(
            f"'{show_expression(node)}' is computed in '{kind_name(dtype)}', for which "
            f"'{node.operation.name}' has no identity",
            remedy="register the reduction with an identity for this type",
        )


def can_assign(value: Kind, target: DType) -> bool:
    """Tell whether a value may be written to a variable: NumPy's rule ``same_kind``.

    Integers may be written to floating-point variables, and to smaller ones; floating-point
    numbers not to integers, nor numbers to truth values.
    """
    if isinstance(value, np.dtype):
        return bool(np.can_cast(value, target, "same_kind"))
    allowed = {int: "iufc", float: "fc", complex: "c"}
    return target.kind in allowed[value]


# The type of the real part of complex numbers.
_PARTS: dict[Kind, DType] = {
    np.dtype(np.complex64): np.dtype(np.float32),
    np.dtype(np.complex128): FLOAT64,
}

# What NumPy's functions give for integers of that many bytes.
_FLOATS: dict[int, DType] = {1: np.dtype(np.float16), 2: np.dtype(np.float32)}

_RESULTS: dict[ResultType, Callable[[Kind], Kind]] = {
    ResultType.FLOATING: _of_function,
    ResultType.KEPT: lambda kind: kind,
    ResultType.NUMBER: _number,
    ResultType.MAGNITUDE: _part,
    ResultType.TRUTH: lambda kind: BOOL,
    ResultType.WHOLE: lambda kind: np.dtype(np.int32),
    ResultType.LONG: lambda kind: INT64,
}

# NumPy's sums and products of small integers are as wide as its default integers.
_WIDENED: dict[str, DType] = {"b": INT64, "i": INT64, "u": UINT64}

_RULES: dict[type, _Rule] = {
    ex.Subscript: _element,
    ex.Component: _component,
    ex.Call: _call,
    ex.Comparison: _comparison,
    ex.If: _choice,
    ex.Power: _power,
    ex.Quotient: _quotient,
    ex.FloorDiv: _floor_quotient,
    ex.Remainder: _floor_quotient,
    ex.LeftShift: _whole_number,
    ex.RightShift: _whole_number,
    ex.BitwiseNot: _complement,
    ex.Reduction: _reduction,
    ex.Several: _several,
    **dict.fromkeys((ex.Sum, ex.Product), _joined),
    **dict.fromkeys((ex.Min, ex.Max), _real),
    **dict.fromkeys((ex.BitwiseAnd, ex.BitwiseOr, ex.BitwiseXor), _whole),
    **dict.fromkeys((ex.LogicalAnd, ex.LogicalOr, ex.LogicalNot), lambda node, parts: BOOL),
}


def reduction_types(reduction: ex.Reduction, kinds: Mapping[str, Kind]) -> tuple[DType, ...]:
    """Return the types in which the results of a reduction are computed; see `type_of`.

    Where one has none of its own, as in ``sum(j, 1)``, it is NumPy's default.
    """
    found: Any = type_of(reduction, kinds)
    kinds_found = cast("tuple[Kind, ...]", found if isinstance(found, tuple) else (found,))
    return tuple([default_dtype(kind) for kind in kinds_found])
