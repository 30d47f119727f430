"""Layouts of arrays: one tag for each axis.

What everything else asks is computed from the tags here: how far neighbours along an axis are apart
(`element_strides`), which subscripts choose a part of an element's storage (`constant_axes`), and
the order in which axes are nested (`nest`).  An array without tags is row-major.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal, Protocol, TypeAlias

from polygen.ir import expression as ex
from polygen.ir.dtype import DType, is_integer
from polygen.ir.expression import Expression
from polygen.ir.show_expression import show_expression


class Auto(enum.Enum):
    """The class of `auto`: what is found out later."""

    AUTO = "auto"

    def __repr__(self) -> str:
        return "polygen.auto"


auto: Literal[Auto.AUTO] = Auto.AUTO
"""In place of a stride or an offset: it is found at the call."""


@dataclass(frozen=True, slots=True)
class Nested:
    """``N0``, ``N1``, ...: neighbours are as far apart as what is nested in the axis takes.

    Attributes:
        level: how many axes are nested in it: 0 for that of neighbours in memory.
        pad_to: room is left for a multiple of so many subscripts: ``N0(pad_to=8)``.
    """

    level: int
    pad_to: int = 1

    def __str__(self) -> str:
        return f"N{self.level}" + (f"(pad_to={self.pad_to})" if self.pad_to != 1 else "")


@dataclass(frozen=True, slots=True)
class Strided:
    """``stride:4``: neighbours are so many elements apart; ``stride:auto``: as the call says."""

    stride: Expression | Auto

    def __str__(self) -> str:
        return f"stride:{'auto' if self.stride is auto else show_expression(self.stride)}"


@dataclass(frozen=True, slots=True)
class Vector:
    """``vec``: along the axis, elements are the components of a vector."""

    def __str__(self) -> str:
        return "vec"


@dataclass(frozen=True, slots=True)
class Separate:
    """``sep``: each subscript along the axis is an array of its own."""

    def __str__(self) -> str:
        return "sep"


AxisTag: TypeAlias = Nested | Strided | Vector | Separate
DimTags: TypeAlias = tuple[AxisTag, ...]


def is_axis_tag(value: object) -> bool:
    """Tell whether something is the tag of an axis."""
    return isinstance(value, Nested | Strided | Vector | Separate)


VECTOR_LENGTHS = (1, 2, 3, 4, 8, 16)


# Of vectors that are computed with.  Those of 64 are C's alone, for processors with AVX-512: PoCL
# fails to load them where there is no such register, and no GPU has one.
VECTOR_BYTES = (8, 16, 32, 64)
USUAL_VECTOR_BYTES = 32  # of the largest ones elsewhere, and of those that nobody chose
COMPUTED_BYTES = 4  # of a number in one at least: smaller ones are promoted, as alone


def has_vectors(dtype: DType) -> bool:
    """Tell whether targets have vectors of numbers of a type."""
    return is_integer(dtype) or (dtype.kind == "f" and dtype.itemsize > 2)


def show_tags(tags: DimTags) -> str:
    """Return ``"N1, N0"``."""
    return ", ".join(map(str, tags))


class Laid(Protocol):
    """The protocol of variables with a layout: `GlobalArg` and `TemporaryVariable`."""

    @property
    def shape(self) -> tuple[Expression, ...] | None:
        """The extent of each axis."""
        ...

    @property
    def dim_tags(self) -> DimTags | None:
        """A tag for each axis, or None."""
        ...


# --- what is asked


def length_of(array: Laid, axis: int) -> int:
    """Return the extent of an axis that is tagged ``vec`` or ``sep``: a number."""
    extent = (array.shape or ())[axis]
    assert isinstance(extent, int)  # checked when the array was declared
    return extent


def vector_length(array: Laid) -> int | None:
    """Return how many components the vectors of an array have; None if it has none."""
    for axis, tag in enumerate(array.dim_tags or ()):
        if isinstance(tag, Vector):
            return length_of(array, axis)
    return None


def unit(array: Laid) -> int:
    """Return how many elements what is stored together takes: a vector of three takes four."""
    length = vector_length(array) or 1
    return 4 if length == 3 else length


def constant_axes(array: Laid) -> tuple[int, ...]:
    """Return the axes whose subscripts have to be constants: ``sep`` and ``vec``."""
    if array.dim_tags is None:
        return ()
    kinds = (Vector, Separate)
    return tuple([axis for axis, tag in enumerate(array.dim_tags) if isinstance(tag, kinds)])


def nest(array: Laid) -> list[tuple[int, Expression]] | None:
    """Return the axes from the outermost inwards, each with the room that it takes.

    None if strides are given for some.  Axes tagged ``vec`` and ``sep`` are none of them.
    """
    shape = array.shape or ()
    if array.dim_tags is None:
        return list(enumerate(shape))
    if any(isinstance(tag, Strided) for tag in array.dim_tags):
        return None
    return [(axis, _padded(shape[axis], tag)) for axis, tag in _nested(array.dim_tags)][::-1]


def element_strides(array: Laid) -> tuple[Expression | Auto | None, ...] | None:
    """Return how far neighbours along each axis are apart, in elements.

    None altogether if nothing was declared; for an axis tagged ``sep``, None as well.
    """
    tags = array.dim_tags
    if tags is None:
        return None
    shape = array.shape or ()
    found: list[Expression | Auto | None] = [None] * len(tags)
    step: Expression = unit(array)
    for axis, nested in _nested(tags):
        found[axis] = step
        step = _times(_padded(shape[axis], nested), step)
    for axis, tag in enumerate(tags):
        if isinstance(tag, Strided):
            found[axis] = tag.stride
        elif isinstance(tag, Vector):
            found[axis] = 1
    return tuple(found)


def layout_expressions(array: Laid) -> Iterator[Expression]:
    """Yield the strides and the offset that are declared."""
    for tag in array.dim_tags or ():
        if isinstance(tag, Strided) and not isinstance(tag.stride, Auto):
            yield tag.stride
    offset = offset_of(array)
    if not isinstance(offset, Auto):
        yield offset


def map_stride(tag: AxisTag, change: Callable[[Expression], Expression]) -> AxisTag:
    """Return a tag with its stride changed, if that is given as an expression."""
    if isinstance(tag, Strided) and not isinstance(tag.stride, Auto):
        return Strided(change(tag.stride))
    return tag


def offset_of(array: Laid) -> Expression | Auto:
    """Return where the first element lies, in elements from where the array begins."""
    found: Expression | Auto = getattr(array, "offset", 0)  # temporaries have none
    return found


def in_units(stride: Expression, size: int) -> Expression | None:
    """Return a number of elements as a number of vectors that take `size`; None if it is none."""
    if size == 1:
        return stride
    if isinstance(stride, int):
        return None if stride % size else stride // size
    if isinstance(stride, ex.Sum):
        terms = [in_units(child, size) for child in stride.children]
        kept = [term for term in terms if term is not None]
        return ex.sum_of(*kept) if len(kept) == len(terms) else None
    if not isinstance(stride, ex.Product):
        return None
    for position, factor in enumerate(stride.children):
        if isinstance(factor, int) and factor % size == 0:
            others = [c for p, c in enumerate(stride.children) if p != position]
            return _product([factor // size, *others])
    return None


# --- storage of temporaries


def storage_count(array: Laid) -> int:
    """Return how many elements, or vectors, the storage of an array of constant extents has."""
    shape = [extent for extent in array.shape or () if isinstance(extent, int)]
    if array.dim_tags is None:
        return prod(shape)
    if 0 in shape:
        return 0
    inside = nest(array)
    if inside is not None:
        return prod(room for _, room in inside if isinstance(room, int))
    strides = element_strides(array) or ()
    spans = [(n - 1) * s for n, s in zip(shape, strides, strict=True) if isinstance(s, int)]
    return sum(spans) // unit(array) + 1


def with_outer_axes(array: Laid, extents: Sequence[Expression]) -> DimTags | None:
    """Return the tags of an array with further axes at the end, outside of those that it has.

    Parameters:
        array: the array.
        extents: of the further axes; numbers, as those of the array, if tags of it are strides.
    """
    tags = array.dim_tags
    if tags is None:
        return None
    added: list[AxisTag] = []
    level, step = len(_nested(tags)), storage_count(array) * unit(array)
    given = any(isinstance(tag, Strided) for tag in tags)
    for extent in reversed(extents):
        added.append(Strided(step) if given else Nested(level))
        level, step = level + 1, step * (extent if isinstance(extent, int) else 1)
    return (*tags, *reversed(added))


# --- arithmetic


def _nested(tags: DimTags) -> list[tuple[int, Nested]]:
    """Return the nested axes, innermost first."""
    found = [(axis, tag) for axis, tag in enumerate(tags) if isinstance(tag, Nested)]
    return sorted(found, key=lambda each: each[1].level)


def _padded(extent: Expression, tag: Nested) -> Expression:
    pad = tag.pad_to
    if pad == 1:
        return extent
    if isinstance(extent, int):
        return -(-extent // pad) * pad
    return ex.product_of(ex.FloorDiv(ex.sum_of(extent, pad - 1), pad), pad)


def _times(a: Expression, b: Expression) -> Expression:
    return _product([*_factors(a), *_factors(b)])


def _factors(node: Expression) -> tuple[Expression, ...]:
    return node.children if isinstance(node, ex.Product) else (node,)


def _product(factors: list[Expression]) -> Expression:
    constant = prod(f for f in factors if isinstance(f, int))
    others = [f for f in factors if not isinstance(f, int)]
    kept = [constant, *others] if constant != 1 or not others else others
    return kept[0] if len(kept) == 1 else ex.product_of(*kept)
