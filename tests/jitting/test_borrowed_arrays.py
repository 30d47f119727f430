"""Where kernels of a function run, and where its results are: a stand-in for CuPy, run as C."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import NoLibrary
from polygen.jitting.borrowed_arrays import BorrowedArrays, has_foreign_arrays
from polygen.runtime.executor import Executor

Array = np.ndarray[Any, Any]


class Placed(np.ndarray[Any, Any]):
    """An array that is said to be on a GPU."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {}


def placed(array: Any, dtype: Any = None) -> Any:
    return np.array(array, dtype).view(Placed)


@pytest.fixture
def targets(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let kernels for a GPU run as C; return for which targets kernels are asked."""
    asked: list[str] = []

    def runner(kernel: pg.Kernel, target: str, _copied: object) -> Any:
        executor = Executor(kernel.copy(target="c"), "c")
        asked.append(target)

        def run(arguments: dict[str, Any]) -> object:
            plain = {
                n: v.view(np.ndarray) if isinstance(v, Placed) else v for n, v in arguments.items()
            }
            return executor.run(None, None, plain)

        return run

    library: Any = ModuleType("cupy")
    library.ndarray, library.asarray = Placed, lambda value: value.array
    library.empty = lambda shape, dtype: placed(np.empty(shape, dtype))
    library.zeros = lambda shape, dtype=np.float64: placed(np.zeros(shape, dtype))
    monkeypatch.setitem(sys.modules, "cupy", library)
    monkeypatch.setattr("polygen.jitting.compiled_programs._runner", runner)
    monkeypatch.setattr("polygen.jitting.compiled_programs._scheduled", lambda kernel, _: kernel)
    return asked


def test_kernels_run_where_arrays_are(targets: list[str]) -> None:
    def doubled(x: Array) -> Array:
        return 2 * x

    compiled = pg.jit(doubled)
    for array in (placed(range(5)), np.arange(7), placed(range(6)), np.arange(5)):
        found = compiled(array)
        assert type(found) is type(array)
        np.testing.assert_array_equal(found, 2 * array)
    assert targets == ["cuda", "c"]


def test_numbers_are_the_hosts(targets: list[str]) -> None:
    def total(x: Array) -> tuple[Any, Array]:
        s = 0.0
        for i in range(len(x)):
            s += x[i]
        return s, x - np.max(x)

    number, rest = pg.jit(total)(placed([1.0, 4.0, 2.0]))
    assert type(number) is np.float64
    assert number == 7.0
    assert type(rest) is Placed
    np.testing.assert_array_equal(rest, [-3.0, 0.0, -2.0])
    assert targets == ["cuda"]


def test_faults_are_counted_on_the_host(targets: list[str]) -> None:
    def taken(x: Array, places: Array) -> Array:
        y = np.zeros(len(places))
        for i in range(len(places)):
            y[i] = x[places[i] * 2]
        return y

    compiled = pg.jit(taken)
    found = compiled(placed([1.0, 2.0, 3.0]), placed([1, 0]))
    np.testing.assert_array_equal(found, [3.0, 1.0])
    with pytest.raises(IndexError):
        compiled(placed([1.0, 2.0, 3.0]), placed([1, 2]))
    assert set(targets) == {"cuda"}


def test_views_of_results_are_views(targets: list[str]) -> None:
    def parts(x: Array) -> Any:
        x[...] = x + 1
        return x[1:], x.T

    x = placed([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    lower, turned = pg.jit(parts)(x)
    assert np.shares_memory(lower, x)
    assert turned.shape == (2, 3)
    np.testing.assert_array_equal(lower, [[4.0, 5.0], [6.0, 7.0]])
    assert targets == ["cuda"]


def test_python_between_kernels_makes_arrays_where_others_are(targets: list[str]) -> None:
    def stacked(x: Array, log: list[int]) -> Array:
        y = np.zeros(len(x))
        log.append(len(x))
        y[...] = 2 * x
        return y

    compiled, log = pg.jit(stacked), list[int]()
    for array in (placed([1.0, 2.0]), np.array([3.0, 4.0])):
        found = compiled(array, log)
        assert type(found) is type(array)
        np.testing.assert_array_equal(found, 2 * array)
    assert log == [2, 2]
    assert targets == ["cuda", "c"]


class Foreign:
    """An array of another library on a GPU."""

    def __init__(self, array: Any) -> None:
        self.array = array

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {}


def test_arrays_of_other_libraries_are_seen_as_cupys(targets: list[str]) -> None:
    def bumped(x: Array, pair: tuple[Array, Array]) -> tuple[Array, Array]:
        x[...] = x + pair[0] * pair[1]
        return x, pair[1] + 1

    x, y, z = (Foreign(placed([1.0, 2.0])) for _ in range(3))
    first, second = pg.jit(bumped)(x, (y, z))
    assert first is x
    np.testing.assert_array_equal(x.array, [2.0, 6.0])
    np.testing.assert_array_equal(second, [2.0, 3.0])
    assert targets == ["cuda"]


def test_what_is_known_is_left_alone() -> None:
    given = {"x": np.ones(2), "pair": (np.ones(2), 1), "n": 3, "word": "sum"}
    assert not has_foreign_arrays(given.values())
    seen = BorrowedArrays(given)
    assert all(seen.names[name] is value for name, value in given.items())
    assert seen.returned(given["x"]) is given["x"]


def test_without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    missing: Any = None
    monkeypatch.setitem(sys.modules, "cupy", missing)
    with pytest.raises(NoLibrary, match="CuPy is not installed"):
        BorrowedArrays({"x": Foreign(None)})


def test_parameters_of_every_kind() -> None:
    def several(*arrays: Array, factor: float = 1.0, **others: float) -> float:
        total = others.get("start", 0.0)
        for array in arrays:
            for i in range(len(array)):
                total += factor * array[i]
        return total

    compiled = pg.jit(several)
    x, y = np.arange(4.0), np.ones(3)
    assert compiled(x) == several(x)
    assert compiled(x, y) == several(x, y)
    assert compiled(x, y, factor=2.0, start=1.0) == several(x, y, factor=2.0, start=1.0)


def test_too_many_arguments() -> None:
    with pytest.raises(TypeError):
        scaled_by_name(np.ones(2), 2.0)


@pg.jit
def scaled_by_name(x: Array, *, factor: float) -> Array:
    return factor * x
