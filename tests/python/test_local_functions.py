"""Functions within functions, and helpers that write what is read beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.python.compared import compare, compare_kernels


def defaults(a: Any, k: float) -> Any:
    def scaled(x: Any, by: Any = k, *, plus: Any = 1) -> Any:
        return x * by + plus + k

    total = 0.0
    for i in range(len(a)):
        total += scaled(a[i]) + scaled(by=2.0, x=i) + scaled(i, 3, plus=a[0])
    k = 7
    for i in range(len(a)):
        total += scaled(a[i])
    return total


def of_lambdas(a: Any, k: float) -> Any:
    square: Any = lambda x: x * x  # noqa: E731
    shifted: Any = lambda x, by=k: square(x) + by  # noqa: E731
    for i in range(len(a)):
        a[i] = shifted(a[i]) - square(k)
    return a.sum()


def test_values(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.array([0.5, 2.0, 3.0])
    compare_kernels([(defaults, (x, 2.0)), (of_lambdas, (x, 2.0))], monkeypatch)


def beside_python(a: Any, k: int) -> Any:
    def scaled(x: Any) -> Any:
        return x * k

    names = sorted({scaled(3)})
    k = 5
    total = 0
    for i in range(len(a)):
        total += scaled(a[i])
    return names, total


def recursive(a: Any) -> Any:
    def halved(x: Any) -> Any:
        return x if x < 0.1 else halved(x / 2)

    for i in range(len(a)):
        a[i] = halved(a[i])
    return a.sum()


def with_imports(a: Any) -> Any:
    import math as m  # noqa: PLC0415

    total = 0.0
    for i in range(len(a)):
        total += m.cos(a[i])
    return total


def test_those_that_stay_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are Python's values behind the statements that define them."""
    x = np.array([0.5, 2.0, 3.0])
    compare([(beside_python, (x, 2)), (recursive, (x,)), (with_imports, (x,))], monkeypatch)


def _first_and_one_more(a: Any) -> Any:
    a[0] += 1
    return a[0]


def _raised_by(a: Any, x: Any) -> Any:
    a[0] += 1
    return x


def read_before(a: Any) -> Any:
    total = 0.0
    for _ in range(3):
        total += a[0] + _first_and_one_more(a)
    return total


def given_before(a: Any) -> Any:
    total = 0.0
    for _ in range(3):
        total += _raised_by(a, a[0])
    return total


def updated_before(a: Any) -> Any:
    for _ in range(3):
        a[0] += _first_and_one_more(a)
    return a[0]


def named_before(a: Any) -> Any:
    total = 0.0
    for _ in range(3):
        first = a[0]
        more = _first_and_one_more(a)
        total += first * more
    return total


def test_what_is_read_before_a_helper_writes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.array([0.5, 2.0])
    calls: list[Any] = [(f, (x,)) for f in (read_before, given_before, updated_before)]
    for compiled in compare(calls, monkeypatch):
        assert " a name" in compiled.explain().partition("remedy: give ")[2]
    with pytest.MonkeyPatch.context() as patch:
        compare_kernels([(named_before, (x,))], patch)


def _cut_off(x: Any) -> Any:
    if x > 2.0:
        return 0.0  # a number of Python's; else one of NumPy's
    return (2.0 - x) ** 2 if x > 1.0 else 4.0 - 3.0 * x


def smoothed(x: Any, y: Any) -> Any:
    for i in range(len(x)):
        y[i] = 1.0
        for j in range(len(x)):
            y[i] += _cut_off(abs(x[i] - x[j]))


def test_paths_of_helpers_return_numbers_of_pythons_and_of_numpys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = np.linspace(0, 9, 17)
    compare_kernels([(smoothed, (x, np.zeros(17)))], monkeypatch)
