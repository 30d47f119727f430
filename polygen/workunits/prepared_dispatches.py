"""Dispatches prepared as programs: made once for a work unit and a kind of policy, and run again.

parallel_for(n, unit, x=x)  ->  the program of the unit and the policy, with the arguments
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from polygen.errors import NoWorkUnit, PolygenError, RaceFound, ViewMismatch
from polygen.ir.traced_calls import TRACING
from polygen.jitting.compiled_programs import program_of
from polygen.lazy.fused_calls import TRACE
from polygen.lazy.futures import Future
from polygen.lazy.recording import effects_by_name, record
from polygen.lazy.shared_arrays import SharedArrays, may_share, shared_arrays
from polygen.python.generated_calls import MISS, PLAIN
from polygen.python.program import Program
from polygen.python.source_functions import SourceFunction
from polygen.runtime.resident_arrays import CopyCount
from polygen.source import caller_location
from polygen.workunits.captured_values import captured_kinds, captured_values
from polygen.workunits.decorators import BoundWorkUnit, WorkUnit
from polygen.workunits.failed_dispatches import DispatchKind
from polygen.workunits.layouts import USED_TRAITS, Trait
from polygen.workunits.plain_runs import run_plainly
from polygen.workunits.policies import (
    MDRangePolicy,
    Policy,
    RangePolicy,
    TeamPolicy,
    policy_of,
)
from polygen.workunits.random_pools import USED_POOLS, RandomPool, advance_pools
from polygen.workunits.refusals import as_users_know
from polygen.workunits.repeated_dispatches import Repeated, ordered_by
from polygen.workunits.signatures import UnitSignature, signature_of
from polygen.workunits.spaces import (
    ExecutionSpace,
    default_number,
    number_of,
    runs_python,
    supported,
    target_of,
)
from polygen.workunits.translation.driver import bounds_of, driver_of
from polygen.workunits.translation.lambdas import is_lambda
from polygen.workunits.views import View, as_array


@dataclass
class _Prepared:
    """A dispatch of a work unit with a kind of policy, as a program.

    Attributes:
        signature: the parameters of the work unit.
        program: the program; None where it runs as plain Python.
        parameters: what the program is passed, in order.
        constants: the values of further parameters.
        function: the statements of the program; None where it runs as plain Python.
    """

    signature: UnitSignature
    program: Program | None
    parameters: tuple[str, ...]
    constants: Mapping[str, Any]
    function: SourceFunction | None = None
    quick: tuple[Callable[..., Any], bool] | None = None

    def run(self, values: Sequence[Any]) -> Any:
        """Run the program on values of its parameters."""
        assert self.program is not None
        passed = (*values, *self.constants.values())
        if self.quick is not None:
            call, returns = self.quick
            found = call(*passed)
            if found is not MISS and found is not PLAIN:
                return found if returns else None
        names = dict(zip((*self.parameters, *self.constants), passed, strict=True))
        found = self._first_run(names)
        self.quick = self.program.quick_call()
        return found

    def _first_run(self, names: dict[str, Any]) -> Any:
        """Run the program on arguments that it may have to be compiled for."""
        assert self.program is not None
        try:
            return self.program.run(names)
        except PolygenError as error:
            raise as_users_know(error, self.program.source.tree.name) from None


def run_dispatch(
    pattern: str,
    given: Any,
    unit: Any,
    arguments: Mapping[str, Any],
    starts: Sequence[Any],
    *,
    unsafe: bool,
) -> Any:
    """Make a dispatch, and return what its work unit accumulates.

    Parameters:
        pattern: ``for``, ``reduce`` or ``scan``.
        given: a policy, or a number of iterations.
        unit: the work unit.
        arguments: what it takes, by name.
        starts: the numbers that accumulators begin with; None for 0.
        unsafe: whether the loops are not claimed to be parallel.
    """
    policy = policy_of(given)
    if policy.instance is None:
        return _run(pattern, policy, unit, arguments, starts, unsafe=unsafe)
    with _stream_of(policy) as own:
        return _run(pattern, own, unit, arguments, starts, unsafe=unsafe)


def _run(
    pattern: str,
    policy: Policy,
    unit: Any,
    arguments: Mapping[str, Any],
    starts: Sequence[Any],
    *,
    unsafe: bool,
) -> Any:
    work, owner = _unit_of(unit)
    space = supported(policy.space)
    key: tuple[Any, ...] = pattern, unsafe, space, _kind(policy)
    if work.function.__closure__ is not None or USED_TRAITS:
        key = *key, captured_kinds(work.function), _atomic_names(arguments)
    prepared = work.kept.get(key)
    if prepared is None:
        prepared = work.kept[key] = _prepared(
            work, pattern, policy, space, owner, unsafe=unsafe, atomic=_atomic_names(arguments)
        )
    signature = prepared.signature
    passed = _passed(signature, work.function, arguments)
    begins = _begins(signature, starts)
    is_plain = work.function.__closure__ is None and len(passed) == len(arguments)
    if USED_POOLS:
        advance_pools([*passed.values(), *_held(owner)])
    if TRACING.get() and prepared.function is not None and _may_wait(passed, owner):
        if not owner and is_plain and not any(starts):
            _keep(prepared, work, key, policy, begins, arguments, passed, owner)
        kind = DispatchKind(work.function, pattern, policy, prepared.signature, tuple(passed))
        return _recorded(prepared, kind, space, policy, begins, owner, passed)
    if prepared.program is None:
        views = [_as_view(passed[name]) for name in signature.others]
        return run_plainly(work.function, pattern, policy, signature, begins, [*owner, *views])
    values = [one.array if isinstance(one, View) else _argument(one) for one in passed.values()]
    if may_share(values):
        prepared, values = _with_shared(prepared, work, policy, owner, key, passed, values)
    try:
        found = prepared.run([*bounds_of(policy), *begins, *owner, *values])
    except (IndexError, RaceFound) as error:
        kind = DispatchKind(work.function, pattern, policy, signature, tuple(passed))
        raise kind.told(error, policy, owner, passed) from None
    if prepared.quick is not None and is_plain and not any(starts):
        _keep(prepared, work, key, policy, begins, arguments, passed, owner)
    return found


@contextmanager
def _stream_of(policy: Policy) -> Generator[Policy]:
    """Let kernels run in the stream of a policy, now, and return the policy without it."""
    assert policy.instance is not None
    TRACE.flush()
    before = TRACING.set(False)
    try:
        with policy.instance.is_current():
            plain = copy.copy(policy)
            plain.instance = None
            yield plain
    finally:
        TRACING.reset(before)


def _passed(
    signature: UnitSignature, function: Callable[..., Any], arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what a work unit is passed behind what the policy passes."""
    passed = signature.arguments(arguments, function.__name__)
    for name, value in passed.items():
        if isinstance(value, list | tuple):
            passed[name] = _constants(name, value)
    if signature.captured:
        passed.update(captured_values(function, signature.captured))
    return passed


def _constants(name: str, values: Any) -> View:
    """Return a list of numbers as a view that nothing may write."""
    array = np.array(values) if len(values) else np.zeros(0)
    if array.dtype.kind not in "biufc":
        raise ViewMismatch(
            f"'{name}' is a {type(values).__name__} of something else than numbers",
            where=caller_location(),
            remedy="pass numbers, or lists of numbers of one length",
        )
    array.flags.writeable = False
    return View(array=array)


def _held(owner: Sequence[Any]) -> list[Any]:
    """Return the attributes of an object whose method a work unit is."""
    attributes: list[Mapping[str, Any]] = [vars(one) for one in owner]
    return [value for own in attributes for value in own.values()]


def _not_run(*_passed: Any) -> Any:
    return MISS


def _keep(
    prepared: _Prepared,
    work: WorkUnit,
    key: tuple[Any, ...],
    policy: Policy,
    begins: Sequence[Any],
    arguments: Mapping[str, Any],
    passed: Mapping[str, Any],
    owner: Sequence[Any],
) -> None:
    """Keep how a dispatch is made again; one that only waited so far has nothing that runs it."""
    assert prepared.function is not None
    if any(isinstance(one, RandomPool) for one in [*passed.values(), *_held(owner)]):
        return  # which draws other numbers each time
    pattern, unsafe, space, kind = key[:4]
    call, returns = prepared.quick or (_not_run, False)
    work.repeated[pattern, unsafe, number_of(space), kind, *arguments] = Repeated(
        call, returns, tuple(begins), ordered_by(list(passed), arguments),
        tuple(prepared.constants.values()), prepared.function, target_of(space),
        _effects(prepared.function, passed),
        DispatchKind(work.function, pattern, policy, prepared.signature, tuple(passed)),
    )  # fmt: skip


def _with_shared(
    prepared: _Prepared,
    work: WorkUnit,
    policy: Policy,
    owner: Sequence[Any],
    key: tuple[Any, ...],
    passed: Mapping[str, Any],
    values: list[Any],
) -> tuple[_Prepared, list[Any]]:
    """Return what is run, and with which values, if arguments share memory."""
    shared = shared_arrays(values)
    if shared is None:
        return prepared, values
    key = *key, shared.shapes
    known = work.kept.get(key)
    if known is None:
        pattern, unsafe, space = key[:3]
        known = work.kept[key] = _prepared(
            work, pattern, policy, space, owner, unsafe=unsafe, shared=shared,
            atomic=_atomic_names(passed),
        )  # fmt: skip
    return known, shared.values(values)


def run_again(pattern: str, given: Any, arguments: Mapping[str, Any], unsafe: bool) -> Any:
    """Make a dispatch again that was made with such arguments, or return `MISS`.

    Parameters:
        pattern: ``for``, ``reduce`` or ``scan``.
        given: what the user passed by position.
        arguments: what the work unit takes, by name.
        unsafe: whether the loops are not claimed to be parallel.
    """
    if USED_TRAITS:
        return MISS
    unit = given[-1]
    owner: tuple[Any, ...] = ()
    bounds: tuple[int, ...]
    if type(unit) is WorkUnit:
        work = unit
    elif type(unit) is BoundWorkUnit:
        work, owner = unit.unit, (unit.instance,)
    else:
        return MISS
    policy = given[-2] if len(given) > 1 else None
    if type(policy) is int:
        space, bounds = default_number(), (policy,)
        kind = _FROM_ZERO if policy > 1 else _SINGLE
    elif isinstance(policy, RangePolicy | MDRangePolicy | TeamPolicy) and policy.instance is None:
        space, kind, bounds = number_of(policy.space), _kind(policy), bounds_of(policy)
    else:
        return MISS
    again = work.repeated.get((pattern, unsafe, space, kind, *arguments))
    if again is None:
        return MISS
    try:
        return again.run(bounds, owner, arguments.values())
    except IndexError as error:
        made = policy_of(policy)
        signature = signature_of(work.function, pattern, made, is_method=bool(owner))
        passed = _passed(signature, work.function, arguments)
        made_again = DispatchKind(work.function, pattern, made, signature, tuple(passed))
        raise made_again.told(error, made, owner, passed) from None


_FROM_ZERO, _SINGLE = (1,), (3,)  # as `_kind` says it of a number of iterations


def _effects(
    function: SourceFunction, passed: Mapping[str, Any]
) -> tuple[tuple[int, bool, bool], ...]:
    """Return of each argument its number of subscripts, and whether it is read and written."""
    ranks = {
        name: 0 if isinstance(value, Future) else len(getattr(value, "shape", ()))
        for name, value in passed.items()
    }
    read, written = effects_by_name(function, {name: rank for name, rank in ranks.items() if rank})
    return tuple([(rank, name in read, name in written) for name, rank in ranks.items()])


def _may_wait(passed: Mapping[str, Any], owner: Sequence[Any]) -> bool:
    """Tell whether all reads of what a call writes are seen: those of views are."""
    held = [*passed.values(), *_held(owner)]
    return not any(_is_array(value) or isinstance(value, RandomPool) for value in held)


def _is_array(value: Any) -> bool:
    return not isinstance(value, View | Future) and bool(getattr(value, "shape", None))


def _recorded(
    prepared: _Prepared,
    kind: DispatchKind,
    space: ExecutionSpace,
    policy: Policy,
    begins: Sequence[Any],
    owner: Sequence[Any],
    passed: Mapping[str, Any],
) -> Any:
    """Let a call wait, and return the numbers that it will compute."""
    assert prepared.function is not None
    values = [one.traced_array if isinstance(one, View) else one for one in passed.values()]
    objects = [copy.copy(one) for one in owner]  # whose attributes may change before it runs
    held = [value.traced_array for value in _held(owner) if isinstance(value, View)]
    arguments = [*bounds_of(policy), *begins, *objects, *values, *prepared.constants.values()]
    count = len(prepared.signature.accumulators)
    found = record(
        prepared.function,
        target_of(space),
        arguments,
        results=count,
        held=held,
        explain=kind.explain,
    )
    return found[0] if count == 1 else (found or None)


def _begins(signature: UnitSignature, starts: Sequence[Any]) -> list[Any]:
    """Return the numbers that accumulators begin with: of the declared types."""
    found: list[Any] = []
    for at, (_, kind) in enumerate(signature.accumulators):
        start = kind.start
        given = starts[at] if at < len(starts) else None
        found.append(start if given is None else type(start)(given))
    return found


def _argument(value: Any) -> Any:
    """Return an argument as a program takes it: an array of another library as one of NumPy's."""
    if isinstance(value, RandomPool):
        return value.keys
    if hasattr(value, "__dlpack__") or hasattr(value, "__cuda_array_interface__"):
        return as_array(value)
    return value


def _atomic_names(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the arguments whose updates are all atomic."""
    return tuple(
        [n for n, v in arguments.items() if isinstance(v, View) and Trait.Atomic in v.trait]
    )


def _as_view(value: Any) -> Any:
    return View(array=value) if _is_array(value) else value


def _kind(policy: Policy) -> tuple[Any, ...]:
    """Return what a program is made for: the kind of policy, and facts of each range.

    Adds 1 for a range that begins at 0, and 2 for one with at most one index, which cannot race.
    """
    if isinstance(policy, TeamPolicy):
        return "team", policy.team_size, policy.league_size <= 1
    return tuple([(low == 0) + 2 * (high - low <= 1) for low, high in policy.ranges])


def _unit_of(unit: Any) -> tuple[WorkUnit, list[Any]]:
    if isinstance(unit, BoundWorkUnit):
        return unit.unit, [unit.instance]
    if isinstance(unit, WorkUnit):
        return unit, []
    if is_lambda(unit):
        return WorkUnit(unit), []
    raise NoWorkUnit(
        f"{getattr(unit, '__name__', repr(unit))!r} is dispatched, and is no work unit",
        where=caller_location(),
        remedy="put @pk.workunit above its definition",
    )


def _prepared(
    work: WorkUnit,
    pattern: str,
    policy: Policy,
    space: ExecutionSpace,
    owner: Sequence[Any],
    *,
    unsafe: bool,
    shared: SharedArrays | None = None,
    atomic: Sequence[str] = (),
) -> _Prepared:
    signature = signature_of(work.function, pattern, policy, is_method=bool(owner))
    if runs_python(space):
        return _Prepared(signature, None, (), {})
    driver = driver_of(
        work.function, pattern, policy, signature, unsafe=unsafe, shared=shared, atomic=atomic,
        owner=owner[0] if owner else None,
    )  # fmt: skip
    program = program_of(driver.source, target_of(space), strict=True, copied=CopyCount())
    function = SourceFunction(driver.source)
    return _Prepared(signature, program, driver.parameters, driver.constants, function)
