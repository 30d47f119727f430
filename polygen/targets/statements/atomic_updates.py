"""Atomic assignments: what the language has of its own, or a loop that tries again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from string import Template

from polygen.errors import AtomicNotSupported, InternalError
from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace
from polygen.ir.atomicity import (
    Atomicity,
    MemoryScope,
    Update,
    update_of,
    updated,
)
from polygen.ir.dtype import DType, computed_in, is_bfloat16, is_integer
from polygen.ir.expression import Expression
from polygen.lower.program import Assign
from polygen.targets.expressions.typed_terms import unsigned
from polygen.targets.languages.target import FLOAT16, FLOAT32, INT32, Atomics, Target
from polygen.targets.statements.expression_printer import ExpressionPrinter


def atomic_lines(
    node: Assign, target: Target, expressions: ExpressionPrinter, space: AddressSpace
) -> list[str]:
    """Return the lines of an atomic assignment to an element in an address space.

    Parameters:
        node: the assignment.
        target: the language.
        expressions: prints the expressions in it.
        space: where the element is; others see it.

    Raises:
        AtomicNotSupported: if the language has no such operation.
    """
    place = atomic_place(node, target, expressions, space)
    atomics, atomicity, names = place.atomics, place.atomicity, place.names
    if atomicity.init:
        note_needs(atomics, expressions)
        names["bits"] = bits_of(place, expressions, node.value)
        return filled(atomics.store(place.held.itemsize), names)
    update = update_of(node.target, node.value, atomicity.operation)
    if update is None:
        raise InternalError(f"'{node.insn_id}' is no update")
    native = is_native(place, expressions, update) and atomics.native(update.operation, place.dtype)
    if native:
        note_native(place, expressions, update.operation)
        names["x"] = expressions.value(update.operand, place.dtype, exact=True)
        return filled(native, names)
    note_needs(atomics, expressions)
    old = ex.Variable(expressions.new_name("old", computed_in(place.dtype)))
    names["begin"] = f"{names['T']} const "
    value = updated(node.target, node.value, old, atomicity.operation)
    return retried(place, expressions, old, value)


@dataclass(frozen=True)
class AtomicPlace:
    """An element that is changed atomically, and the operations that a language has.

    Attributes:
        atomics: the language's operations.
        atomicity: how it is atomic.
        dtype: the type of the numbers.
        held: the type of what is in memory.
        names: what stands for the names in the language's templates.
    """

    atomics: Atomics
    atomicity: Atomicity
    dtype: DType
    held: DType
    names: dict[str, str]


def atomic_place(
    node: Assign, target: Target, expressions: ExpressionPrinter, space: AddressSpace
) -> AtomicPlace:
    """Return where an atomic assignment writes, and note what that needs.

    Parameters and errors are those of `atomic_lines`.
    """
    atomics, atomicity = target.atomics, node.atomicity
    if atomicity is None or atomics is None:
        raise InternalError(f"an atomic operation in '{node.insn_id}'")
    dtype = expressions.declared_type(ex.name_of(node.updated))
    held = expressions.held_type(ex.name_of(node.updated))
    _check(atomics, target.name, atomicity, held, node.insn_id)
    if held.itemsize in atomics.needs:
        expressions.uses.types.add(atomics.needs[held.itemsize])
    halves = held == FLOAT16 and target.load_half  # which are computed with as floats
    names = {
        "at": expressions.element(node.updated, target.qualifiers[space]),
        "T": expressions.type_name(FLOAT32 if halves else computed_in(held)),
        "M": expressions.type_name(held),
        "U": expressions.type_name(unsigned(held)),
        "mask": hex(256**held.itemsize - 1),
        "space": target.qualifiers[space],
        **atomics.scopes[atomicity.scope],
    }
    ordering = atomics.orderings[atomicity.ordering]
    names |= {name: Template(text).substitute(names) for name, text in ordering.items()}
    return AtomicPlace(atomics, atomicity, dtype, held, names)


def note_needs(atomics: Atomics, expressions: ExpressionPrinter) -> None:
    """Note what the source needs for what the language has no operation for."""
    if atomics.retry_needs:
        expressions.uses.types.add(atomics.retry_needs)


def _check(atomics: Atomics, target: str, atomicity: Atomicity, dtype: DType, insn_id: str) -> None:
    what, there = "", ""
    of_scope = atomics.scope_sizes.get(atomicity.scope, atomics.sizes)
    remedy = "leave it out: what a kernel means does not depend on it"
    if atomicity.ordering not in atomics.orderings:
        what = f"asks for the memory ordering '{atomicity.ordering.value}'"
        there = f": it has {', '.join(o.value for o in atomics.orderings)}"
    elif atomicity.scope not in atomics.scopes:
        what = f"asks for the scope '{atomicity.scope.value}'"
        there = f": it has {', '.join(s.value for s in MemoryScope if s in atomics.scopes)}"
    elif dtype.itemsize not in atomics.sizes:
        what = f"updates a number of type '{dtype.name}' atomically"
        sizes = " or ".join(str(8 * size) for size in atomics.sizes)
        remedy = f"use a type of {sizes} bits"
    elif dtype.itemsize not in of_scope:
        what = f"updates a number of type '{dtype.name}' in the scope '{atomicity.scope.value}'"
        remedy = f"use a type of {' or '.join(str(8 * size) for size in of_scope)} bits"
    if what:
        raise AtomicNotSupported(
            f"instruction '{insn_id}' {what}, which target '{target}' does not have{there}",
            remedy=remedy,
        )


def note_native(place: AtomicPlace, expressions: ExpressionPrinter, operation: str) -> None:
    """Note what the source needs for an operation that the language has."""
    needed = place.atomics.native_needs(operation, place.dtype)
    if needed:
        expressions.uses.types.add(needed)


def is_native(place: AtomicPlace, expressions: ExpressionPrinter, update: Update) -> bool:
    """Tell whether what the language may have for an update means the same."""
    dtype = place.dtype
    if place.held != dtype:  # what is kept as another type is rounded after each update
        return False
    operand = expressions.type_of(update.operand, dtype)
    if is_integer(dtype):
        # Sums and bits may be computed in any type that is wide enough; extrema not.
        return is_integer(operand) and (update.operation not in ("min", "max") or operand == dtype)
    is_float = dtype.kind == "f" and operand == dtype
    return is_float and update.operation in place.atomics.native_floats


def retried(
    place: AtomicPlace, expressions: ExpressionPrinter, old: ex.Variable, value: Expression
) -> list[str]:
    """Return a loop that tries again until nobody else has changed the element in between.

    Parameters:
        place: the element; its names say how the old value is declared: `begin`.
        expressions: prints the expressions.
        old: what the old value is called.
        value: the new value, in terms of that.
    """
    atomics, held, names = place.atomics, place.held, place.names
    names["old"] = old.name
    # new is a keyword of C++
    made = {"new": "next", "seen": "seen", "place": "place", "part": "part", "shift": "shift"}
    used = [name for name in made if f"${name}" in atomics.retry(held.itemsize)]
    names.update({name: expressions.new_name(made[name], unsigned(held)) for name in used})
    names["bits"] = bits_of(place, expressions, value)
    names["number"] = number_of(place, expressions, names.get("part", names["seen"]))
    return filled(atomics.retry(held.itemsize), names)


def bits_of(place: AtomicPlace, expressions: ExpressionPrinter, value: Expression) -> str:
    """Return the bits of a number, as it is kept in memory."""
    held, names = place.held, place.names
    if is_bfloat16(held):
        return expressions.packed(value)
    text = expressions.value(value, place.dtype)
    # What is smaller than an int is computed as one.
    if held.itemsize < INT32.itemsize or expressions.type_of(value, place.dtype) != place.dtype:
        text = f"({names['T']}) ({text})"
    forms = place.atomics.forms(held)
    if forms.needs:
        expressions.uses.types.add(forms.needs)
    return forms.bits.format(text, **names)


def number_of(place: AtomicPlace, expressions: ExpressionPrinter, bits: str) -> str:
    """Return the number that bits from memory are."""
    if is_bfloat16(place.held):
        return expressions.unpacked(bits)
    return place.atomics.forms(place.held).number.format(bits, **place.names)


def filled(template: str, names: Mapping[str, str]) -> list[str]:
    """Return the lines of a template with what stands for its names."""
    return Template(template).substitute(names).strip("\n").split("\n")
