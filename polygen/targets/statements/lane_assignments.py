"""Assignments for all lanes at once, as text: of vectors, or of what lies apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.targets.expressions.name_facts import Choice
from polygen.targets.expressions.typed_terms import promoted
from polygen.targets.lanes.lane_accesses import assigned_lanes, copied_lanes, is_at_once
from polygen.targets.lanes.lane_printer import in_lane
from polygen.targets.statements.expression_printer import ExpressionPrinter


def is_scattered(e: ExpressionPrinter, target: ex.Subscript, lanes: tuple[str, int]) -> bool:
    """Tell whether what all lanes write is neither a vector nor next to each other."""
    return not is_at_once(e.in_lanes(lanes), target)


def assignment_at_once(
    e: ExpressionPrinter, target: ex.Subscript, value: Expression, lanes: tuple[str, int]
) -> str:
    """Return an assignment for all lanes at once: of a vector.

    Parameters:
        target: what is written, in terms of the iname of the lanes.
        value: the value.
        lanes: the iname, and how many lanes there are, from 0 on.

    Raises:
        LiteralOutOfRange: see `value`.
    """
    p, dtype = e.in_lanes(lanes), e.declared_type(ex.name_of(target))
    copy = copied_lanes(p, target, value)
    if copy is not None:
        return copy
    p.annotate(value)
    text = assigned_lanes(p, target, p.value(value, dtype))
    p.forget()
    return text


def assignments_at_once(
    e: ExpressionPrinter, pairs: Iterable[tuple[ex.Subscript, Expression]], lanes: tuple[str, int]
) -> Iterator[str]:
    """Yield declarations of vectors for values, and the assignments of these.

    Parameters:
        pairs: targets and values, as those of `assignment_at_once`.
        lanes: as there.

    Raises:
        LiteralOutOfRange: see `value`.
    """
    p, pairs = e.in_lanes(lanes), list(pairs)
    apart = _are_apart(e, pairs)
    later: list[Iterator[str]] = []
    for target, value in pairs:
        if apart and is_at_once(p, target):
            yield assignment_at_once(e, target, value, lanes)
            continue
        name = ex.name_of(target)
        p.annotate(value)
        term = p.value(value, e.declared_type(name))
        term = p.spread(p.element(term, promoted(term.c_type)))
        p.forget()
        vector = e.new_name(f"{name}_lanes", term.c_type)
        choices = cast("dict[str, Choice]", p.names.choices)
        choices[vector] = Choice((), 0, alone=True, length=p.count)
        yield f"{p.vector(term.c_type)} const {vector} = {term.text}"
        later.append(_assigned(e, target, vector, lanes))
    for assignments in later:
        yield from assignments


def _are_apart(e: ExpressionPrinter, pairs: Sequence[tuple[ex.Subscript, Expression]]) -> bool:
    """Tell whether no assignment changes what a later one reads."""
    written: set[str] = set()
    for target, value in pairs:
        indices = [walk.free_variables(i) for i in ex.index_tuple(target)]
        if not written.isdisjoint(walk.free_variables(value).union(*indices)):
            return False
        name = ex.name_of(target)
        written |= {name, *e.overlapping(name)}
    return True


def _assigned(
    e: ExpressionPrinter, target: ex.Subscript, vector: str, lanes: tuple[str, int]
) -> Iterator[str]:
    """Yield the assignments of a vector to the elements of all lanes."""
    p = e.in_lanes(lanes)
    whole = ex.Subscript(ex.Variable(vector), (0, ex.Variable(p.iname)))
    if is_at_once(p, target):
        yield assignment_at_once(e, target, whole, lanes)
        return
    for lane in range(p.count):
        place = cast("ex.Subscript", in_lane(target, p.iname, lane))
        yield e.assignment(place, in_lane(whole, p.iname, lane))
