"""Calls with arrays that have to be copied to the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from polygen.runtime.arrays.outputs import written_arrays
from polygen.runtime.backends.backend import Backend
from polygen.runtime.calls.arguments import Form
from polygen.runtime.calls.execution_place import Place
from polygen.runtime.resident_arrays import CopyCount, ResidentArrays, now_resident

Run: TypeAlias = Callable[[Any, Any, dict[str, Any]], Any]  # of a queue, events and arguments


def run_with_copies(
    backend: Backend,
    place: Place,
    run: Run,
    count: CopyCount,
    form: Form,
    queue: Any,
    wait_for: Any,
    *values: Any,
) -> tuple[Any, Any]:
    """Run where there is memory of its own, with arrays of NumPy's among others.

    Parameters:
        backend: the target.
        place: where on it.
        run: runs a call whose arrays are all there.
        count: gets the bytes that were copied, unless `resident_arrays` counts them.
        form: the form of the call.
        queue: what was passed for it.
        wait_for: the events that have to be over before.
        values: the arguments, in the form's order.
    """
    kernel, args = form.kernel, dict(zip(form.passed, values, strict=True))
    found_there = [n for n, library in form.libraries.items() if not library.is_copied(args[n])]
    if queue is None:
        queue = backend.queue_of_copies(place, tuple([args[name] for name in found_there]))
    resident = now_resident()
    arrays = ResidentArrays() if resident is None else resident
    staged = arrays.stage(backend, queue, form, args)
    copies = {name: copy.array for name, copy in staged.items()}
    event, outputs = run(queue, wait_for, {**args, **copies})
    names = written_arrays(kernel)
    allocated = {arg.name: arg for arg in form.allocated}
    by_name = kernel.options.return_dict
    found = dict(outputs if by_name else zip(names, outputs, strict=True))
    for name in names:
        if name in staged:
            arrays.wrote(args[name], staged[name])
            found[name] = args[name]
        elif not found_there and name in allocated:
            found[name] = backend.to_host(queue, allocated[name], found[name])
    if resident is None:
        arrays.give_back()
        count.to_device, count.to_host = arrays.count.to_device, arrays.count.to_host
    return event, found if by_name else tuple(found.values())
