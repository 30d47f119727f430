"""Functions that take all arguments of a kernel from slots of one size, whatever their types."""

from __future__ import annotations

from typing import Any

from polygen.ir.array import GlobalArg
from polygen.targets.programs.program import Program

MOST_SLOTS = 256  # as the helper has room for: quick_calls.c
# Types of scalars: the member of a slot, and what C converts it to.
_C_TYPES = {
    "int8": ("i", "signed char"),
    "int16": ("i", "short"),
    "int32": ("i", "int"),
    "int64": ("i", "long"),
    "uint8": ("u", "unsigned char"),
    "uint16": ("u", "unsigned short"),
    "uint32": ("u", "unsigned"),
    "uint64": ("u", "unsigned long"),
    "float32": ("d", "float"),
    "float64": ("d", "double"),
}


def with_slots(program: Program) -> str:
    """Return the source of a C program with a function that takes all arguments from slots.

    ::

        typedef union { long i; unsigned long u; double d; void *p; } pg_slot;
        void add_from_slots(const pg_slot *pg_s);
        void add_from_slots(const pg_slot *pg_s) { add(pg_s[0].p, (int)pg_s[1].i); }
    """
    if not has_slots(program):
        return program.source
    values = [_from_slot(k, arg) for k, arg in enumerate(program.arguments)]
    head = f"void {slots_function(program)}(const pg_slot *pg_s)"
    return (
        f"{program.source}\n"
        "typedef union { long i; unsigned long u; double d; void *p; } pg_slot;\n"
        f"{head};\n{head} {{ {program.loop_program.name}({', '.join(values)}); }}\n"
    )


def slots_function(program: Program) -> str:
    """Return the name of the function that takes all arguments of a program from slots."""
    return f"{program.loop_program.name}_from_slots"


def _from_slot(k: int, argument: Any) -> str:
    if isinstance(argument, GlobalArg):
        return f"pg_s[{k}].p"
    member, name = _C_TYPES[argument.dtype.name]
    return f"({name})pg_s[{k}].{member}"


def has_slots(program: Program) -> bool:
    """Tell whether all arguments of a program can be in slots.

    What calls numerical libraries does without: somebody has to look at what these say.
    """
    if program.loop_program.libraries:
        return False
    scalars = [a for a in program.arguments if not isinstance(a, GlobalArg)]
    if len(program.arguments) > MOST_SLOTS:
        return False
    return all(a.dtype is not None and a.dtype.name in _C_TYPES for a in scalars)
