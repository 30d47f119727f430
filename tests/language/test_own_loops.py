"""Reductions over one iname: they share its loop, or have loops of their own where they cannot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from tests.few import few
from tests.oracle.interpreter import interpret

SQUARE = "{ [i, j]: 0<=i,j<n }"


def softmax(a: Any) -> Any:
    powers = np.exp(a - a.max(axis=1, initial=-np.inf)[:, None])
    return powers / powers.sum(axis=1)[:, None]


CASES: list[tuple[str, dict[str, Callable[[Any], Any]], str]] = [
    (  # the last is within j, so that the others have loops of their own
        "<> m = max(j, a[i,j])\n<> s = sum(j, exp(a[i,j] - m))\nb[i,j] = exp(a[i,j] - m)/s",
        {"b": softmax},
        "i j j_0 j_1",
    ),
    (
        "b[i] = sum(j, a[i,j])\nc[j] = sum(i, a[i,j])",
        {"b": lambda a: a.sum(axis=1), "c": lambda a: a.sum(axis=0)},
        "i i_0 j j_0",
    ),
    (
        "<> mean = sum(j, a[i,j])/n\nb[i] = sum(j, (a[i,j] - mean)**2)",
        {"b": lambda a: ((a.T - a.sum(axis=1) / max(1, len(a))) ** 2).sum(axis=0)},
        "i j j_0",
    ),
    (  # they can: one loop
        "b[i] = sum(j, a[i,j])\nc[i] = max(j, a[i,j])",
        {"b": lambda a: a.sum(axis=1), "c": lambda a: a.max(axis=1, initial=-np.inf)},
        "i j",
    ),
    (
        "if any(j, a[i,j] > 1)\nb[i] = 1\nelse\nb[i] = sum(j, a[i, j])\nend",
        {"b": lambda a: np.where((a > 1).any(axis=1), 1.0, a.sum(axis=1))},
        "i j j_0",
    ),
]


@pytest.mark.parametrize("target", ["c", "opencl"])
@few(3, ("text", "computed", "inames"), CASES)
def test_beside_numpy(text: str, computed: dict[str, Any], inames: str, target: str) -> None:
    knl = pg.make_kernel(SQUARE, text, seq_dependencies="if" in text, target=target)
    assert sorted(knl.inames) == inames.split()
    assert pg.parse_kernel(str(knl)) == knl
    for n in (0, 1, 7, 16, 17):
        a = np.random.default_rng(n).standard_normal((n, n))
        _, found = knl(a=a)
        results = {name: np.empty_like(value) for name, value in zip(computed, found, strict=True)}
        meant = interpret(knl, {"a": a, "n": n, **results}).arrays
        for value, (name, function) in zip(found, computed.items(), strict=True):
            np.testing.assert_allclose(value, function(a), atol=1e-12)
            np.testing.assert_allclose(meant[name], function(a), atol=1e-12)


def test_without_proofs_it_is_the_same_kernel() -> None:
    text = "b[i] = sum(j, a[i,j])\nc[j] = sum(i, a[i,j])"
    with pg.without_proofs():
        knl = pg.make_kernel(SQUARE, text)
    assert knl == pg.make_kernel(SQUARE, text)


def test_inner_bounds_that_depend_on_outer_ones() -> None:
    """Both are duplicated: the bounds of k are those of j's loop."""
    domains = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }", "{ [k]: 0<=k<=j }"]
    text = "b[i] = sum(j, a[j])\nc[i] = b[i] + sum(j, sum(k, a[k]))"
    knl = pg.make_kernel(domains, text)
    a = np.arange(5.0)
    _, (b, c) = knl(a=a)
    np.testing.assert_array_equal(b, np.full(5, a.sum()))
    np.testing.assert_array_equal(c, np.full(5, a.sum() + np.cumsum(a).sum()))
