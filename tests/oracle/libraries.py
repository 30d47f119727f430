"""Functions that call libraries, as the machine executes them: loops that compute the same."""

from __future__ import annotations

from dataclasses import replace

from polygen.ir.array import GlobalArg
from polygen.language.library_routines import routine_kernel
from polygen.language.routine_table import ROUTINES, Form
from polygen.lower.lower import Model, lower
from polygen.lower.program import LibraryFunction, LoopProgram


def as_loops(function: LibraryFunction) -> LoopProgram:
    """Return the loops that a call of a library stands for, on arrays that lie as its do."""
    routine = ROUTINES[function.routine]
    said = dict(function.options)
    arrays = [a for a in function.arguments if isinstance(a, GlobalArg)]
    names = [a.name for a in function.arguments]
    form = Form(
        function.routine,
        tuple((name, said.get(name, words[0])) for name, words in routine.options.items()),
        tuple(name for name in routine.numbers if name in names),
        tuple(a.name for a in arrays),
        frozenset(a.name for a in arrays if a.name in routine.as_vector and _rank(a) == 1),
    )
    loops = routine_kernel(form)
    given = {a.name: a.shape for a in loops.arguments if isinstance(a, GlobalArg)}
    arguments = [
        # The extents are those of the routine; the call does not say them.
        replace(a, shape=given[a.name]) if isinstance(a, GlobalArg) else a
        for a in function.arguments
    ]
    program = lower(loops.copy(arguments=tuple(arguments)), Model.LOOPS)
    return replace(program, name=function.name)


def _rank(array: GlobalArg) -> int:
    return len(array.shape or ())
