"""Whether reads see the same writes in every nest of loops, beside executions in each."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from polygen.analysis.order.loop_tree import loops_outside
from polygen.analysis.wellformed.open_nests import same_in_every_nest
from polygen.ir.kernel import Kernel
from tests.analysis.wellformed.unproved import SQUARE, array, unproved
from tests.oracle.compare import make_arguments
from tests.oracle.interpreter import interpret

CUBE = "{ [i, j, k]: 0<=i<n and 0<=j<n and 0<=k<n }"
SIZES = {"n": 3, "m": 3}

CASES = {
    "apart": "a[i, j] = b[i, j]",
    "along a diagonal": "a[i + 1, j + 1] = a[i, j] + b[i, j]",
    "along an axis": "a[i + 1, j] = a[i, j] + b[i, j]",
    "against each other": "a[i + 1, j] = a[i, j + 1] + b[i, j]",
    "the last write of a diagonal": "a[0, i + j] = b[i, j]",
    "the last write of a row": "a[0, i] = b[i, j]",
    "overwritten": "a[0, i + j] = b[i, j] {id=s}\na[0, p] = 1 {dep=s}",
    "a chain": "a[0, 0] = 3*a[0, 0] + b[i, j]",
}


def _kernel(text: str) -> Kernel:
    return unproved(
        [SQUARE, "{ [p]: 0<=p<n+m }"], text, *(array(name, "n + m", "n + m") for name in "ab")
    )


def _alike(knl: Kernel) -> bool:
    """Execute a kernel in each nest."""
    arguments = make_arguments(knl, SIZES, seed=3)
    results = [
        interpret(knl.copy(priorities=(order,)), arguments).arrays["a"]
        for order in permutations("ij")
    ]
    return all(np.array_equal(results[0], other) for other in results)


@pytest.mark.parametrize("case", CASES)
def test_two_loops(case: str) -> None:
    knl = _kernel(CASES[case])
    assert same_in_every_nest(knl, "a", ("i", "j")) == _alike(knl)
    assert knl.priorities == ()


def test_writes_count_not_values() -> None:
    """Other instances write the same: that is not seen."""
    knl = _kernel("a[0, i + j] = 1")
    assert _alike(knl)
    assert not same_in_every_nest(knl, "a", ("i", "j"))


def test_loops_that_have_one_nest() -> None:
    """What the kernel decides is not turned."""
    knl = _kernel(CASES["against each other"])
    assert not same_in_every_nest(knl, "a", ("i", "j"))
    fixed = knl.copy(priorities=(("j", "i"),))
    assert "j" in loops_outside(fixed)["i"]
    assert same_in_every_nest(fixed, "a", ("j", "i"))
    assert same_in_every_nest(knl, "a", ("i",))
    assert same_in_every_nest(knl, "a", ())


def test_three_loops() -> None:
    data = array("a", "n + 1", "n + 1", "n + 1")
    alike = unproved(CUBE, "a[i + 1, j + 1, k + 1] = a[i, j, k]", data)
    assert same_in_every_nest(alike, "a", ("i", "j", "k"))
    turned = unproved(CUBE, "a[i, j, k + 1] = a[i, j + 1, k]", data)
    assert not same_in_every_nest(turned, "a", ("i", "j", "k"))


def test_more_loops_are_not_looked_at() -> None:
    domain = "{ [i, j, k, l, p]: 0<=i,j,k,l,p<1 }"
    knl = unproved(domain, "a[i, j, k, l, p] = 1", array("a", *"22222"))
    assert not same_in_every_nest(knl, "a", ("i", "j", "k", "l", "p"))
    assert same_in_every_nest(knl, "a", ("i", "j"))


def test_data_decides() -> None:
    data = (array(name, "n", dtype="int32") for name in "pq")
    knl = unproved(SQUARE, "a[p[i], q[j]] = b[i, j]", array("a", "n", "m"), *data)
    assert not same_in_every_nest(knl, "a", ("i", "j"))
