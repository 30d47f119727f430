"""Reductions on a GPU: all operations on all types, in several forms, and what they rest on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import polygen as pg
from tests.fetches import check as check_fetches
from tests.operators import Form, check, groups, loop, tree
from tests.updates import check as check_updates

FORMS: dict[str, tuple[Form, tuple[int, ...]]] = {
    "loop": (loop, (1, 50)),
    "tree": (tree, (7, 45, 1000)),
    "groups": (groups, (5, 3001)),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_operation_on_every_type(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shared, sizes = FORMS[form]
    with pg.without_proofs():
        for size in sizes:
            check([(shared, size)], "cuda", monkeypatch, alone=form == "groups")


def test_atomic_updates_of_every_type(monkeypatch: pytest.MonkeyPatch) -> None:
    check_updates("cuda", monkeypatch)


def test_old_values_of_every_type(monkeypatch: pytest.MonkeyPatch) -> None:
    check_fetches("cuda", monkeypatch)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_rounding_takes_off_is_not_lost(dtype: str) -> None:
    """Also where what is added up is a product, which compilers fuse with sums."""
    rng = np.random.default_rng(4)
    n = 100_003
    a: Any = (rng.standard_normal(n) * 10.0 ** rng.integers(-3, 8, n)).astype(dtype)
    b = rng.choice(np.array([-2, -1, 0.5, 4]), n).astype(dtype)  # products are exact
    alone = ["NotParallel"]  # what one work item does alone is compared, too
    knl = pg.make_kernel(
        "{ [j]: 0<=j<n }",
        "s[0] = compensated(sum)(j, a[j]*b[j]) {id=s}",
        silenced_warnings=alone,
    )
    right = math.fsum(a.astype(float) * b)
    forms = {
        "a loop": knl,
        "a group": pg.split_iname(knl, "j", 256, inner_tag="l.0"),
        "groups": pg.parallelize_reduction(knl, "s", blocks=8, threads=256, items=4),
    }
    plain = pg.make_kernel("{ [j]: 0<=j<n }", "s[0] = sum(j, a[j]*b[j])", silenced_warnings=alone)
    assert plain.executor("cuda")(a=a, b=b)[1][0][0] != np.dtype(dtype).type(right)
    for name, form in forms.items():
        _, (s,) = form.executor("cuda")(a=a, b=b)
        assert s[0] == np.dtype(dtype).type(right), name
