"""How many values names have in a flat set: as a formula in what is left, or as a number.

The formula is isl's piecewise quasi-polynomial, made by `polygen.analysis.summing`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

import islpy as isl

from polygen.analysis.affine import FloorTerm, LinearForm, Term
from polygen.analysis.isl_affine import to_aff
from polygen.analysis.polyhedra import problem_of
from polygen.analysis.proving import limited_count
from polygen.analysis.quasi_polynomials import QuasiPolynomial, form_text
from polygen.analysis.summing import Case, Effort, NotSummedError, cases
from polygen.errors import ProofLimit
from polygen.ir.domain import flat_names, intersection, unflatten

_PARAM = isl.dim_type.param
_SET = isl.dim_type.set
_MOST_TERMS = 2000


def formula(flat: isl.Set, names: Iterable[str], known: isl.Set) -> isl.PwQPolynomial | None:
    """Return how many values names have together, in terms of the other names of a flat set.

    Parameters:
        flat: the set.
        names: what is counted.
        known: what is known of the parameters, as a flat set: the formula is right there.

    Returns:
        The formula, or None if there are too many cases to tell apart.

    Raises:
        NotSummedError: if there is no end of values.
    """
    counted = frozenset(names)
    effort = Effort(_MOST_TERMS)
    found: list[Case] = []
    try:
        with limited_count():
            both = intersection(flat, known)
            for piece in _disjoint(both):
                found += cases(problem_of(piece, counted), effort)
            parameters = [n for n in flat_names(both) if n not in counted]
            simple = [(bounds, _simplified(sum_, known)) for bounds, sum_ in found]
            return _joined(parameters, simple, known)
    except ProofLimit:
        return None
    except NotSummedError as error:
        if error.is_infinite:
            raise
        return None


def is_finite(flat: isl.Set, names: Iterable[str]) -> bool:
    """Tell whether names have finitely many values in a flat set, whatever the others are."""
    return bool(unflatten(flat, sorted(names)).is_bounded())


def number(
    flat: isl.Set,
    names: Iterable[str],
    sizes: Mapping[str, int],
    holds: Callable[[Mapping[str, int]], bool] | None = None,
) -> int:
    """Return how many values names have together, for given values of the others.

    Parameters:
        flat: the set.
        names: what is counted.
        sizes: the values of others; of what is left, some value will do.
        holds: what a point has to fulfil beside; it gets the values of all names without a size.

    Raises:
        NotSummedError: if there is no end of values.
    """
    for position, name in enumerate(flat_names(flat)):
        if name in sizes:
            flat = flat.fix_val(_PARAM, position, isl.Val(sizes[name]))
    wanted = sorted(names)
    if holds is not None:
        wanted += sorted(set(flat_names(flat)).difference(wanted, sizes))
    values = unflatten(flat, wanted)
    values = values.project_out(_PARAM, 0, values.dim(_PARAM))
    if not values.is_bounded():
        raise NotSummedError(is_infinite=True)
    if holds is None:
        found: int = values.count_val().to_python()
        return found
    counted: set[tuple[int, ...]] = set()
    few = len(frozenset(names))

    def look(point: isl.Point) -> None:
        at = [point.get_coordinate_val(_SET, p).to_python() for p in range(len(wanted))]
        if holds(dict(zip(wanted, at, strict=True))):
            counted.add(tuple(at[:few]))

    values.foreach_point(look)
    return len(counted)


def _disjoint(flat: isl.Set) -> list[isl.BasicSet]:
    found: list[isl.BasicSet] = flat.coalesce().compute_divs().make_disjoint().get_basic_sets()
    return found


# --- what is known


def _simplified(polynomial: QuasiPolynomial, known: isl.Set) -> QuasiPolynomial:
    """Return a quasi-polynomial without floors of what has a known remainder."""
    if not known.involves_locals():
        return polynomial
    values: dict[Term, QuasiPolynomial] = {}
    for term in polynomial.factors():
        if isinstance(term, FloorTerm):
            rest = _remainder(term, known)
            if rest is not None:
                exact = QuasiPolynomial.of_form(term.numerator - rest)
                values[term] = exact * Fraction(1, term.divisor)
    return polynomial.replaced(values)


def _remainder(term: FloorTerm, known: isl.Set) -> int | None:
    """Return what is left when the numerator is divided, if it is always the same."""
    form: LinearForm = term.numerator % term.divisor
    function = isl.PwAff.from_aff(to_aff(form))
    values = isl.Set.from_pw_aff(function).intersect_params(known)
    values = values.project_out(_PARAM, 0, values.dim(_PARAM))
    if values.is_empty() or not values.is_singleton():
        return None
    least: int = values.dim_min_val(0).to_python()
    return least


# --- isl's form


def _joined(parameters: list[str], found: list[Case], known: isl.Set) -> isl.PwQPolynomial:
    """Return the sum of all cases."""
    names = f"[{', '.join(parameters)}]"
    total = isl.PwQPolynomial(f"{names} -> {{ 0 }}")
    alike: dict[QuasiPolynomial, isl.Set] = {}
    for bounds, summand in found:
        where = isl.Set(f"{names} -> {{ : {_condition(bounds)} }}")
        if summand in alike and where.is_disjoint(alike[summand]):
            alike[summand] = alike[summand].union(where)
            continue
        if summand in alike:
            total = total.add(_piece(names, summand, alike[summand]))
        alike[summand] = where
    for summand, where in alike.items():
        total = total.add(_piece(names, summand, where))
    return total.coalesce().gist_params(known).drop_unused_params()


def _condition(bounds: Iterable[LinearForm]) -> str:
    return " and ".join(f"{form_text(b)} >= 0" for b in bounds) or "true"


def _piece(names: str, summand: QuasiPolynomial, where: isl.Set) -> isl.PwQPolynomial:
    whole = isl.PwQPolynomial(f"{names} -> {{ {summand.text()} }}")
    return whole.intersect_params(where.coalesce())
