"""Compares a compiled function with Python, one statement after the other."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from polygen.errors import ResultsDiffer
from polygen.python.interpreted import interpreted
from polygen.python.program import HostStatements, Program


def compare_statements(program: Program, names: dict[str, Any]) -> None:
    """Run each statement twice on the same values: as a kernel, and as Python.

    Parameters:
        program: the function.
        names: the values of its parameters, which are copied.

    Raises:
        ResultsDiffer: for the first statement, and the first element, that differ.
    """
    if program.is_python:
        return
    names = copy.deepcopy(names)
    for at, node in enumerate(program.body):
        compiled = program.single(at, names)
        plain, fast = copy.deepcopy(names), copy.deepcopy(names)
        returned, meant = interpreted(program.source, [node], tuple(plain))(plain)
        if not isinstance(compiled, HostStatements):
            found = program.run_region(compiled, fast)
            after = {"return": meant} if returned else meant
            got = {"return": found} if compiled.traced.returns else {**fast, **found}
            _compare(program, at, after, got)
        if returned:
            return
        names = meant


def _compare(program: Program, at: int, meant: Mapping[str, Any], got: Mapping[str, Any]) -> None:
    for name, value in meant.items():
        if name not in got:
            continue
        difference = first_difference(value, got[name])
        if difference is not None:
            what = "the result" if name == "return" else f"'{name}'"
            raise ResultsDiffer(
                f"'{program.source.tree.name}' computes something else than Python: in {what}, "
                f"{difference}",
                where=program.source.place(program.body[at]),
                remedy="report it; pg.debug() runs the function as Python",
            )


def first_difference(meant: Any, got: Any) -> str | None:
    """Return what differs first between two values, in words; None if nothing does.

    Integers have to be equal; floating-point numbers up to the order of sums.

    Parameters:
        meant: what Python computes.
        got: what the kernel computes.
    """
    if isinstance(meant, tuple | list):
        parts = cast("Any", meant)
        for at, pair in enumerate(zip(parts, got, strict=True)):
            found = first_difference(*pair)
            if found is not None:
                return f"part {at}: {found}"
        return None
    if not isinstance(meant, np.ndarray | np.generic | bool | int | float | complex):
        return None
    one, other = np.asarray(meant), np.asarray(got)
    if one.shape != other.shape or one.dtype != other.dtype:
        return f"an array of {one.dtype}, {one.shape} is one of {other.dtype}, {other.shape}"
    is_same = _are_close(one, other)
    if is_same.all():
        return None
    place = tuple([int(i) for i in np.argwhere(~is_same)[0]])
    where = f"element {list(place)}" if place else "the number"
    return f"{where} is {other[place]} and should be {one[place]}"


def _are_close(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if one.dtype.kind not in "fc":
        return np.asarray(one == other)
    rounding = 2.0**10 * float(np.finfo(one.dtype).eps)
    largest = float(np.abs(one[np.isfinite(one)]).max(initial=0.0))
    limit = rounding * largest
    return np.asarray(np.isclose(one, other, rtol=rounding, atol=limit, equal_nan=True))
