"""``seq_dependencies=True``: instructions come in the order in which they are written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import DependencyCycle, UnorderedAccess
from tests.oracle.interpreter import interpret

SIZES = (0, 1, 7, 16, 17)


def test_each_depends_on_the_one_before() -> None:
    text = "a[i] = 1 {id=a}\nb[j] = 2 {id=b}\n... nop {id=c}\nd[0] = 3 {dep=*, id=d}"
    knl = pg.make_kernel("{ [i, j]: 0<=i,j<n }", text, seq_dependencies=True)
    assert [sorted(i.depends_on) for i in knl.instructions] == [[], ["a"], ["b"], ["c"]]


@pytest.mark.parametrize("n", SIZES)
def test_swap(n: int) -> None:
    """A variable that is read before its only writer: no dependency on what comes later."""
    text = """
    <> old = a[i]
    a[i] = b[i]
    b[i] = old
    """
    with pytest.raises(DependencyCycle):
        pg.make_kernel("{ [i]: 0<=i<n }", text)
    knl = pg.make_kernel("{ [i]: 0<=i<n }", text, seq_dependencies=True, name="swap")
    given: dict[str, Any] = {"a": np.arange(n) + 0.5, "b": np.arange(n) * 10.0}
    expected = {"a": given["b"].copy(), "b": given["a"].copy()}
    meant = interpret(knl, {**given, "n": n}).arrays
    knl(**given)
    for name, value in expected.items():
        np.testing.assert_array_equal(given[name], value)
        np.testing.assert_array_equal(meant[name], value)


@pytest.mark.parametrize("n", SIZES)
def test_several_writers(n: int) -> None:
    text = """
    acc[i] = 0
    for j
        acc[i] = acc[i] + a[i, j]
    end
    acc[i] = 2*acc[i]
    """
    domains = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<3 }"]
    with pytest.raises(UnorderedAccess):
        pg.make_kernel(domains, text)
    knl = pg.make_kernel(domains, text, seq_dependencies=True, name="twice")
    a = np.random.default_rng(n).standard_normal((n, 3))
    _, (acc,) = knl(a=a, acc=np.empty(n))
    np.testing.assert_allclose(acc, 2 * a.sum(axis=1), atol=1e-12)
    assert pg.parse_kernel(str(knl)) == knl


def test_an_order_that_no_nest_has() -> None:
    with pytest.raises(DependencyCycle, match="an iname is one loop only: i"):
        pg.make_kernel(
            "{ [i, j]: 0<=i,j<n }", "a[i] = 1\nb[j] = 2\nc[i] = 3", seq_dependencies=True
        )
