"""Atomic assignments: what the language has of its own, or a loop that tries again."""

from __future__ import annotations

from collections.abc import Mapping
from string import Template

import numpy as np

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
    atomics, atomicity = target.atomics, node.atomicity
    if atomicity is None or atomics is None:
        raise InternalError(f"an atomic operation in '{node.insn_id}'")
    dtype = expressions.declared_type(ex.name_of(node.target))
    held = expressions.held_type(ex.name_of(node.target))
    _check(atomics, target.name, atomicity, held, node.insn_id)
    if held.itemsize in atomics.needs:
        expressions.uses.types.add(atomics.needs[held.itemsize])
    halves = held == FLOAT16 and target.load_half  # which are computed with as floats
    names = {
        "at": expressions.element(node.target, target.qualifiers[space]),
        "T": expressions.type_name(FLOAT32 if halves else computed_in(held)),
        "M": expressions.type_name(held),
        "U": expressions.type_name(_unsigned(held)),
        "mask": hex(256**held.itemsize - 1),
        "space": target.qualifiers[space],
        **atomics.scopes[atomicity.scope],
    }
    ordering = atomics.orderings[atomicity.ordering]
    names |= {name: Template(text).substitute(names) for name, text in ordering.items()}
    if atomicity.init:
        _note_needs(atomics, expressions)
        names["bits"] = _bits(atomics, expressions, node.value, (dtype, held), names)
        return _filled(atomics.store(held.itemsize), names)
    update = update_of(node.target, node.value, atomicity.operation)
    if update is None:
        raise InternalError(f"'{node.insn_id}' is no update")
    # What is kept as another type is rounded after each update.
    native = _native(atomics, expressions, update, dtype) if held == dtype else None
    if native is not None:
        needed = atomics.native_needs(update.operation, dtype)
        if needed:
            expressions.uses.types.add(needed)
        names["x"] = expressions.value(update.operand, dtype)
        return _filled(native, names)
    _note_needs(atomics, expressions)
    return _retried(atomics, expressions, node, names, (dtype, held))


def _note_needs(atomics: Atomics, expressions: ExpressionPrinter) -> None:
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


def _native(
    atomics: Atomics, expressions: ExpressionPrinter, update: Update, dtype: DType
) -> str | None:
    """Return the statement that the language has for an update, if it means the same."""
    operand = expressions.type_of(update.operand, dtype)
    if is_integer(dtype):
        # Sums and bits may be computed in any type that is wide enough; extrema not.
        if not is_integer(operand) or (update.operation in ("min", "max") and operand != dtype):
            return None
    elif dtype.kind != "f" or operand != dtype or update.operation not in atomics.native_floats:
        return None
    return atomics.native(update.operation, dtype)


def _retried(
    atomics: Atomics,
    expressions: ExpressionPrinter,
    node: Assign,
    names: dict[str, str],
    types: tuple[DType, DType],
) -> list[str]:
    dtype, held = types  # of the numbers, and of what is in memory
    unsigned = _unsigned(held)
    names["old"] = expressions.new_name("old", computed_in(dtype))
    # new is a keyword of C++
    made = {"new": "next", "seen": "seen", "place": "place", "part": "part", "shift": "shift"}
    used = [name for name in made if f"${name}" in atomics.retry(held.itemsize)]
    names |= {name: expressions.new_name(made[name], unsigned) for name in used}
    assert node.atomicity is not None
    old, operation = ex.Variable(names["old"]), node.atomicity.operation
    value = updated(node.target, node.value, old, operation)
    names["bits"] = _bits(atomics, expressions, value, types, names)
    names["number"] = _number(atomics, expressions, held, names)
    return _filled(atomics.retry(held.itemsize), names)


def _bits(
    atomics: Atomics,
    expressions: ExpressionPrinter,
    value: Expression,
    types: tuple[DType, DType],
    names: Mapping[str, str],
) -> str:
    """Return the bits of a number, as it is kept in memory."""
    dtype, held = types
    if is_bfloat16(held):
        return expressions.packed(value)
    text = expressions.value(value, dtype)
    # What is smaller than an int is computed as one.
    if held.itemsize < INT32.itemsize or expressions.type_of(value, dtype) != dtype:
        text = f"({names['T']}) ({text})"
    forms = atomics.forms(held)
    if forms.needs:
        expressions.uses.types.add(forms.needs)
    return forms.bits.format(text, **names)


def _number(
    atomics: Atomics, expressions: ExpressionPrinter, held: DType, names: Mapping[str, str]
) -> str:
    """Return the number that bits from memory are."""
    bits = names.get("part", names["seen"])
    if is_bfloat16(held):
        return expressions.unpacked(bits)
    return atomics.forms(held).number.format(bits, **names)


def _unsigned(dtype: DType) -> DType:
    """Return the type of the bits of a number."""
    return np.dtype(f"uint{8 * dtype.itemsize}")


def _filled(template: str, names: Mapping[str, str]) -> list[str]:
    return Template(template).substitute(names).strip("\n").split("\n")
