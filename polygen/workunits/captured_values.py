"""Values from outside of a work unit: its variables of functions around it, and of its module.

Arrays, views, objects with attributes, and numbers of functions around it are passed to its program
in each dispatch, as arguments are, so that they may change between dispatches.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from polygen.python.array_libraries import HOLDERS, library_of
from polygen.python.object_attributes import has_own_attributes


def captured_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names that a dispatch passes values of, in their order.

    Parameters:
        function: the function of a work unit.
    """
    code = function.__code__
    read = _names_in(code)
    found = {n for n in read if n in function.__globals__ and _is_passed(function.__globals__[n])}
    for name, value in _closure(function).items():
        if _is_passed(value) or isinstance(value, int | float | complex | np.generic):
            found.add(name)
        else:
            found.discard(name)
    return tuple(sorted(found))


def captured_values(function: Callable[..., Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return the values that names have now."""
    own = _closure(function)
    return {name: own[name] if name in own else function.__globals__[name] for name in names}


def captured_kinds(function: Callable[..., Any]) -> tuple[Any, ...]:
    """Return what a program is made for: functions and other constants of functions around it."""
    if function.__closure__ is None:
        return ()
    names = set(captured_names(function))
    return tuple([id(v) for name, v in sorted(_closure(function).items()) if name not in names])


def _is_passed(value: Any) -> bool:
    if type(value) in HOLDERS or library_of(value) is not None:
        return True
    if callable(value) or isinstance(value, types.ModuleType):
        return False
    return has_own_attributes(value)


def _closure(function: Callable[..., Any]) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found


def _names_in(code: types.CodeType) -> set[str]:
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _names_in(constant)
    return found
