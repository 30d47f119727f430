"""Values of a function of Python while it is traced.

Number     a scalar: a constant, an affine form of sizes and loops, or a tree
Lazy       an array that is not in memory: what its elements are
View       part of an array in memory, in any order; can be assigned to
Masked     ``data[mask]``: elements where a mask holds
Several    a tuple or list
Constant   any other value of Python's: a module, a function, a type, None
Owner      an argument that is an object with attributes
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import numpy as np

from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.python.affine import Affine, number
from polygen.python.nodes import Storage
from polygen.python.refused import Refused

Index: TypeAlias = Affine | Expression
Indices: TypeAlias = tuple[Index, ...]


class _Unknown:
    """The value of what is no constant."""


UNKNOWN = _Unknown()
INT64, FLOAT64, BOOL = np.dtype("int64"), np.dtype("float64"), np.dtype("bool")
COMPLEX128 = np.dtype("complex128")


@dataclass(frozen=True)
class Number:
    """A scalar.

    Attributes:
        dtype: its type; of a number of Python's, the type that it is stored as.
        weak: whether it is a number of Python's, which takes the type of its neighbour.
        tree: what computes it; None if `affine` or `value` says all.
        affine: its value in terms of sizes and loops, if it is an integer that has such a form.
        value: its value, if it is a constant.
        cell: the variable that it was read from, which may change; None otherwise.
        forms: of a condition: forms that are at least 0 where it holds.
        is_affine: whether a condition holds wherever all of these are.
    """

    dtype: np.dtype
    weak: bool = False
    tree: Expression | None = None
    affine: Affine | None = None
    value: Any = UNKNOWN
    cell: str | None = None
    forms: tuple[Affine, ...] = ()
    is_affine: bool = False

    @property
    def is_constant(self) -> bool:
        """Whether its value is known."""
        return self.value is not UNKNOWN

    @property
    def shape(self) -> tuple[Affine, ...]:
        """The shape: none."""
        return ()

    def element(self, _index: Indices = ()) -> Expression:
        """Return the tree of its value."""
        if self.is_constant:
            return literal(self.value, self.dtype)
        if self.tree is not None:
            return self.tree
        assert self.affine is not None
        return self.affine.tree("int64")


@dataclass(frozen=True)
class Lazy:
    """An array that is not in memory.

    Attributes:
        dtype: the type of its elements.
        shape: its extents.
        element: the tree of an element.
        is_costly: whether an element is more than a few operations, as a sum is.
        form: the element as a form of sizes and loops, where it is one.
        may_be_view: whether NumPy has a view of an array here in some calls, a copy in others.
    """

    dtype: np.dtype
    shape: tuple[Affine, ...]
    element: Callable[[Indices], Expression]
    is_costly: bool = False
    weak: bool = False
    form: Callable[[Indices], Affine | None] | None = None
    may_be_view: bool = False


@dataclass(frozen=True)
class Strip(Lazy):
    """The integers ``first, first + 1, ...``, as `polygen.vidx` gives, for subscripts.

    Attributes:
        first: the first one.
        end: what all are below.
    """

    first: Affine = field(default_factory=lambda: number(0))
    end: Affine = field(default_factory=lambda: number(0))


def strip(first: Affine, count: Affine, end: Affine) -> Strip:
    """Return `count` subscripts from the first one on, all below an end."""

    def element(index: Indices) -> Expression:
        at = index_sum(index[0], first)
        return at.tree("int64") if isinstance(at, Affine) else at

    def form(index: Indices) -> Affine | None:
        at = index_sum(index[0], first)
        return at if isinstance(at, Affine) else None

    return Strip(INT64, (count,), element, form=form, first=first, end=end)


@dataclass(frozen=True)
class View:
    """Part of an array in memory.

    Attributes:
        base: the array.
        shape: its extents.
        place: the subscripts in the array for subscripts here.
        is_whole: whether it is the array itself.
        recipe: how Python makes it of the array: subscripts, `T`, one after the other; None if
            nothing does.
        part: ``real`` or ``imag`` of complex elements; None for all of them.
        is_gather: whether arrays of integers choose the elements: NumPy copies these.
    """

    base: Storage
    shape: tuple[Affine, ...]
    place: Callable[[Indices], Indices]
    is_whole: bool = False
    recipe: tuple[Any, ...] | None = ()
    is_gather: bool = False
    part: str | None = None
    weak: bool = False
    is_costly: bool = False

    @property
    def dtype(self) -> np.dtype:
        """The type of the elements."""
        if self.part is not None:
            return np.dtype("float32" if self.base.dtype.itemsize == 8 else "float64")
        return self.base.dtype

    def element(self, index: Indices) -> Expression:
        """Return the tree of an element."""
        found = self.stored_element(index)
        return found if self.part is None else ex.Call(ex.Variable(self.part), (found,))

    def stored_element(self, index: Indices) -> Expression:
        """Return the element of the array in memory, of which this may be a part."""
        subscripts = tuple([index_tree(i) for i in self.place(index)])
        return ex.element(ex.Variable(self.base.name), subscripts)

    def stored_value(self, value: Expression, index: Indices) -> Expression:
        """Return what is stored where an element becomes `value`."""
        if self.part is None:
            return value
        other = "imag" if self.part == "real" else "real"
        kept: Expression = ex.Call(ex.Variable(other), (self.stored_element(index),))
        real, imaginary = (value, kept) if self.part == "real" else (kept, value)
        unit = ex.converted(self.base.dtype.name, 1j)
        return ex.sum_of(ex.converted(self.base.dtype.name, real), ex.product_of(imaginary, unit))


@dataclass(frozen=True)
class Masked:
    """``data[mask]``: those elements for which a mask holds.

    Attributes:
        data: the array.
        mask: the mask, of the same shape.
        rows: how many axes follow those of the mask as it was written: whole rows are chosen.
    """

    data: Lazy | View
    mask: Lazy | View
    rows: int = 0

    @property
    def dtype(self) -> np.dtype:
        """The type of the elements."""
        return self.data.dtype


@dataclass(frozen=True)
class Several:
    """A tuple, or a list.

    Attributes:
        parts: its parts.
        is_list: whether it is a list.
        names: the names of the parts of a named tuple.
        path: how Python finds a named tuple.
    """

    parts: tuple[Any, ...]
    is_list: bool = False
    names: tuple[str, ...] = ()
    path: str = ""


@dataclass(frozen=True)
class Constant:
    """A value of Python's that is known as the function is traced."""

    value: Any


@dataclass(frozen=True)
class Owner:
    """An object of which attributes are read.

    Attributes:
        path: how Python finds it.
        value: the object.
    """

    path: str
    value: Any


@dataclass
class Cell:
    """A variable of the kernel that a name stands for: its value changes as the kernel runs.

    Attributes:
        name: its name in the kernel.
        dtype, weak: its type, as of a `Number`.
        initial: what it was before the loop or branch that changes it.
        is_unset: whether the name has no value yet on the path that is being traced.
    """

    name: str
    dtype: np.dtype
    weak: bool
    initial: Number | None = None
    is_unset: bool = False


@dataclass
class ArrayCell:
    """An array of the kernel that a name stands for, which gets new elements as the kernel runs."""

    view: View


@dataclass
class Pending:
    """A name that becomes a `Cell` when it is first assigned to, under a key for its type."""

    key: Any


@dataclass
class Unbound:
    """A name that may not have a value, and why."""

    why: str = field(default="it is assigned in some branches, or iterations, alone")


@dataclass(frozen=True)
class Either:
    """One of two scalars of which no type holds both: ``x[i] if c else i``.

    An operation on it is one of two, until both have one type, or an element is assigned.

    Attributes:
        condition: decides.
        one, other: where it holds, and where it does not.
        why: what is wrong where a name would stand for it.
    """

    condition: Number
    one: Number | Either
    other: Number | Either
    why: str


Value: TypeAlias = Number | Lazy | View | Masked | Several | Constant | Owner | Either
Arrayed: TypeAlias = Lazy | View


def whole(base: Storage) -> View:
    """Return an array as a view of all of it."""
    return View(base, base.shape, lambda index: index, is_whole=True)


def index_tree(index: Index) -> Expression:
    """Return a subscript as a tree."""
    return index.tree() if isinstance(index, Affine) else index


def index_sum(one: Index, other: Index) -> Index:
    """Return the sum of two subscripts."""
    if isinstance(one, Affine) and isinstance(other, Affine):
        return one.plus(other)
    if isinstance(one, Affine) and one == number(0):
        return other
    if isinstance(other, Affine) and other == number(0):
        return one
    return ex.sum_of(index_tree(one), index_tree(other))


def index_times(index: Index, factor: int) -> Index:
    """Return a multiple of a subscript."""
    if isinstance(index, Affine):
        return index.times(factor)
    return index if factor == 1 else ex.product_of(factor, index)


def literal(value: Any, dtype: np.dtype) -> Expression:
    """Return a constant as a tree, of the type that it is computed with."""
    if dtype.kind == "b":
        return ex.converted("bool", 1 if value else 0)
    if dtype.kind in "iu":
        return ex.converted(dtype.name, int(value))
    if dtype.kind == "c":
        value = complex(value)
        parts = (_real(value.real), _real(value.imag))
        made = ex.sum_of(parts[0], ex.product_of(parts[1], 1j))
        if np.isfinite(value.real) and np.isfinite(value.imag):
            return ex.converted(dtype.name, value if value.imag else value.real)
        return ex.converted(dtype.name, made)
    if not np.isfinite(value):
        return ex.converted(dtype.name, _real(float(value)))
    if dtype == FLOAT64:
        return float(value)
    return ex.converted(dtype.name, float(value))


def _real(value: float) -> Expression:
    if np.isnan(value):
        return ex.Call(ex.Variable("nan"), (ex.converted("uint64", 0),))
    if np.isinf(value):
        huge = ex.product_of(1e308, 10.0)
        return huge if value > 0 else ex.negated(huge)
    return float(value)


def constant_number(value: Any) -> Number:
    """Return a number of Python's or NumPy's as a constant.

    Raises:
        Refused: if it is none that a kernel can have.
    """
    if isinstance(value, bool):
        return Number(BOOL, weak=True, value=value)
    if isinstance(value, np.generic):
        dtype: np.dtype = cast("Any", value).dtype
        if dtype.kind not in "biufc" or dtype.itemsize > 16:
            raise Refused(f"{value!r} is of the type {dtype}, which kernels do not have")
        return Number(dtype, value=value)
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise Refused(f"{value} does not fit into 64 bits")
        return Number(INT64, weak=True, affine=number(value), value=value)
    if isinstance(value, float):
        return Number(FLOAT64, weak=True, value=value)
    if isinstance(value, complex):
        return Number(COMPLEX128, weak=True, value=value)
    raise Refused(f"{value!r} is no number")


def affine_number(form: Affine) -> Number:
    """Return an integer of Python's that sizes and loops tell."""
    if form.is_constant:
        return constant_number(form.constant)
    return Number(INT64, weak=True, affine=form)


def converted_tree(tree: Expression, source: np.dtype, target: np.dtype) -> Expression:
    """Return a tree converted to another type, as ``astype`` does."""
    if source == target:
        return tree
    if source.kind == "c" and target.kind == "b":
        return ex.Comparison(tree, "!=", literal(0, source))
    if source.kind == "c" and target.kind != "c":
        tree = ex.Call(ex.Variable("real"), (tree,))
        source = np.dtype("float32" if source.itemsize == 8 else "float64")
        if source == target:
            return tree
    if target.kind == "b":
        zero = literal(0, source)
        return ex.Comparison(tree, "!=", zero)
    return ex.converted(target.name, tree)
