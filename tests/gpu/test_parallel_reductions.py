"""Reductions that groups share, on a GPU: the same in each run, and what NumPy says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg

FORMS: dict[str, tuple[str, str, tuple[int, ...], dict[str, Any]]] = {
    "all": ("s[0] = sum((p,r), a[p,r])", "m, n", (1000, 4096), {"blocks": 132, "items": 16}),
    "rows": ("s[p] = sum(r, a[p,r])", "m, n", (37, 100_003), {"blocks": 7}),
    "short rows": ("s[p] = sum(r, a[p,r])", "m, n", (10_007, 60), {"across": 8}),
    "columns": ("s[p] = sum(r, a[r,p])", "n, m", (100_003, 37), {"blocks": 60, "items": 8}),
    "three columns": ("s[p] = sum(r, a[r,p])", "n, m", (10**6, 3), {"across": 4, "blocks": 99}),
    "largest": ("s[p], k[p] = argmax(r, a[p,r], r)", "m, n", (5, 10**6), {"blocks": 40}),
}


ATOMIC = [(form, "atomic") for form in ("all", "rows", "columns", "three columns")]


@pytest.mark.parametrize(("form", "finish"), [*((f, "two_pass") for f in FORMS), *ATOMIC])
def test_shared(form: str, finish: str) -> None:
    text, axes, shape, how = FORMS[form]
    bounds = "{ [p,r]: 0<=p<m and 0<=r<n }"
    data = pg.GlobalArg("a", "float64", axes, alignment=16)
    knl = pg.make_kernel(bounds, f"{text}  {{id=s}}", [data, "..."])
    knl = pg.parallelize_reduction(knl, "s", finish=finish, **how)
    a = np.random.default_rng(1).uniform(-1, 1, shape)
    run = knl.executor("cuda")
    results = [run(a=a)[1][-1] for _ in range(5)]
    along = {"all": None, "columns": 0, "three columns": 0}.get(form, 1)
    wanted = a.max(1) if form == "largest" else a.sum(along)
    np.testing.assert_allclose(results[0], np.atleast_1d(wanted), rtol=1e-9, atol=1e-9)
    if form == "largest":
        np.testing.assert_array_equal(run(a=a)[1][0], a.argmax(1))
    if finish == "two_pass":
        assert all(np.array_equal(results[0], other) for other in results[1:])
