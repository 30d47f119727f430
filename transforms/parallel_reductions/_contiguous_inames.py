"""Finds the inames along which a reduction's accesses are neighbours in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import reduce
from math import gcd
from operator import mul

from polygen.analysis.access.strides import Address
from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.typing.inference import sizes
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import Array, GlobalArg
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.substitution import expand

_LOAD_BYTES = 16  # what an instruction of a GPU loads at once, at most


def neighbours_along(kernel: Kernel, operands: Iterable[Expression], iname: str) -> int:
    """Return how many accesses are to neighbours along an iname, most of the time."""
    return sum(a.stride_in_runs(iname) in (1, -1) for *_, a in _accesses(kernel, operands))


def loaded_at_once(kernel: Kernel, operands: Iterable[Expression], iname: str, most: int) -> int:
    """Return how many neighbours along an iname an instruction of a GPU can load.

    That is 1 if not all arrays that are read along it are known to begin where vectors do, and to
    go on in steps of whole vectors along all others.

    Parameters:
        kernel: the kernel.
        operands: what is reduced.
        iname: the iname.
        most: what the number is to divide.
    """
    widths: list[int] = []
    for array, index, address in _accesses(kernel, operands):
        stride = address.stride(iname)
        if stride == 0:
            continue
        if not isinstance(array, GlobalArg) or array.dtype is None or stride != 1:
            return 1
        width = gcd(_LOAD_BYTES, array.alignment or 1) // array.dtype.itemsize
        steps = [address.stride(other) for other in kernel.inames if other != iname]
        whole = [0 if step is None else _factor(kernel, step) for step in steps]
        widths.append(
            gcd(most, max(width, 1), *whole, *_constants(_in_one(index, address), kernel.inames))
            if None not in steps
            else 1
        )
    return min(widths, default=1)


def _accesses(
    kernel: Kernel, operands: Iterable[Expression]
) -> Iterator[tuple[Array, tuple[Expression, ...], Address]]:
    """Yield arrays that are read, with the subscripts."""
    names = sizes(kernel).union(kernel.inames)
    for operand in operands:
        for node in walk.subexpressions(expand(operand, kernel.rules)):
            if isinstance(node, ex.Subscript):
                array, index = kernel.array(ex.name_of(node)), ex.index_tuple(node)
                yield array, index, Address(array, index, names)


def _in_one(index: tuple[Expression, ...], address: Address) -> tuple[Expression, ...]:
    """Return subscripts; the place of the element if some are quotients by sizes, or remainders."""
    if all(linear_form(subscript) is not None for subscript in index):
        return index
    place = address.offset()
    return index if place is None else (place,)


def _constants(index: Iterable[Expression], inames: Collection[str]) -> Iterator[int]:
    """Yield the constant parts of subscripts; 1 where one mentions something else than inames."""
    for subscript in index:
        form = linear_form(subscript)
        yield form.constant if form is not None and form.names() <= set(inames) else 1


def _factor(kernel: Kernel, node: Expression) -> int:
    """Return a number that an integer is certainly a multiple of."""
    if isinstance(node, int):
        return node
    if isinstance(node, ex.Variable):
        known = kernel.assumptions.flat
        for number in (16, 8, 4, 2):
            where = condition_set(ex.Comparison(ex.Remainder(node, number), "==", 0))
            if where is not None and known.is_subset(where):
                return number
        return 1
    if not isinstance(node, ex.Sum | ex.Product):
        return 1
    combine = gcd if isinstance(node, ex.Sum) else mul
    return reduce(combine, [_factor(kernel, child) for child in node.children])
