"""The bounds of a loop, from the values that its iname takes.

On a grid of work items, a loop whose number of iterations is a constant keeps it, and what else
restricts its values becomes a guard inside: compilers unroll such loops.  On processors, where
compilers make no vectors of guarded iterations, partial tiles are bounds::

    for (int j_inner = 0; j_inner < min(64, m - 64 * j_outer); ++j_inner)

Any other loop runs from its greatest lower to its least upper bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import NamedTuple, TypeAlias

import islpy as isl

from polygen.analysis.integers.affine_forms import FloorTerm, LinearForm, linear_form
from polygen.analysis.integers.constraint_forms import constraint_forms
from polygen.analysis.integers.isl_affine import form_of_aff, to_aff, to_pw_aff
from polygen.errors import InternalError, LiteralOutOfRange, UnboundedDomain
from polygen.ir import expression as ex
from polygen.ir.domain import flat_names, project_out, unflatten, universe
from polygen.ir.expression import Expression
from polygen.lower.address import simplify
from polygen.source import caller_location

_LARGEST = 2**63 - 1  # of counters
_PARAM = isl.dim_type.param


@dataclass(frozen=True)
class Bounds:
    """``iname = lower, lower + step, ... < upper``.

    Attributes:
        held: what is known inside the loop because of it; a flat set.
    """

    lower: Expression
    upper: Expression
    step: int
    held: isl.Set

    @property
    def constant(self) -> range | None:
        """The values of the iname if they are numbers, else None.

        Raises:
            LiteralOutOfRange: if there are more than counters can count.
        """
        if isinstance(self.lower, int) and isinstance(self.upper, int):
            if max(abs(self.lower), abs(self.upper), self.upper - self.lower) > _LARGEST:
                raise LiteralOutOfRange(
                    f"a loop from {self.lower} to {self.upper} is longer than counters can count",
                    where=caller_location(),
                    remedy="let it end below 2**63; was a size fixed that is not meant?",
                )
            return range(self.lower, self.upper, self.step)
        return None

    @property
    def only_value(self) -> Expression | None:
        """The value of a loop with one iteration, if it is simple enough to stand for it."""
        values = self.constant
        if values is not None:
            return values[0] if len(values) == 1 else None
        lower, upper = linear_form(self.lower), linear_form(self.upper)
        if lower is None or upper is None or any(not isinstance(t, str) for t in lower.terms):
            return None
        return self.lower if lower + 1 == upper else None

    @property
    def count(self) -> Expression:
        """The number of iterations; meaningful for a step of 1, where it is not negative."""
        if self.lower == 0:
            return self.upper
        return simplify(ex.sum_of(self.upper, ex.negated(self.lower)))


class _Limit(NamedTuple):
    """One end of a loop: the bound, and the constraint that it comes from: which of a piece."""

    bound: LinearForm
    piece: isl.BasicSet
    position: int


_Ends: TypeAlias = tuple[list[_Limit], list[_Limit]]
_Choice: TypeAlias = Callable[[list[_Limit], list[_Limit]], _Ends]


def loop_bounds(
    iname: str,
    values: isl.Set,
    known: isl.Set,
    *,
    constant_first: bool = False,
    exact: bool = False,
    asked_inside: AbstractSet[str] | None = None,
) -> Bounds:
    """Return the bounds of a loop.

    Parameters:
        iname: the loop's variable.
        values: the values that it takes, in terms of parameters and outer inames; flat.
        known: what holds around the loop; flat.
        constant_first: rather than leave out values, start from a constant; what is left out
            becomes guards.
        exact: leave out no bound for the sake of constants: the loop is one of several in a row.
        asked_inside: bounds that mention one of these names give way to constants, and become
            guards; if None, all others do.

    Raises:
        UnboundedDomain: if it is not bounded on both sides.
    """
    # There may be existential dimensions of which isl does not know what they are.
    values = values.compute_divs()
    choice = _constants if asked_inside is None else partial(_without, asked_inside)
    choice = _all if exact else choice
    return _found(iname, values, _ends(values, iname), known, constant_first, choice)


def _found(
    iname: str,
    values: isl.Set,
    found: tuple[list[isl.BasicSet], list[_Ends]],
    known: isl.Set,
    constant_first: bool,
    choice: _Choice,
) -> Bounds:
    """Return the bounds of a loop of which the ends were found."""
    pieces, ends = found
    exact = choice is _all
    constant = _constant_ends(ends[0], choice) if len(pieces) == 1 and not exact else None
    if constant and values.n_basic_set() == 1 and not pieces[0].dim(isl.dim_type.div):
        return _constant_bounds(constant)
    if len(pieces) == 1 and not exact and (steady := _steady_bounds(iname, values, ends[0])):
        return steady
    simplified = values
    if not known.plain_is_universe():
        simpler = _concerning(iname, values).gist(known).compute_divs()
        fewer = _ends(simpler, iname)
        is_bounded = all(lowers and uppers for lowers, uppers in fewer[1])  # not lost in `known`
        if is_bounded and len(fewer[0]) <= max(1, len(pieces)):
            simplified, (pieces, ends) = simpler, fewer
    if not ends:
        return Bounds(0, 0, 1, universe())  # nothing is ever executed
    for lowers, uppers in ends:
        _check(iname, values, lowers, uppers)
    chosen = [constant] if constant else [choice(lowers, uppers) for lowers, uppers in ends]
    lower = _join(ex.Min, [_join(ex.Max, _bounds(lowers)) for lowers, _ in chosen])
    upper = _join(ex.Max, [_join(ex.Min, _tight(uppers, known)) for _, uppers in chosen])
    held = universe() if len(chosen) > 1 else _held(*chosen[0])
    stride = _stride(simplified, pieces, iname)
    if stride is None or (constant_first and not stride[1].is_constant):
        return Bounds(lower, upper, 1, held)
    step, offset, congruent = stride
    return Bounds(_first(lower, offset, step), upper, step, held.intersect(congruent))


def constant_bounds(iname: str, values: isl.Set) -> Bounds | None:
    """Return constants between which all values of a loop are, whatever else holds; or None."""
    others = [name for name in flat_names(values) if name != iname]
    alone = project_out(values, others).compute_divs()
    ends = _ends(alone, iname)
    if not all(lowers and uppers for lowers, uppers in ends[1]):
        return None
    found = _found(iname, alone, ends, universe(), constant_first=False, choice=_constants)
    return None if found.constant is None else found


def _steady_bounds(iname: str, values: isl.Set, ends: _Ends) -> Bounds | None:
    """Return constants in place of bounds with divisions, if that adds one iteration at most.

    ``for (io = 0; io < (33 - ii) / 16; ++io)`` becomes two iterations and a guard in them.  So
    does what has many bounds: to find the greatest of them takes longer than an empty iteration.
    """
    lowers, uppers = ends
    forms = [limit.bound for limit in (*lowers, *uppers)]
    if not any(isinstance(term, FloorTerm) for form in forms for term in form.terms):
        return None
    if any(_is_open(values, limits) for limits in ends):
        return None
    fixed = constant_bounds(iname, values)
    if fixed is None or fixed.constant is None:
        return None
    if len(lowers) * len(uppers) > _MANY:
        return fixed
    around = project_out(values, [iname])
    for first, last in product(lowers, uppers):
        count = isl.PwAff.from_aff(to_aff(last.bound - first.bound)).intersect_params(around)
        least = count.min_val()
        if not least.is_int() or least.to_python() < len(fixed.constant) - 1:
            return None
    return fixed


def _is_open(values: isl.Set, limits: Sequence[_Limit]) -> bool:
    """Tell whether it is plain that no constant limits a loop on one side.

    So it is if each limit there mentions something that is not bounded on both sides itself.
    """
    return _is_plain(values) and all(
        any(_has_no_end(values, n) for n in limit.bound.names()) for limit in limits
    )


def _has_no_end(values: isl.Set, name: str) -> bool:
    at = values.find_dim_by_name(_PARAM, name)
    return not (values.dim_has_upper_bound(_PARAM, at) and values.dim_has_lower_bound(_PARAM, at))


_MANY = 9  # pairs of a lower and an upper bound


def _is_plain(values: isl.Set) -> bool:
    return values.n_basic_set() == 1 and not values.involves_locals()


def _concerning(iname: str, values: isl.Set) -> isl.Set:
    """Return a set with the same bounds of `iname`, simpler where that is easy."""
    position = values.find_dim_by_name(_PARAM, iname)
    if position < 0 or not _is_plain(values):
        return values
    return values.drop_constraints_not_involving_dims(_PARAM, position, 1)


def _ends(values: isl.Set, iname: str) -> tuple[list[isl.BasicSet], list[_Ends]]:
    """Return the pieces of a set, one if that will do, and both ends of the loop in each."""
    pieces = values.get_basic_sets()
    if len(pieces) != 1:
        hull = values.simple_hull()
        limits = _limits(hull, iname)
        if all(limits):
            return [hull], [limits]
    return pieces, [_limits(piece, iname) for piece in pieces]


def _constant_ends(ends: _Ends, choice: _Choice) -> _Ends | None:
    """Return the ends of a loop with a constant number of iterations.

    Before anything is simplified: an assumption such as ``n <= 64`` can make a constant bound
    redundant, beside one that is not constant.
    """
    lowers, uppers = choice(*ends)
    if all(limit.bound.is_constant for limit in (*lowers, *uppers)) and lowers and uppers:
        return _constants(lowers, uppers)
    return None


def _constant_bounds(ends: _Ends) -> Bounds:
    (lower,), (upper,) = ends
    return Bounds(lower.bound.constant, upper.bound.constant, 1, _held(*ends))


def _check(iname: str, values: isl.Set, lowers: list[_Limit], uppers: list[_Limit]) -> None:
    if lowers and uppers:
        return
    side = "upper" if lowers else "lower"
    raise UnboundedDomain(
        f"the loop of '{iname}' has no {side} bound: its values are {values}",
        remedy=f"bound '{iname}' on both sides in its domain",
    )


def _limits(piece: isl.BasicSet, iname: str) -> _Ends:
    """Return the lower and the (exclusive) upper limits that the constraints put on `iname`."""
    lowers: list[_Limit] = []
    uppers: list[_Limit] = []
    for constraint in constraint_forms(piece, iname):
        terms = dict(constraint.form.terms)
        factor = terms.pop(iname, 0)
        if not factor:
            continue
        rest = LinearForm(constraint.form.constant, terms)
        if any(not isinstance(term, str) for term in terms) and iname in rest.names():
            continue
        for sign in (1, -1) if constraint.is_equality else (1,):
            bounds, bound = _limit(lowers, uppers, rest * sign, factor * sign)
            bounds.append(_Limit(bound, piece, constraint.position))
    if piece.dim(isl.dim_type.div) and not (lowers and uppers):
        # What bounds it is said through an existential dimension alone.
        return _limits(piece.remove_divs(), iname)
    return lowers, uppers


def _limit(
    lowers: list[_Limit], uppers: list[_Limit], rest: LinearForm, factor: int
) -> tuple[list[_Limit], LinearForm]:
    """Return the bound that ``factor*iname + rest >= 0`` means, and where it belongs."""
    if factor > 0:
        return lowers, (-rest + (factor - 1)) // factor
    return uppers, (rest + (-factor)) // -factor


def _constants(lowers: list[_Limit], uppers: list[_Limit]) -> _Ends:
    """Choose the constant limits if they bound the loop on both sides; else all."""
    low = [limit for limit in lowers if limit.bound.is_constant]
    high = [limit for limit in uppers if limit.bound.is_constant]
    if not (low and high):
        return lowers, uppers
    return (
        [max(low, key=lambda limit: limit.bound.constant)],
        [min(high, key=lambda limit: limit.bound.constant)],
    )


def _without(names: AbstractSet[str], lowers: list[_Limit], uppers: list[_Limit]) -> _Ends:
    """Choose the limits that mention none of the names, if constants bound the loop; else all."""
    sides = lowers, uppers
    if not all(any(limit.bound.is_constant for limit in side) for side in sides):
        return sides
    kept = [[s for s in side if names.isdisjoint(s.bound.names())] for side in sides]
    return kept[0], kept[1]


def _all(lowers: list[_Limit], uppers: list[_Limit]) -> _Ends:
    return lowers, uppers


def _bounds(limits: Sequence[_Limit]) -> list[LinearForm]:
    return list(dict.fromkeys(limit.bound for limit in limits))


def _tight(uppers: Sequence[_Limit], known: isl.Set) -> list[LinearForm]:
    """Return the bounds, ``n // 4`` in place of ``(n + 3) // 4`` where these are equal."""
    bounds = _bounds(uppers)
    return [_without_rounding(b, known) for b in bounds] if _has_equations(known) else bounds


def _has_equations(known: isl.Set) -> bool:
    """Tell whether something is fixed, or congruent to something."""
    return any(
        piece.dim(isl.dim_type.div) or any(c.is_equality() for c in piece.get_constraints())
        for piece in known.get_basic_sets()
    )


def _without_rounding(bound: LinearForm, known: isl.Set) -> LinearForm:
    if len(bound.terms) != 1:
        return bound
    ((term, factor),) = bound.terms.items()
    if not isinstance(term, FloorTerm) or factor != 1:
        return bound
    plain = (term.numerator - (term.divisor - 1)) // term.divisor + bound.constant
    old, new = (to_pw_aff(form.expression()) for form in (bound, plain))
    if old is None or new is None:
        raise InternalError(f"the bound {bound!r} is not affine")
    return plain if known.is_subset(old.eq_set(new)) else bound


def _join(
    kind: type[ex.Min] | type[ex.Max], bounds: Sequence[LinearForm | Expression]
) -> Expression:
    nodes = tuple([b.expression() if isinstance(b, LinearForm) else b for b in bounds])
    if len(nodes) > 1:
        nodes = tuple(dict.fromkeys(nodes))
    return nodes[0] if len(nodes) == 1 else kind(nodes)


def _held(lowers: Sequence[_Limit], uppers: Sequence[_Limit]) -> isl.Set:
    """Return what the constraints alone say that the limits come from, all of one piece."""
    piece = lowers[0].piece
    constraints = piece.get_constraints()
    held = isl.BasicSet.universe(piece.get_space())
    for limit in (*lowers, *uppers):
        held = held.add_constraint(constraints[limit.position])
    return held.to_set()


def _stride(
    values: isl.Set, pieces: Sequence[isl.BasicSet], iname: str
) -> tuple[int, LinearForm, isl.Set] | None:
    """Return the step of the loop, what its values are congruent to, and a set that says so.

    None if the step is 1.
    """
    if all(piece.dim(isl.dim_type.div) == 0 for piece in pieces):
        return None
    info = unflatten(values, [iname]).get_stride_info(0)
    step: int = info.get_stride().to_python()
    if step <= 1:
        return None
    offset = form_of_aff(info.get_offset())
    difference = (LinearForm.of_name(iname) - offset) % step
    congruent = to_pw_aff(difference.expression())
    zero = to_pw_aff(0)
    if congruent is None or zero is None:
        raise InternalError(f"the stride of '{iname}' is not affine")
    return step, offset, congruent.eq_set(zero)


def _first(lower: Expression, offset: LinearForm, step: int) -> Expression:
    """Return the first value from `lower` on that is congruent to `offset`."""
    if isinstance(lower, int) and offset.is_constant:
        return lower + (offset.constant - lower) % step
    shift = ex.Remainder(ex.sum_of(offset.expression(), ex.negated(lower)), step)
    return ex.sum_of(lower, shift)
