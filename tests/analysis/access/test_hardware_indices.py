"""Where an axis begins, how long it is, and which index an iname has on it, point by point."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import polygen as pg
from polygen.analysis.access.hardware_indices import (
    axis_count,
    first_on_axis,
    largest,
    number_on_axis,
)
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel
from tests.oracle.evaluate import integer


def _on(domain: str, tag: str = "g.0", iname: str = "i") -> Kernel:
    with pg.without_proofs():
        knl = kernel(domain, f"out[{iname}] = 1", pg.GlobalArg("out", shape="100"))
        return pg.tag_inames(knl, {iname: tag})


_RANGES: list[tuple[str, str, Callable[[int], range]]] = [
    ("{ [i]: 0<=i<n }", "g.0", range),
    ("{ [i]: 3<=i<n+3 }", "g.0", lambda n: range(3, n + 3)),
    ("{ [i]: n<=i<2*n+1 }", "g.0", lambda n: range(n, 2 * n + 1)),
    ("{ [i]: 0<=4*i<n }", "g.0", lambda n: range((n + 3) // 4)),
    ("{ [i]: 2<=i<10 }", "l.0", lambda _: range(2, 10)),
    ("{ [i]: 0<=i<9 and i mod 2 = 0 }", "l.0", lambda _: range(9)),
]


@pytest.mark.parametrize(("domain", "tag", "values"), _RANGES)
def test_numbers_and_counts(domain: str, tag: str, values: Callable[[int], range]) -> None:
    knl = _on(domain, tag)
    first, number, count = first_on_axis(knl, "i"), number_on_axis(knl, "i"), axis_count(knl, "i")
    assert first is not None
    assert number is not None
    for n in (0, 1, 2, 5, 8):
        expected = values(n)
        assert integer(count, {"n": n}) == len(expected), n
        for at, i in enumerate(expected):
            assert integer(number, {"n": n, "i": i}) == at
            assert integer(first.expression(), {"n": n}) == expected.start


def test_no_affine_beginning() -> None:
    knl = _on("{ [i]: n<=i<9 and m<=i }")  # it begins at the larger of two sizes
    assert first_on_axis(knl, "i") is None
    assert number_on_axis(knl, "i") is None


def test_a_beginning_that_the_kernel_computes() -> None:
    with pg.without_proofs():
        knl = kernel(
            ["{ [j]: 0<=j<8 }", "{ [i]: start<=i<8 }"],
            "<int32> start = offset[j]  {id=s}\nout[j, i] = 1  {dep=s}",
        )
        knl = pg.tag_inames(knl, {"i": "g.0"})
    assert first_on_axis(knl, "i") is None


def test_the_largest_of_several() -> None:
    n, m = ex.Variable("n"), ex.Variable("m")
    assert largest([n, n]) == n
    assert integer(largest([n, m, 4]), {"n": 7, "m": 5}) == 7
