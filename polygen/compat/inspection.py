"""What shows something of a kernel, for programs of one entry point as well."""

from __future__ import annotations

from typing import Any

import polygen as pg


def entry(program: pg.Kernel | pg.TranslationUnit) -> pg.Kernel:
    """Return the kernel that is meant."""
    return program if isinstance(program, pg.Kernel) else program.default_entrypoint


def find_instructions(program: pg.Kernel | pg.TranslationUnit, insn_match: Any) -> Any:
    """Return the instructions that a query means; see `polygen.find_instructions`."""
    return pg.find_instructions(entry(program), insn_match)


def get_dot_dependency_graph(program: pg.Kernel | pg.TranslationUnit) -> str:
    """Return the graph of dependencies; see `polygen.get_dot_dependency_graph`."""
    return pg.get_dot_dependency_graph(entry(program))


def show_dependency_graph(program: pg.Kernel | pg.TranslationUnit, *args: Any) -> Any:
    """Draw the graph of dependencies; see `polygen.show_dependency_graph`."""
    return pg.show_dependency_graph(entry(program), *args)


def has_schedulable_iname_nesting(program: pg.Kernel | pg.TranslationUnit) -> bool:
    """Tell whether each iname can be one loop; see `polygen.has_schedulable_iname_nesting`."""
    return pg.has_schedulable_iname_nesting(entry(program))


def get_iname_duplication_options(program: pg.Kernel | pg.TranslationUnit) -> Any:
    """Return how it could be; see `polygen.get_iname_duplication_options`."""
    return pg.get_iname_duplication_options(entry(program))
