"""`shift`: other values, the same order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    InvalidArgument,
    MalformedExpression,
    PolygenError,
    TagConflict,
    UnknownIname,
)
from polygen.ir.domain import parse_domain
from tests.oracle.cases import Step, agree, kernel, steps
from tests.transforms.numpy_runs import numpy_agrees

LINE = kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i] + i")
SWEEP = kernel("{ [i]: 1<=i<n }", "a[i] = a[i-1] + 1")
SUM = kernel(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }"], "out[i] = sum(j, a[i,j]*j)")
SIZES = [{"n": n} for n in (0, 1, 5, 8, 9)]


def later(iname: str, by: Any) -> Step:
    """Return the step that shifts a loop."""
    return lambda knl: pg.shift(knl, iname, by)


@pytest.mark.parametrize(
    ("by", "domain"),
    [
        (3, "[n] -> { [i]: 3<=i<n+3 }"),
        (-1, "[n] -> { [i]: -1<=i<n-1 }"),
        ("n", "[n] -> { [i]: n<=i<2*n }"),
        ("-2*n + 1", "[n] -> { [i]: 1-2*n<=i<=-n }"),
    ],
)
def test_new_values(by: Any, domain: str) -> None:
    new = pg.shift(LINE, "i", by)
    assert new.domains[0].flat.is_equal(parse_domain(domain).flat)
    assert pg.replay(LINE, new.history) == new
    agree(LINE, SIZES, later("i", by))


def test_the_order_stays() -> None:
    agree(SWEEP, SIZES, later("i", -1), later("i", "n"))
    agree(SUM, SIZES, later("i", 2), later("j", "n - 1"), steps(later("i", 1), later("j", 1)))
    assert pg.shift(LINE, "i", 0) is LINE


def test_fusion_of_loops_that_are_one_apart() -> None:
    knl = kernel("{ [i,j]: 0<=i<n and 1<=j<=n }", "b[i] = 2*a[i]\nc[j-1] = 3*a[j-1]")
    fused = steps(later("j", -1), lambda k: pg.rename_iname(k, "j", "i", existing_ok=True))
    numpy_agrees(knl, fused, lambda a: {"b": 2 * a, "c": 3 * a})


def test_numpy_agrees() -> None:
    numpy_agrees(LINE, later("i", "n - 3"), lambda a: {"out": 2 * a + np.arange(len(a))})


@pytest.mark.parametrize(
    ("given", "kind", "text"),
    [
        (("k", 1), UnknownIname, "no iname 'k'"),
        (("i", True), InvalidArgument, "by=True, which is not an integer, or an affine"),
        (("i", "i"), InvalidArgument, "by='i', which is not an integer, or an affine"),
        (("i", "n*n"), InvalidArgument, "by='n[*]n', which is not"),
        (("i", "n +"), MalformedExpression, "n [+]"),
    ],
)
def test_refused(given: Any, kind: type[PolygenError], text: str) -> None:
    with pytest.raises(kind, match="(?s)" + text):
        pg.shift(LINE, *given)


def test_tagged() -> None:
    with pytest.raises(TagConflict, match=r"'i' cannot be mapped: it is tagged g\.0"):
        pg.shift(pg.tag_inames(LINE, {"i": "g.0"}), "i", 1)
