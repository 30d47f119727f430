"""Conditions of reductions: asked when what they read has been written, and not before."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import DependencyCycle, NotFusible
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel, same
from tests.oracle.compare import check_arrays
from tests.proof.patterns import array

DOMAINS = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<5 }"]
DATA = (array("b", "n"), array("c", "n"), array("x", "5"))
USES = {
    "if": "b[i] = if(c[i] < 3, sum(j, x[j]{more}), 0.0) {{id=use, inames=i, dep=*last}}",
    "predicate": "b[i] = sum(j, x[j]{more}) {{id=use, inames=i, dep=*last, if=c[i] < 3}}",
}
SET = "c[i] = x[i % 5] {id=set, inames=i, dep=*}"
LOAD = "<float64> t = 2*x[j] {id=last, inames=i:j, dep=*set}"
CHANGE = "c[i] = c[i] - x[j] {id=last, inames=i:j, dep=*}"


def arguments(seed: int) -> dict[str, Any]:
    numbers = np.random.default_rng(seed)
    sizes = {"b": 6, "c": 6, "x": 5}
    return {"n": 6} | {k: numbers.integers(-4, 5, n).astype(float) for k, n in sizes.items()}


def expect(knl: Kernel, use: str, given: dict[str, Any], c: Any, total: float) -> None:
    b = np.where(c < 3, total, given["b"] if use == "predicate" else 0.0)
    _, (found, _) = knl(**deepcopy(given))
    np.testing.assert_array_equal(found, b)
    check_arrays(knl, given, [same])


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_what_a_condition_reads_is_written_before(use: str, order: tuple[int, ...]) -> None:
    """Nothing but what stands in the loop of the reduction has to come after it."""
    lines = SET, LOAD, USES[use].format(more="*t")
    knl = kernel(DOMAINS, "\n".join(lines[n] for n in order), *DATA)
    for seed in range(3):
        given = arguments(seed)
        c = np.resize(given["x"], 6)
        expect(knl, use, given, c, (2 * given["x"] ** 2).sum())


@pytest.mark.parametrize("use", USES)
def test_what_a_condition_reads_is_written_in_the_loop(use: str) -> None:
    """The reduction has a loop of its own, then, and cannot be put into that one again."""
    knl = kernel(DOMAINS, "\n".join((CHANGE, USES[use].format(more=""))), *DATA)
    assert sorted(knl.inames) == ["i", "j", "j_0"]
    for seed in range(3):
        given = arguments(seed)
        c = given["c"] - given["x"].sum()
        expect(knl, use, given, c, given["x"].sum())
    with pytest.raises(NotFusible, match="whether it is computed, 'last' in that loop"):
        pg.rename_iname(knl, "j_0", "j", existing_ok=True)


def test_what_an_inner_condition_reads() -> None:
    """It is asked in each iteration of the outer reduction."""
    text = """
    d[j, k] = d[j, k] + x[k] {id=last, inames=j:k, dep=*}
    b[0] = sum(j, if(d[j, 0] > 0, sum(k, x[k]), 0.0)) {id=use, dep=*last}"""
    domains = ["{ [j]: 0<=j<5 }", "{ [k]: 0<=k<5 }"]
    knl = kernel(domains, text, array("b", "1"), array("d", "5", "5"), array("x", "5"))
    for seed in range(3):
        numbers = np.random.default_rng(seed)
        given: dict[str, Any] = {"b": np.zeros(1)}
        given["d"] = numbers.integers(-4, 5, (5, 5)).astype(float)
        given["x"] = numbers.integers(-4, 5, 5).astype(float)
        d = given["d"] + given["x"]
        _, (found, _) = knl(**deepcopy(given))
        assert found[0] == given["x"].sum() * np.count_nonzero(d[:, 0] > 0)


@pytest.mark.parametrize("use", USES)
def test_what_only_an_iteration_holds_is_not_read_in_another_loop(use: str) -> None:
    """In a loop of its own, the reduction would find the last value of t only."""
    lines = "<float64> t = 2*x[j] {id=t, inames=i:j, dep=*}", CHANGE.replace("*}", "*t}")
    with pytest.raises(DependencyCycle, match="whether it is computed, 'last' in that loop"):
        kernel(DOMAINS, "\n".join((*lines, USES[use].format(more="*t"))), *DATA)
