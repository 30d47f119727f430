"""Computes the elements that all instances touch through quotients and remainders by sizes.

Where ``ij`` has each value from 0 on below ``n*m``, ``ij // m`` and ``ij % m`` have each pair of
values below ``n`` and ``m``, once.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

import islpy as isl

from polygen.analysis.access.accesses import Reference, known_names
from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.integers.isl_affine import condition_set, to_pw_aff
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.integers.products import cofactors
from polygen.analysis.integers.quotients import Division, divisions
from polygen.analysis.integers.unknowns import Unknowns
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import flat_names, project_out
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel


def reached_elements(kernel: Kernel, reference: Reference) -> isl.Set | None:
    """Return the elements that a reference certainly touches; None if that is not known.

    Parameters:
        kernel: the kernel.
        reference: one with subscripts that are quotients or remainders by sizes, of numbers that
            have nothing to do with each other.
    """
    unknowns = Unknowns(known_names(kernel, reference))
    index = [unknowns.abstract(e) for e in reference.index]
    found = list(divisions(kernel, unknowns).values())
    if reference.conditions or reference.vague or not found:
        return None
    numbers = {division.number: division for division in found}
    bases = [d for d in found if _is_first(d, found)]
    each = [walk.free_variables(d.number).intersection(kernel.inames) for d in bases]
    used, own = NO_NAMES.union(*map(walk.free_variables, index)), NO_NAMES.union(*each)
    if used & own or len(numbers) < len(found) or len(own) < sum(map(len, each)):
        return None
    ends: dict[str, Expression] = {}
    for base, inames in zip(bases, each, strict=True):
        whole = _range(kernel, base, inames, reference.inames)
        digits = None if whole is None else _ends(kernel, base, whole, numbers)
        if digits is None:
            return None
        ends |= digits
    if not used.intersection(unknowns.names.values()) <= ends.keys():
        return None
    axes = [isl.Set.from_pw_aff(f) for f in map(to_pw_aff, index) if f is not None]
    if len(axes) < len(index):
        return None
    inside = [_between(ex.Variable(name), end) for name, end in ends.items()]
    rest = reference.inames - own
    points = reduce(isl.Set.intersect, inside, domain_of(kernel, rest))
    elements = reduce(isl.Set.flat_product, axes).intersect_params(points)
    return project_out(elements, [*rest, *ends])


def _is_first(division: Division, all_: list[Division]) -> bool:
    """Tell whether what is divided is no quotient, or remainder, itself."""
    return all(division.number not in (d.quotient, d.remainder) for d in all_)


def _range(
    kernel: Kernel, base: Division, own: frozenset[str], inames: frozenset[str]
) -> Expression | None:
    """Return the derived size below which a number has each value from 0 on; None if it is none.

    Other inames must have nothing to do with those of the number.
    """
    values = to_pw_aff(base.number)
    if values is None or with_surrounding(kernel, own) != own:
        return None
    homes = {kernel.home_domains[i] for i in own}
    if any(i not in own for d in homes for i in d.inames):
        return None
    if not with_surrounding(kernel, inames - own).isdisjoint(own):
        return None
    domain = domain_of(kernel, own)
    known = known_parameters(kernel)
    if not {n for n in flat_names(domain) if n not in own} <= frozenset(kernel.parameters):
        return None
    image = project_out(isl.Set.from_pw_aff(values).intersect_params(domain), own)
    for size, _ in cofactors(kernel, base.size):
        end = to_pw_aff(ex.Variable(size.name))
        assert end is not None
        below = isl.Map.lex_lt(image.get_space()).intersect_range(isl.Set.from_pw_aff(end))
        below_size = below.domain().lower_bound_val(isl.dim_type.set, 0, isl.Val(0))
        if image.intersect_params(known).is_equal(below_size.intersect_params(known)):
            return ex.Variable(size.name)
    return None


def _ends(
    kernel: Kernel, division: Division, whole: Expression, numbers: Mapping[Expression, Division]
) -> dict[str, Expression] | None:
    """Return what digits are less than: quotients and remainders that are divided no further."""
    other = next(
        (f for s, f in cofactors(kernel, division.size) if whole == ex.Variable(s.name)), None
    )
    if other is None:
        return None
    result: dict[str, Expression] = {}
    for part, end in ((division.quotient, other), (division.remainder, division.size)):
        inner = numbers.get(part)
        found = {ex.name_of(part): end} if inner is None else _ends(kernel, inner, end, numbers)
        if found is None:
            return None
        result |= found
    return result


def _between(value: Expression, end: Expression) -> isl.Set:
    """Return where a value is at least 0, and less than another."""
    both = [ex.Comparison(0, "<=", value), ex.Comparison(value, "<", end)]
    sets = [found for found in map(condition_set, both) if found is not None]
    return reduce(isl.Set.intersect, sets) if len(sets) == 2 else isl.Set("{ : 1 = 0 }")
