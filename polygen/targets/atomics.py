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
from polygen.ir.dtype import DType, is_bfloat16, is_integer
from polygen.lower.program import Assign
from polygen.targets.expression import ExpressionPrinter
from polygen.targets.target import Atomics, Target


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
    _check(atomics, target.name, atomicity, dtype, node.insn_id)
    unsigned = _unsigned(held)
    if held.itemsize in atomics.needs:
        expressions.uses.types.add(atomics.needs[held.itemsize])
    names = {
        "at": expressions.target(node.target),
        "T": expressions.type_name(held),
        "U": expressions.type_name(unsigned),
        "space": target.qualifiers[space],
        **atomics.scopes[atomicity.scope],
    }
    ordering = atomics.orderings[atomicity.ordering]
    names |= {name: Template(text).substitute(names) for name, text in ordering.items()}
    if atomicity.init:
        _note_needs(atomics, expressions)
        names["x"] = expressions.value(node.value, dtype)
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
    elif dtype.itemsize not in atomics.sizes or dtype.kind == "c" or is_bfloat16(dtype):
        what = f"updates a number of type '{dtype.name}' atomically"
        sizes = " or ".join(str(8 * size) for size in atomics.sizes)
        remedy = "use a float32 or float64" if is_bfloat16(dtype) else f"use a type of {sizes} bits"
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
    elif operand != dtype or update.operation not in atomics.native_floats:
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
    names["old"] = expressions.new_name("old", dtype)
    made = {"new": "next", "seen": "seen", "place": "place"}  # new is a keyword of C++
    names |= {name: expressions.new_name(like, unsigned) for name, like in made.items()}
    assert node.atomicity is not None
    old, operation = ex.Variable(names["old"]), node.atomicity.operation
    value = updated(node.target, node.value, old, operation)
    text = expressions.value(value, dtype)
    same = expressions.type_of(value, dtype) == dtype
    names["value"] = text if same else f"({names['T']}) ({text})"
    return _filled(atomics.retry(held.itemsize), names)


def _unsigned(dtype: DType) -> DType:
    """Return the type of the bits of a number."""
    return np.dtype(f"uint{8 * dtype.itemsize}")


def _filled(template: str, names: Mapping[str, str]) -> list[str]:
    return Template(template).substitute(names).strip("\n").split("\n")
