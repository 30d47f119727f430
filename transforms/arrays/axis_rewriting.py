"""Shared parts of steps that change an array's axes: they rewrite subscripts alike.

Of temporaries, the meaning is proved to be the same; where data decides which elements are touched,
it is proved that elements stay apart.  Of arguments, the interface changes on
purpose: the kernel before is restated with the other axes, and the proof starts from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeAlias, cast

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.dataflow.one_to_one_subscripts import is_beyond_proofs, is_one_to_one
from polygen.analysis.integers.affine_forms import FloorTerm, LinearForm, linear_form
from polygen.analysis.integers.isl_affine import is_negative_somewhere
from polygen.errors import AxisNotPossible, InvalidArgument
from polygen.ir import expression as ex
from polygen.ir.array import Array, GlobalArg, ImageArg
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Nested, Separate, Vector
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import Kind
from polygen.transforms.arrays.array_rewriting import (
    Index,
    check_axis,
    check_rewritable,
    is_array,
    redeclared,
    with_subscripts,
)

Spec: TypeAlias = tuple[str, int] | tuple[str, int, str]


@dataclass(frozen=True)
class Change:
    """The change of an array: its new declaration and subscripts.

    Attributes:
        array: its declaration.
        index: returns its subscripts, from those before.
    """

    array: Array
    index: Callable[[Index], Index]


def changed(kernel: Kernel, changes: Mapping[str, Change], *, parts: bool = False) -> Rearranged:
    """Return the kernel with other axes of some arrays.

    Parameters:
        kernel: the kernel.
        changes: what arrays become.
        parts: whether parts of them may be given to kernels that are called.

    Raises:
        VerbatimNotPossible, AxisNotPossible: if subscripts are not all there to be rewritten.
    """
    check_rewritable(kernel, changes, parts=parts)

    def apply(old: Kernel, some: Mapping[str, Change]) -> Kernel:
        if not some:
            return old
        new = with_subscripts(old, {name: change.index for name, change in some.items()})
        return redeclared(new, {name: change.array for name, change in some.items()})

    own = {n: c for n, c in changes.items() if isinstance(c.array, GlobalArg)}
    restated = apply(kernel, own)
    new = apply(restated, {n: c for n, c in changes.items() if n not in own})
    named = {n: c for n, c in changes.items() if _is_named_otherwise(kernel, n, c, new)}
    if len(own) + len(named) == len(changes):
        return Rearranged(new, restated=restated, computes_as=restated)
    return Rearranged(new, restated=apply(restated, named))


def _is_named_otherwise(kernel: Kernel, name: str, change: Change, new: Kernel) -> bool:
    """Tell whether elements have but other names, where proofs could not follow which are meant."""
    return (
        not isinstance(change.array, GlobalArg)
        and is_beyond_proofs(kernel, name)
        and new.address_space(name) is kernel.address_space(name)
        and is_one_to_one(kernel, name, change.index)
    )


# --- which axes


def _are_specs(kernel: Kernel, value: Any) -> bool:
    given: list[Any] = listed(value) if isinstance(value, list | tuple) and value else []
    return bool(given) and all(_is_spec(kernel, each) for each in given)


def listed(value: Any) -> list[Spec]:
    """Return a list of pairs of an array and an axis, or of one such pair, as a list."""
    if isinstance(value, tuple) and isinstance(cast("tuple[object, ...]", value)[0], str):
        return [cast("Spec", value)]
    return [*value] if isinstance(value, list | tuple) else [value]


def _is_spec(kernel: Kernel, value: Any) -> bool:
    if not isinstance(value, tuple) or len(cast("tuple[object, ...]", value)) not in (2, 3):
        return False
    name, axis, *order = cast("tuple[object, ...]", value)
    if not isinstance(axis, int) or isinstance(axis, bool) or axis < 0:
        return False
    return is_array(kernel, name) and all(o in ("C", "F") for o in order)


Specs: TypeAlias = Annotated[
    Sequence[Spec] | Spec,
    Kind(
        "axes: ('a', 0), or a list of such pairs; ('a', 0, 'F') for the other order",
        _are_specs,
    ),
]


def by_array(kernel: Kernel, specs: Sequence[Spec] | Spec) -> dict[str, tuple[int, bool]]:
    """Return the axis of each array, and whether the order is that of Fortran.

    Raises:
        InvalidArgument: if an array is there twice.
        AxisNotPossible: if there is no such axis, or if the array is an image.
    """
    found: dict[str, tuple[int, bool]] = {}
    for name, axis, *order in listed(specs):
        if name in found:
            raise InvalidArgument(
                f"'{name}' is there twice",
                where=caller_location(),
                remedy="take one axis after the other",
            )
        check_axis(kernel, name, axis)
        check_plain(kernel, name, axis)
        found[name] = axis, order == ["F"]
    return found


def check_plain(kernel: Kernel, name: str, axis: int) -> None:
    """Check that what an axis is made of are elements in one array of memory.

    Raises:
        AxisNotPossible: if not: if it is tagged ``vec`` or ``sep``, or if the array is an image.
    """
    array = kernel.array(name)
    what, remedy = "", ""
    if isinstance(array, ImageArg):
        what, remedy = f"'{name}' is an image", "declare it a GlobalArg"
    elif array.dim_tags is not None and isinstance(array.dim_tags[axis], Vector | Separate):
        what = f"axis {axis} of '{name}' is tagged {array.dim_tags[axis]}"
        remedy = "give it another tag first: tag_array_axes"
    if what:
        raise AxisNotPossible(what, where=caller_location(), remedy=remedy)


# --- subscripts


def divided(kernel: Kernel, node: Expression, length: int) -> tuple[Expression, Expression]:
    """Return ``node // length`` and ``node % length``, as simple as the domains make them."""
    form = linear_form(node, {*kernel.inames, *kernel.parameters})
    if form is None:
        whole: Any = node  # pymbolic's types leave out truth values
        return ex.FloorDiv(whole, length), ex.Remainder(whole, length)
    quotient = _without_zeros(kernel, form // length)
    return quotient.expression(), (form - quotient * length).expression()


def _without_zeros(kernel: Kernel, form: LinearForm) -> LinearForm:
    """Return a form without the floors that are 0 in the domains."""
    kept = {
        term: factor
        for term, factor in form.terms.items()
        if isinstance(term, str) or not _is_zero(kernel, term)
    }
    return LinearForm(form.constant, kept)


def _is_zero(kernel: Kernel, term: FloorTerm) -> bool:
    inames = term.numerator.names() & set(kernel.inames)
    flat = domain_of(kernel, with_surrounding(kernel, inames)).intersect(kernel.assumptions.flat)
    rest = LinearForm(term.divisor - 1) - term.numerator
    return not any(is_negative_somewhere(flat, each) for each in (term.numerator, rest))


# --- tags and names


def with_tags(array: Array, tags: Sequence[object] | None) -> Array:
    """Return an array with tags, whose levels are made 0, 1, 2, ... in the order that they have."""
    if tags is None:
        return replace(array, dim_tags=None)
    order = sorted(tag.level for tag in tags if isinstance(tag, Nested))
    found: list[Any] = [
        replace(tag, level=order.index(tag.level)) if isinstance(tag, Nested) else tag
        for tag in tags
    ]
    return replace(array, dim_tags=tuple(found))


def with_all_tags(array: Array) -> Array:
    """Return an array with tags that say that it is row-major, if it has none."""
    if array.dim_tags is not None:
        return array
    count = len(array.shape or ())
    return replace(array, dim_tags=tuple([Nested(level) for level in reversed(range(count))]))
