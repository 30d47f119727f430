"""Functions with arguments that they do not take: Python's statements, or kernels; no raw error."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import UserError
from polygen.jitting import compiled_programs as jitting
from polygen.python.names.table import TABLE

FUNCTIONS = list(TABLE)
ARGUMENTS: dict[str, Any] = {
    "a float": 2.5,
    "an integer": 3,
    "a float32": np.float32(1.5),
    "a vector": np.arange(4.0),
    "integers": np.arange(4),
    "a matrix": np.arange(6.0).reshape(2, 3),
    "complex numbers": np.ones(3, complex),
    "a stack": np.ones((2, 2, 2)),
    "booleans": np.array([True, False, True]),
    "nothing": None,
    "a string": "x",
    "a tuple": (1, 2.5),
    "an object": object(),
    "no element": np.zeros(0),
}
FIRST = ("a float", "a vector", "integers", "a matrix", "nothing", "a tuple", "complex numbers")
SECOND = ("an integer", "a vector", "a matrix", "nothing", "a string", "a tuple", "a stack")


def traced(function: Any, *given: Any) -> None:
    """Make the kernels of a call, beside a loop, that are not run."""
    names = [f"a{k}" for k in range(len(given))]
    text = f"def odd(x, {', '.join(names)}):\n    for i in range(len(x)):\n        x[i] += 1\n"
    text += f"    return function({', '.join(names)})\n"
    defined: dict[str, Any] = {"function": function}
    exec(text, defined)  # noqa: S102  (what is compiled)
    pg.jit(defined["odd"], source=text).kernels(np.ones(3), *given)


@pytest.fixture
def unscheduled(monkeypatch: pytest.MonkeyPatch) -> None:
    def as_it_is(kernel: pg.Kernel, _: object) -> pg.Kernel:
        return kernel

    def not_run(*_: object) -> Callable[[object], None]:
        return lambda _: None

    monkeypatch.setattr(jitting, "_scheduled", as_it_is)
    monkeypatch.setattr(jitting, "_runner", not_run)


def raw_errors(functions: list[Any], kinds: Sequence[tuple[str, ...]]) -> Iterator[str]:
    for function, asked in itertools.product(functions, kinds):
        try:
            traced(function, *[ARGUMENTS[kind] for kind in asked])
        except UserError:
            pass
        except Exception as error:
            name = getattr(function, "__name__", str(function))
            yield f"{name}({', '.join(asked)}): {type(error).__name__}: {error}"


def cases(start: int, step: int) -> Sequence[tuple[str, ...]]:
    found: list[tuple[str, ...]] = [(kind,) for kind in ARGUMENTS]
    found += itertools.product(FIRST, SECOND)
    return found[start::step]


@pytest.mark.usefixtures("unscheduled")
def test_no_raw_error() -> None:
    """A sample: of each function, other arguments."""
    for number, function in enumerate(FUNCTIONS):
        assert not list(raw_errors([function], cases(number % 21, 21)))


@pytest.mark.more
@pytest.mark.usefixtures("unscheduled")
@pytest.mark.parametrize("part", range(4))
def test_no_raw_error_of_any_arguments(part: int) -> None:
    assert not list(raw_errors(FUNCTIONS[part::4], cases(0, 1)))


def axis_beyond(x: Any) -> Any:
    return np.cumsum(x, 1)


def no_axis(x: Any) -> Any:
    return np.tensordot(x, x, ([3], [0]))


def no_number(_: Any) -> Any:
    return float("x")


@pytest.mark.parametrize("function", [axis_beyond, no_axis, no_number])
def test_what_python_raises_is_raised(function: Callable[[Any], Any]) -> None:
    x = np.arange(4.0)
    with pytest.raises(Exception) as plain:
        function(x)
    with pytest.raises(plain.type):
        pg.jit(function)(x)


def test_text_that_says_a_number() -> None:
    def filled(x: Any) -> Any:
        x[:] = float("inf")
        x[0] = int("12")
        return x

    np.testing.assert_array_equal(pg.jit(filled, strict=True)(np.zeros(3)), [12, np.inf, np.inf])
