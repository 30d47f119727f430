"""Along which axes values of a rule are stored, and where on these they are computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import islpy as isl

from polygen.analysis.access.domains import domain_of
from polygen.analysis.expansion.values_to_precompute import Footprint, Gathering
from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.analysis.integers.moving_box import (
    TileAxis,
    bounding_box,
    determined,
    in_places,
    is_box,
    simplified,
)
from polygen.errors import InternalError, InvalidArgument, ProofLimit
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.cached import cached_property
from polygen.ir.domain import flatten, intersection, unflatten, universe
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.source import caller_location
from polygen.transforms.copies._storage_places import Storage, check_room

# No one would read the code for more, and isl's work grows fast with their number.
_MOST_PIECES = 16


class StorageAxes:
    """The axes of what is stored.

    Parameters:
        kernel: the kernel.
        of: the uses of the rule that are served.
        found: the values that these need.
        how: what is said of the storage.
    """

    def __init__(self, kernel: Kernel, of: Gathering, found: Footprint, how: Storage) -> None:
        self._kernel, self._of, self._found, self._how = kernel, of, found, how
        self._rule = of.rule

    @cached_property
    def _axes(self) -> Mapping[str, TileAxis]:
        return dict(zip(self._of.names, self._found.axes, strict=True))

    @cached_property
    def stored(self) -> tuple[str, ...]:
        """The names in the rule along which values are stored; the others follow from these."""
        order = (*self._rule.inames, *self._rule.arguments)
        wanted = self._how.axes
        if wanted is None:
            kept = [name for name in order if self._axes[name].extent != 1]
            for name in (*self._rule.inames, *reversed(self._rule.arguments)):
                others = [k for k in kept if k != name]
                if name in kept and self._may_follow(name) and self._follows(name, others):
                    kept = others
            return tuple(kept)
        if gone := [name for name in wanted if name not in order]:
            raise InvalidArgument(
                f"'{gone[0]}' cannot be a storage axis: it is not affine, and what it is follows "
                f"from that along others",
                where=caller_location(),
                remedy=f"the axes are: {', '.join(order)}",
            )
        for name in order:
            if name not in wanted and self._follows(name, wanted) is None:
                raise InvalidArgument(
                    f"the storage axes {', '.join(wanted)} do not decide what '{name}' is",
                    where=caller_location(),
                    remedy=f"make '{name}' one of them, or sweep over less",
                )
        return wanted

    def _may_follow(self, name: str) -> bool:
        """Tell whether it is worth the time to ask whether a name follows from others."""
        if name in self._rule.inames:
            return True
        axis, elements = self._of.names.index(name), self._found.elements
        others = [other for other in range(len(self._of.names)) if other != axis]
        return all(
            any(
                c.is_equality()
                and c.involves_dims(isl.dim_type.set, axis, 1)
                and any(c.involves_dims(isl.dim_type.set, other, 1) for other in others)
                for c in piece.get_constraints()
            )
            for piece in elements.get_basic_sets()
        )

    def _follows(self, name: str, others: Sequence[str]) -> LinearForm | None:
        """Return the value of a name in terms of those of others, if these decide it."""
        if self._axes[name].extent == 1:
            return self._axes[name].base
        position = self._of.names.index
        return determined(self._found.elements, position(name), [position(n) for n in others])

    def value(self, name: str) -> Expression:
        """Return the value of a name where values are computed."""
        if name in self.stored:
            return self._axes[name].value(ex.Variable(self.inames[name]))
        form = self._follows(name, self.stored)
        if form is None:
            raise InternalError(f"'{name}' has no value")
        position = self._of.names.index
        values = {f"__value{position(other)}": self.value(other) for other in self.stored}
        normal = linear_form(walk.substitute(form.expression(), values))
        return form.expression() if normal is None else normal.expression()

    @property
    def shape(self) -> tuple[Expression, ...]:
        """The extent of each stored axis."""
        return tuple([self._axes[name].size for name in self.stored])

    @property
    def base_names(self) -> frozenset[str]:
        """The names in where these axes begin."""
        return NO_NAMES.union(*(self._axes[name].base.names() for name in self.stored))

    @cached_property
    def inames(self) -> Mapping[str, str]:
        """The iname along each axis that is stored."""
        given = self._how.inames
        if len(given) > len(self.stored):
            raise InvalidArgument(
                f"there are {len(given)} names for the loops of {len(self.stored)} axes",
                where=caller_location(),
                remedy=f"the axes are: {', '.join(self.stored) or 'none'}",
            )
        said = self._how.named or {}
        names = {axis: said[axis] for axis in self.stored if axis in said}
        names |= dict(zip(self.stored, given, strict=False))
        if twice := sorted(n for n in names.values() if [*names.values()].count(n) > 1):
            raise InvalidArgument(
                f"two axes cannot both be computed along '{twice[0]}'",
                where=caller_location(),
                remedy=f"the axes are: {', '.join(self.stored)}; give each a name",
            )
        for axis in self.stored:
            if axis not in names:
                taken = {*names.values(), self._how.temporary}
                names[axis] = self._kernel.new_name(self._how.names.get(axis, axis), taken)
        return {axis: names[axis] for axis in self.stored}

    @cached_property
    def news(self) -> tuple[str, ...]:
        """Those of them that the kernel does not have yet."""
        return tuple([i for i in self.inames.values() if i not in self._kernel.home_domains])

    @cached_property
    def olds(self) -> tuple[str, ...]:
        """Those that it has."""
        return tuple([i for i in self.inames.values() if i in self._kernel.home_domains])

    def places(self, outer: frozenset[str]) -> isl.Set:
        """Return where values are computed: what is known of the loops around is left out.

        A set with a dimension for each new iname.
        """
        # In the order of the axes of the rule, as the elements are; then in that of the storage.
        names = [self.inames.get(name) for name in self._of.names]
        exact = in_places(self._found.elements, self._found.axes, names)
        shapes = [] if self._how.box else [exact]
        if self._how.box or (self._how.box is None and not is_box(exact)):
            shapes.append(bounding_box(exact))
        if self.olds:
            check_room(self._kernel, exact, outer, self.olds)
        around = domain_of(self._kernel, outer.union(self.olds))
        around = intersection(around, self._kernel.assumptions.flat)
        if around.is_empty():  # of what nothing needs, nothing is known
            around = universe()
        # Where loops are old ones, their iterations are known, as those around are.
        loops = (unflatten(flatten(simplified(shape)), self.news) for shape in shapes)
        places = min((loop.gist_params(around) for loop in loops), key=_conditions)
        if (count := places.n_basic_set()) > _MOST_PIECES:
            raise self._of.refusal(
                ProofLimit,
                f"the values of '{self._rule.name}' that are needed form {count} separate pieces",
                f"sweep over other inames; at most {_MOST_PIECES} pieces are looked at",
            )
        return places

    def place(self, name: str, value: Expression) -> Expression:
        """Return where along its axis a value is."""
        axis, form = self._axes[name], linear_form(value)
        if form is not None:
            return axis.place(form)
        base = axis.base.expression()
        distance = value if base == 0 else ex.sum_of(value, ex.negated(base))
        dividend: Any = distance
        return dividend if axis.stride == 1 else ex.FloorDiv(dividend, axis.stride)


def _conditions(places: isl.Set) -> tuple[int, int]:
    """Return how many pieces a set has, and how many conditions and floors say what is in them."""
    pieces = places.get_basic_sets()
    floors = sum(piece.dim(isl.dim_type.div) for piece in pieces)
    return len(pieces), floors + sum(len(piece.get_constraints()) for piece in pieces)
