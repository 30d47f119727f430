"""Whether 32 bits hold what is computed of loop counters and sizes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.typing.index_type import INT32, INT64, index_type
from polygen.analysis.typing.magnitude import MOST, fits
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from tests.few import few

LINE = "{ [i]: 0<=i<n }"
SEVEN = pg.GlobalArg("t", np.float64, shape=7)


def value(text: str, domain: Any = LINE, dtype: Any = np.float64) -> Kernel:
    data = [pg.GlobalArg("out", dtype, shape="n"), SEVEN, "..."]
    return pg.make_kernel(domain, f"out[i] = {text}", data, assumptions="n >= 1")


@pytest.mark.parametrize(
    ("text", "largest"),
    [
        ("i", MOST),
        ("i + 1000", MOST - 1000),
        ("3*i", MOST // 3),
        ("i*i", 46340),
        ("t[0]*(i*i)", 46340),
        ("i*i*t[0]", 46340),
        ("t[0]*i*i", MOST),  # the first product is one of floating-point numbers
        ("t[i*i % 7]", 46340),
        ("t[i*i*i // n**2 % 7]", 1290),
        ("if(i*i > n, 1.5, 2)", 46340),
        ("sqrt(i*n)", 46340),
        ("(i << 8)/3", MOST >> 8),
        ("min(i, 7)*1.5", MOST),
        ("min(i*i, 7)*1.5", 46340),
        ("i**3 + t[1]", 1290),
    ],
)
def test_up_to_which_size(text: str, largest: int) -> None:
    """Bounds are powers of two, so the answer is exact up to that."""
    knl = value(text)
    below = 1 << (largest.bit_length() - 1)
    assert fits(knl, below - 1)
    assert largest == MOST or largest > MOST - 2000 or not fits(knl, 2 * below)


def test_what_a_subscript_is_in_the_end_counts() -> None:
    """Only lower bits count in sums and products, and the sum is inside of the array."""
    knl = pg.make_kernel(LINE, "out[i] = a[n*i + i]", [pg.GlobalArg("a", shape="n*n + n"), "..."])
    assert fits(knl, MOST)


def test_split_loops_end_where_the_loop_did() -> None:
    knl = pg.split_iname(value("i/2"), "i", 16)
    assert "16*i_outer + i_inner" in str(knl)
    assert fits(knl, 2**31 - 2**20)
    assert index_type(knl, 2 * 10**9) is INT32
    assert index_type(pg.split_iname(value("(3*i)/2"), "i", 16), 10**9) is INT64


def test_bounds_of_loops() -> None:
    """Code compares 3*i with n."""
    third = pg.make_kernel("{ [i]: 0<=i<n and (3*i < n or 3*i >= 2*n) }", "out[i] = 1")
    assert index_type(third, 10**8) is INT32
    assert index_type(third, 10**9) is INT64
    assert index_type(pg.make_kernel(LINE, "out[i] = 1"), 2 * 10**9) is INT32
    assert index_type(pg.make_kernel(LINE, "out[i] = 1"), 3 * 10**9) is INT64


def test_without_sizes() -> None:
    assert index_type(value("2*i")) is INT32
    assert index_type(value("i*i")) is INT64
    far = pg.make_kernel(f"{{ [i]: {2**32} <= i < {2**32} + n }}", f"out[i - {2**32}] = 1")
    assert index_type(far) is INT64


TEXTS: dict[str, Any] = {
    "i*i": lambda i, n: i * i,
    "i*i*t[1]": lambda i, n: i * i,
    "(i*i*i)/3": lambda i, n: i * i * i / 3,
    "sqrt(i*i + n)": lambda i, n: np.sqrt(i * i + n),
    "t[1]*(n*i - 5)": lambda i, n: n * i - 5,
    "if(i*n > 5*n*n//6, 1, 2)": lambda i, n: np.where(i * n > 5 * n * n // 6, 1, 2),
    "t[(i*i*i) % 7]": lambda i, n: i * i * i % 7,
    "t[i*n//(n + 1) % 7]": lambda i, n: i * n // (n + 1) % 7,
    "max(i*i - n*n//2, 5)": lambda i, n: np.maximum(i * i - n * n // 2, 5),
    "(i << 20)/2": lambda i, n: (i << 20) / 2,
}


@few(1, "target", ["c", "opencl"])
def test_beside_numpy(target: str) -> None:
    """Sizes whose squares need more than 32 bits."""
    n = 100003
    i = np.arange(n)
    t = np.arange(7.0)
    for text, expected in TEXTS.items():
        knl = value(text)
        for step in (knl, pg.split_iname(knl, "i", 64, outer_tag="g.0", inner_tag="l.0")):
            _, (out,) = step.executor(target)(t=t, n=n, out=np.zeros(n))
            np.testing.assert_allclose(out, expected(i, n), rtol=1e-15, err_msg=text)


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_conditions_beside_numpy(target: str) -> None:
    n = 70001
    knl = pg.make_kernel(
        LINE,
        "out[i] = 1  {if=i*100003 % 7 < 3 and i*i >= n}",
        [pg.GlobalArg("out", np.float64, shape="n"), "..."],
        target=target,
    )
    i, out = np.arange(n), np.zeros(n)
    knl(out=out)
    np.testing.assert_array_equal(out, (i * 100003 % 7 < 3) & (i * i >= n))


def random_weak(random: np.random.Generator, depth: int) -> str:
    if depth == 0:
        return str(random.choice(["i", "j", "n", "3", "40", "i", "j"]))
    a, b = random_weak(random, depth - 1), random_weak(random, depth - 1)
    form = str(random.choice(["({}) + ({})", "({})*({})", "({}) - ({})", "min({}, {})", "({})"]))
    return form.format(a, b)


def parts_of(node: Expression) -> Iterator[Expression]:
    return (p for p in walk.subexpressions(node) if isinstance(p, ex.ExpressionNode))


@pytest.mark.parametrize("start", [0, 100])
def test_what_fits_fits(start: int) -> None:
    """Random values: no part of one that fits is larger than 32 bits in any instance."""
    counts = [0, 0]
    for seed in range(start, start + 60):
        random = np.random.default_rng(seed)
        n = int(random.choice([5, 300, 2000]))
        text = random_weak(random, 3)
        knl = pg.make_kernel(
            "{ [i, j]: 0<=i<n and 0<=j<=i }",
            f"out[i, j] = ({text})/2.5",
            [pg.GlobalArg("out", np.float64, shape="n, n"), "..."],
        )
        does = fits(knl, n)
        counts[does] += 1
        if does:
            (insn,) = knl.instructions
            corners = [(0, 0), (n - 1, 0), (n - 1, n - 1), (n // 2, n // 3), (1, 1)]
            for i, j in corners:
                for part in parts_of(insn.values[0].numerator):  # type: ignore[attr-defined]
                    found = eval(show_expression(part), {"i": i, "j": j, "n": n, "min": min})  # noqa: S307
                    assert abs(found) <= MOST, (text, i, j)
    assert min(counts) > 5


def test_domains_with_numbers_that_no_formula_gives() -> None:
    """Nothing says which ``e`` it is: isl has no division for it yet."""
    domain = "{ [i]: 0<=i<n and exists(e: 3*e <= i and 4*e >= i + 1) }"
    knl = pg.make_kernel(domain, "out[i] = i", [pg.GlobalArg("out", np.float64, "n"), "..."])
    assert index_type(knl) == INT32
    (out,) = knl(out=np.zeros(9))[1]
    given = [i for i in range(9) if any(3 * e <= i and 4 * e >= i + 1 for e in range(9))]
    np.testing.assert_array_equal(out, [i if i in given else 0 for i in range(9)])
