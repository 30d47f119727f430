"""`reverse`: last iteration first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import IllegalStep, InvalidArgument, TagConflict, UnknownIname
from polygen.ir.kernel import Kernel
from tests.oracle.cases import Step, agree, kernel, steps
from tests.transforms.numpy_runs import numpy_agrees

LINE = kernel("{ [i]: 1<=i<=n }", "out[i-1] = 2*a[i-1] + i")
SUFFIX = kernel("{ [i]: 0<=i<n }", "out[i] = a[i] + i")
SUM = kernel("{ [i,j]: 0<=i,j<n }", "out[i] = sum(j, a[i,j]*j)")
TRIANGLE = kernel(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }"], "out[i,j] = a[i]*j")
SHORT = kernel("{ [i]: 0<=i<n and i<m }", "out[i] = a[i] + i")
SIZES = [{"n": n} for n in (0, 1, 5, 8, 9)]


def back(iname: str) -> Step:
    """Return the step that reverses a loop."""
    return lambda knl: pg.reverse(knl, iname)


@pytest.mark.parametrize(
    ("knl", "iname"),
    [(LINE, "i"), (SUFFIX, "i"), (SUM, "i"), (SUM, "j"), (TRIANGLE, "i"), (TRIANGLE, "j")],
)
def test_it_computes_the_same(knl: Kernel, iname: str) -> None:
    new = pg.reverse(knl, iname)
    assert new.inames == knl.inames
    assert pg.replay(knl, new.history) == new
    agree(knl, SIZES, back(iname), steps(back(iname), back(iname)))


def test_the_range_stays() -> None:
    for knl in (LINE, SUFFIX, SUM):
        assert pg.reverse(knl, "i").domains == knl.domains
        assert pg.reverse(pg.reverse(knl, "i"), "i").domains == knl.domains


def test_about_zero_where_the_range_is_not_affine() -> None:
    (domain,) = pg.reverse(SHORT, "i").domains
    wanted = pg.make_kernel("{ [i]: 0<=-i<n and -i<m }", "out[-i] = a[-i]").domains[0]
    assert domain.flat.is_equal(wanted.flat)
    agree(SHORT, [{"n": n, "m": m} for n in (0, 1, 5) for m in (0, 3, 7)], back("i"))


def test_numpy_agrees() -> None:
    numpy_agrees(LINE, back("i"), lambda a: {"out": 2 * a + np.arange(1, len(a) + 1)})
    numpy_agrees(
        SUM, steps(back("j"), back("i")), lambda a: {"out": a @ np.arange(1.0 * len(a))}, 2
    )


def test_no_iteration_may_need_an_earlier_one() -> None:
    knl = kernel("{ [i]: 1<=i<n }", "a[i] = a[i-1] + 1  {id=s}")
    with pytest.raises(IllegalStep, match=r"reverse would.*s\[.*writes the element of 'a' that"):
        pg.reverse(knl, "i")
    vouched: Any = pg.reverse
    assert len(vouched(knl, "i", unsafe=True).claims) == 1


def test_refused() -> None:
    with pytest.raises(UnknownIname, match="no iname 'k'"):
        pg.reverse(LINE, "k")
    with pytest.raises(InvalidArgument, match="iname=3, which is not the name of an iname"):
        pg.reverse(LINE, 3)  # type: ignore[arg-type]
    with pytest.raises(TagConflict, match=r"'i' cannot be mapped: it is tagged g\.0"):
        pg.reverse(pg.tag_inames(LINE, {"i": "g.0"}), "i")
