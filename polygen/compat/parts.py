"""Attributes of Loo.py's instructions and programs, read from polygen's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from polygen.compat.targets import target_name
from polygen.errors import InvalidArgument
from polygen.ir import walk
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.language.programs import TranslationUnit
from polygen.source import caller_location


def _written(insn: Instruction) -> frozenset[str]:
    """Return what an instruction writes, and the names in the subscripts of that."""
    return frozenset([n for node in insn.assignees for n in walk.free_variables(node)])


ATTRIBUTES_OF_INSTRUCTIONS: Mapping[str, Callable[[Any], Any]] = {
    "assignee_name": lambda insn: insn.written_names[0],
    "assignee_var_names": lambda insn: lambda: insn.written_names,
    "dependency_names": lambda insn: lambda: insn.read_names | _written(insn),
    "expressions": lambda insn: insn.values,
    "read_dependency_names": lambda insn: lambda: insn.read_names,
    "with_transformed_expressions": lambda insn: insn.map_expressions,
    "write_dependency_names": lambda insn: lambda: _written(insn),
}


def _callables_table(program: TranslationUnit) -> Mapping[str, Kernel]:
    return {kernel.name: kernel for kernel in program.kernels}


def _target(program: TranslationUnit) -> str | None:
    return program.kernels[-1].target


def _copy(program: TranslationUnit) -> Callable[..., TranslationUnit]:
    """Return what copies a program, with another target or other entry points."""

    def copied(**changes: Any) -> TranslationUnit:
        given = dict(changes)
        new = program
        if "target" in given:
            target = target_name(given.pop("target"))
            for kernel in program.kernels:
                new = new.with_kernel(new[kernel.name].copy(target=target))
        if "entrypoints" in given:
            new = new.with_entrypoints(given.pop("entrypoints"))
        if given:
            raise InvalidArgument(
                f"a program cannot be copied with another '{min(given)}' here",
                where=caller_location(),
                remedy="copy(target=), copy(entrypoints=), or with_kernel(program['name'].copy())",
            )
        return new

    return copied


ATTRIBUTES_OF_PROGRAMS: Mapping[str, Callable[[Any], Any]] = {
    "callables_table": _callables_table,
    "copy": _copy,
    "target": _target,
}
