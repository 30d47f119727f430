"""Places of the program as isl sets."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import islpy as isl

from polygen.analysis.isl_affine import condition_set
from polygen.errors import InternalError
from polygen.validation.constraints import Facts, plain, to_set
from polygen.validation.polynomial import Polynomial, names, of_atom, plus, scaled
from polygen.validation.view import View
from polygen.validation.works import Copy


def set_of(view: View, facts: Facts) -> tuple[isl.Set, set[Hashable]]:
    """Return the flat set where a conjunction holds, and what of it is not affine."""
    result, left = to_set(facts.affine), set[Hashable]()
    for name, (condition, terms) in facts.others.items():
        holds = condition_set(plain(condition, terms), view.integers)
        if holds is None:
            left.add(name)
        else:
            result = result.intersect(holds)
    return result, left


def executed(view: View, copy: Copy) -> tuple[isl.Set, set[Hashable]]:
    """Return where a statement is executed, in terms of loops and of the work's inames.

    And the conditions that are not affine.
    """
    found, left = set_of(view, view.facts(copy.statement.frame))
    moved = {i: v for i, v in copy.values.items() if v != of_atom(i)}
    return found.intersect(view.known).intersect(where(moved)), left


def where(values: Mapping[str, Polynomial]) -> isl.Set:
    """Return the flat set in which inames have these values."""
    differences = [plus(of_atom(iname), value, -1) for iname, value in values.items()]
    if any(names(difference) is None for difference in differences):
        raise InternalError(f"an iname stands for something that is not affine: {values}")
    return to_set([part for d in differences for part in (d, scaled(d, -1))])
