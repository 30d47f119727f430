"""Atomic updates that return the old value: ``old = fetch_add(a[i], x)``.

    int const h_old = atomic_add(&h[bin[i]], 1);
    slot = h_old;

What the language has no operation for is a loop that tries again, as for other updates.
"""

from __future__ import annotations

from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace
from polygen.ir.atomicity import update_of
from polygen.ir.dtype import computed_in, is_integer
from polygen.ir.expression import Expression
from polygen.ir.fetches import name_of_fetch, operation_of, with_old
from polygen.lower.program import Assign
from polygen.targets.languages.target import Target
from polygen.targets.statements.atomic_updates import (
    AtomicPlace,
    atomic_place,
    filled,
    is_native,
    note_native,
    note_needs,
    retried,
)
from polygen.targets.statements.expression_printer import ExpressionPrinter


def fetch_lines(
    node: Assign, target: Target, expressions: ExpressionPrinter, space: AddressSpace
) -> list[str]:
    """Return the lines of an atomic update that returns the old value.

    Parameters:
        node: the assignment: of the old value, and of the new one.
        target: the language.
        expressions: prints the expressions in it.
        space: where the element is that is updated; others see it.

    Raises:
        AtomicNotSupported: if the language has no such operation.
    """
    (assignee, before), (updated, value) = node.pairs
    if before != updated:
        raise InternalError(f"'{node.insn_id}' does not return the old value")
    place = atomic_place(node, target, expressions, space)
    kept, assignee = _index_before(assignee, ex.name_of(updated), expressions)
    name = expressions.new_name(f"{ex.name_of(updated)}_old", computed_in(place.dtype))
    old = ex.Variable(name)
    place.names["old"] = name
    lines = (
        _native(place, expressions, updated, value)
        or _swapped(place, expressions, updated, value)
        or _tried(place, expressions, old, with_old(updated, value, old))
    )
    return [*kept, *lines, f"{expressions.assignment(assignee, old)};"]


def _index_before(
    assignee: ex.Variable | ex.Subscript, name: str, expressions: ExpressionPrinter
) -> tuple[list[str], ex.Variable | ex.Subscript]:
    """Return what keeps a subscript that mentions what is updated, and the assignee with that."""
    if not isinstance(assignee, ex.Subscript):
        return [], assignee
    index, *chosen = ex.index_tuple(assignee)
    if walk.free_variables(index).isdisjoint({name, *expressions.overlapping(name)}):
        return [], assignee
    dtype = expressions.index_dtype
    kept = expressions.new_name(f"{ex.name_of(assignee)}_at", dtype)
    line = f"{expressions.variable_type(dtype)} const {kept} = {expressions.value(index, dtype)};"
    place = ex.Variable(kept)
    return [line], ex.Subscript(assignee.aggregate, (place, *chosen) if chosen else place)


def _native(
    place: AtomicPlace, expressions: ExpressionPrinter, updated: Expression, value: Expression
) -> list[str] | None:
    """Return the statement that the language has for an operation, if it means the same."""
    update = update_of(updated, value)
    if update is None or operation_of(updated, value) != update.operation:
        return None
    template = place.atomics.fetch(update.operation, place.dtype)
    if template is None or not is_native(place, expressions, update):
        return None
    note_native(place, expressions, update.operation)
    operand = expressions.value(update.operand, place.dtype, exact=True)
    return filled(template, {**place.names, "x": operand})


def _swapped(
    place: AtomicPlace, expressions: ExpressionPrinter, updated: Expression, value: Expression
) -> list[str] | None:
    """Return the lines of an exchange, or of one of integers that compares."""
    found = name_of_fetch(updated, value)
    if found is None:
        return None
    name, operands = found
    names, atomics, dtype = place.names, place.atomics, place.dtype
    if name not in ("exchange", "compare_exchange") or place.held != dtype:
        return None
    template = atomics.exchange(dtype)
    if name == "compare_exchange":
        types = [expressions.type_of(operand, dtype) for operand in operands]
        # Bits are compared, which other types, and numbers that are equal, do not have in common.
        if not is_integer(dtype) or any(found != dtype for found in types):
            return None
        template = atomics.compare_exchange(dtype)
        names["expected"] = expressions.value(operands[0], dtype, exact=True)
    if template is None:
        return None
    names["new"] = expressions.new_name("next", dtype)
    names["x"] = expressions.value(operands[-1], dtype, exact=True)
    return filled(template, names)


def _tried(
    place: AtomicPlace, expressions: ExpressionPrinter, old: ex.Variable, value: Expression
) -> list[str]:
    """Return the lines of a loop that tries again; the old value is known behind it."""
    note_needs(place.atomics, expressions)
    place.names["begin"] = ""
    return [f"{place.names['T']} {old.name};", *retried(place, expressions, old, value)]
