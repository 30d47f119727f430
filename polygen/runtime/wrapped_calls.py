"""Wrappers of calls as functions: their text, and what it calls by name."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from polygen.runtime.arrays.memory_overlap import check_passed, raise_misaligned, raise_read_only
from polygen.runtime.backends.backend import Backend
from polygen.runtime.calls.arguments import Form
from polygen.runtime.calls.awaited_events import FINISHED, wait_here
from polygen.runtime.calls.call_plans import Plan
from polygen.runtime.calls.call_recording import RECORDERS
from polygen.runtime.calls.call_wrapper import make_wrapper
from polygen.runtime.calls.execution_place import Place
from polygen.runtime.calls.scalar_arguments import check_range


def wrapped_call(
    form: Form,
    backend: Backend,
    place: Place,
    plans: dict[Any, Plan],
    prepare: Callable[..., Plan],
) -> Callable[..., Any]:
    """Return the wrapper for calls of a form, as a function of a queue, events and arguments.

    Parameters:
        form: the form.
        backend: the target.
        place: where on it.
        plans: those that there are; the wrapper looks them up.
        prepare: makes a plan of the names that are wanted, for a key, a queue and arguments.
    """
    wrapper = make_wrapper(form, backend.writer)
    if form.kernel.options.write_wrapper:
        sys.stdout.write(wrapper.source)
    namespace: dict[str, Any] = {
        "pg_plans": plans,
        "pg_prepare": partial(prepare, wrapper.plan),
        "pg_check_apart": partial(check_passed, form.libraries),
        "pg_check_range": check_range,
        "pg_finished": FINISHED,
        "pg_recorders": RECORDERS,
        "pg_wait_here": wait_here,
        "pg_raise_misaligned": raise_misaligned,
        "pg_raise_read_only": raise_read_only,
        **backend.names(place, form),
        **{f"pg_dtype_{name}": dtype for name, dtype in form.scalars.items()},
    }
    code = compile(wrapper.source, f"<polygen: call of {form.kernel.name}>", "exec")
    exec(code, namespace)  # noqa: S102  (all names in it are identifiers)
    call: Callable[..., Any] = namespace["call"]
    return call
