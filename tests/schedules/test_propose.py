"""`polygen.propose`: the steps of `optimize`, as data."""

from __future__ import annotations

import json

import numpy as np

import polygen as pg
from tests.schedules.test_optimize import LIMITS, kernel


def test_steps_are_those_of_optimize() -> None:
    knl = kernel(
        "{ [i,j,k,p,q]: 0<=i,j,k,p,q<n }", "c[i,j] = sum(k, a[i,k]*b[j,k])\nd[p,q] = c[q,p]"
    )
    knl = pg.add_dtypes(knl, {"a, b": np.float32})
    steps = pg.propose(knl, LIMITS, sizes={"n": 300})
    assert len(steps) > 10
    assert pg.apply(knl, steps) == pg.optimize(knl, LIMITS, sizes={"n": 300})


def test_steps_can_be_kept_in_files_and_changed() -> None:
    knl = kernel("{ [i,j]: 0<=i,j<n }", "b[j,i] = 2*a[j,i]", loop_priority="i, j")
    steps = pg.propose(knl, LIMITS)
    kept = json.loads(json.dumps(steps))
    assert pg.apply(knl, kept) == pg.apply(knl, steps)
    assert [name for name, _ in kept] == ["prioritize_loops", "tag_inames"]
    assert pg.apply(knl, kept[:1]).tags == {}


def test_nothing_to_gain() -> None:
    knl = kernel("{ [i]: 0<=i<10 }", "b[i] = 2*a[i]")
    assert pg.propose(knl) == []
