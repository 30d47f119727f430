"""The functions that kernels have, by what they are in Python: one table.

A key is the function itself, so it does not matter by which name a program calls it.  A row is
a function of the tracer, the positional arguments and those by name.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.language.operations import find_operation
from polygen.python.affine import Affine, number
from polygen.python.expressions import Expressions, joined_type
from polygen.python.operators import OPERATORS, Rule, as_float, as_int, operand_tree, types_of
from polygen.python.refused import Refused
from polygen.python.values import (
    BOOL,
    FLOAT64,
    INT64,
    Arrayed,
    Constant,
    Indices,
    Lazy,
    Masked,
    Number,
    Several,
    Value,
    View,
    affine_number,
    constant_number,
    converted_tree,
    index_sum,
    index_times,
    literal,
)

Row = Callable[..., Value]


def _function(name: str) -> Callable[[Sequence[Any], np.dtype], Expression]:
    return lambda trees, _dtype: ex.Call(ex.Variable(name), tuple(trees))


# NumPy's function -> polygen's, of the same operands.
_CALLS = {
    "sqrt": "sqrt", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2",
    "log10": "log10", "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan",
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "sinh": "sinh",
    "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "hypot": "hypot", "cbrt": "cbrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc",
    "rint": "rint", "copysign": "copysign", "nextafter": "nextafter", "fmod": "fmod",
    "isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite", "signbit": "signbit",
    "fmax": "fmax", "fmin": "fmin", "deg2rad": "radians", "rad2deg": "degrees",
    "radians": "radians", "degrees": "degrees", "fabs": "fabs", "ldexp": "ldexp",
}  # fmt: skip

# NumPy's names for operators.
_OPERATORS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "true_divide": "/",
    "floor_divide": "//", "remainder": "%", "mod": "%", "left_shift": "<<", "right_shift": ">>",
    "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "less": "<", "less_equal": "<=",
    "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!=",
}  # fmt: skip


def _absolute(trees: Sequence[Any], dtype: np.dtype) -> Expression:
    if dtype.kind in "ub":
        (same,) = trees
        found: Expression = same
        return found
    return ex.Call(ex.Variable("abs"), tuple(trees))


def _sign(trees: Sequence[Any], dtype: np.dtype) -> Expression:
    (x,) = trees
    if dtype.kind == "f":  # of what is no number, NumPy's is none
        zero = literal(0.0, dtype)
        small = ex.If(ex.Comparison(x, "<", zero), literal(-1.0, dtype), x)
        above = ex.If(ex.Comparison(x, ">", zero), literal(1.0, dtype), small)
        return ex.If(ex.Comparison(x, "==", zero), zero, above)
    return ex.Call(ex.Variable("sign"), tuple(trees))


def _joined(kind: type[Any]) -> Callable[[Sequence[Any], np.dtype], Expression]:
    def made(trees: Sequence[Any], dtype: np.dtype) -> Expression:
        made: Expression = kind(tuple([converted_tree(tree, dtype, BOOL) for tree in trees]))
        return made

    return made


def _inverse(trees: Sequence[Any], dtype: np.dtype) -> Expression:
    one: Any = literal(1, dtype)
    return ex.Quotient(one, trees[0])


def _logical_xor(trees: Sequence[Any], dtype: np.dtype) -> Expression:
    one, other = [converted_tree(tree, dtype, BOOL) for tree in trees]
    return ex.Comparison(one, "!=", other)


_RULES: dict[np.ufunc, Rule] = {
    **{getattr(np, n): Rule(n, getattr(np, n), _function(f)) for n, f in _CALLS.items()},
    np.absolute: Rule("absolute", np.absolute, _absolute),
    np.negative: Rule("negative", np.negative, lambda t, _d: ex.negated(t[0])),
    np.positive: Rule("positive", np.positive, lambda t, _d: t[0]),
    np.square: Rule("square", np.square, lambda t, _d: ex.product_of(t[0], t[0])),
    np.reciprocal: Rule("reciprocal", np.reciprocal, _inverse),
    np.sign: Rule("sign", np.sign, _sign),
    np.maximum: Rule("maximum", np.maximum, lambda t, _d: ex.Max(tuple(t))),
    np.minimum: Rule("minimum", np.minimum, lambda t, _d: ex.Min(tuple(t))),
    np.logical_and: Rule("logical_and", np.logical_and, _joined(ex.BitwiseAnd)),
    np.logical_or: Rule("logical_or", np.logical_or, _joined(ex.BitwiseOr)),
    np.logical_xor: Rule("logical_xor", np.logical_xor, _logical_xor),
    np.logical_not: Rule(
        "logical_not", np.logical_not, lambda t, d: ex.LogicalNot(converted_tree(t[0], d, BOOL))
    ),
    np.conjugate: Rule(
        "conjugate",
        np.conjugate,
        lambda t, d: ex.Call(ex.Variable("conj"), tuple(t)) if d.kind == "c" else t[0],
    ),
    np.invert: Rule(
        "invert",
        np.invert,
        lambda t, d: ex.LogicalNot(t[0]) if d.kind == "b" else ex.BitwiseNot(t[0]),
    ),
}


def array_of(trace: Expressions, value: Value) -> Number | Arrayed:
    """Return a value that functions of arrays take.

    Raises:
        Refused: if it is none.
    """
    if isinstance(value, Number | Lazy | View):
        return value
    if isinstance(value, Several):
        return _stacked(trace, value)
    if isinstance(value, Masked):
        raise Refused("data decides how many elements there are", "use a sum, or np.where")
    raise Refused("a function of arrays is given something else")


def _stacked(trace: Expressions, value: Several) -> Arrayed:
    parts = [array_of(trace, part) for part in value.parts]
    if not parts:
        raise Refused("an array is made of an empty list")
    dtype = _common_type(parts)
    shape = trace.broadcast([part.shape for part in parts])
    view = trace.made(dtype, (number(len(parts)), *shape), "array", zeros=False)
    for at, part in enumerate(parts):
        trace.assign(_layer(view, at), part)
    return view


def _layer(view: View, at: int) -> View:
    """Return what has one subscript along the first axis."""
    return View(view.base, view.shape[1:], lambda index: (number(at), *index), recipe=None)


def _common_type(parts: Sequence[Number | Arrayed]) -> np.dtype:
    weak = {"b": np.bool_(0), "i": 0, "f": 0.0, "c": 0j}
    asked: list[Any] = [weak[p.dtype.kind] if p.weak else p.dtype for p in parts]
    return np.result_type(*asked)


def _ufunc(rule: Rule) -> Row:
    def row(trace: Expressions, *operands: Value, out: Value | None = None, **named: Any) -> Value:
        if named:
            raise Refused(f"np.{rule.name} has the argument '{next(iter(named))}'")
        count = rule.ufunc.nin
        if len(operands) == count + 1:
            *operands_list, out = operands
        else:
            operands_list = list(operands)
        if len(operands_list) != count:
            raise Refused(f"np.{rule.name} has {count} operands")
        if any(isinstance(one, Masked) for one in operands_list):
            return _masked_call(trace, row, operands_list)
        given = [_strong(array_of(trace, one)) for one in operands_list]
        found = _of_complex(trace, rule, given) or trace.elementwise(rule, given)
        return found if out is None else _into(trace, out, found)

    return row


def _masked_call(trace: Expressions, row: Row, operands: Sequence[Value]) -> Value:
    masks = [one.mask for one in operands if isinstance(one, Masked)]
    if any(mask is not masks[0] for mask in masks):
        raise Refused("two masks choose different elements", "use one mask, with one name")
    found = row(trace, *[one.data if isinstance(one, Masked) else one for one in operands])
    assert isinstance(found, Lazy | View)
    return Masked(found, masks[0])


def _into(trace: Expressions, out: Value, found: Value) -> Value:
    if not isinstance(out, View) or not isinstance(found, Number | Lazy | View):
        raise Refused("'out' is no array")
    trace.assign(out, found)
    return out


def _strong(value: Number | Arrayed) -> Number | Arrayed:
    """Return an operand of a function of NumPy's."""
    return value


def _of_complex(trace: Expressions, rule: Rule, given: Sequence[Number | Arrayed]) -> Value | None:
    """Return what has a type of its own for complex numbers."""
    if rule.ufunc is np.absolute and given[0].dtype.kind == "c":
        return trace.elementwise(Rule("absolute", np.absolute, _function("abs")), given)
    return None


# --- reductions


def _reduction(operation: str, ufunc: Any) -> Row:
    def row(
        trace: Expressions,
        value: Value,
        axis: Value | None = None,
        dtype: Value | None = None,
        out: Value | None = None,
        keepdims: Value | None = None,
    ) -> Value:
        if isinstance(value, Masked):
            return _masked_reduction(trace, operation, value, axis)
        given = array_of(trace, value)
        if isinstance(given, Number):
            return given
        result = _reduced_type(operation, given.dtype, dtype)
        found = reduced(trace, operation, given, result, axis, keeps=_flag(keepdims))
        return found if out is None else _into(trace, out, found)

    del ufunc
    return row


def _flag(value: Value | None) -> bool:
    if value is None or value == Constant(None):
        return False
    if isinstance(value, Number) and value.is_constant:
        return bool(value.value)
    raise Refused("an option is no constant")


def _reduced_type(operation: str, dtype: np.dtype, asked: Value | None) -> np.dtype:
    if asked is not None and asked != Constant(None):
        return dtype_of(asked)
    if operation in ("any", "all"):
        return BOOL
    if operation in ("sum", "product") and dtype.kind in "bi" and dtype.itemsize < 8:
        return INT64
    if operation in ("sum", "product") and dtype.kind == "u" and dtype.itemsize < 8:
        return np.dtype("uint64")
    return dtype


def reduced(
    trace: Expressions,
    operation: str,
    value: Arrayed,
    dtype: np.dtype,
    axis: Value | None,
    *,
    keeps: bool,
) -> Number | Lazy:
    """Return a reduction along axes."""
    value_ = trace.shared(value)
    assert not isinstance(value_, Number)
    value = value_
    axes = axes_of(axis, len(value.shape))
    if operation in ("max", "min"):
        for at in axes:
            if trace.facts.is_never_negative(value.shape[at].minus(1)):
                continue
            if trace.facts.holds(value.shape[at].minus(1)) is not True:
                raise Refused(f"a {operation} of nothing is an error in NumPy")
    kept = [e for at, e in enumerate(value.shape) if at not in axes]
    shape = tuple(
        [number(1) if at in axes else e for at, e in enumerate(value.shape)] if keeps else kept
    )
    computed = np.dtype("float64") if _adds_floats(operation, dtype) else dtype

    def element(index: Indices) -> Expression:
        waiting = [i for at, i in enumerate(index) if not keeps or at not in axes]
        loops = [trace.reduced(value.shape[at]) for at in axes]
        places = [
            loops[axes.index(at)] if at in axes else waiting.pop(0)
            for at in range(len(value.shape))
        ]
        tree = converted_tree(value.element(tuple(places)), value.dtype, computed)
        names = tuple([next(iter(loop.symbols())) for loop in loops])
        if not names:
            return converted_tree(tree, computed, dtype)
        made = _reduction_tree(operation, names, _depending(tree, names))
        return converted_tree(made, computed, dtype)

    made = Lazy(dtype, shape, element, is_costly=True)
    return made if shape else trace.frozen(Number(dtype, tree=element(())), operation)


def _depending(tree: Expression, names: tuple[str, ...]) -> Expression:
    """Return what is reduced so that it mentions all loops, also where it is the same in all."""
    read = walk.free_variables(tree)
    for name in names:
        if name not in read:
            tree = ex.If(ex.Comparison(ex.Variable(name), ">=", 0), tree, tree)
    return tree


def _adds_floats(operation: str, dtype: np.dtype) -> bool:
    """Tell whether a sum is computed in double precision: NumPy adds pairwise."""
    return operation == "sum" and dtype.kind == "f" and dtype.itemsize < 8


def _reduction_tree(operation: str, names: tuple[str, ...], tree: Expression) -> Expression:
    known = {"any": "any", "all": "all"}.get(operation, operation)
    found = find_operation(known)
    assert found is not None
    return ex.Reduction(found, names, tree)


def axes_of(axis: Value | None, rank: int) -> list[int]:
    """Return the axes that an argument names, from 0; all of them for None."""
    if axis is None or axis == Constant(None):
        return list(range(rank))
    parts = axis.parts if isinstance(axis, Several) else (axis,)
    found: list[int] = []
    for part in parts:
        if not (isinstance(part, Number) and part.is_constant and part.dtype.kind == "i"):
            raise Refused("an axis is no constant")
        at = int(part.value)
        if not -rank <= at < rank:
            raise Refused(f"there is no axis {at}")
        found.append(at % rank)
    return found


def _masked_reduction(
    trace: Expressions, operation: str, value: Masked, axis: Value | None
) -> Value:
    if axis is not None and axis != Constant(None):
        raise Refused("elements that a mask chooses have one axis")
    dtype = _reduced_type(operation, value.dtype, None)
    if operation in ("sum", "product"):
        return reduced(
            trace, operation, _chosen(trace, value, dtype, operation), dtype, None, keeps=False
        )
    raise Refused(f"the {operation} of elements that a mask chooses", "use np.where")


def _chosen(trace: Expressions, value: Masked, dtype: np.dtype, operation: str) -> Lazy:
    data, mask = value.data, value.mask
    identity = literal(1 if operation == "product" else 0, dtype)

    def element(index: Indices) -> Expression:
        own = converted_tree(data.element(index), data.dtype, dtype)
        return ex.If(mask.element(index), own, identity)

    del trace
    return Lazy(dtype, data.shape, element)


def _count(trace: Expressions, value: Arrayed, axes: Sequence[int]) -> Number:
    total = affine_number(number(1))
    for at in axes:
        total = cast("Number", trace.operated("*", total, affine_number(value.shape[at])))
    return total


def _mean(
    trace: Expressions,
    value: Value,
    axis: Value | None = None,
    dtype: Value | None = None,
    keepdims: Value | None = None,
) -> Value:
    if isinstance(value, Masked):
        return _masked_mean(trace, value)
    given = array_of(trace, value)
    assert not isinstance(given, Number)
    asked = None if dtype is None else dtype_of(dtype)
    result = asked or (FLOAT64 if given.dtype.kind in "biu" else given.dtype)
    total = reduced(trace, "sum", given, result, axis, keeps=_flag(keepdims))
    count = _count(trace, given, axes_of(axis, len(given.shape)))
    return trace.operated("/", total, count)


def _masked_mean(trace: Expressions, value: Masked) -> Value:
    dtype = FLOAT64 if value.dtype.kind in "biu" else value.dtype
    total = reduced(trace, "sum", _chosen(trace, value, dtype, "sum"), dtype, None, keeps=False)
    ones = Lazy(
        INT64,
        value.data.shape,
        lambda index: ex.If(value.mask.element(index), literal(1, INT64), literal(0, INT64)),
    )
    count = reduced(trace, "sum", ones, INT64, None, keeps=False)
    assert isinstance(count, Number)
    return trace.operated(
        "/", total, Number(dtype, False, converted_tree(count.element(), INT64, dtype))
    )


# --- products


def matrix_product(trace: Expressions, left: Value, right: Value) -> Value:
    """Return ``left @ right``: of matrices, or of a matrix and a vector, or of two vectors."""
    one, other = array_of(trace, left), array_of(trace, right)
    if isinstance(one, Number) or isinstance(other, Number):
        raise Refused("'@' is given a scalar")
    if len(one.shape) > 2 or len(other.shape) > 2:
        raise Refused("'@' of stacks of matrices", "write the loop over the stack")
    _given, dtype = types_of(OPERATORS["*"], [one, other])
    first, second = trace.shared(one), trace.shared(other)
    first, second = _held(trace, first), _held(trace, second)
    inner, along = first.shape[-1], second.shape[-2 if len(second.shape) == 2 else 0]
    if not trace.extents_agree(inner, along):
        raise Refused("matrices do not go together")
    shape = (*first.shape[:-1], *second.shape[1:]) if len(second.shape) == 2 else first.shape[:-1]
    rows = len(first.shape) - 1
    computed = FLOAT64 if _adds_floats("sum", dtype) else dtype

    def element(index: Indices) -> Expression:
        loop = trace.reduced(inner, "k")
        row = (*index[:rows], loop)
        column = (loop, *index[rows:])
        parts = [
            converted_tree(converted_tree(v.element(i), v.dtype, dtype), dtype, computed)
            for v, i in ((first, row), (second, column))
        ]
        name = next(iter(loop.symbols()))
        term = _depending(_times(parts, computed), (name,))
        return converted_tree(_reduction_tree("sum", (name,), term), computed, dtype)

    made = Lazy(dtype, shape, element, is_costly=True)
    if len(shape) == 2:
        return trace.stored(made, "product")  # schedules know products by themselves
    return made if shape else trace.frozen(Number(dtype, tree=element(())), "dot")


def _times(parts: list[Expression], dtype: np.dtype) -> Expression:
    if dtype.kind == "b":
        return ex.LogicalAnd(tuple(parts))
    return ex.product_of(*parts)


def _held(trace: Expressions, value: Any) -> Arrayed:
    """Return an operand of a product, which is read many times: in memory if it is computed."""
    found: Arrayed = (
        trace.stored(value) if isinstance(value, Lazy) and len(value.shape) > 0 else value
    )
    return found


def _dot(trace: Expressions, left: Value, right: Value, out: Value | None = None) -> Value:
    one, other = array_of(trace, left), array_of(trace, right)
    if isinstance(one, Number) or isinstance(other, Number):
        found = trace.operated("*", one, other)
    else:
        found = matrix_product(trace, one, other)
    return found if out is None else _into(trace, out, found)


def _outer_of(rule: Rule) -> Row:
    def row(trace: Expressions, left: Value, right: Value) -> Value:
        one, other = array_of(trace, left), array_of(trace, right)
        rank = len(other.shape)
        shape = (*one.shape, *[number(1)] * rank)
        own = len(one.shape)
        spread = Lazy(one.dtype, shape, lambda index: one.element(index[:own]))
        return trace.elementwise(rule, [spread, other])

    return row


def _outer(trace: Expressions, left: Value, right: Value) -> Value:
    parts = [_flat(array_of(trace, v)) for v in (left, right)]
    return _outer_of(OPERATORS["*"])(trace, *parts)


def _flat(value: Number | Arrayed) -> Number | Arrayed:
    if len(value.shape) > 1:
        raise Refused("np.outer of arrays with several axes", "flatten them before")
    return value


# --- new arrays


def dtype_of(value: Value) -> np.dtype:
    """Return the type that an argument names.

    Raises:
        Refused: if it is none that kernels have.
    """
    if isinstance(value, Constant):
        try:
            found: np.dtype = np.dtype(value.value)
        except TypeError:
            raise Refused(f"{value.value!r} is no type") from None
        if found.kind in "biufc" and found.itemsize <= 16 and found.char not in "gG":
            return found
    raise Refused("a type is none that kernels have")


def _shape(trace: Expressions, value: Value) -> tuple[Affine, ...]:
    parts = value.parts if isinstance(value, Several) else (value,)
    found: list[Affine] = []
    for part in parts:
        if not isinstance(part, Number) or part.dtype.kind not in "iu":
            raise Refused("a shape has something that is no integer")
        form = part.affine if part.affine is not None else trace.frozen(part).affine
        assert form is not None
        found.append(form)
    return tuple(found)


def _filled(value: float | None) -> Row:
    def row(
        trace: Expressions, shape: Value, dtype: Value | None = None, order: Value | None = None
    ) -> Value:
        del order
        result = FLOAT64 if dtype is None or dtype == Constant(None) else dtype_of(dtype)
        return _new(trace, _shape(trace, shape), result, value)

    return row


def _new(
    trace: Expressions, shape: tuple[Affine, ...], dtype: np.dtype, value: float | None
) -> Value:
    view = trace.allocated(dtype, shape, "array", zeros=value == 0)
    if value is not None and (value != 0 or view.base.role == "temporary"):
        trace.assign(view, constant_number(value))
    return view


def _full(trace: Expressions, shape: Value, value: Value, dtype: Value | None = None) -> Value:
    given = array_of(trace, value)
    result = given.dtype if dtype is None or dtype == Constant(None) else dtype_of(dtype)
    view = trace.allocated(result, _shape(trace, shape), "array", zeros=False)
    trace.assign(view, given)
    return view


def _like(value: float | None) -> Row:
    def row(trace: Expressions, given: Value, dtype: Value | None = None) -> Value:
        like = array_of(trace, given)
        result = like.dtype if dtype is None or dtype == Constant(None) else dtype_of(dtype)
        if isinstance(like, Number):
            return constant_number(result.type(value or 0))
        return _new(trace, like.shape, result, value)

    return row


def _full_like(trace: Expressions, given: Value, value: Value, dtype: Value | None = None) -> Value:
    like = array_of(trace, given)
    result = like.dtype if dtype is None or dtype == Constant(None) else dtype_of(dtype)
    view = trace.allocated(result, like.shape, "array", zeros=False)
    trace.assign(view, array_of(trace, value))
    return view


def _arange(trace: Expressions, *ends: Value, dtype: Value | None = None) -> Value:
    numbers = [one for one in ends if isinstance(one, Number)]
    if len(numbers) != len(ends) or any(one.affine is None for one in numbers):
        raise Refused("np.arange of what are no integers of sizes", "use np.linspace")
    forms = [one.affine for one in numbers if one.affine is not None]
    lower = forms[0] if len(forms) > 1 else number(0)
    upper = forms[1] if len(forms) > 1 else forms[0]
    step = forms[2] if len(forms) > 2 else number(1)
    if not step.is_constant or step.constant == 0:
        raise Refused("the step of np.arange is no constant")
    distance = upper.minus(lower) if step.constant > 0 else lower.minus(upper)
    size = abs(step.constant)
    count = distance.plus(size - 1).floor(size)
    if trace.facts.holds(count) is False:
        count = number(0)
    result = INT64 if dtype is None else dtype_of(dtype)

    def element(index: Indices) -> Expression:
        at = index[0]
        if isinstance(at, Affine):
            tree = at.times(step.constant).plus(lower).tree("int64")
        else:
            tree = ex.sum_of(ex.product_of(step.constant, at), lower.tree("int64"))
        return converted_tree(tree, INT64, result)

    return Lazy(result, (count,), element)


def _linspace(
    trace: Expressions, start: Value, stop: Value, num: Value | None = None, **named: Any
) -> Value:
    if named:
        raise Refused(f"np.linspace has the argument '{next(iter(named))}'")
    count = affine_number(number(50)) if num is None else num
    assert isinstance(count, Number)
    if count.affine is None:
        raise Refused("np.linspace of a number of elements that data decides")
    one, other = array_of(trace, start), array_of(trace, stop)
    if not (isinstance(one, Number) and isinstance(other, Number)):
        raise Refused("np.linspace between arrays")
    if not trace.facts.holds(count.affine.minus(2)):
        raise Refused("np.linspace of fewer than two elements")
    low, high = (
        trace.frozen(Number(FLOAT64, tree=operand_tree(v, v.element(), FLOAT64)))
        for v in (one, other)
    )
    last = count.affine.minus(1)
    distance = trace.operated("-", high, low)
    step = trace.operated(
        "/", distance, Number(FLOAT64, tree=ex.converted("float64", last.tree("int64")))
    )
    assert isinstance(step, Number)
    step = trace.frozen(step)

    def element(index: Indices) -> Expression:
        (at,) = index
        tree = at.tree("int64") if isinstance(at, Affine) else at
        place = ex.converted("float64", tree)
        inner = ex.sum_of(ex.product_of(place, step.element()), low.element())
        is_last = ex.Comparison(at.tree() if isinstance(at, Affine) else at, "==", last.tree())
        return ex.If(is_last, high.element(), inner)

    return Lazy(FLOAT64, (count.affine,), element)


def _eye(
    trace: Expressions, rows: Value, columns: Value | None = None, dtype: Value | None = None
) -> Value:
    (n,) = _shape(trace, rows)
    m = n if columns is None or columns == Constant(None) else _shape(trace, columns)[0]
    result = FLOAT64 if dtype is None else dtype_of(dtype)
    one, zero = literal(1, result), literal(0, result)

    def element(index: Indices) -> Expression:
        i, j = [at.tree() if isinstance(at, Affine) else at for at in index]
        return ex.If(ex.Comparison(i, "==", j), one, zero)

    return Lazy(result, (n, m), element)


def _triangle(sign: str) -> Row:
    def row(trace: Expressions, value: Value, k: Value | None = None) -> Value:
        given = array_of(trace, value)
        assert not isinstance(given, Number)
        if len(given.shape) != 2:
            raise Refused("a triangle of what is no matrix")
        offset = 0 if k is None else _constant_int(k)
        zero = literal(0, given.dtype)

        def element(index: Indices) -> Expression:
            i, j = [at.tree() if isinstance(at, Affine) else at for at in index]
            shifted = ex.sum_of(i, offset) if offset else i
            return ex.If(ex.Comparison(j, sign, shifted), given.element(index), zero)

        return Lazy(given.dtype, given.shape, element, isinstance(given, Lazy) and given.is_costly)

    return row


def _constant_int(value: Value) -> int:
    if isinstance(value, Number) and value.is_constant and value.dtype.kind == "i":
        return int(value.value)
    raise Refused("an option is no constant integer")


# --- choices


def _where(trace: Expressions, condition: Value, one: Value, other: Value) -> Value:
    mask, left, right = (array_of(trace, v) for v in (condition, one, other))
    dtype = _common_type([left, right])
    shape = trace.broadcast([v.shape for v in (mask, left, right)])
    mask, left, right = (trace.shared(v) for v in (mask, left, right))

    def element(index: Indices) -> Expression:
        rank = len(shape)
        asked = converted_tree(trace.element_of(mask, rank, index), mask.dtype, BOOL)
        parts = [operand_tree(v, trace.element_of(v, rank, index), dtype) for v in (left, right)]
        return ex.If(asked, *parts)

    return Lazy(dtype, shape, element) if shape else Number(dtype, tree=element(()))


def _clip(
    trace: Expressions, value: Value, low: Value | None = None, high: Value | None = None,
    out: Value | None = None,
) -> Value:  # fmt: skip
    found = value
    for bound, function in ((low, np.maximum), (high, np.minimum)):
        if bound is not None and bound != Constant(None):
            found = trace.called(function, [found, bound])
    return found if out is None else _into(trace, out, found)


# --- shapes of arrays


def rearranged(
    value: Arrayed, shape: tuple[Affine, ...], place: Callable[[Indices], Indices], step: Any
) -> Arrayed:
    """Return a value with other axes."""
    if isinstance(value, View):
        inner = value.place
        recipe = None if value.recipe is None or step is None else (*value.recipe, step)
        return View(
            value.base,
            shape,
            lambda i: inner(place(i)),
            recipe=recipe,
            is_gather=value.is_gather,
            part=value.part,
        )
    return Lazy(value.dtype, shape, lambda i: value.element(place(i)), value.is_costly)


def _transpose(trace: Expressions, value: Value, axes: Value | None = None, *more: Value) -> Value:
    given = array_of(trace, value)
    if isinstance(given, Number):
        return given
    rank = len(given.shape)
    if more and axes is not None:
        axes = Several((axes, *more))
    order = list(range(rank))[::-1] if axes is None else axes_of(axes, rank)
    shape = tuple([given.shape[at] for at in order])
    back = [order.index(at) for at in range(rank)]
    return rearranged(
        given, shape, lambda i: tuple([i[at] for at in back]), ("transpose", tuple(order))
    )


def _swapaxes(trace: Expressions, value: Value, one: Value, other: Value) -> Value:
    given = array_of(trace, value)
    order = list(range(len(given.shape)))
    (a,), (b,) = (axes_of(v, len(order)) for v in (one, other))
    order[a], order[b] = order[b], order[a]
    return _transpose(trace, given, Several(tuple(map(constant_number, order))))


def _flip(trace: Expressions, value: Value, axis: Value | None = None) -> Value:
    given = array_of(trace, value)
    assert not isinstance(given, Number)
    axes = axes_of(axis, len(given.shape))

    def place(index: Indices) -> Indices:
        return tuple(
            [
                index_sum(index_times(at, -1), given.shape[k].minus(1)) if k in axes else at
                for k, at in enumerate(index)
            ]
        )

    return rearranged(given, given.shape, place, ("flip", tuple(axes)))


def _expand_dims(trace: Expressions, value: Value, axis: Value) -> Value:
    given = array_of(trace, value)
    assert not isinstance(given, Number)
    (at,) = axes_of(axis, len(given.shape) + 1)
    shape = (*given.shape[:at], number(1), *given.shape[at:])
    return rearranged(given, shape, lambda i: (*i[:at], *i[at + 1 :]), ("expand", at))


def _copy(trace: Expressions, value: Value, **_named: Any) -> Value:
    given = array_of(trace, value)
    if isinstance(given, Number):
        return given
    return trace.copied(given)


def _as_array(trace: Expressions, value: Value, dtype: Value | None = None, **_named: Any) -> Value:
    given = array_of(trace, value)
    if dtype is None or dtype == Constant(None) or dtype_of(dtype) == given.dtype:
        return given
    return converted(given, dtype_of(dtype))


def _array(trace: Expressions, value: Value, dtype: Value | None = None, **_named: Any) -> Value:
    given = _as_array(trace, value, dtype)
    return trace.copied(given) if isinstance(given, View) else given


def converted(value: Number | Arrayed, dtype: np.dtype) -> Number | Lazy:
    """Return a value of another type: ``astype``."""
    if isinstance(value, Number):
        if value.is_constant:
            return constant_number(np.asarray(value.value).astype(dtype)[()])
        return Number(dtype, tree=converted_tree(value.element(), value.dtype, dtype))
    own = value
    return Lazy(
        dtype,
        value.shape,
        lambda i: converted_tree(own.element(i), own.dtype, dtype),
        isinstance(value, Lazy) and value.is_costly,
    )


def _astype(trace: Expressions, value: Value, dtype: Value, **_named: Any) -> Value:
    return converted(array_of(trace, value), dtype_of(dtype))


def _real(trace: Expressions, value: Value) -> Value:
    return _part_of_complex(trace, value, "real")


def _imag(trace: Expressions, value: Value) -> Value:
    return _part_of_complex(trace, value, "imag")


def _part_of_complex(trace: Expressions, value: Value, name: str) -> Value:
    given = array_of(trace, value)
    if given.dtype.kind != "c":
        if name == "real":
            return given
        raise Refused("the imaginary part of a real number")
    dtype = np.dtype("float32" if given.dtype.itemsize == 8 else "float64")
    call = ex.Variable(name)
    if isinstance(given, Number):
        if given.is_constant:
            return constant_number(getattr(given.value, name))
        return Number(dtype, given.weak, ex.Call(call, (given.element(),)))
    own = given
    if isinstance(own, View):
        recipe = None if own.recipe is None else (*own.recipe, ("attribute", name))
        return replace(own, part=name, recipe=recipe, is_whole=False)
    return Lazy(dtype, given.shape, lambda i: ex.Call(call, (own.element(i),)))


# --- Python's own


def _len(_trace: Expressions, value: Value) -> Value:
    if isinstance(value, Several):
        return constant_number(len(value.parts))
    if isinstance(value, Lazy | View) and value.shape:
        return affine_number(value.shape[0])
    raise Refused("the length of something that is no array")


def _int(trace: Expressions, value: Value) -> Value:
    del trace
    if isinstance(value, Number) and value.dtype.kind != "c":
        return as_int(value)
    if isinstance(value, Constant):
        return constant_number(int(value.value))
    raise Refused("int() of something that is no number")


def _float(trace: Expressions, value: Value) -> Value:
    del trace
    if isinstance(value, Number) and value.dtype.kind != "c":
        return as_float(value)
    if isinstance(value, Constant):
        return constant_number(float(value.value))
    raise Refused("float() of something that is no number")


def _bool(trace: Expressions, value: Value) -> Value:
    return trace.truth(value)


def _extreme(sign: str) -> Row:
    def row(trace: Expressions, *values: Value) -> Value:
        if len(values) == 1 and isinstance(values[0], Several):
            values = values[0].parts
        numbers = [v for v in values if isinstance(v, Number)]
        if len(numbers) < len(values) or len(values) < 2:
            raise Refused("min() or max() of something that is no number", "use np.min or np.max")
        best = numbers[0]
        for other in numbers[1:]:
            best = _better(trace, sign, best, other)
        return best

    return row


def _better(trace: Expressions, sign: str, best: Number, other: Number) -> Number:
    if best.affine is not None and other.affine is not None:
        ahead = best.affine.minus(other.affine).times(1 if sign == ">" else -1)
        if trace.facts.is_never_negative(ahead):
            return best
        if trace.facts.is_never_negative(ahead.times(-1)):
            return other
    is_better = trace.truth(trace.operated(sign, other, best))
    if is_better.is_constant:
        return other if is_better.value else best
    return trace.chosen(is_better, other, best)


def _check_domain(trace: Expressions, ufunc: np.ufunc, value: Number) -> None:
    """Let the call raise what functions of `math` raise, where NumPy's give no number."""
    if value.is_constant:
        return
    tree: Any = value.element()
    if ufunc is np.sqrt:
        trace.fault(ex.Comparison(tree, "<", 0.0), ValueError)
    elif ufunc in (np.log, np.log2, np.log10):
        trace.fault(ex.Comparison(tree, "<=", 0.0), ValueError)
    elif ufunc is np.log1p:
        trace.fault(ex.Comparison(tree, "<=", -1.0), ValueError)
    elif ufunc is np.exp:
        too_large = ex.Comparison(tree, ">", _LARGEST_OF_EXP)
        is_finite = ex.Call(ex.Variable("isfinite"), (tree,))
        trace.fault(ex.LogicalAnd((too_large, is_finite)), OverflowError)


def _python_function(ufunc: np.ufunc, rule: Rule | None = None) -> Row:
    """Return a function of `math`: of numbers, to a float of Python's."""

    def row(trace: Expressions, *operands: Value) -> Value:
        numbers = [v for v in operands if isinstance(v, Number)]
        if len(numbers) < len(operands):
            raise Refused("a function of 'math' is given an array", "use NumPy's")
        given = [as_float(one) for one in numbers]
        if rule is None:
            _check_domain(trace, ufunc, given[0])
        found = trace.elementwise(rule or _RULES[ufunc], given)
        assert isinstance(found, Number)
        if found.is_constant:
            return constant_number(np.asarray(found.value).item())
        return Number(found.dtype, True, found.element())

    return row


def _rounded(ufunc: np.ufunc) -> Row:
    def row(trace: Expressions, value: Value) -> Value:
        if isinstance(value, Number) and value.affine is not None:
            return value
        found = _python_function(ufunc)(trace, value)
        assert isinstance(found, Number)
        return as_int(found)

    return row


def _abs(trace: Expressions, value: Value) -> Value:
    if isinstance(value, Number) and value.affine is not None:
        if trace.facts.is_never_negative(value.affine):
            return value
        if trace.facts.is_always_negative(value.affine):
            return affine_number(value.affine.times(-1))
    found = trace.called(np.absolute, [value])
    if isinstance(found, Number) and isinstance(value, Number) and value.weak:
        if found.is_constant:
            return constant_number(np.asarray(found.value).item())
        return Number(found.dtype, True, found.element())
    return found


def _math(name: str) -> tuple[Any, Row]:
    given = {"fabs": "fabs", "pow": "power", "asin": "arcsin", "acos": "arccos", "atan": "arctan",
             "atan2": "arctan2", "asinh": "arcsinh", "acosh": "arccosh",
             "atanh": "arctanh"}.get(name, name)  # fmt: skip
    return getattr(math, name), _python_function(getattr(np, given))


def _typed_call(dtype: type[np.generic]) -> Row:
    def row(trace: Expressions, value: Value) -> Value:
        return converted(array_of(trace, value), np.dtype(dtype))

    return row


_LARGEST_OF_EXP = 709.782712893384  # what exp() of double precision is of
_SPELLED = {"erf": "erf", "erfc": "erfc", "gamma": "tgamma", "lgamma": "lgamma"}


def _power(trace: Expressions, one: Value, other: Value) -> Value:
    return trace.operated("**", one, other)


def _dtype(_trace: Expressions, value: Any) -> Value:
    return Constant(dtype_of(value))


TABLE: dict[Any, Row] = {
    **{ufunc: _ufunc(rule) for ufunc, rule in _RULES.items()},
    **{
        getattr(np, name): _ufunc(Rule(name, OPERATORS[s].ufunc, OPERATORS[s].tree))
        for name, s in _OPERATORS.items()
    },
    np.power: _power,
    np.dtype: _dtype,
    np.sum: _reduction("sum", np.add),
    np.prod: _reduction("product", np.multiply),
    np.max: _reduction("max", np.maximum),
    np.min: _reduction("min", np.minimum),
    np.any: _reduction("any", np.logical_or),
    np.all: _reduction("all", np.logical_and),
    np.mean: _mean,
    np.matmul: matrix_product,
    np.dot: _dot,
    np.outer: _outer,
    np.add.outer: _outer_of(OPERATORS["+"]),
    np.multiply.outer: _outer_of(OPERATORS["*"]),
    np.subtract.outer: _outer_of(OPERATORS["-"]),
    np.zeros: _filled(0),
    np.empty: _filled(None),
    np.ones: _filled(1),
    np.full: _full,
    np.zeros_like: _like(0),
    np.empty_like: _like(None),
    np.ones_like: _like(1),
    np.full_like: _full_like,
    np.arange: _arange,
    np.linspace: _linspace,
    np.eye: _eye,
    np.identity: _eye,
    np.triu: _triangle(">="),
    np.tril: _triangle("<="),
    np.where: _where,
    np.clip: _clip,
    np.transpose: _transpose,
    np.swapaxes: _swapaxes,
    np.flip: _flip,
    np.expand_dims: _expand_dims,
    np.copy: _copy,
    np.array: _array,
    np.asarray: _as_array,
    np.ascontiguousarray: _as_array,
    np.real: _real,
    np.imag: _imag,
    builtins.len: _len,
    builtins.int: _int,
    builtins.float: _float,
    builtins.bool: _bool,
    builtins.abs: _abs,
    builtins.max: _extreme(">"),
    builtins.min: _extreme("<"),
    math.floor: _rounded(np.floor),
    math.ceil: _rounded(np.ceil),
    math.trunc: _rounded(np.trunc),
    **dict(
        map(
            _math,
            (
                "sin", "cos", "tan", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "exp",
                "expm1", "fabs", "hypot", "copysign", "cbrt", "isnan", "isinf", "isfinite",
                "degrees", "radians", "sqrt", "log", "log2", "log10", "log1p",
            ),
        )
    ),
    **{
        getattr(math, name): _python_function(np.exp, Rule(name, np.exp, _function(own)))
        for name, own in _SPELLED.items()
    },
    **{
        kind: _typed_call(kind)
        for kind in (
            np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32,
            np.uint64, np.float16, np.float32, np.float64, np.complex64, np.complex128,
        )
    },
}  # fmt: skip

# Methods of arrays that functions of NumPy's are.
METHODS: dict[str, Any] = {
    "sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "mean": np.mean, "any": np.any,
    "all": np.all, "dot": np.dot, "copy": np.copy, "transpose": np.transpose, "clip": np.clip,
    "swapaxes": np.swapaxes, "conj": np.conjugate, "conjugate": np.conjugate,
}  # fmt: skip
OWN_METHODS: dict[str, Row] = {"astype": _astype}
__all__ = [
    "METHODS",
    "OWN_METHODS",
    "TABLE",
    "array_of",
    "dtype_of",
    "joined_type",
    "matrix_product",
]
