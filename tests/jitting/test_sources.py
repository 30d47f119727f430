"""Where functions come from: notebooks, `python -c`, other decorators; pickles and threads."""

from __future__ import annotations

import functools
import linecache
import os
import pickle
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import InvalidArgument, NoSource, NotCompiled

Array = np.ndarray[Any, Any]
X = np.arange(5.0)


def cell(number: int, text: str, scope: dict[str, Any]) -> None:
    """Run a cell of a notebook as IPython does: its text is in `linecache`, in no file."""
    name = f"/tmp/ipykernel_1/{number}.py"  # noqa: S108  (there is no such file)
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), scope)  # noqa: S102


def test_cells_of_notebooks() -> None:
    scope: dict[str, Any] = {"__name__": "__main__"}
    cell(1, "import polygen as pg\nk = 2.0\ndef twice(x): return k*x", scope)
    cell(2, "@pg.jit(strict=True)\ndef f(x):\n    return twice(x) + 1", scope)
    np.testing.assert_array_equal(scope["f"](X), 2 * X + 1)
    cell(3, "k = 3.0", scope)
    np.testing.assert_array_equal(scope["f"](X), 3 * X + 1)
    cell(4, "def twice(x):\n    return x", scope)
    np.testing.assert_array_equal(scope["f"](X), X + 1)
    old = scope["f"]
    cell(2, "@pg.jit(strict=True)\ndef f(x):\n    return twice(x) - 1", scope)
    np.testing.assert_array_equal(scope["f"](X), X - 1)
    np.testing.assert_array_equal(old(X), X + 1)
    assert "line 3" in scope["f"].explain()


@pytest.mark.more
def test_what_python_keeps_no_text_of() -> None:
    text = "import numpy as np, polygen as pg\n@pg.jit\ndef f(x): return 2*x\nf(np.ones(3))"
    path = {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", text],
        env={**os.environ, **path},
        capture_output=True,
        text=True,
        check=False,
    )
    if sys.version_info >= (3, 13):  # which keeps it
        assert done.returncode == 0
        return
    assert "NoSource: the source of 'f' cannot be had" in done.stderr
    assert "pass pg.jit(source=" in done.stderr


def test_lambdas_have_no_lines_of_their_own() -> None:
    function: Callable[[Any], Any] = lambda x: 2 * x  # noqa: E731
    doubled = pg.jit(function)
    with pytest.raises(NoSource, match="part of another statement"):
        doubled(X)


def values(x: Array) -> Iterator[float]:
    yield x[0]


async def awaited(x: Array) -> Array:
    return x


async def values_later(x: Array) -> AsyncIterator[float]:
    yield x[0]


@pytest.mark.parametrize("function", [values, awaited, values_later])
def test_functions_that_return_before_they_run(function: Any) -> None:
    with pytest.raises(InvalidArgument, match="when somebody asks for the next value"):
        pg.jit(function)


def strict(function: Any) -> Any:
    return pg.jit(function, strict=True)


def counted(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        return function(*arguments)

    return call


@strict
@counted
def inner(x: Array) -> Array:
    return x + 1


@counted
@strict
def outer(x: Array) -> Array:
    return x + 2


def test_other_decorators() -> None:
    np.testing.assert_array_equal(inner(X), X + 1)
    np.testing.assert_array_equal(outer(X), X + 2)
    again = pg.jit(inner, strict=False)
    np.testing.assert_array_equal(again(X), X + 1)


def plain(x: Array) -> Array:
    return 3 * x


other_name = pg.jit(plain)


last_first = 0.0


@pg.jit
def noted(x: Array, *more: Array, factor: float = 2.0, **others: float) -> Array:
    global last_first  # noqa: PLW0603
    last_first = factor * x[0]
    y = factor * x + sum(others.values())
    for one in more:
        y += one
    return y


def test_functions_that_assign_outside_are_pythons() -> None:
    np.testing.assert_array_equal(noted(X + 1), 2 * X + 2)
    assert last_first == 2
    np.testing.assert_array_equal(noted(X + 1, X, X, factor=3.0, shift=1.0), 5 * X + 4)
    assert last_first == 3
    assert "'global' assigns to names outside" in noted.explain()
    count = 0

    def counting(x: Array) -> Array:
        nonlocal count
        count += 1
        return x + count

    compiled = pg.jit(counting)
    np.testing.assert_array_equal(compiled(X), X + 1)
    np.testing.assert_array_equal(compiled(X), X + 2)
    assert count == 2
    compiled.compare(X)
    assert count == 2
    with pytest.raises(NotCompiled, match="'nonlocal' assigns to names outside"):
        pg.jit(counting, strict=True)(X)


def test_pickles_find_functions_by_name() -> None:
    assert pickle.loads(pickle.dumps(inner)) is inner  # noqa: S301
    # What has the function's name is the plain one: it is compiled again.
    found = pickle.loads(pickle.dumps(other_name))  # noqa: S301
    assert type(found) is type(other_name)
    np.testing.assert_array_equal(found(X), 3 * X)

    def local(x: Array) -> Array:
        return x

    with pytest.raises(pickle.PicklingError, match="define it outside of functions"):
        pickle.dumps(pg.jit(local))


@pg.jit
def swept(x: Array, factor: float) -> Array:
    y = np.zeros_like(x)
    for i in range(len(x)):
        y[i] = x[i] * factor + i
    return y


def test_first_calls_in_several_threads() -> None:
    sizes = [2, 5, 70, 5000, 8, 100, 1, 0] * 4
    arrays = [np.arange(n, dtype=kind) for n in sizes for kind in ("float64", "float32")]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(swept, arrays, [2.0] * len(arrays)))
    for x, y in zip(arrays, found, strict=True):
        assert y.dtype == x.dtype
        np.testing.assert_array_equal(y, 2 * x + np.arange(len(x)))
