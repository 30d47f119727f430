"""One loop for the reductions of a statement."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg

H200 = pg.Limits.named("H200")


def optimized(domain: str, text: str) -> pg.Kernel:
    knl = pg.make_kernel(
        domain,
        text,
        [pg.GlobalArg("a", np.float64), pg.GlobalArg("b", np.float64), "..."],
        target="cuda",
        silenced_warnings=["AmbiguousNesting"],
    )
    return pg.optimize(knl, H200, sizes=dict.fromkeys(knl.parameters, 1000))


@pytest.mark.parametrize("n", [1, 7, 300])
def test_two_sums_in_one_go(n: int) -> None:
    knl = optimized("{ [i,j,k]: 0<=i,j,k<n }", "y[i] = 2*sum(j, a[i,j]) - max(k, b[i,k])")
    assert [step.name for step in knl.history][:1] == ["rename_iname"]
    assert any(str(tag) == "l.0" for tag in knl.tags.values())
    a, b = np.random.default_rng(n).random((2, n, n))
    _, (y,) = knl.copy(target=None).executor("c")(a=a, b=b)
    np.testing.assert_allclose(y, 2 * a.sum(1) - b.max(1), rtol=1e-12)


def test_loops_that_two_statements_share() -> None:
    """Where the first statement's loops become one, the second one has that loop, too."""
    knl = optimized(
        "{ [i,j,k]: 0<=i,j,k<n }",
        "y[i] = sum(j, a[i,j]) + sum(k, b[i,k])\nz[i] = sum(j, a[j,i]) + sum(k, b[k,i])",
    )
    assert [step.name for step in knl.history].count("rename_iname") == 1
    a, b = np.random.default_rng(1).random((2, 9, 9))
    _, (y, z) = knl.copy(target=None).executor("c")(a=a, b=b)
    np.testing.assert_allclose(y, (a + b).sum(1), rtol=1e-12)
    np.testing.assert_allclose(z, (a + b).sum(0), rtol=1e-12)


@pytest.mark.parametrize(
    "domain", ["{ [i,j,k]: 0<=i,j<n and 0<=k<m }", "{ [i,j,k]: 0<=i,j<n and 1<=k<=n }"]
)
def test_other_values_stay_loops_of_their_own(domain: str) -> None:
    knl = optimized(domain, "y[i] = sum(j, a[i,j]) + sum(k, b[i,k])")
    taken: list[Any] = [choice.what for choice in knl.choices if choice.is_taken]
    assert not any("one loop" in what for what in taken)
