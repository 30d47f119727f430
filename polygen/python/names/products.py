"""Sums of products by their indices: `einsum`, `tensordot`, `inner`, and products of stacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.language.operations import find_operation
from polygen.python.affine import Affine, number
from polygen.python.expressions import Expressions
from polygen.python.names.arguments import array_of, axes_of, constant_int
from polygen.python.names.basic_table import TABLE
from polygen.python.names.matrix_products import added_as
from polygen.python.names.matrix_products import matrix_product as _product_of_matrices
from polygen.python.refused import Refused
from polygen.python.values import (
    Arrayed,
    Constant,
    Indices,
    Lazy,
    Number,
    Several,
    Value,
    constant_number,
    converted_tree,
)

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def einsum(trace: Expressions, subscripts: Value, *operands: Value) -> Value:
    """Return ``np.einsum`` of a text: ``"ij,jk->ik"``."""
    if not isinstance(subscripts, Constant) or not isinstance(subscripts.value, str):
        raise Refused("np.einsum without a text of subscripts")
    text = subscripts.value.replace(" ", "")
    if "." in text:
        raise Refused("np.einsum with '...'", "write out all subscripts")
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    if not arrow:
        letters = sorted(set(inputs) - {","})
        output = "".join(letter for letter in letters if inputs.count(letter) == 1)
    if len(terms) == len(operands) == 1 and set(terms[0]) == set(output):
        return _permuted(trace, operands[0], terms[0], output)
    return product_of_indices(trace, terms, output, operands)


def _permuted(trace: Expressions, operand: Value, term: str, output: str) -> Value:
    """Return axes in another order: a view, as in NumPy."""
    if len(term) != len(output):
        raise Refused("np.einsum of a diagonal, which is a view", "write np.diag(a)")
    order = [constant_number(term.index(letter)) for letter in output]
    return TABLE[np.transpose](trace, _array(trace, operand), Several(tuple(order)))


def product_of_indices(
    trace: Expressions, terms: Sequence[str], output: str, operands: Sequence[Value]
) -> Value:
    """Return a sum of products: operands have an index for each letter, as the result has."""
    arrays = [_array(trace, value) for value in operands]
    if [len(array.shape) for array in arrays] != [len(term) for term in terms]:
        raise Refused("np.einsum has other subscripts than operands")
    extents: dict[str, Affine] = {}
    for term, array in zip(terms, arrays, strict=True):
        for letter, extent in zip(term, array.shape, strict=True):
            if not trace.extents_agree(extents.setdefault(letter, extent), extent):
                raise Refused(f"np.einsum has two extents for '{letter}'")
    if set(output) - set(extents) or len(set(output)) < len(output):
        raise Refused("np.einsum has a result with other subscripts than its operands")
    dtype = np.result_type(*[array.dtype for array in arrays])
    if dtype.kind == "b":
        raise Refused("np.einsum of truth values")
    held = [_held(trace, array) for array in arrays]
    summed = [letter for letter in extents if letter not in output]
    computed = added_as(trace, dtype) if summed else dtype

    def element(index: Indices) -> Expression:
        at: dict[str, Any] = dict(zip(output, index, strict=True))
        at |= {letter: trace.reduced(extents[letter], letter) for letter in summed}
        return _sum(held, terms, at, summed, dtype, computed)

    shape = tuple([extents[letter] for letter in output])
    if not shape:
        return trace.frozen(Number(dtype, tree=element(())), "product")
    return Lazy(dtype, shape, element, is_costly=bool(summed))


def _sum(
    arrays: Sequence[Arrayed],
    terms: Sequence[str],
    at: dict[str, Any],
    summed: Sequence[str],
    dtype: np.dtype[Any],
    computed: np.dtype[Any],
) -> Expression:
    factors = [
        converted_tree(array.element(tuple([at[letter] for letter in term])), array.dtype, computed)
        for array, term in zip(arrays, terms, strict=True)
    ]
    tree = factors[0] if len(factors) == 1 else ex.product_of(*factors)
    names = tuple([name for letter in summed for name in at[letter].symbols()])
    if names:
        operation = find_operation("sum")
        assert operation is not None
        tree = ex.Reduction(operation, names, tree)
    return converted_tree(tree, computed, dtype)


def _array(trace: Expressions, value: Value) -> Arrayed:
    found = array_of(trace, value)
    if isinstance(found, Number):
        raise Refused("a product of arrays is given a scalar", "multiply with '*'")
    return found


def _held(trace: Expressions, value: Arrayed) -> Arrayed:
    """Return an operand that is read many times: in memory, if it is computed."""
    return trace.stored(value) if isinstance(value, Lazy) else value


def inner(trace: Expressions, left: Value, right: Value) -> Value:
    """Return ``np.inner``: the last axes go together."""
    one, other = _array(trace, left), _array(trace, right)
    first = _LETTERS[: len(one.shape)]
    second = _LETTERS[len(first) : len(first) + len(other.shape) - 1] + first[-1]
    return product_of_indices(trace, [first, second], first[:-1] + second[:-1], [one, other])


def tensordot(trace: Expressions, left: Value, right: Value, axes: Value | None = None) -> Value:
    """Return ``np.tensordot``."""
    one, other = _array(trace, left), _array(trace, right)
    mine, theirs = _contracted(axes, len(one.shape), len(other.shape))
    first = list(_LETTERS[: len(one.shape)])
    second = list(_LETTERS[len(first) : len(first) + len(other.shape)])
    for a, b in zip(mine, theirs, strict=True):
        second[b] = first[a]
    kept = [x for at, x in enumerate(first) if at not in mine]
    kept += [x for at, x in enumerate(second) if at not in theirs]
    if not kept:
        raise Refused("np.tensordot of all axes is an array without any", "use np.sum(a*b)")
    terms = ["".join(first), "".join(second)]
    return product_of_indices(trace, terms, "".join(kept), [one, other])


def _contracted(axes: Value | None, left: int, right: int) -> tuple[list[int], list[int]]:
    if axes is None or isinstance(axes, Number):
        count = 2 if axes is None else constant_int(axes)
        if 0 <= count <= min(left, right):
            return list(range(left - count, left)), list(range(count))
    elif isinstance(axes, Several) and len(axes.parts) == 2:
        mine, theirs = [axes_of(p, rank) for p, rank in zip(axes.parts, (left, right), strict=True)]
        if len(mine) == len(theirs):
            return mine, theirs
    raise Refused("the axes of np.tensordot are no two lists of as many")


def matrix_product(trace: Expressions, left: Value, right: Value) -> Value:
    """Return ``left @ right``, of stacks of matrices, too."""
    one, other = array_of(trace, left), array_of(trace, right)
    ranks = (len(one.shape), len(other.shape))
    if max(ranks) < 3 or min(ranks) == 0:
        return _product_of_matrices(trace, one, other)
    if min(ranks) == 1:
        raise Refused("'@' of a stack of matrices and a vector", "write the loop over the stack")
    assert not isinstance(one, Number)
    assert not isinstance(other, Number)
    return _product_of_stacks(trace, _held(trace, one), _held(trace, other))


def _product_of_stacks(trace: Expressions, one: Arrayed, other: Arrayed) -> Lazy:
    around = trace.broadcast([one.shape[:-2], other.shape[:-2]])
    if not trace.extents_agree(one.shape[-1], other.shape[-2]):
        raise Refused("matrices do not go together")
    dtype = np.result_type(one.dtype, other.dtype)
    if dtype.kind == "b":
        raise Refused("'@' of stacks of truth values")
    shape = (*around, one.shape[-2], other.shape[-1])
    computed = added_as(trace, dtype)

    def place(array: Arrayed, stack: Indices) -> Indices:
        own = stack[len(stack) - (len(array.shape) - 2) :]
        extents = array.shape[:-2]
        return tuple(
            [number(0) if trace.is_one(e) else i for e, i in zip(extents, own, strict=True)]
        )

    def element(index: Indices) -> Expression:
        *stack, row, column = index
        loop = trace.reduced(one.shape[-1], "k")
        at = {"r": row, "c": column, "k": loop}
        slices = [_matrix(array, place(array, tuple(stack))) for array in (one, other)]
        return _sum(slices, ["rk", "kc"], at, ["k"], dtype, computed)

    return Lazy(dtype, shape, element, is_costly=True)


def _matrix(array: Arrayed, stack: Indices) -> Lazy:
    """Return one matrix of a stack."""
    return Lazy(array.dtype, array.shape[-2:], lambda index: array.element((*stack, *index)))


ROWS: dict[Any, Callable[..., Value]] = {
    np.einsum: einsum,
    np.inner: inner,
    np.tensordot: tensordot,
    np.matmul: matrix_product,
}
