"""`collect_reduction`: loops that update one element, compared with NumPy; and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import NotAnAccumulation
from polygen.ir.kernel import Kernel

LINE = "{ [i]: 0<=i<n }"
SQUARE = "{ [i,j]: 0<=i<n and 0<=j<n }"
TRIANGLE = "{ [i,j]: 0<=i<n and 0<=j<=i }"


def made(domain: str, text: str, types: Mapping[str, str], **more: Any) -> Kernel:
    knl = pg.make_kernel(domain, text, target="c", **more)
    return pg.add_dtypes(knl, dict(types))


def instructions(knl: Kernel) -> list[str]:
    text = str(knl).partition("INSTRUCTIONS:\n")[2].partition("\n---")[0]
    return [line.partition("  {")[0] for line in text.splitlines()]


DOUBLES = {"s, x": "float64"}

# The text; types; what it becomes; what it computes of s and x.
CASES: dict[str, tuple[str, str, Mapping[str, str], str, Callable[[Any, Any], Any]]] = {
    "sum": (
        LINE,
        "s[0] = s[0] + x[i]  {id=add, inames=i}",
        DOUBLES,
        "[] s[0] = s[0] + sum(i, x[i])",
        lambda s, x: s[0] + x.sum(),
    ),
    "difference of several": (
        LINE,
        "s[0] = (s[0] - x[i]) + x[i]*x[i]  {id=add, inames=i}",
        DOUBLES,
        "[] s[0] = s[0] + sum(i, -x[i] + x[i]*x[i])",
        lambda s, x: s[0] - x.sum() + (x * x).sum(),
    ),
    "product": (
        LINE,
        "s[0] = x[i]*s[0]  {id=add, inames=i}",
        DOUBLES,
        "[] s[0] = s[0]*product(i, x[i])",
        lambda s, x: s[0] * x.prod(),
    ),
    "maximum under a condition": (
        LINE,
        "s[0] = max(s[0], x[i])  {id=add, inames=i, if=x[i] < 2}",
        DOUBLES,
        "[] s[0] = max(s[0], max(i, if(x[i] < 2, x[i], -1.0/0.0)))",
        lambda s, x: max([s[0], *x[x < 2]]),
    ),
    "sum under a condition": (
        LINE,
        "s[0] = s[0] + x[i]  {id=add, inames=i, if=x[i] < 2}",
        DOUBLES,
        "[] s[0] = s[0] + sum(i, if(x[i] < 2, x[i], 0))",
        lambda s, x: s[0] + x[x < 2].sum(),
    ),
    "a choice": (
        LINE,
        "s[0] = if(x[i] > 3, s[0] + x[i], s[0])  {id=add, inames=i}",
        DOUBLES,
        "[] s[0] = s[0] + sum(i, if(x[i] > 3, x[i], 0))",
        lambda s, x: s[0] + x[x > 3].sum(),
    ),
    "the other branch of a choice": (
        LINE,
        "s[0] = if(x[i] > 3, s[0], s[0] + x[i])  {id=add, inames=i}",
        DOUBLES,
        "[] s[0] = s[0] + sum(i, if(not x[i] > 3, x[i], 0))",
        lambda s, x: s[0] + x[x <= 3].sum(),
    ),
    "the greater of two integers": (
        LINE,
        "s[0] = if(x[i] > s[0], x[i], s[0])  {id=add, inames=i}",
        {"s, x": "int32"},
        "[] s[0] = max(s[0], max(i, x[i]))",
        lambda s, x: max([s[0], *x]),
    ),
    "the lesser of two integers, by a predicate": (
        LINE,
        "s[0] = x[i]  {id=add, inames=i, if=s[0] > x[i]}",
        {"s, x": "int32"},
        "[] s[0] = min(s[0], min(i, x[i]))",
        lambda s, x: min([s[0], *x]),
    ),
    "bytes that wrap around": (
        LINE,
        "s[0] = s[0] + x[i]  {id=add, inames=i}",
        {"s, x": "int8"},
        "[] s[0] = s[0] + sum<int8>(i, x[i])",
        lambda s, x: (s[0] + x.sum(dtype=np.int8)).astype(np.int8),
    ),
    "bits": (
        LINE,
        "s[0] = s[0] ^ x[i]  {id=add, inames=i}",
        {"s, x": "int32"},
        "[] s[0] = s[0] ^ bit_xor(i, x[i])",
        lambda s, x: np.bitwise_xor.reduce(np.append(s[:1], x)),
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("n", [0, 1, 7])
def test_against_numpy(name: str, n: int) -> None:
    domain, text, types, expected, plain = CASES[name]
    knl = pg.collect_reduction(made(domain, text, types), "add", "i")
    assert instructions(knl) == [expected]
    dtype = next(iter(types.values()))
    rng = np.random.default_rng(n)
    x = (rng.integers(-100, 100, n) if "int" in dtype else rng.random(n) * 4).astype(dtype)
    s = np.array([3], dtype)
    wanted = plain(s, x)
    knl(s=s, x=x)
    np.testing.assert_allclose(s[0], wanted, rtol=0 if "int" in dtype else 1e-14)


@pytest.mark.parametrize("start", [1.0, np.nan, -np.inf])
@pytest.mark.parametrize("choose", [max, min])
def test_what_python_chooses_of_numbers_that_are_none(
    start: float, choose: Callable[..., float]
) -> None:
    sign = ">" if choose is max else "<"
    text = f"s[0] = if(x[i] {sign} s[0], x[i], s[0])  {{id=add, inames=i}}"
    knl = pg.collect_reduction(made(LINE, text, DOUBLES), "add", "i")
    assert knl.instruction("add").reduction_inames == {"i"}
    for values in ([], [np.nan], [np.nan, 3.0, np.nan, 0.5], [-np.inf, np.inf], [1.0, 1.0]):
        wanted = start
        for value in values:
            wanted = choose(wanted, value)  # NaN compares with nothing: the old value stays
        s = np.array([start])
        knl(s=s, x=np.array(values))
        np.testing.assert_array_equal(s, [wanted])


def test_one_loop_of_two() -> None:
    text = "s[i] = s[i] + x[i, j]  {id=add}"
    inner = pg.collect_reduction(made(TRIANGLE, text, DOUBLES, loop_priority="i, j"), "add", "j")
    assert instructions(inner) == ["[i] s[i] = s[i] + sum(j, x[i, j])"]
    text = "s[j] = s[j] + x[i, j]  {id=add}"
    outer = pg.collect_reduction(made(TRIANGLE, text, DOUBLES, loop_priority="i, j"), "add", "i")
    assert instructions(outer) == ["[j] s[j] = s[j] + sum(i, x[i, j])"]
    x = np.random.default_rng(0).random((6, 6))
    s = np.zeros(6)
    inner(s=s, x=x)
    np.testing.assert_allclose(s, np.tril(x).sum(1), rtol=1e-14)
    s[:] = 1
    outer(s=s, x=x)
    np.testing.assert_allclose(s, 1 + np.tril(x).sum(0), rtol=1e-14)


def test_both_loops_one_after_the_other() -> None:
    text = "s[0] = s[0] + x[i, j]  {id=add, inames=i:j}"
    knl = made(SQUARE, text, DOUBLES, loop_priority="i, j")
    knl = pg.collect_reduction(pg.collect_reduction(knl, "add", "j"), "add", "i")
    assert instructions(knl) == ["[] s[0] = s[0] + sum(i, sum(j, x[i, j]))"]


def test_what_has_been_written_out_is_collected_again() -> None:
    knl = made(SQUARE, "b[i] = sum(j, x[i, j])  {id=row}", {"x": "float64"})
    knl = pg.realize_reduction(knl)
    again = pg.collect_reduction(knl, "row_update", "j")
    assert instructions(again)[1] == "[i] acc_j = acc_j + sum(j, x[i, j])"
    x = np.random.default_rng(0).random((5, 5))
    b = np.zeros(5)
    again(b=b, x=x)
    np.testing.assert_allclose(b, x.sum(1), rtol=1e-14)


REFUSED = {
    "another element in each iteration": (
        LINE,
        "s[i] = s[i] + x[i]  {id=add}",
        "another element is updated",
        "another loop",
    ),
    "no update": (LINE, "s[0] = 2*x[i]  {id=add, inames=i}", "does not combine", "t = t + e"),
    "division": (LINE, "s[0] = s[0]/x[i]  {id=add, inames=i}", "does not combine", "t = t + e"),
    "reads itself": (
        SQUARE,
        "s[0] = s[0] + s[j]*x[i]  {id=add, inames=i:j}",
        "reads it, too",
        "leave the loop",
    ),
    "company": (
        LINE,
        "s[0] = s[0] + x[i]  {id=add, inames=i}\nb[i] = x[i]",
        "not alone in the loop",
        "distribute_loop(knl, 'i', within='id:add')",
    ),
    "atomic": (
        LINE,
        "s[0] = s[0] + x[i]  {id=add, inames=i, atomic}",
        "it is atomic",
        "leave the loop",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_reduction(name: str) -> None:
    domain, text, why, remedy = REFUSED[name]
    knl = pg.make_kernel(domain, text, loop_priority="i, j" if domain == SQUARE else None)
    with pytest.raises(NotAnAccumulation, match=why) as caught:
        pg.collect_reduction(knl, "add", "i")
    assert remedy in str(caught.value.remedy)
    assert "-> " in str(caught.value)


def test_rounding_in_another_order_needs_leave() -> None:
    knl = made(LINE, "s[0] = s[0] + x[i]  {id=add, inames=i}", DOUBLES)
    strict = pg.set_options(knl, allow_reassociation=False)
    with pytest.raises(NotAnAccumulation, match="order of rounding"):
        pg.collect_reduction(strict, "add", "i")
    whole = pg.set_options(
        made(LINE, "s[0] = s[0] + x[i]  {id=add, inames=i}", {"s, x": "int64"}),
        allow_reassociation=False,
    )
    assert pg.collect_reduction(whole, "add", "i").instruction("add").reduction_inames == {"i"}


def test_a_loop_on_an_axis_is_none() -> None:
    knl = pg.make_kernel(LINE, "s[i] = s[i] + x[i]  {id=add}")
    knl = pg.tag_inames(knl, {"i": "g.0"})
    with pytest.raises(NotAnAccumulation, match="axis of the hardware"):
        pg.collect_reduction(knl, "add", "i")


def test_a_type_that_follows_from_what_is_written() -> None:
    text = "<> t = 0.5  {id=start}\nt = t + 1.0  {id=add, inames=i, if=x[i] > 1}\ny[0] = t"
    knl = made(LINE, text, {"x, y": "float64"}, seq_dependencies=True)
    assert knl.variables["t"].dtype is None
    knl = pg.collect_reduction(knl, "add", "i")
    y, x = np.zeros(1), np.array([0.5, 2.0, 3.0])
    knl(x=x, y=y)
    assert y[0] == 2.5


def test_a_type_that_is_not_known() -> None:
    text = "s[0] = s[0] + x[i]  {id=add, inames=i, if=x[i] > 1}"
    with pytest.raises(NotAnAccumulation, match="the type of 's' is not known"):
        pg.collect_reduction(pg.make_kernel(LINE, text), "add", "i")
