"""Calls of compiled functions and of kernels, recorded as those of work units are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polygen.ir.kernel import Kernel
from polygen.ir.traced_calls import RUN_NOW, TRACING
from polygen.jitting.jit import CompiledFunction
from polygen.lazy.fused_calls import TRACE
from polygen.lazy.futures import Future
from polygen.lazy.memory import interval
from polygen.lazy.recording import line_of_call, record
from polygen.lazy.report import ACCOUNT
from polygen.lazy.trace import NO_CALLS, Call
from polygen.python.array_libraries import HOLDERS, library_of
from polygen.python.function_source import read_function
from polygen.python.source_functions import SourceFunction

_FUNCTIONS: dict[Any, SourceFunction] = {}
_NUMBERS = (int, float, complex, bool, type(None))


def record_function(compiled: CompiledFunction, given: Mapping[str, Any]) -> Any:
    """Let a call of a compiled function wait; what it returns is a future.

    Parameters:
        compiled: the function.
        given: its arguments by name.

    Returns:
        The future; `RUN_NOW` for a call that is not traced, or whose arrays polygen does not see
        everybody read.
    """
    if not TRACING.get() or not all(map(_may_wait, given.values())):
        _settle(given)
        if TRACING.get():
            _note_at_once(compiled.function.__name__)
        return RUN_NOW
    target = compiled.target_for({name: array_of(value) for name, value in given.items()})
    if target == "auto":
        _settle(given)
        return RUN_NOW
    function = _function_of(compiled)
    arguments = [array_of(given[name]) for name in function.parameters]
    strict = bool(compiled.options.get("strict"))
    (found,) = record(function, target, arguments, results=1, is_strict=strict, returns_arrays=True)
    return found


def record_kernel(kernel: Kernel, queue: Any, given: Mapping[str, Any]) -> Any:
    """Let a call of a kernel wait, if its outputs are views that it is passed.

    Parameters:
        kernel: the kernel.
        queue: a queue, or None.
        given: its arguments by name.

    Returns:
        A future instead of the event, and the outputs; `RUN_NOW` as `record_function` does.
    """
    written = [argument.name for argument in kernel.arguments if argument.name in kernel.writers]
    may_wait = queue is None and all(type(given.get(name)) in HOLDERS for name in written)
    if not TRACING.get() or not may_wait or not all(map(_may_wait, given.values())):
        _settle(given)
        return RUN_NOW
    arrays = {name: array_of(value) for name, value in given.items()}
    places = {n: interval(one) for n, one in arrays.items() if library_of(one) is not None}
    needs = [one.calls() for one in given.values() if isinstance(one, Future)]

    def run() -> object:
        values = {n: v.value if isinstance(v, Future) else v for n, v in arrays.items()}
        return kernel(**values)[0]

    call = Call(
        TRACE, None, kernel.target or "c", list(arrays.values()), list(places.values()),
        [place for name, place in places.items() if name in written], line_of_call(),
        needs=NO_CALLS.union(*needs), alone=run,
    )  # fmt: skip
    (event,) = TRACE.record(call, 1)
    return event, tuple([given[name] for name in written])


def _note_at_once(name: str) -> None:
    """Note that a call did not wait."""
    ACCOUNT.at_once[name] = (
        "it is passed an array of NumPy's, or something else whose reads nobody sees; pass a view"
    )


def _function_of(compiled: CompiledFunction) -> SourceFunction:
    key = compiled
    if key not in _FUNCTIONS:
        source = read_function(compiled.function, compiled.options.get("source"))
        _FUNCTIONS[key] = SourceFunction(source)
    return _FUNCTIONS[key]


def array_of(value: Any) -> Any:
    """Return the array of a view, and any other value as it is."""
    holder = HOLDERS.get(value.__class__)
    return value if holder is None else getattr(value, holder)


def _may_wait(value: Any) -> bool:
    """Tell whether all reads of an argument are seen: a view, a number, or a future."""
    return type(value) in HOLDERS or isinstance(value, (*_NUMBERS, Future)) or _is_number(value)


def _is_number(value: Any) -> bool:
    return getattr(value, "shape", None) == () and library_of(value) is None


def _settle(given: Mapping[str, Any]) -> None:
    """Run what a call that runs now has to wait for."""
    for value in given.values():
        array = array_of(value)
        if isinstance(value, Future):
            _ = value.value
        elif library_of(array) is not None:
            TRACE.before_write(array)
