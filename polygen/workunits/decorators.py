"""Decorators: work units, functors, workloads, functions that work units call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from polygen.errors import NoWorkUnit
from polygen.source import caller_location
from polygen.workunits.constructs import construct

_T = TypeVar("_T")


_KEPT: dict[Any, dict[Any, Any]] = {}
_MOST_KEPT = 512


def kept_for(function: Callable[..., Any]) -> dict[Any, Any]:
    """Return what is kept for a function: what it shares with others that have its text.

    Parameters:
        function: the function of a work unit.
    """
    if function.__closure__ is None and function.__name__ != "<lambda>":
        return {}
    if len(_KEPT) >= _MOST_KEPT:
        _KEPT.pop(next(iter(_KEPT)))
    return _KEPT.setdefault(function.__code__, {})


class WorkUnit:
    """A function that a dispatch executes for each index: what `workunit` returns.

    Attributes:
        function: the function itself.
        kept: the programs of dispatches.
        repeated: how dispatches are made again.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.kept: dict[Any, Any] = kept_for(function)
        self.repeated: dict[Any, Any] = {}
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function as Python."""
        return self.function(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else BoundWorkUnit(self, instance)

    def __repr__(self) -> str:
        return f"<work unit {self.function.__qualname__}>"


class BoundWorkUnit:
    """A method that is a work unit, of an object.

    Attributes:
        unit: the work unit.
        instance: the object.
    """

    __slots__ = ("instance", "unit")

    def __init__(self, unit: WorkUnit, instance: Any) -> None:
        self.unit, self.instance = unit, instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the method as Python."""
        return self.unit.function(self.instance, *args, **kwargs)

    def __repr__(self) -> str:
        return f"<bound {self.unit!r} of {self.instance!r}>"


def workunit(function: Any = None, **_declared: Any) -> Any:
    """Return a function as a work unit: what `parallel_for` executes for each index.

    Types are found from the arguments of a dispatch; what ``ViewTypeInfo`` says of them is
    accepted.

    Parameters:
        function: a plain function or a method; None to return a decorator.

    Raises:
        NoWorkUnit: for what is no function.

    >>> import polygen.workunits as pk
    >>> @pk.workunit
    ... def twice(i: int, x: pk.View1D[pk.double]):
    ...     x[i] = 2*x[i]
    >>> twice
    <work unit twice>
    """
    if function is None:
        return workunit
    if not callable(function) or isinstance(function, type):
        raise NoWorkUnit(
            f"workunit is given {function!r}, which is no function",
            where=caller_location(),
            remedy="put @workunit above 'def'",
        )
    return function if isinstance(function, WorkUnit) else WorkUnit(function)


def functor(kind: Any = None, **_declared: Any) -> Any:
    """Return a class whose methods are work units, unchanged.

    Parameters:
        kind: the class; None to return a decorator.
    """
    return functor if kind is None else kind


def workload(kind: Any = None, **_declared: Any) -> Any:
    """Return a class with a `main` and callbacks, which `execute` runs, unchanged.

    Parameters:
        kind: the class; None to return a decorator.
    """
    return workload if kind is None else kind


def classtype(kind: _T) -> _T:
    """Return a class whose objects work units make and use, unchanged.

    Its objects have the attributes that ``__init__`` sets; its methods change none of them.

    Parameters:
        kind: the class.
    """
    return construct("class type")(kind)


def main(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method that `execute` runs of a workload.

    Parameters:
        method: the method.
    """
    method.__dict__["polygen_part"] = "main"
    return method


def callback(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that `execute` runs behind the `main` of a workload.

    Parameters:
        method: the method.
    """
    method.__dict__["polygen_part"] = "callback"
    return method


def function(definition: _T) -> _T:
    """Return a function that work units call, unchanged: it is inlined.

    Parameters:
        definition: the function.
    """
    return construct("device")(definition)


class ViewTypeInfo:
    """A declaration of a view by a decorator: accepted, since arguments say it.

    Parameters:
        declared: the space, layout, trait and type of the view.
    """

    def __init__(self, **declared: Any) -> None:
        self.declared = declared
