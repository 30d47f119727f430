"""`optimize_by_size`: schedules for some sizes, and which one a call takes."""

from __future__ import annotations

import timeit
from functools import cache
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import InvalidArgument, MissingArgument
from polygen.ir.kernel import Kernel
from polygen.schedules.variants import Variants
from tests.schedules.test_optimize import LIMITS


def product() -> Kernel:
    return pg.make_kernel(
        "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<l }",
        "c[i,j] = sum(k, a[i,k]*b[k,j])",
        [
            pg.GlobalArg("a", np.float64, "n, l"),
            pg.GlobalArg("b", np.float64, "l, m"),
            pg.GlobalArg("c", np.float64, "n, m"),
            "...",
        ],
        target="c",
        loop_priority="i, j",
    )


@cache
def both() -> Variants:
    return pg.optimize_by_size(product(), [LARGE, SMALL], LIMITS)


SMALL, LARGE = {"n": 8, "m": 8, "l": 8}, {"n": 800, "m": 800, "l": 200}


def test_each_call_takes_the_schedule_for_its_sizes() -> None:
    found = both()
    small, large = found
    assert {str(small.when), *str(small.when).split(" and ")} >= {"n <= 80", "m <= 80", "l <= 40"}
    assert str(small).endswith(": for l = 8, m = 8, n = 8")
    assert str(large) == "otherwise: for l = 200, m = 800, n = 800"
    assert small.kernel == pg.optimize(product(), LIMITS, sizes=SMALL)
    assert len(large.kernel.history) > 20, "tiles, packed"
    random = np.random.default_rng(1)
    taken = list[int]()
    for n, m, depth in ((0, 3, 2), (1, 1, 1), (5, 7, 3), (80, 80, 40), (81, 3, 4), (7, 5, 41)):
        a, b = random.integers(0, 9, (n, depth)), random.integers(0, 9, (depth, m))
        given: dict[str, Any] = {"a": a.astype(float), "b": b.astype(float)}
        _, (c,) = found(**given)
        np.testing.assert_array_equal(c, a @ b)
        taken.append(found.index(found.pick(n=n, m=m, l=depth)))
    assert taken == [0, 0, 0, 0, 1, 1]


def test_what_a_choice_costs() -> None:
    found = both()
    sizes = {"n": 9, "m": 9, "l": 9}
    assert min(timeit.repeat(lambda: found.among(sizes), number=1000, repeat=5)) < 20e-3


def test_sizes_with_one_schedule_are_one_variant() -> None:
    (one,) = pg.optimize_by_size(product(), [{"n": 9, "m": 9, "l": 9}, SMALL], LIMITS)
    assert str(one) == "otherwise: for l = 9, m = 9, n = 9"


def test_sizes_are_scalars_or_those_of_any_array() -> None:
    found = both()
    c = np.zeros((2, 3))
    found(a=np.ones((2, 4)), b=np.ones((4, 3)), c=c)
    assert (c == 4).all()
    with pytest.raises(MissingArgument):
        found.pick(n=1)


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ([], "no sizes to expect"),
        ([{}], "no sizes to expect"),
        ([{"n": 3, "q": 4}], "has no size 'q'"),
        ([{"n": 3}, {"m": 4}], "sizes of other names"),
    ],
)
def test_sizes_that_say_nothing(sizes: list[dict[str, int]], said: str) -> None:
    with pytest.raises(InvalidArgument, match=said) as error:
        pg.optimize_by_size(product(), sizes, LIMITS)
    assert "remedy" in str(error.value)
