"""The elements that uses need, as a box of constant size that moves with the loops around it.

Along each axis a *tile* begins at a base, which depends on what is outside, and has a constant
number of places, each a constant stride after the last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import islpy as isl

from polygen.analysis.integers.affine_forms import LinearForm
from polygen.analysis.integers.isl_affine import (
    aff_on,
    condition_set,
    form_of_aff,
    is_bounded,
    pieces,
)
from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir.domain import flat_names, flatten, intersection, project_out, unflatten
from polygen.ir.expression import Expression

_SET = isl.dim_type.set
_PARAM = isl.dim_type.param
_PLACE = "__place"  # names of users do not begin so
_VALUE = "__value"


@dataclass(frozen=True)
class TileAxis:
    """One axis: its places are ``base``, ``base + stride``, and so on.

    Attributes:
        base: the first, in terms of what is outside.
        stride: the distance of neighbours.
        extent: how many there are; 0 if that depends on sizes.
        length: then, how many there are.
    """

    base: LinearForm
    stride: int
    extent: int
    length: Expression | None = None

    @property
    def size(self) -> Expression:
        """The number of places, in terms of sizes."""
        return self.extent if self.length is None else self.length

    def value(self, place: Expression) -> Expression:
        """Return what stands at a place, which is counted from 0."""
        from_base = self.base + LinearForm.of_name(_PLACE) * self.stride
        return _with_place(from_base, place)

    def place(self, form: LinearForm) -> Expression:
        """Return where a value is that is one of the axis'."""
        return ((form - self.base) // self.stride).expression()


def _with_place(form: LinearForm, place: Expression) -> Expression:
    if isinstance(place, ex.Variable):
        terms = {place.name if t == _PLACE else t: c for t, c in form.terms.items()}
        return LinearForm(form.constant, terms).expression()
    if place != 0:
        raise InternalError(f"{place!r} is no place along an axis")
    return LinearForm(
        form.constant, {t: c for t, c in form.terms.items() if t != _PLACE}
    ).expression()


def tile_axis(values: isl.Set) -> TileAxis | None:
    """Return the axis that holds the values of a set of one dimension, or None if none does.

    Parameters:
        values: not empty; its parameters are what is outside.
    """
    if not is_bounded(values, above=False):
        return None
    found: list[TileAxis] = []
    forms = {_floored(form_of_aff(aff)): None for _, aff in pieces(values.dim_min(0))}
    for form in (*forms, *_constant_base(values)):
        extent = _extent(values, form)
        if extent is not None:
            found.append(TileAxis(form, 1, extent))
    if not found:
        return None
    best = min(found, key=lambda axis: (axis.extent, len(axis.base.terms), str(axis.base)))
    return _strided(values, best)


def _floored(form: LinearForm) -> LinearForm:
    """Return a form with ``4*i // 3`` in place of ``2*i - (2*i + 2) // 3``, where isl rounds up."""
    for term, factor in form.terms.items():
        if isinstance(term, str) or factor != -1:
            continue
        names = term.numerator.names()
        inside = LinearForm(0, {t: c for t, c in form.terms.items() if t in names})
        above = inside * term.divisor - term.numerator + (term.divisor - 1)
        found = form - inside + LinearForm(0, {term: 1}) + above // term.divisor
        if len(_mentioned(found)) < len(_mentioned(form)):
            return found
    return form


def _mentioned(form: LinearForm) -> list[int]:
    """Return the numbers in a form other than 0 and 1: what there is to read."""
    own = [c for c in (form.constant, *form.terms.values()) if c not in (0, 1)]
    inside = [t.numerator for t in form.terms if not isinstance(t, str)]
    return own + [number for numerator in inside for number in _mentioned(numerator)]


def sized_axis(values: isl.Set, sizes: Sequence[str], known: isl.Set) -> TileAxis | None:
    """Return an axis that holds the values of a set of one dimension, and is as long as sizes say.

    Parameters:
        values: not empty; its parameters are what is outside.
        sizes: those that may say how long the axis is.
        known: what is known of them.

    Returns:
        An axis whose length is never negative; None if there is none.
    """
    if not is_bounded(values, above=False):
        return None
    for base in {form_of_aff(aff): None for _, aff in pieces(values.dim_min(0))}:
        places = _from_base(values, base)
        places = project_out(places, set(flat_names(places)).difference(sizes, [_PLACE]))
        axis = unflatten(places, (_PLACE,))
        if not is_bounded(axis, above=True) or axis.dim_min_val(0).is_neg():
            continue
        for last in {form_of_aff(aff): None for _, aff in pieces(axis.dim_max(0))}:
            bound = condition_set(ex.Comparison(ex.Variable(_PLACE), "<=", last.expression()))
            length = _not_negative(last + 1, known)
            if length is not None and bound is not None and places.is_subset(bound):
                return TileAxis(base, 1, 0, length.expression())
    return None


def _not_negative(form: LinearForm, known: isl.Set) -> LinearForm | None:
    """Return a form that is never negative, and not less than the given one."""
    value = condition_set(ex.Comparison(ex.Variable(_VALUE), "==", form.expression()))
    if value is None:
        return None
    values = value.intersect(known)
    values = project_out(values, set(flat_names(values)).difference([_VALUE]))
    least = unflatten(values, (_VALUE,)).dim_min_val(0)
    return form + max(0, -least.to_python()) if least.is_int() else None


def _constant_base(values: isl.Set) -> Iterator[LinearForm]:
    """Yield the least value of all, if there is one."""
    least = values.project_out(_PARAM, 0, values.dim(_PARAM)).dim_min_val(0)
    if least.is_int():
        yield LinearForm(least.to_python())


def _extent(values: isl.Set, base: LinearForm) -> int | None:
    """Return how far values are from a base at most, plus 1; None if some are before it."""
    least, most = _nearest_and_farthest(values, base)
    if not (least.is_int() and most.is_int() and least.is_nonneg()):
        return None  # beyond all bounds, perhaps
    extent: int = most.to_python() + 1
    return extent


def _nearest_and_farthest(values: isl.Set, base: LinearForm) -> tuple[isl.Val, isl.Val]:
    space = values.get_space()
    start = aff_on(space, base)
    if start is not None:
        distance = isl.Aff.var_on_domain(isl.LocalSpace.from_space(space), _SET, 0).sub(start)
        return values.min_val(distance), values.max_val(distance)
    distances = _from_base(values, base)
    distances = project_out(distances, [n for n in flat_names(distances) if n != _PLACE])
    place = unflatten(distances, (_PLACE,))
    return place.dim_min_val(0), place.dim_max_val(0)


def _from_base(values: isl.Set, base: LinearForm) -> isl.Set:
    """Return the distances of values from a base, as a flat set with the name of a place."""
    flat = flatten(values.set_dim_name(_SET, 0, _VALUE))
    return project_out(intersection(flat, _equation(_VALUE, base, 1, _PLACE)), (_VALUE,))


def _equation(value: str, base: LinearForm, stride: int, place: str) -> isl.Set:
    """Return the flat set in which ``value = base + stride*place``."""
    right = base + LinearForm.of_name(place) * stride
    found = condition_set(ex.Comparison(ex.Variable(value), "==", right.expression()))
    if found is None:
        raise InternalError(f"the base {base!r} is not affine")
    return found


def _strided(values: isl.Set, axis: TileAxis) -> TileAxis:
    """Return the axis without the places between those that are used."""
    if axis.extent < 2 or not values.involves_locals():
        return axis
    places = unflatten(_from_base(values, axis.base), (_PLACE,))
    info = places.get_stride_info(0)
    stride: int = info.get_stride().to_python()
    offset = form_of_aff(info.get_offset())
    if stride < 2 or (offset % stride).constant or (offset % stride).terms:
        return axis
    return TileAxis(axis.base, stride, (axis.extent - 1) // stride + 1)


# --- sets of several dimensions


def along_axis(elements: isl.Set, axis: int) -> isl.Set:
    """Return the values of one dimension of a set."""
    count = elements.dim(_SET)
    return elements.project_out(_SET, axis + 1, count - axis - 1).project_out(_SET, 0, axis)


def in_places(elements: isl.Set, axes: Sequence[TileAxis], inames: Sequence[str | None]) -> isl.Set:
    """Return elements by their places.

    Parameters:
        elements: a set with a dimension for each axis.
        axes: where these begin.
        inames: what the places along each axis are called; None for one that is left out.

    Returns:
        A set with a dimension for each name.
    """
    names = [f"{_VALUE}{position}" for position in range(len(axes))]
    for position, name in enumerate(names):
        elements = elements.set_dim_name(_SET, position, name)
    flat = flatten(elements)
    for name, axis, iname in zip(names, axes, inames, strict=True):
        place = iname or _PLACE
        equation = _equation(name, axis.base, axis.stride, place)
        flat = project_out(intersection(flat, equation), (name,))
        flat = project_out(flat, () if iname else (_PLACE,))
    return unflatten(flat, [i for i in inames if i is not None])


def determined(elements: isl.Set, axis: int, others: Sequence[int]) -> LinearForm | None:
    """Return the value along an axis in terms of those along others, and of what is outside.

    None if these do not decide it, or not as one affine function.  The value along axis 1 is
    called ``__value1``.
    """
    names = [f"{_VALUE}{position}" for position in (*others, axis)]
    for position in range(elements.dim(_SET)):
        elements = elements.set_dim_name(_SET, position, f"{_VALUE}{position}")
    flat = flatten(elements)
    gone = {f"{_VALUE}{p}" for p in range(elements.dim(_SET))}.difference(names)
    values = unflatten(project_out(flat, sorted(gone)), names[-1:])
    if not all(is_bounded(values, above=above) for above in (False, True)):
        return None
    least, most = values.dim_min(0), values.dim_max(0)
    forms = {form_of_aff(aff): None for _, aff in pieces(least.coalesce())}
    if len(forms) != 1 or not least.is_equal(most):
        return None
    return next(iter(forms))


def bounding_box(places: isl.Set) -> isl.Set:
    """Return what is between the least and the greatest value along each dimension of a set."""
    count = places.dim(_SET)
    sides = [_interval(along_axis(places, axis)) for axis in range(count)]
    box = reduce(isl.Set.flat_product, sides)
    for position in range(count):
        box = box.set_dim_name(_SET, position, places.get_dim_name(_SET, position) or "")
    return box


def is_box(places: isl.Set) -> bool:
    """Tell whether a set is a bounding box, as it is written: one that is not may be one, too."""
    pieces = places.get_basic_sets()
    axes = range(places.dim(_SET))
    return (
        len(pieces) == 1
        and not pieces[0].dim(isl.dim_type.div)
        and all(
            sum(constraint.involves_dims(_SET, axis, 1) for axis in axes) < 2
            for constraint in pieces[0].get_constraints()
        )
    )


def _interval(values: isl.Set) -> isl.Set:
    """Return the values that are not less than all of a set, and not greater."""
    space = values.get_space()
    above = values.apply(isl.Map.lex_le(space))
    below = values.apply(isl.Map.lex_ge(space))
    return above.intersect(below).coalesce()


def simplified(places: isl.Set) -> isl.Set:
    """Return a set with as few pieces as it takes: one if it is convex."""
    places = places.coalesce()
    if places.n_basic_set() > 1:
        hull = places.simple_hull().to_set()
        if hull.is_equal(places):
            places = hull
    return places.remove_redundancies()


def independent_of(
    elements: isl.Set,
    candidates: Iterable[str],
    accepts: Callable[[isl.Set], bool] = lambda _: True,
) -> isl.Set:
    """Return a set without those names that decide only whether there are elements, not which.

    Parameters:
        elements: a set with these names, or some of them, among its parameters.
        candidates: the names, in the order in which they are tried.
        accepts: what else the set without a name has to be.
    """
    tied = _tied(elements)
    for name in candidates:
        position = elements.find_dim_by_name(_PARAM, name)
        if position < 0 or (tied is not None and name in tied):
            continue
        anywhere = elements.project_out(_PARAM, position, 1)
        if tied is None and not anywhere.intersect_params(elements.params()).is_subset(elements):
            continue
        if accepts(anywhere):
            elements = anywhere
    return elements


def _tied(elements: isl.Set) -> frozenset[str] | None:
    """Return the parameters that stand in one condition with a dimension: these decide elements.

    None if that does not tell: in a set of several pieces one may make up for another.
    """
    pieces = elements.remove_redundancies().get_basic_sets()
    if len(pieces) != 1 or pieces[0].dim(isl.dim_type.div):
        return None
    names = flat_names(elements)
    dimensions = elements.dim(_SET)
    return frozenset(
        name
        for constraint in pieces[0].get_constraints()
        if constraint.involves_dims(_SET, 0, dimensions)
        for position, name in enumerate(names)
        if constraint.involves_dims(_PARAM, position, 1)
    )
