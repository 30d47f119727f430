"""Dispatches: `parallel_for`, `parallel_reduce`, `parallel_scan`, `execute`, `fence`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from polygen.errors import NoWorkUnit
from polygen.lazy.fused_calls import TRACE
from polygen.python.generated_calls import MISS
from polygen.source import caller_location
from polygen.workunits.constructs import construct
from polygen.workunits.plain_runs import reduce_nested, run_nested
from polygen.workunits.policies import (
    PerTeam,
    TeamThreadMDRange,
    TeamThreadRange,
)
from polygen.workunits.prepared_dispatches import run_again, run_dispatch
from polygen.workunits.spaces import (
    ExecutionSpace,
    get_default_space,
    set_default_space,
)

_RANGES = TeamThreadRange | TeamThreadMDRange


@construct("parallel_for")
def parallel_for(*given: Any, unsafe: bool = False, **arguments: Any) -> None:
    """Execute a work unit for each index of a policy, in any order.

    Parameters:
        given: a label, if you want one; a policy, or a number of iterations; the work unit.
        unsafe: run a loop whose iterations depend on each other, one iteration after the other.
        arguments: what the work unit takes, by name.

    Raises:
        RaceFound: if iterations depend on each other: with two of them.
        NoWorkUnit: for what is no work unit.
        PolicyMismatch: if the work unit takes other indices or arguments.

    >>> import numpy as np
    >>> import polygen.workunits as pk
    >>> @pk.workunit
    ... def twice(i: int, x: pk.View1D[pk.double]):
    ...     x[i] = 2*x[i]
    >>> x = np.arange(3.0)
    >>> pk.parallel_for(pk.RangePolicy(pk.Debug, 0, 3), twice, x=x)
    >>> x
    array([0., 2., 4.])
    """
    if run_again("for", given, arguments, unsafe) is not MISS:
        return
    _, policy, unit = _split(given)
    if isinstance(policy, _RANGES):
        run_nested(unit, policy, arguments)
        return
    run_dispatch("for", policy, unit, arguments, (), unsafe=unsafe)


@construct("parallel_reduce")
def parallel_reduce(
    *given: Any, initial: Any = None, unsafe: bool = False, **arguments: Any
) -> Any:
    """Execute a work unit for each index of a policy, and return what it accumulates.

    Parameters:
        given: a label, if you want one; a policy, or a number of iterations; the work unit.
        initial: the number that the accumulator begins with; 0 without it; a tuple for several.
        unsafe: run a loop whose iterations depend on each other, one iteration after the other.
        arguments: what the work unit takes, by name.

    Returns:
        A number; a tuple of numbers for several accumulators.

    Raises:
        RaceFound: if iterations depend on each other: with two of them.
        NoWorkUnit: for what is no work unit.
        PolicyMismatch: if the work unit takes other indices or arguments.

    >>> import numpy as np
    >>> import polygen.workunits as pk
    >>> @pk.workunit
    ... def norm(i: int, acc: pk.Acc[pk.double], x: pk.View1D[pk.double]):
    ...     acc += x[i]*x[i]
    >>> print(pk.parallel_reduce(pk.RangePolicy(pk.Debug, 0, 3), norm, x=np.arange(3.0)))
    5.0
    """
    found = MISS if initial is not None else run_again("reduce", given, arguments, unsafe)
    if found is not MISS:
        return found
    _, policy, unit = _split(given)
    if isinstance(policy, _RANGES):
        return reduce_nested(unit, policy, arguments, is_scan=False)
    starts = cast("Sequence[Any]", initial if isinstance(initial, tuple) else (initial,))
    return run_dispatch("reduce", policy, unit, arguments, starts, unsafe=unsafe)


@construct("parallel_scan")
def parallel_scan(*given: Any, **arguments: Any) -> Any:
    """Execute a work unit for each index with the sum of those before it, and return the total.

    Parameters:
        given: a label, if you want one; a policy, or a number of iterations; the work unit, which
            takes an index, an accumulator, and whether the accumulator is that of the last pass.
        arguments: what the work unit takes, by name.

    Raises:
        NoWorkUnit: for what is no work unit.
        PolicyMismatch: if the work unit takes other indices or arguments.

    >>> import numpy as np
    >>> import polygen.workunits as pk
    >>> @pk.workunit
    ... def summed(i: int, acc: pk.Acc[pk.double], last: bool, x: pk.View1D[pk.double]):
    ...     acc += x[i]
    ...     if last:
    ...         x[i] = acc
    >>> x = np.arange(4.0)
    >>> print(pk.parallel_scan(pk.RangePolicy(pk.Debug, 0, 4), summed, x=x), x)
    6.0 [0. 1. 3. 6.]
    """
    _, policy, unit = _split(given)
    if isinstance(policy, _RANGES):
        return reduce_nested(unit, policy, arguments, is_scan=True)
    return run_dispatch("scan", policy, unit, arguments, (None,), unsafe=True)


@construct("single")
def single(where: Any, unit: Callable[[], Any]) -> None:
    """Execute a function once for a team, or once for a thread.

    Parameters:
        where: ``PerTeam(member)`` or ``PerThread(member)``.
        unit: a function without parameters.
    """
    if not isinstance(where, PerTeam) or where.value.team_rank() == 0:
        unit()


@construct("fence")
def fence(*_label: Any) -> None:
    """Run the calls that wait; without any, dispatches are over when they return."""
    TRACE.flush()


def execute(space: ExecutionSpace, workload: Any) -> None:
    """Run the `main` of a workload in a space, and its callbacks behind it.

    Parameters:
        space: where its work units run whose policies name no space.
        workload: an object of a class with a method that `main` decorates.

    Raises:
        NoWorkUnit: if it has none.

    >>> import polygen.workunits as pk
    >>> @pk.workload
    ... class Greeting:
    ...     @pk.main
    ...     def run(self):
    ...         print("main")
    ...     @pk.callback
    ...     def results(self):
    ...         print("callback")
    >>> pk.execute(pk.Serial, Greeting())
    main
    callback
    """
    parts = _parts(workload)
    mains = [method for method, part in parts if part == "main"]
    if len(mains) != 1:
        raise NoWorkUnit(
            f"execute runs the method with @main, and a {type(workload).__name__} has {len(mains)}",
            where=caller_location(),
            remedy="put @main above the method that dispatches",
        )
    before = get_default_space()
    set_default_space(space)
    try:
        mains[0](workload)
        for method, part in parts:
            if part == "callback":
                method(workload)
    finally:
        set_default_space(before)


def _parts(workload: Any) -> list[tuple[Callable[[Any], Any], str]]:
    found: dict[str, tuple[Callable[[Any], Any], str]] = {}
    for kind in reversed(type(workload).__mro__):
        for name, method in vars(kind).items():
            if part := getattr(method, "polygen_part", ""):
                found[name] = method, part
    return list(found.values())


def _split(given: Sequence[Any]) -> tuple[str, Any, Any]:
    """Return the label, the policy and the work unit of a dispatch."""
    label = given[0] if given and isinstance(given[0], str) else ""
    rest = given[1:] if label or (given and given[0] == "") else given
    if len(rest) != 2:
        raise NoWorkUnit(
            f"a dispatch is given {len(rest)} arguments by position, and takes a policy and a work "
            "unit, with a label before them",
            where=caller_location(),
            remedy="pass what the work unit takes by name: parallel_for(n, unit, x=x)",
        )
    return label, rest[0], rest[1]
