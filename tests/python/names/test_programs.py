"""NumPy's functions that are programs of the language, beside NumPy."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from tests.jit.agreement import Outcome, check, outcome
from tests.jit.together import outcomes

Make = Callable[[np.random.Generator, int], tuple[Any, ...]]


def _vector(r: np.random.Generator, n: int) -> tuple[Any, ...]:
    return (r.random(n) - 0.3,)


def _two(r: np.random.Generator, n: int) -> tuple[Any, ...]:
    return r.random(n) - 0.3, r.random(n) + 0.1


def _holed(r: np.random.Generator, n: int) -> tuple[Any, ...]:
    values = r.random((n, 3))
    values[::2, 1] = np.nan
    return (values,)


def _matrix(r: np.random.Generator, n: int) -> tuple[Any, ...]:
    return (r.random((n, n + 2)),)


def _square(r: np.random.Generator, n: int) -> tuple[Any, ...]:
    return (r.random((n, n)),)


def _short(r: np.random.Generator, n: int) -> tuple[Any, ...]:
    return r.random(n + 3), r.random(n)


def _three(r: np.random.Generator, _: int) -> tuple[Any, ...]:
    return r.random(3), r.random(3)


def _sorted(r: np.random.Generator, n: int) -> tuple[Any, ...]:
    places = np.sort(r.integers(0, 6, n + 1)).astype(float)
    return places, np.array([*r.integers(-1, 8, n), np.nan, np.inf, 2.5]), r.random(n + 1)


def _grown(r: np.random.Generator, n: int) -> tuple[Any, ...]:
    return np.cumsum(r.random(n + 1) + 0.1), r.uniform(-1, n, 2 * n), r.random(n + 1)


def _halves(r: np.random.Generator, n: int) -> tuple[Any, ...]:
    """Many values are where bins meet."""
    return r.integers(-4, 9, 7 * n) / 4, r.random(7 * n)


def _integers(r: np.random.Generator, n: int) -> tuple[Any, ...]:
    return r.integers(-9, 9, 3 * n), r.integers(0, n, 5)


def _infinite(r: np.random.Generator, n: int) -> tuple[Any, ...]:
    a = np.concatenate((r.random(n), [np.inf, -np.inf, np.nan, 0.0, 5.0]))
    return a, a * np.concatenate((np.full(n, 1 + 1e-6), np.ones(5)))


# A call, what makes its arguments a, b, c, and whether it is tried each time.
_CALLS: list[tuple[str, Make, bool]] = [
    ("np.histogram(a, 5)", _vector, False),
    ("np.histogram(a, 4)", _halves, True),
    ("np.histogram(a, 13, weights=b)", _halves, True),
    ("np.histogram(a, 6, range=(0.0, 1.5))", _halves, True),
    ("np.histogram(a)", _integers, False),
    ("np.searchsorted(a, b)", _sorted, True),
    ("np.searchsorted(a, b, side='right')", _sorted, True),
    ("np.interp(b, a, c)", _grown, True),
    ("np.convolve(a, b)", _short, False),
    ("np.convolve(a, b, 'same')", _short, True),
    ("np.convolve(a, b, mode='valid')", _short, False),
    ("np.correlate(a, b)", _short, True),
    ("np.correlate(a, b, 'same')", _short, False),
    ("np.nansum(a, axis=1)", _holed, False),
    ("np.nanprod(a)", _holed, False),
    ("np.nanmax(a, axis=0)", _holed, True),
    ("np.nanmin(a)", _holed, False),
    ("np.nanmean(a, axis=1)", _holed, False),
    ("np.ptp(a, axis=0)", _matrix, False),
    ("np.average(a)", _vector, False),
    ("np.average(a, weights=b)", _two, False),
    ("np.isclose(a, b)", _infinite, True),
    ("np.allclose(a, b)", _two, False),
    ("np.array_equal(a, b)", _two, False),
    ("np.array_equal(a, a)", _vector, False),
    ("np.heaviside(a, 0.5)", _integers, False),
    ("np.heaviside(a, 0.5)", _infinite, False),
    ("np.sinc(a)", _vector, False),
    ("np.trapezoid(a)", _matrix, False),
    ("np.trapezoid(a, b)", _two, False),
    ("np.trapezoid(a, dx=0.5)", _vector, False),
    ("np.polyval(a, b)", _short, False),
    ("np.cross(a, b)", _three, False),
    ("np.kron(a, a)", _matrix, False),
    ("np.meshgrid(a, b)", _short, True),
    ("np.tile(a, 3)", _vector, False),
    ("np.tile(a, (2, 3))", _matrix, True),
    ("np.tile(a, (2, 1))", _vector, False),
    ("np.repeat(a, 3)", _matrix, False),
    ("np.repeat(a, 2, axis=1)", _matrix, True),
    ("np.repeat(a, 2, axis=0)", _matrix, False),
    ("a.repeat(2)", _vector, False),
    ("np.logspace(0, 2, 7) + a[0]", _vector, False),
    ("np.squeeze(a[np.newaxis, :, 0:1])", _matrix, False),
    ("np.fliplr(a)", _matrix, False),
    ("np.flipud(a)", _matrix, False),
    ("np.rot90(a) + 0", _matrix, False),
    ("np.linalg.norm(a)", _matrix, False),
    ("np.linalg.norm(a, axis=1, keepdims=True)", _matrix, False),
    ("np.amax(a), np.amin(a, axis=0)", _matrix, False),
    ("a * np.size(a) + np.ndim(a)", _vector, False),
    ("np.vdot(a, b)", _two, False),
    ("np.take(a, b)", _integers, False),
    ("np.diagonal(a) + 0", _square, False),
    ("np.tri(4) + a[0]", _vector, False),
    ("np.cov(a)", _matrix, False),
    ("np.cov(a, rowvar=False)", _matrix, False),
    ("np.corrcoef(a)", _matrix, False),
    ("np.gradient(a, 0.5)", _vector, False),
    ("np.logaddexp(a, b)", _infinite, False),
    ("np.float_power(a, 2)", _integers, False),
    ("np.angle(a + 1j*b)", _two, False),
    ("np.moveaxis(a[:, :, np.newaxis], 0, 2) + 0", _matrix, False),
    ("np.atleast_2d(a) + 0", _vector, False),
    ("np.broadcast_to(a, (3, a.shape[0])) + 0", _vector, False),
    ("np.divmod(a, b)", _two, False),
    ("np.ediff1d(a)", _vector, False),
    ("np.isin(a, b)", _integers, False),
    ("np.select([a > 0, a < -0.1], [a, 2*a], 7.0)", _vector, True),
    ("np.indices((3, 4)) + b[0]", _integers, False),
    ("np.mgrid[0:3, 1:9:2]*b[0]", _integers, True),
    ("np.mgrid[0:a.shape[0], 0:2][0] + 0", _vector, False),
    ("np.ogrid[0:3, 0:4][0]*b[0]", _integers, False),
    ("np.linspace(0, 1, 5, dtype=np.float32) * a[0]", _vector, False),
    ("np.linalg.matrix_power(a, 5)", _square, False),
    ("np.append(a, b)", _short, False),
    ("round(a[0]) + a", _vector, False),
    ("2.0**(0.5 - float(a[0]))*a", _vector, False),
]


def _functions(calls: list[tuple[str, Make, bool]]) -> list[tuple[Any, Any, Make]]:
    """Return each call in a loop as a compiled function, as a plain one, and its arguments."""
    found: list[tuple[Any, Any, Make]] = []
    for number, (call, make, _) in enumerate(calls):
        names = ", ".join("abc"[: len(make(np.random.default_rng(0), 3))])
        name = f"called_{number}"
        text = f"def {name}({names}):\n    y = np.zeros(2)\n    for t in range(2):\n"
        text += f"        y[t] = t\n    return ({call}), y\n"
        scope: dict[str, Any] = {"np": np}
        exec(compile(text, f"<{name}>", "exec"), scope)  # noqa: S102  (what is compiled)
        found.append((pg.jit(scope[name], source=text, strict=True), scope[name], make))
    return found


def _compare(calls: list[tuple[str, Make, bool]], n: int, patch: pytest.MonkeyPatch) -> None:
    functions = _functions(calls)
    given = [make(np.random.default_rng(n), n) for _, _, make in functions]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of NumPy, where nothing is left
        found = outcomes(
            [(f, arguments) for (f, _, _), arguments in zip(functions, given, strict=True)], patch
        )
        for (call, _, _), (_, plain, _), left, arguments in zip(
            calls, functions, found, given, strict=True
        ):
            if not isinstance(left, Outcome):
                raise AssertionError(call) from left
            try:
                check(left, outcome(plain, arguments), 100.0)
            except AssertionError as error:
                raise AssertionError(f"{call}, n = {n}: {error}") from error


def test_some_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    _compare([call for call in _CALLS if call[2]], 4, monkeypatch)


@pytest.mark.more
@pytest.mark.parametrize("n", [2, 3, 5, 17])
def test_all_calls(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _compare(_CALLS, n, monkeypatch)


def test_bins_between_what_is_no_number() -> None:
    def counts(a: Any) -> Any:
        for _ in range(2):
            found = np.histogram(a, 4)[0]
        return found

    compiled = pg.jit(counts, strict=True)
    np.testing.assert_array_equal(compiled(np.arange(5.0)), counts(np.arange(5.0)))
    for wrong in (np.nan, np.inf):
        a = np.array([1.0, wrong, 2.0, 3.0, 4.0])
        with pytest.raises(ValueError, match="range of"):
            counts(a)
        with pytest.raises(ValueError, match="the range of bins is not finite"):
            compiled(a)


def test_powers_that_are_too_large() -> None:
    def powers(x: Any, exponent: float) -> Any:
        for i in range(len(x)):
            x[i] += 2.0**exponent
        return x

    compiled = pg.jit(powers, strict=True)
    np.testing.assert_array_equal(compiled(np.ones(3), 0.5), powers(np.ones(3), 0.5))
    for function in (powers, compiled):
        with pytest.raises(OverflowError):
            function(np.ones(3), 5000.0)
