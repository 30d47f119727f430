"""Methods, and objects as arguments: attributes are passed as arguments are."""

from __future__ import annotations

import enum
import pickle
import sys
import types
from typing import Any, NamedTuple

import numpy as np
import pytest

import polygen as pg

Array = np.ndarray[Any, Any]
X = np.arange(4.0)


def strict(function: Any) -> Any:
    return pg.jit(function, strict=True)


class Part:
    __slots__ = ("offset",)

    def __init__(self, offset: float) -> None:
        self.offset = offset


class Mode(enum.Enum):
    UP = 1
    DOWN = 2


class Model:
    factor = 3.0

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.weights = np.ones(4)
        self.part = Part(0.5)
        self.sizes = [2, 3]
        self.mode = Mode.UP

    @strict
    def scaled(self, x: Array) -> Array:
        return self.rate * x + self.weights + self.part.offset + self.sizes[0]

    @strict
    def add_up(self, x: Array, n: int) -> float:
        total = 0.0
        for i in range(n):
            self.weights[i] += x[i]
            total += self.halved(self.weights[i])
        return total

    def halved(self, value: float) -> float:
        return value / self.part.offset / 4

    @pg.jit
    def by_mode(self, x: Array) -> Array:
        return x + 1 if self.mode == Mode.UP else x - 1

    @classmethod
    @strict
    def by_class(cls, x: Array) -> Array:
        return cls.factor * x

    @staticmethod
    @strict
    def shifted(x: Array) -> Array:
        return x + 1

    @property
    def doubled_rate(self) -> float:
        return 2 * self.rate

    @pg.jit
    def by_property(self, x: Array) -> Array:
        return self.doubled_rate * x

    @pg.jit
    def renewed(self, x: Array) -> Array:
        y = 2 * x
        self.rate = 10.0
        return y * self.rate


def test_attributes_are_arguments() -> None:
    model = Model(2.0)
    np.testing.assert_array_equal(model.scaled(X), 2 * X + 3.5)
    model.rate, model.weights, model.part, model.sizes = 5.0, 2 * X, Part(1.0), [4, 1]
    np.testing.assert_array_equal(model.scaled(X), 5 * X + 2 * X + 5)
    model.part.offset = 2.0
    np.testing.assert_array_equal(model.scaled(X), 5 * X + 2 * X + 6)
    other = Model(1.0)
    np.testing.assert_array_equal(other.scaled(X), X + 3.5)
    (knl,), (again,) = model.scaled.kernels(X), other.scaled.kernels(X)
    assert str(knl) == str(again)  # whose it is does not matter


def test_arrays_of_objects_are_written_and_methods_inlined() -> None:
    model = Model(2.0)
    weights = model.weights
    assert model.add_up(X, 3) == ((1 + 0) + (1 + 1) + (1 + 2)) / 0.5 / 4
    np.testing.assert_array_equal(weights, [1, 2, 3, 1])
    assert "weights" in model.add_up.kernels(X, 3)[0].variables
    model.weights = X.copy()  # of the same place as an argument, now
    assert model.add_up(model.weights, 3) == (0 + 2 + 4) / 0.5 / 4
    np.testing.assert_array_equal(model.weights, [0, 2, 4, 3])


def whole(_model: Model, value: float) -> float:
    return value


def tenfold(value: float) -> float:
    return 10 * value


def test_methods_of_a_class_that_change_count(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model(2.0)
    assert model.add_up(0 * X, 2) == 1
    monkeypatch.setattr(Model, "halved", whole)
    assert model.add_up(0 * X, 2) == 2
    monkeypatch.undo()
    model.__dict__["halved"] = tenfold
    assert model.add_up(0 * X, 2) == 20


def test_constants_of_classes_and_modules_count(monkeypatch: pytest.MonkeyPatch) -> None:
    np.testing.assert_array_equal(Model.by_class(X), 3 * X)
    monkeypatch.setattr(Model, "factor", 7.0)
    np.testing.assert_array_equal(Model.by_class(X), 7 * X)
    np.testing.assert_array_equal(Model.shifted(X), X + 1)
    model = Model(1.0)
    for mode, sign in ((Mode.UP, 1), (Mode.DOWN, -1), (Mode.UP, 1)):
        model.mode = mode
        np.testing.assert_array_equal(model.by_mode(X), X + sign)


SETTINGS: Any = types.ModuleType("settings")
SETTINGS.scale = 2.0
STEPS = [1.0, 2.0]


@strict
def with_settings(x: Array) -> Any:
    return SETTINGS.scale * x + STEPS[1]


def test_what_globals_hold_may_change() -> None:
    np.testing.assert_array_equal(with_settings(X), 2 * X + 2)
    SETTINGS.scale = 4.0
    np.testing.assert_array_equal(with_settings(X), 4 * X + 2)
    STEPS[1] = 5.0
    np.testing.assert_array_equal(with_settings(X), 4 * X + 5)
    STEPS[1], SETTINGS.scale = 2.0, 2.0
    np.testing.assert_array_equal(with_settings(X), 2 * X + 2)


def test_what_python_computes_stays_python() -> None:
    model = Model(2.0)
    np.testing.assert_array_equal(model.by_property(X), 4 * X)
    assert "'doubled_rate' is computed as it is read" in model.by_property.explain()
    np.testing.assert_array_equal(model.renewed(X), 20 * X)
    assert model.rate == 10
    model.rate = 3.0
    np.testing.assert_array_equal(model.renewed(X), 20 * X)
    del model.weights
    with pytest.raises(AttributeError, match="weights"):
        model.scaled(X)


class Pair(NamedTuple):
    factor: float
    offsets: Array


@strict
def with_pair(x: Array, pair: Any, n: int) -> tuple[Array, Any]:
    factor, offsets = pair
    for i in range(n):
        x[i] += pair[0] * factor + offsets[i]
    return pair.factor * x + pair.offsets, pair


@strict
def with_namespace(x: Array, space: Any) -> Any:
    return space.factor * x + space.offsets


def test_named_tuples_and_namespaces() -> None:
    for factor in (2.0, 3.0):
        pair, x = Pair(factor, 2 * X), X.copy()
        wanted = with_pair.function(X.copy(), pair, 2)[0]
        found, same = with_pair(x, pair, 2)
        np.testing.assert_array_equal(found, wanted)
        assert same is pair
        space = types.SimpleNamespace(factor=factor, offsets=X)
        np.testing.assert_array_equal(with_namespace(X, space), (factor + 1) * X)


def test_bound_methods_are_handles() -> None:
    model = Model(2.0)
    model.scaled.compare(X)
    model.add_up.compare(X, 3)
    np.testing.assert_array_equal(model.weights, np.ones(4))
    assert model.scaled == model.scaled
    assert model.scaled != Model(2.0).scaled
    assert len({model.scaled, model.scaled}) == 1
    assert model.scaled.__self__ is model
    assert model.scaled.__name__ == "scaled"
    assert "scaled" in repr(model.scaled)
    again = pickle.loads(pickle.dumps(model.scaled))  # noqa: S301
    np.testing.assert_array_equal(again(X), 2 * X + 3.5)
    assert sys.modules[__name__].Model.scaled is Model.scaled
