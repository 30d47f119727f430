"""`assume_independent`: no instance of one instruction touches what one of the other does."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    CannotProve,
    ClaimContradicted,
    ClaimViolated,
    ProofLimit,
    UnknownInstruction,
)
from polygen.ir.claims import Independent
from tests.oracle.cases import kernel
from tests.transforms.kernels.scattered import LINE, PARALLEL, injective, scatter


def test_independent_instances() -> None:
    knl = kernel("{ [i]: 1<=i<n }", "a[i] = a[i-1] + 1  {id=s, if=c[i] > 0}")
    with pytest.raises(CannotProve):
        pg.tag_inames(knl, PARALLEL)
    knl = pg.assume_independent(knl, "s", "s")
    assert pg.tag_inames(knl, PARALLEL).claims == (Independent("s", "s"),)


def test_independent_instructions() -> None:
    knl = scatter("a[low[i]] = b[i]  {id=s}\na[high[i]] = c[i]  {id=u, dep=s}")
    knl = injective(knl, "low", "high")
    with pytest.raises(CannotProve):
        pg.tag_inames(knl, PARALLEL)
    assert pg.tag_inames(pg.assume_independent(knl, "u", "s"), PARALLEL).tags


def test_arrays_that_do_not_overlap() -> None:
    a = pg.GlobalArg("a", "float64", "n", may_alias=True)
    knl = kernel(LINE, "a[i] = b[i]  {id=s}", a, pg.GlobalArg("b", shape="n"), "...")
    assert pg.tag_inames(pg.assume_independent(knl, "s", "s"), PARALLEL).tags


def test_claims_that_the_kernel_contradicts() -> None:
    knl = kernel("{ [i]: 1<=i<n }", "a[i] = a[i-1] + 1  {id=s}\nb[i] = a[i]  {id=u}")
    with pytest.raises(ClaimContradicted) as caught:
        pg.assume_independent(knl, "s", "s")
    assert caught.value.what == (
        "'s' and 's' are not independent: for n=3, s[i=2] reads the element of 'a' that s[i=1] "
        "writes"
    )
    with pytest.raises(
        ClaimContradicted, match=r"s\[i=1\] writes the element of 'a' that u\[i=1\]"
    ):
        pg.assume_independent(knl, "s", "u")


def test_no_instruction() -> None:
    with pytest.raises(UnknownInstruction):
        pg.assume_independent(scatter(), "s", "t")


def test_a_look_at_a_claim_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    knl = kernel("{ [i]: 1<=i<n }", "a[i//2] = a[i-1] + 1  {id=s}")
    monkeypatch.setattr("polygen.analysis.integers.proving.MOST_OPERATIONS", 10)
    with pytest.raises(ProofLimit, match="are independent could not be seen within the limit"):
        pg.assume_independent(knl, "s", "s")


def test_numpy_agrees_and_calls_can_be_checked() -> None:
    knl = scatter("a[low[i]] = b[i]  {id=s}\na[high[i]] = c[i]  {id=u, dep=s}")
    knl = pg.assume_independent(injective(knl, "low", "high"), "s", "u")
    knl = pg.add_dtypes(pg.tag_inames(knl, PARALLEL), {"a, b, c": "float64", "low, high": "int32"})
    run = knl.executor("c")
    for n in (1, 5):
        low, high = np.split(np.random.default_rng(n).permutation(2 * n).astype(np.int32), 2)
        a, b, c = np.zeros(2 * n), np.arange(n) + 0.5, -np.arange(n)
        wanted = a.copy()
        wanted[low], wanted[high] = b, c
        run(a=a, b=b, c=c.astype(float), low=low, high=high, check_assumptions=True)
        np.testing.assert_array_equal(a, wanted)
    data = {"low": np.array([0, 1], np.int32), "high": np.array([2, 0], np.int32)}
    with pytest.raises(ClaimViolated):
        run(a=np.zeros(4), b=np.ones(2), c=np.ones(2), check_assumptions=True, **data)


def test_it_is_a_step() -> None:
    knl = scatter("a[low[i]] = b[i]  {id=s}\na[high[i]] = c[i]  {id=u, dep=s}")
    new = pg.assume_independent(knl, "s", "u")
    assert new.copy(claims=()) == knl
    assert pg.assume_independent(new, "s", "u") is new
    assert pg.parse_kernel(str(new)) == new
    assert pg.replay(knl, new.history) == new
