"""Places of the program as isl sets."""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping
from functools import reduce

import islpy as isl

from polygen.analysis.integers.isl_affine import condition_set
from polygen.errors import WrongInstances
from polygen.ir import expression as ex
from polygen.ir.domain import universe
from polygen.ir.expression import Expression
from polygen.ir.show_expression import show_expression
from polygen.validation.constraints import Facts, plain, to_set
from polygen.validation.copy_of import Copy
from polygen.validation.faults import fault
from polygen.validation.frames import Frame
from polygen.validation.polynomial import constant, of_atom, plus, scaled
from polygen.validation.view import View


def set_of(view: View, facts: Facts) -> tuple[isl.Set, set[Hashable]]:
    """Return the flat set where a conjunction may hold, and what of it is not affine."""
    result, left = to_set(facts.affine), set[Hashable]()
    for name, (condition, terms) in facts.others.items():
        asked = plain(condition, terms)
        if condition_set(asked, view.integers) is None:
            left.add(name)
        result = result.intersect(may_hold(asked, view.integers))
    return result, left


def may_hold(condition: Expression, integers: Container[str]) -> isl.Set:
    """Return the flat set where data decides a condition, or it holds whatever the data is."""
    return _certain_and_possible(condition, integers)[1]


def _certain_and_possible(
    condition: Expression, integers: Container[str]
) -> tuple[isl.Set, isl.Set]:
    """Return where a condition holds whatever the data is, and where it may hold."""
    holds = condition_set(condition, integers)
    if holds is not None:
        return holds, holds
    if isinstance(condition, ex.LogicalNot):
        certain, possible = _certain_and_possible(condition.child, integers)
        return possible.complement(), certain.complement()
    if not isinstance(condition, ex.LogicalAnd | ex.LogicalOr):
        return universe().complement(), universe()
    join = isl.Set.intersect if isinstance(condition, ex.LogicalAnd) else isl.Set.union
    parts = [_certain_and_possible(child, integers) for child in condition.children]
    return reduce(join, [part[0] for part in parts]), reduce(join, [part[1] for part in parts])


def executed(view: View, copy: Copy) -> tuple[isl.Set, frozenset[Hashable]]:
    """Return where a statement is executed, in terms of loops and of the work's inames.

    And the conditions that are not affine.
    """
    found, conditions = reached(view, copy.statement.frame)
    return found.intersect(inames_of(view, copy)), conditions


def reached(view: View, frame: Frame) -> tuple[isl.Set, frozenset[Hashable]]:
    """Return where what is in a frame may be executed, and the conditions that are not affine."""
    if frame not in view.executed:
        found, left = set_of(view, view.facts(frame))
        view.executed[frame] = found.intersect(view.known), frozenset(left)
    return view.executed[frame]


def inames_of(view: View, copy: Copy, only: frozenset[str] | None = None) -> isl.Set:
    """Return where inames of a work that are no loops have the values that they stand for.

    Parameters:
        view: the program.
        copy: a statement that carries out the work.
        only: the inames that matter; None for all.
    """
    result = universe()
    terms = view.terms(copy.statement.frame)
    for iname, value in copy.values.items():
        if value == of_atom(iname) or (only is not None and iname not in only):
            continue
        stands_for = terms.alias(iname)
        if stands_for is None:
            stands_for = copy.statement.values[iname]
        equation = ex.Comparison(ex.Variable(iname), "==", plain(stands_for, terms))
        holds = condition_set(equation, view.integers)
        if holds is None:
            raise fault(
                WrongInstances,
                view.kernel,
                f"'{iname}' is '{show_expression(stands_for)}', which is not affine",
            )
        result = result.intersect(holds)
    return result


def where(values: Mapping[str, int]) -> isl.Set:
    """Return the flat set in which inames have these values."""
    differences = [plus(of_atom(iname), constant(value), -1) for iname, value in values.items()]
    return to_set([part for d in differences for part in (d, scaled(d, -1))])
