"""Distances between iterations that touch one element: which loops are parallel, alone and fused.

    for i: b[i] = 2*a[i]          'b': distance 0 along i: the fused loop is as parallel
    for j: c[j] = b[j-1]          'b': distance 1: it would be serial

All is read from subscripts, as linear forms, in the coordinates of the first nest.  Nothing rests
on it but a choice: steps are proved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import product
from typing import TypeAlias

from polygen.analysis.integers.affine_forms import LinearForm

Forms: TypeAlias = tuple[LinearForm | None, ...]


@dataclass(frozen=True)
class Touch:
    """An access of a nest.

    Attributes:
        name: the variable.
        forms: its subscripts; None for one that is data, or no linear form of the loops.
        is_write: whether the variable is written.
        is_sure: whether no condition decides that it is touched.
        is_own: whether it is a scalar of which each iteration has one.
    """

    name: str
    forms: Forms
    is_write: bool
    is_sure: bool
    is_own: bool


class Carried(Enum):
    """A value that a loop hands from one iteration to a later one."""

    NOTHING = "no iteration needs another one"
    SOMETHING = "an iteration needs one before"
    PERHAPS = "its subscripts do not show whether iterations need each other"


def distance(first: Forms, second: Forms, loops: Sequence[str]) -> Mapping[str, int] | None:
    """Return by how much iterations are apart that touch one element; None if none do.

    Loops that are not mentioned may be any number of iterations apart.

    Parameters:
        first: the subscripts of an access.
        second: those of a later one, in the same coordinates.
        loops: the loops; what surrounds them has one value.
    """
    found: dict[str, int] = {}
    pairs = [
        (one, other)
        for one, other in zip(first, second, strict=False)
        if one is not None and other is not None and one.terms == other.terms
    ]
    pairs.sort(key=lambda pair: sum(t in loops for t in pair[0].terms))  # what one loop says first
    for one, other in pairs:
        own = {str(t): n for t, n in one.terms.items() if t in loops}
        left = one.constant - other.constant - sum(n * found.get(i, 0) for i, n in own.items())
        unknown = [iname for iname in own if iname not in found]
        if not unknown and left:
            return None
        if len(unknown) == 1:
            apart, rest = divmod(left, own[unknown[0]])
            if rest:
                return None
            found[unknown[0]] = apart
    return found


def carried(touches: Sequence[Touch], loops: Sequence[str]) -> dict[str, Carried]:
    """Return what each loop of a nest carries.

    Parameters:
        touches: the accesses of the nest, in order.
        loops: its loops, outermost first.
    """
    states = dict.fromkeys(loops, Carried.NOTHING)
    by_name: dict[str, list[Touch]] = {}
    for touch in touches:
        by_name.setdefault(touch.name, []).append(touch)
    for uses in by_name.values():
        if uses[0].is_own and begins_anew(uses):
            continue
        for write, use in product([u for u in uses if u.is_write], uses):
            _add(states, distance(write.forms, use.forms, loops), loops)
    return states


def begins_anew(uses: Sequence[Touch]) -> bool:
    """Tell whether a nest writes a variable before it reads it."""
    return uses[0].is_write and uses[0].is_sure


def _add(states: dict[str, Carried], known: Mapping[str, int] | None, loops: Sequence[str]) -> None:
    """Add what a dependence says: the outermost loop with a distance carries it."""
    if known is None:
        return
    for iname in loops:
        apart = known.get(iname)
        if apart:
            states[iname] = Carried.SOMETHING
            return
        if apart is None and states[iname] is Carried.NOTHING:
            states[iname] = Carried.PERHAPS


def moved(touch: Touch, at: Mapping[str, tuple[str, int]]) -> Touch:
    """Return an access in other coordinates.

    Parameters:
        touch: the access.
        at: for each iname, the one that takes its place, and what is added to that.
    """
    return replace(touch, forms=tuple([_moved(form, at) for form in touch.forms]))


def _moved(form: LinearForm | None, at: Mapping[str, tuple[str, int]]) -> LinearForm | None:
    if form is None:
        return None
    constant = form.constant
    terms = dict(form.terms)
    for old, (new, added) in at.items():
        if old in form.terms:
            factor = terms.pop(old)
            terms[new] = factor
            constant += factor * added
    return LinearForm(constant, terms)
