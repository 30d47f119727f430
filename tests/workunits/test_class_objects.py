"""Objects of class types in work units: made, passed, returned, changed; what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen.workunits as pk
from polygen.errors import WorkUnitRefused

N = 12
X = np.linspace(-1.0, 2.0, N)


@pk.classtype
class Pair:
    def __init__(self, first: Any, second: Any) -> None:
        self.first = first
        self.second = 2.0 * second
        self.sum = self.first + self.second

    def product(self, other: Pair) -> Any:
        if self.first < 0.0:
            return -1.0 * other.second
        return self.first * other.second

    def swapped(self) -> Pair:
        return Pair(self.second, self.first)

    def twice(self) -> Pair:
        return self.swapped().swapped()

    def grow(self) -> None:
        self.first += 1.0

    def forever(self) -> Any:
        return self.forever()


@pk.classtype
class Single:
    def __init__(self, value: Any) -> None:
        self.value = value


@pk.function
def sum_of(pair: Pair, factor: Any) -> Any:
    return factor * pair.sum


@pk.function
def pair_of(x: Any) -> Pair:
    return Pair(x, 1.0)


@pk.workunit
def made(i: int, x: Any, y: Any) -> None:
    one = Pair(x[i], 3.0)
    other: Pair = one.swapped()
    y[i] = one.product(other) + other.sum


@pk.workunit
def chained(i: int, x: Any, y: Any) -> None:
    y[i] = Pair(x[i], 1.0).twice().product(pair_of(x[i]).swapped()) + sum_of(pair_of(x[i]), 0.5)


@pk.workunit
def in_branches(i: int, x: Any, y: Any) -> None:
    one = Pair(x[i], 1.0)
    if x[i] > 0.5:
        one = Pair(2.0, x[i])
    for _ in range(3):
        one = one.swapped()
    y[i] = one.first


@pk.workunit
def changed(i: int, x: Any, y: Any) -> None:
    one = Pair(x[i], 1.0)
    one.first += 5.0
    one.second = one.first * 2.0
    y[i] = one.first + one.second + one.sum


@pk.workunit
def named_twice(i: int, x: Any, y: Any) -> None:
    one = Pair(x[i], 1.0)
    other = one
    y[i] = other.first + Single(x[i]).value


@pk.workunit
def assigned_inside(i: int, x: Any, y: Any) -> None:
    one = Pair(x[i], 1.0)

    def swap() -> None:
        nonlocal one
        one = one.swapped()

    pk.single(pk.PerThread(None), swap)
    y[i] = one.first + 10.0 * one.second


@pk.workunit
def added(i: int, acc: pk.Acc[pk.double], x: Any) -> None:  # type: ignore[type-arg]
    acc += Pair(x[i], 1.0).swapped().first


@pk.functor
class Holder:
    def __init__(self, x: Any) -> None:
        self.x, self.y = x, pk.View([N], pk.double)

    @pk.workunit
    def apply(self, i: int) -> None:
        one = Pair(self.x[i], 2.0)
        self.y[i] = one.swapped().product(one)


@pytest.mark.parametrize(
    "unit", [made, chained, in_branches, changed, named_twice, assigned_inside]
)
def test_as_in_python(unit: Any) -> None:
    found, expected = np.zeros(N), np.zeros(N)
    pk.parallel_for(pk.RangePolicy(pk.Debug, 0, N), unit, x=X, y=expected)
    pk.parallel_for(pk.RangePolicy(pk.OpenMP, 0, N), unit, x=X, y=found)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    assert len(set(expected)) > 2


def test_sums_and_methods() -> None:
    # A swapped pair has twice the second number, which is twice 1, first.
    assert pk.parallel_reduce(pk.RangePolicy(pk.OpenMP, 0, N), added, x=X) == 2.0 * N
    held = Holder(pk.from_numpy(X))
    pk.parallel_for(pk.RangePolicy(pk.OpenMP, 0, N), held.apply)
    # Of a pair (x, 4): the swapped one is (4, 2*x); its product takes the other's second.
    np.testing.assert_allclose(np.asarray(held.y), np.full(N, 16.0))


@pk.workunit
def grows(i: int, x: Any, y: Any) -> None:
    one = Pair(x[i], 1.0)
    one.grow()
    y[i] = one.first


@pk.function
def reset(other: Pair) -> Any:
    other.first = 0.0
    return 1.0


@pk.workunit
def changes_another(i: int, x: Any, y: Any) -> None:
    one = Pair(x[i], 1.0)
    y[i] = reset(one) + one.first


@pk.workunit
def changed_inside(m: pk.TeamMember, x: Any, y: Any) -> None:
    one = Pair(x[m.league_rank()], 1.0)

    def inner(j: int) -> None:
        one.first = 1.0 * j

    pk.parallel_for(pk.TeamThreadRange(m, 1), inner)
    y[m.league_rank()] = one.first


@pk.workunit
def aliases(i: int, x: Any, y: Any) -> None:
    one = Pair(x[i], 1.0)
    other = one
    other.first = 3.0
    y[i] = one.first


@pk.workunit
def two_classes(i: int, x: Any, y: Any) -> None:
    one = Pair(x[i], 1.0)
    y[i] = one.first
    one = Single(x[i])  # type: ignore[assignment]
    y[i] += one.value  # type: ignore[attr-defined]


@pk.workunit
def as_a_number(i: int, x: Any, y: Any) -> None:
    one = Pair(x[i], 1.0)
    y[i] = one


@pk.workunit
def as_an_operand(i: int, x: Any, y: Any) -> None:
    one = Pair(x[i], 1.0)
    y[i] = one + 1.0  # type: ignore[operator]


@pk.workunit
def no_method(i: int, x: Any, y: Any) -> None:
    y[i] = Pair(x[i], 1.0).missing()  # type: ignore[attr-defined]


@pk.workunit
def no_attribute(i: int, x: Any, y: Any) -> None:
    y[i] = Pair(x[i], 1.0).third  # type: ignore[attr-defined]


@pk.workunit
def by_keywords(i: int, x: Any, y: Any) -> None:
    one = Pair(first=x[i], second=1.0)
    y[i] = one.first


@pk.workunit
def too_few(i: int, x: Any, y: Any) -> None:
    one = Pair(x[i])  # type: ignore[call-arg]
    y[i] = one.first


@pk.workunit
def in_a_condition(i: int, x: Any, y: Any) -> None:
    y[i] = Pair(x[i], 1.0).swapped().first if x[i] > 0.0 else 0.0


@pk.workunit
def recursive(i: int, x: Any, y: Any) -> None:
    y[i] = Pair(x[i], 1.0).forever()


@pytest.mark.parametrize(
    ("unit", "why"),
    [
        (grows, "a function changes the object 'self' from outside"),
        (changes_another, "a function changes the object 'other' from outside"),
        (changed_inside, "a function changes the object 'one' from outside"),
        (aliases, "'other' is another name of 'one', and attributes are changed"),
        (two_classes, "'one' is an object of two classes"),
        (as_a_number, "an object is assigned to something else than a name"),
        (as_an_operand, "the object 'one' stands where a number has to be"),
        (no_method, "'Pair' has no method 'missing'"),
        (no_attribute, "'Pair' sets no 'third'"),
        (by_keywords, "an object is made with keywords"),
        (too_few, "'__init__' takes 3 arguments, and is passed 2"),
        (in_a_condition, "an object without a name is made in a condition"),
        (recursive, "'forever' calls itself"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_refused(unit: Any, why: str) -> None:
    in_teams = unit is changed_inside
    policy = pk.TeamPolicy(N, pk.AUTO) if in_teams else pk.RangePolicy(pk.OpenMP, 0, N)
    with pytest.raises(WorkUnitRefused, match=why) as caught:
        pk.parallel_for(policy, unit, x=X, y=np.zeros(N))
    assert "test_class_objects.py" in str(caught.value)
