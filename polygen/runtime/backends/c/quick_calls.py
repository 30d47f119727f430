"""Calls of C functions whose arguments are like those of a call before, found by a helper in C.

A wrapper asks NumPy for the type, the shape, the strides and the address of each array, through
objects of Python's that are made for each question.  The helper (``quick_calls.c``) reads them
where NumPy has them: 20 arrays take it a microsecond (``benchmarks/call_overhead.py``).  It is
compiled once, by the compiler of kernels, and kept with them.  Where it cannot be had, calls go
through their wrappers.

What it does not know, it leaves to them: other classes than NumPy's own arrays, complex numbers,
halves and truth values as scalars, and every call that is an error.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from polygen.errors import CompilationFailed, NoTemporaryFiles
from polygen.ir.array import GlobalArg
from polygen.ir.dtype import integer_limits, is_integer
from polygen.runtime.arrays.array_library import NUMPY
from polygen.runtime.arrays.global_temporaries import WithMemory
from polygen.runtime.arrays.outputs import written_arrays
from polygen.runtime.arrays.separate_arrays import passed_arguments
from polygen.runtime.backends.backend import QuickCall
from polygen.runtime.backends.c.c_compiler import load_library
from polygen.runtime.backends.c.c_wrapper import c_writer
from polygen.runtime.backends.c.call_slots import MOST_SLOTS, has_slots, slots_function
from polygen.runtime.calls.arguments import Form, alike
from polygen.runtime.calls.awaited_events import FINISHED
from polygen.targets.programs.program import Program

# The class of a value; what `type` returns is unknown to checkers, where that is NumPy's.
_type: Callable[[object], type] = type

_ARRAY, _SIGNED, _UNSIGNED, _FLOAT = range(4)


def quick_call(
    form: Form,
    program: Program,
    library: ctypes.CDLL,
    plan: Mapping[str, Any],
    values: Mapping[str, Any],
) -> QuickCall | None:
    """Return a function for calls whose arguments are like those of one; None if there is none.

    Parameters:
        form: the form of the call.
        program: the code that it runs.
        library: the compiled source of `polygen.runtime.backends.c.call_slots.with_slots`.
        plan: what is known of it: see `polygen.runtime.calls.call_wrapper.Wrapper.plan`.
        values: its arguments.
    """
    if not _is_known(form, program):
        return None
    make = _helper()
    if make is None:
        return None
    address = ctypes.cast(library[slots_function(program)], ctypes.c_void_p).value
    slots = {arg.name: k for k, arg in enumerate(program.arguments)}
    new = [(plan[f"pg_new_{a.name}"], slots[a.name], _before(plan, a)) for a in form.allocated]
    arguments = tuple([_argument(form, name, slots, plan, values[name]) for name in form.passed])
    returned = [*form.passed, *(arg.name for arg in form.allocated)]
    outputs = tuple([returned.index(name) for name in written_arrays(form.kernel)])
    pairs = [form.passed.index(name) for pair in c_writer(form).pairs() for name in pair]
    run = plan["pg_run"]
    memory: tuple[Any, ...] = ()
    if isinstance(run, WithMemory):
        memory = (run.take, run.give, len(program.arguments) - run.count)
    constants = _constants(form, program, plan)
    made: QuickCall = make(
        (address, constants, arguments, tuple(pairs), tuple(new), outputs, FINISHED, memory)
    )
    return made


def _is_known(form: Form, program: Program) -> bool:
    """Tell whether the helper knows all that a call of a form passes and returns."""
    plain = all(library is NUMPY for library in form.libraries.values())
    few = len(form.passed) + len(form.allocated) <= MOST_SLOTS
    given = {*form.scalars, *(a.name for a in form.arrays), *(a.name for a in form.sizes)}
    all_given = given.issuperset(form.passed)  # None is left to the wrapper
    return (
        plain and few and all_given and has_slots(program) and not form.kernel.options.return_dict
    )


def _before(plan: Mapping[str, Any], arg: GlobalArg) -> int:
    found: int = plan.get(f"pg_before_{arg.name}", 0)
    return found


def _argument(
    form: Form, name: str, slots: Mapping[str, int], plan: Mapping[str, Any], value: Any
) -> tuple[Any, ...]:
    """Return what the helper compares with an argument: the fields of its `Argument`."""
    begin = (sys.intern(name), _type(value))
    array = next((arg for arg in form.arrays if arg.name == name), None)
    if array is not None:
        low, high = plan.get(f"pg_low_{name}", 0), plan.get(f"pg_high_{name}", 0)
        written = int(name in written_arrays(form.kernel))
        layout = (value.dtype, value.shape, value.strides)
        places = (_before(plan, array), plan[f"pg_mask_{name}"], low, high)
        return (*begin, _ARRAY, slots[name], *layout, written, *places)
    if name not in form.scalars:  # a size: it may be a number in the code
        return (*begin, _SIGNED, slots.get(name, -1), int(value), int(value))
    if name in form.index_scalars:
        return (*begin, _SIGNED, slots[name], *alike(int(value)))
    dtype = form.scalars[name]
    if not is_integer(dtype):
        return (*begin, _FLOAT, slots[name])
    kind = _UNSIGNED if dtype.kind == "u" else _SIGNED
    return (*begin, kind, slots[name], *integer_limits(dtype))


def _constants(form: Form, program: Program, plan: Mapping[str, Any]) -> tuple[int, ...]:
    """Return what is in the slots of each call: sizes that are not passed, and hidden arguments."""
    known = {name: plan.get(f"pg_size_{name}", 0) for name in (a.name for a in program.arguments)}
    passed = [arg.name for arg in passed_arguments(form.kernel) if arg.name in known]
    hidden = dict(zip(list(known)[len(passed) :], plan["pg_hidden"], strict=False))
    return tuple({**known, **hidden}.values())


# --- the helper


@cache
def _helper() -> Callable[[tuple[Any, ...]], Any] | None:
    """Return what makes functions of Python's from descriptions; None where it cannot be had."""
    # A reference count and a type, 16 bytes, are what an object begins with.
    if sys.implementation.name != "cpython" or object.__basicsize__ != 16:
        return None
    text = files("polygen.runtime.backends.c").joinpath("quick_calls.c").read_text(encoding="utf-8")
    try:
        loaded = load_library(text, (), None, ["pg_quick_call", "pg_seen"])
    # Python's own functions are not seen by libraries, or nothing can be compiled any more.
    except (CompilationFailed, NoTemporaryFiles):
        return None
    # As functions of Python's: they are called with the interpreter's lock.
    library = ctypes.PyDLL(None, handle=loaded._handle)
    if not _sees_arrays(library):
        return None
    make = library["pg_quick_call"]
    make.argtypes, make.restype = [ctypes.py_object], ctypes.py_object
    return make


def _sees_arrays(library: ctypes.PyDLL) -> bool:
    """Tell whether the helper sees in an array what NumPy says of it."""
    array = np.zeros(7, np.int32)[::-2]
    see, seen = library["pg_seen"], (ctypes.c_ssize_t * 7)()
    see.argtypes, see.restype = [ctypes.py_object, ctypes.c_void_p], None
    see(array, seen)
    address = array.__array_interface__["data"][0]
    known = [id(np.ndarray), address, 1, 4, -8, id(array.dtype), 1]
    return list(seen) == known
