"""Calling kernels.

`kernel(queue, a=..., n=...)` and `kernel.executor(device)(...)` come here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from polygen.ir.array import GlobalArg
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.language.kernel_assembly import finished
from polygen.pipeline import build_as_called
from polygen.runtime.arrays.array_facts import check_array
from polygen.runtime.arrays.array_library import HOST, NUMPY
from polygen.runtime.arrays.host_arrays import (
    Libraries,
    foreign_arrays,
    in_their_libraries,
    seen_as_numpy,
)
from polygen.runtime.arrays.outputs import has_out, with_named_outputs, written_arrays
from polygen.runtime.arrays.separate_arrays import put_together, separate_arguments, taken_apart
from polygen.runtime.backends.backend import Backend, QuickCall
from polygen.runtime.backends.backend_table import BACKENDS, libraries_of
from polygen.runtime.backends.opencl.image_arguments import image_names
from polygen.runtime.backends.opencl.opencl_driver import Queue
from polygen.runtime.calls.arguments import Form, VariantKey, examine, form_of
from polygen.runtime.calls.awaited_events import checked_events, wait_here
from polygen.runtime.calls.call_plans import Plan
from polygen.runtime.calls.call_recording import RECORDERS
from polygen.runtime.calls.device_errors import translated
from polygen.runtime.calls.kernel_variant import Build, Variant, make_variant
from polygen.runtime.claims.assumptions import check_assumptions
from polygen.runtime.claims.host_data import host_data
from polygen.runtime.copied_calls import run_with_copies
from polygen.runtime.devices import default_target, elsewhere, place_of, target_of_queue
from polygen.runtime.disk import cache as disk
from polygen.runtime.resident_arrays import CopyCount
from polygen.runtime.result_places import has_place, on_device, on_host, without_place
from polygen.runtime.wrapped_calls import wrapped_call

# isl and the caches are not made for two threads at once.
_PREPARING = threading.RLock()
_MOST_PLANS = 256  # per form; past it, older ones are forgotten
_MOST_VARIANTS = 64
_MOST_QUICK = 8  # each is asked in turn


# The class of a queue; what `type` returns is unknown to checkers, where PyOpenCL's own is.
_type: Callable[[object], type] = type


class Executor:
    """A kernel on a device.

    Call it as the kernel itself, with a queue (or None) and arguments by name.
    """

    @public
    def __init__(
        self,
        kernel: Kernel,
        device: Any = None,
        *,
        build: Build = build_as_called,
        copied: CopyCount | None = None,
    ) -> None:
        """Find where to run; nothing is compiled yet.

        Parameters:
            kernel: the kernel.
            device: as of `Kernel.executor`.
            build: generates code.
            copied: gets the bytes that calls copy between the host and the device.
        """
        kernel = finished(kernel)
        self._build = build
        self.copied = CopyCount() if copied is None else copied
        self.kernel = kernel.expanded
        self._with_calls = kernel.without_rules  # which code is made of
        self._place = place_of(kernel, device)
        self._calls: dict[Any, Callable[..., Any]] = {}
        self._separate = bool(separate_arguments(self.kernel))
        self._as_passed = not self._separate and not image_names(self.kernel)
        self._variants: dict[VariantKey, Variant] = {}
        self._quick: tuple[QuickCall, ...] = ()

    @property
    def target(self) -> str:
        """The default target of calls with NumPy arrays and no queue: ``"c"`` or ``"opencl"``."""
        if self._place.target is None and image_names(self.kernel):
            return next(row.target for row in BACKENDS.values() if row.has_images)
        return self._place.target or default_target()

    def default_queue(self) -> Queue | None:
        """Return the queue of a call with NumPy arrays and no queue; None but for OpenCL."""
        return BACKENDS[self.target].default_queue(self._place)

    def __call__(
        self,
        /,
        queue: Queue | None = None,
        *,
        wait_for: Any = None,
        check_assumptions: bool = False,
        **args: Any,
    ) -> Any:
        """Run the kernel.

        Parameters:
            queue: a pyopencl command queue, or None.
            wait_for: events that have to be over before.
            check_assumptions: check first whether the data is as `polygen.obligations` and the
                kernel's claims say.  That takes time, and copies arrays from the device.
            args: arrays and scalars by name.  Arrays for what is written may also be passed as
                ``out=array``, or ``out=(first, second)`` if there are several, in the order in
                which they are returned, and None for one that is to be allocated; but not where
                the kernel has an argument of that name.  Unless it has one, ``out_host=True`` has
                arrays of NumPy's returned, ``out_host=False`` arrays on the device where these
                are allocated.

        Returns:
            An event, and the arrays that were written.

        Raises:
            UserError: the subclass that says what is wrong with the arguments, the compiler or
                the device.
        """
        if check_assumptions:
            self.check(queue, wait_for, args)
        return self.run(queue, wait_for, args)

    def check(self, queue: Queue | None, wait_for: Any, args: Mapping[str, Any]) -> None:
        """Check a call's data, and run nothing: `check_assumptions` of `__call__`.

        Raises:
            ObligationViolated: if an obligation of the kernel is not met.
            ClaimViolated: if a claim is wrong.
            UserError: the subclass that says what else is wrong with the arguments.
        """
        for event in () if wait_for is None else checked_events(wait_for):
            wait_here(event)
        if has_out(self.kernel, args):
            args = with_named_outputs(self.kernel, args)
        if self._separate:
            args = taken_apart(self.kernel, args)
        args = self._with_views(args)
        for backend in BACKENDS.values():
            args = backend.with_arrays(self.kernel, args, self._place, queue)
        given = {name: value for name, value in args.items() if value is not None}
        form = self._form_of(queue, given, libraries_of(given))
        with _PREPARING:
            call = examine(form, given)
        scalars = {name: given[name] for name in form.scalars}
        constants = (t for t in self.kernel.temporaries if t.read_only)
        tables = {t.name: t.initializer for t in constants if t.initializer is not None}
        scalars |= {name: value.item() for name, value in tables.items() if not value.shape}
        separate = separate_arguments(self.kernel)
        arguments = (a for a in self.kernel.arguments if isinstance(a, GlobalArg))
        wholes = [a for a in arguments if a.name in separate]
        data = host_data(form.arrays, wholes, tables, given, form.libraries, call.sizes, scalars)
        check_assumptions(self.kernel, data, dict(call.variant.dtypes))

    def run(self, queue: Queue | None, wait_for: Any, args: Mapping[str, Any]) -> Any:
        """Run the kernel: `__call__` with the arguments in a dictionary."""
        try:
            if queue is None and wait_for is None and not RECORDERS:
                for quick in self._quick:
                    found = quick(args)
                    if found is not None:
                        return found
            if wait_for is not None:
                wait_for = checked_events(wait_for)
            if self._as_passed:
                form = (_type(queue), *args, *map(type, args.values()))
                call = self._calls.get(form)
                if call is not None:
                    return call(queue, wait_for, *args.values())
            return self._run_first(queue, wait_for, args)
        except Exception as error:
            said = translated(self.kernel.name, error)
            if said is None:
                raise
            raise said from None

    def _run_first(self, queue: Queue | None, wait_for: Any, args: Mapping[str, Any]) -> Any:
        if has_place(self.kernel, args):
            return self._run_with_place(queue, wait_for, args)
        if has_out(self.kernel, args):
            return self.run(queue, wait_for, with_named_outputs(self.kernel, args))
        if image_names(self.kernel):
            backend = BACKENDS[self._target_of(queue, args, libraries_of(args))]
            if backend.has_images:
                args = self._with_views(args)
                args = backend.with_images(self.kernel, args, self._place, queue)
        if self._separate:
            event, outputs = self._run(queue, wait_for, taken_apart(self.kernel, args))
            return event, self._put_together(outputs)
        return self._run(queue, wait_for, args)

    def _run_with_place(self, queue: Queue | None, wait_for: Any, args: Mapping[str, Any]) -> Any:
        """Run, with results where ``out_host=`` says."""
        host, args = without_place(self.kernel, args)
        backend = BACKENDS[self._target_of(queue, args, libraries_of(args))]
        if host is False and backend.has_memory:
            args = {name: value for name, value in args.items() if value is not None}
            if queue is None:
                queue = backend.queue_of_copies(self._place, ())
            libraries = libraries_of(args)
            copies = backend.stage(queue, self._form_of(queue, args, libraries), args)
            return on_device(self.kernel, copies, args, partial(self.run, queue, wait_for))
        event, outputs = self.run(queue, wait_for, args)
        return event, on_host(self.kernel, outputs) if host else outputs

    def _put_together(self, outputs: Any) -> Any:
        """Return what is returned with the parts of arguments as tuples."""
        by_name = self.kernel.options.return_dict
        names = written_arrays(self.kernel)
        found = outputs if by_name else dict(zip(names, outputs, strict=True))
        found = put_together(self.kernel, found)
        return found if by_name else tuple(found.values())

    def _run(self, queue: Queue | None, wait_for: Any, args: Mapping[str, Any]) -> Any:
        form = (_type(queue), *args, *map(type, args.values()))
        call = self._calls.get(form)
        if call is None:
            call = self._kept(form, self._new_call, queue, args)
        return call(queue, wait_for, *args.values())

    # --- choosing what to do for a form of call

    def _kept(self, form: Any, make: Any, queue: Queue | None, args: Mapping[str, Any]) -> Any:
        with _PREPARING:
            call = make(queue, args)
        if disk.caching():
            self._calls[form] = call
        return call

    def _new_call(self, queue: Queue | None, args: Mapping[str, Any]) -> Callable[..., Any]:
        libraries = libraries_of(args)
        foreign = foreign_arrays(self.kernel, args, libraries)
        if foreign:
            return self._call_in_either_place(tuple(args), foreign, libraries)
        return self._call_in_place(queue, args, libraries)

    def _call_in_either_place(
        self, passed: tuple[str, ...], foreign: Libraries, libraries: Libraries
    ) -> Callable[..., Any]:
        """Return what runs on arrays of classes that may be in the host's memory, or not."""
        homes = [(passed.index(name), library.home) for name, library in foreign.items()]
        with_views = partial(self._call_with_views, passed, foreign, libraries)
        direct: Callable[..., Any] | None = None

        def call(queue: Any, wait_for: Any, *values: Any) -> Any:
            nonlocal direct
            for place, home in homes:
                if home(values[place]) == HOST:
                    return with_views(queue, wait_for, *values)
            if direct is None:
                args = dict(zip(passed, values, strict=True))
                with _PREPARING:
                    direct = self._call_in_place(queue, args, libraries)
            return direct(queue, wait_for, *values)

        return call

    def _call_in_place(
        self, queue: Queue | None, args: Mapping[str, Any], libraries: Libraries
    ) -> Callable[..., Any]:
        form = self._form_of(queue, args, libraries)
        backend = BACKENDS[form.target]
        if backend.needs_copies(self._place, queue, form, args):
            return partial(run_with_copies, backend, self._place, self._run, self.copied, form)
        return self._generate(form, backend)

    def _form_of(self, queue: Queue | None, args: Mapping[str, Any], libraries: Libraries) -> Form:
        """Return the form of a call, all arrays of which can be passed."""
        target = self._target_of(queue, args, libraries)
        classes: dict[str, type] = {name: type(value) for name, value in args.items()}
        form = form_of(self.kernel, target, classes, libraries)
        for arg in form.arrays:
            check_array(arg, args[arg.name], libraries.get(arg.name))
        return form

    def _target_of(self, queue: Queue | None, args: Mapping[str, Any], libraries: Libraries) -> str:
        homes = [(name, library.home(args[name])) for name, library in libraries.items()]
        known = {name: home for name, home in homes if home is not None and home != HOST}
        if queue is not None:
            known["queue"] = target_of_queue(self.kernel, queue)
        for name, found in known.items():
            wanted = self._place.target or next(iter(known.values()))
            if found != wanted:
                raise elsewhere(self.kernel, name, found, wanted)
        return next(iter(known.values()), self.target)

    def _with_views(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments with NumPy's views of the arrays of others in the host's memory."""
        return {
            **args,
            **seen_as_numpy(foreign_arrays(self.kernel, args, libraries_of(args)), args),
        }

    def _call_with_views(
        self,
        passed: tuple[str, ...],
        foreign: Libraries,
        libraries: Libraries,
        queue: Any,
        wait_for: Any,
        *values: Any,
    ) -> tuple[Any, Any]:
        """Run on arrays of other libraries: those in the host's memory are seen as NumPy's."""
        args = dict(zip(passed, values, strict=True))
        views = seen_as_numpy(foreign, args)
        seen = {**args, **views}
        form = ("seen", _type(queue), *seen, *map(type, seen.values()))
        call = self._calls.get(form)
        if call is None:
            now = {**libraries, **dict.fromkeys(views, NUMPY)}
            new_call = partial(self._call_in_place, libraries=now)
            call = self._kept(form, new_call, queue, seen)
        event, outputs = call(queue, wait_for, *seen.values())
        return event, in_their_libraries(self.kernel, args, foreign, views, outputs)

    # --- calls with arrays that are where the kernel runs

    def _generate(self, form: Form, backend: Backend) -> Callable[..., Any]:
        """Return the wrapper for calls of a form, as a function."""
        plans: dict[Any, Plan] = {}
        prepare = partial(self._prepare, form, backend, plans)
        return wrapped_call(form, backend, self._place, plans, prepare)

    def _prepare(
        self,
        form: Form,
        backend: Backend,
        plans: dict[Any, Plan],
        wanted: tuple[str, ...],
        key: Any,
        queue: Queue | None,
        *values: Any,
    ) -> Plan:
        """Check a call, compile what it needs, and return what its wrapper wants to know."""
        args = dict(zip(form.passed, values, strict=True))
        with _PREPARING:
            call = examine(form, args)
            variant = self._variant(call.variant)
            backend.check_place(self._place, queue, form, args)
            known = backend.plan(form, call, variant, queue)
            plan = tuple([known[name] for name in wanted])
            if disk.caching():
                if len(plans) >= _MOST_PLANS:
                    plans.clear()
                plans[key] = plan
                if self._as_passed and queue is None:
                    quick = backend.quick_call(form, variant, known, args)
                    if quick is not None:
                        self._quick = (quick, *self._quick)[:_MOST_QUICK]
        return plan

    def _variant(self, key: VariantKey) -> Variant:
        variant = self._variants.get(key)
        if variant is None:
            variant = make_variant(self._with_calls, key, self._build)
            if disk.caching():
                if len(self._variants) >= _MOST_VARIANTS:
                    del self._variants[next(iter(self._variants))]
                self._variants[key] = variant
        return variant
