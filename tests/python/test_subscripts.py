"""polygen.python.subscripts: slices and places of arrays, beside NumPy."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import polygen as pg
from tests.python.compared import compare_kernels

Array = np.ndarray[Any, Any]


def made(parts: list[str]) -> Any:
    """Return a function that adds up parts of an array, each into an element."""
    lines = [f"    out[{at}] = np.sum(x[{part}]) + x[{part}].size" for at, part in enumerate(parts)]
    text = "\n".join(["def sliced(x, k, out):", *lines, "    return out", ""])
    scope: dict[str, Any] = {"np": np}
    exec(text, scope)  # noqa: S102  (our own text)
    return pg.jit(scope["sliced"], target="c", source=text), scope["sliced"]


def test_slices_are_clipped_as_numpy_clips_them() -> None:
    rng = random.Random(5)
    ends = ["", "0", "1", "-1", "3", "-3", "9", "-9", "k", "-k", "k + 1", "k - 9"]
    steps = ["", ":1", ":2", ":-1", ":-3"]
    parts = [f"{rng.choice(ends)}:{rng.choice(ends)}{rng.choice(steps)}" for _ in range(40)]
    compiled, plain = made(parts)
    for n, k in ((6, 2), (1, 0), (12, 5)):
        x = np.arange(1.0, n + 1) ** 2
        meant = plain(x, k, np.zeros(len(parts)))
        np.testing.assert_array_equal(compiled(x, k, np.zeros(len(parts))), meant, str(parts))
    assert "Python" not in compiled.explain()


def places(x: Array) -> Any:
    return x[-1, 0], x[1][2], x[..., None].shape, x[None, 1:, -2].shape, x[0, ::-1][1]


def ends_of_data(x: Array, ends: Array) -> Array:
    total = np.zeros(len(ends) - 1)
    for i in range(len(ends) - 1):
        total[i] = np.sum(x[ends[i] : ends[i + 1]])
    return total


def gathered(x: Array, rows: Array, columns: Array) -> Any:
    return x[rows], x[rows, columns], x[:, columns], x[rows[:, None], columns]


def scattered(x: Array, rows: Array) -> Array:
    x[rows] = x[rows[::-1]] + 1
    x[rows, 0] *= 2
    return x


def test_places_are_numpys(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.arange(20.0).reshape(4, 5)
    rows, columns = np.array([3, -1, 0]), np.array([1, 1, -5])
    ends = np.array([0, 4, 4, 30, 7])
    compare_kernels(
        [
            (ends_of_data, (np.arange(20.0), ends)),
            (gathered, (x, rows, columns)),
            (scattered, (x.copy(), np.array([2, 0, 2]))),
        ],
        monkeypatch,
    )
    assert pg.jit(places, target="c")(x) == places(x)


def test_a_subscript_outside_is_an_error() -> None:
    def looked_up(x: Array, at: Array) -> Array:
        return x[at] + 1

    def computed(x: Array, at: Array) -> float:
        total = 0.0
        for i in range(len(at)):
            total += x[2 * at[i]]
        return total

    x = np.arange(5.0)
    for function in (looked_up, computed):
        compiled = pg.jit(function, target="c")
        inside = np.array([0, -1, 2])
        np.testing.assert_array_equal(compiled(x, inside), function(x, inside))
        with pytest.raises(IndexError):
            compiled(x, np.array([0, 7, 2]))


def _stepped(x: Any, first: int, end: int, by: int) -> tuple[int, Any]:
    last = -99
    for i in range(first, end, by):
        x[i] += i
        last = i
    return last, x


def _parts(x: Any, by: int) -> Any:
    x[by::by] *= 2
    return x[::by]


def test_ranges_with_any_step() -> None:
    compiled = pg.jit(_stepped, strict=True)
    for first, end, by in (
        (0, 20, 3), (0, 20, -1), (19, 0, -4), (19, -1, -1), (5, 5, 2), (3, 4, 7), (0, 21, 20),
    ):  # fmt: skip
        found, meant = (f(np.zeros(30), first, end, by) for f in (compiled, _stepped))
        assert found[0] == meant[0]
        np.testing.assert_array_equal(found[1], meant[1])
    for function in (compiled, _stepped):
        with pytest.raises(ValueError, match="arg 3 must not be zero"):
            function(np.zeros(30), 0, 9, 0)


def test_slices_with_any_step() -> None:
    compiled = pg.jit(_parts)
    for by in (1, 2, 3, 40, -1, -2):
        x = np.arange(11.0)
        found, meant = compiled(x, by), _parts(np.arange(11.0), by)
        np.testing.assert_array_equal(found, meant)
        assert np.shares_memory(found, x)
    pg.jit(_parts, strict=True)(np.ones(5), 2)
    pg.jit(_parts, strict=True)(np.ones(5), -2)
