"""Numbers of points for given sizes: random sets beside brute force, and large ones."""

from __future__ import annotations

import itertools
import random
from typing import Any

import islpy as isl
import numpy as np
import pytest
from pymbolic.mapper.evaluator import evaluate

import polygen as pg
from polygen.analysis.counting.point_counts import number
from polygen.analysis.counting.symbolic_sums import NotSummedError
from polygen.ir.domain import flat_names
from polygen.language.parser import parse_expression

NAMES = ("i", "j", "k")
AFFINE = (
    "i - 2*j <= 3",
    "3*i + k >= n",
    "(i + j) mod 3 = 1",
    "5*j - 7*k <= 2*n",
    "i != 4",
    "exists e: 2*e <= i + k <= 2*e + j - 3",
    "-3*i + 4*k <= j",
    "floor((i + 2*k)/5) <= 2",
)
PLAIN = (
    "i*j % 3 == 1",
    "i*k > n",
    "i*i + j*j <= n*n",
    "j != 0 and i % j == 0",
    "i*n + k < 20",
    "not (i*j*k == 0)",
    "if(i > j, i*j, k*k) > 5",
    "max(i*j, k) - min(i, j*k) < 12",
    "i < j + n",
    "i*i == j or k % (j*j + 1) == 0",
    "(i*j) // 3 == k",
    "(i - 4)*(j - 4) < 0",
    "i**2 < j + 8",
)


def brute(text: str, conditions: Any, counted: Any, size: int) -> int:
    """Return how many values of some names there are, one by one."""
    flat = isl.Set(text)
    found: set[tuple[int, ...]] = set()
    for values in itertools.product(range(-3, 9), repeat=3):
        at = dict(zip(NAMES, values, strict=True)) | {"n": size}
        point = flat
        for position, name in enumerate(flat_names(flat)):
            point = point.fix_val(isl.dim_type.param, position, isl.Val(at[name]))
        if not point.is_empty() and all(evaluate(c, at) for c in conditions):
            found.add(tuple(at[name] for name in counted))
    return len(found)


def check(seed: int) -> None:
    r = random.Random(seed)
    box = " and ".join(f"{r.randrange(-3, 2)} <= {x} < {r.randrange(3, 9)}" for x in NAMES)
    said = [box, *r.sample(AFFINE, r.randrange(3))]
    text = f"[n, i, j, k] -> {{ : {' and '.join(said)} }}"
    if r.random() < 0.3:
        text = text.replace(" }", f" or ({box} and i = j) }}")
    conditions = [parse_expression(c) for c in r.sample(PLAIN, r.randrange(3))]
    counted = r.sample(NAMES, r.choice([2, 3, 3, 3]))
    size = r.randrange(0, 9)
    found = number(isl.Set(text), counted, {"n": size}, conditions)
    assert found == brute(text, conditions, counted, size), (seed, text, conditions, counted, size)


@pytest.mark.parametrize("seed", range(20))
def test_random_sets(seed: int) -> None:
    check(seed)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(20, 420, 20))
def test_many_random_sets(seed: int) -> None:
    for one in range(seed, seed + 20):
        check(one)


def test_no_end() -> None:
    for where in ([], [parse_expression("i*j > 3")]):
        with pytest.raises(NotSummedError):
            number(isl.Set("[n, i, j] -> { : 0 <= i and 0 <= j < n }"), ["i", "j"], {"n": 3}, where)


@pytest.mark.parametrize("size", [5, 2**58, 2**60, 2**62])
def test_sizes_near_the_end_of_64_bits(size: int) -> None:
    flat = isl.Set("[n, i, j] -> { : n <= i < n + 3 and 9i - 20 <= j <= 9i }")
    for where in ([], [parse_expression("i*j > 0")]):  # all of them
        assert number(flat, "ij", {"n": size}, where) == 3 * 21


def test_division_by_zero_is_an_error_unless_it_is_not_asked_for() -> None:
    flat = isl.Set("[i, j] -> { : 0 <= i < 4 and 0 <= j < 4 }")
    found = number(flat, "ij", {}, [parse_expression("j != 0 and i % j == 0")])
    assert found == sum(j != 0 and i % j == 0 for i in range(4) for j in range(4))
    with pytest.raises(ZeroDivisionError):
        number(flat, "ij", {}, [parse_expression("i % j == 0")])


# --- kernels

PLANE = "{ [i, j]: 0<=i<n and 0<=j<m }"


def count(domains: str, condition: str, sizes: dict[str, int]) -> int:
    data = [pg.GlobalArg("a", np.float32, "n"), "..."]
    knl = pg.make_kernel(
        domains, f"b[i, j] = 2*a[i]  {{if={condition}}}", data, loop_priority="i, j"
    )
    counts = pg.get_op_map(knl, count_granularity="workitem")
    found = counts.get(pg.Op("float32", "mul", "workitem", "polygen_kernel"))
    assert found is not None
    assert found.pwqpolynomial is None
    value: int = found.eval_with_dict(sizes)
    return value


@pytest.mark.parametrize(("n", "m"), [(0, 5), (1, 1), (7, 31), (512, 256), (1009, 1000)])
def test_planes(n: int, m: int) -> None:
    i, j = np.ogrid[:n, :m]
    sizes = {"n": n, "m": m}
    assert count(PLANE, "i*j % 3 == 0", sizes) == (i * j % 3 == 0).sum()
    assert count(PLANE, "i*n + j < m*m", sizes) == (i * n + j < m * m).sum()
    assert count(PLANE, "i*i + j < m", sizes) == (i * i + j < m).sum()


def test_a_thousand_million_points() -> None:
    """One by one, they would take a quarter of an hour."""
    n = m = 32_000
    rows = sum(i * i < n for i in range(n))
    assert count(PLANE, "i*i < n", {"n": n, "m": m}) == rows * m
    assert count(PLANE, "i*n + j < 1000*m", {"n": n, "m": m}) == 1000 * m
    band = "{ [i, j]: 0<=i<n and 0<=j<m and 0<=997*i - 1009*j<1009 }"
    wanted = len({(i, 997 * i // 1009) for i in range(n) if 997 * i // 1009 < m and i * i != 49})
    assert count(band, "i*i != 49", {"n": n, "m": m}) == wanted
