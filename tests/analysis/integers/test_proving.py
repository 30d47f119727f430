"""Limits of proofs, and whether there are any."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import islpy as isl
import pytest

import polygen as pg
from polygen.analysis.integers import proving
from polygen.analysis.integers.proving import (
    limited,
    limited_attempt,
    limited_comparison,
    limited_count,
    limited_step,
    proofs_are_on,
    with_proofs,
    without_proofs,
)
from polygen.errors import ProofLimit

KERNEL = pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = i", name="small")
LIMITS: dict[str, tuple[str, Callable[[], AbstractContextManager[None]]]] = {
    "that it is so within the limit": (
        "MOST_OPERATIONS",
        lambda: limited(KERNEL, "that it is so", "or do it"),
    ),
    "wavefront could not be taken for kernel 'small' within the limit": (
        "MOST_IN_A_STEP",
        lambda: limited_step("wavefront", KERNEL),
    ),
    "that the kernels compute the same could not be proved": (
        "MOST_IN_A_COMPARISON",
        limited_comparison,
    ),
    "the sets whose points are counted": ("MOST_IN_A_COUNT", limited_count),
    "the sets of an attempt": ("", lambda: limited_attempt(100)),
}


def _work(times: int) -> None:
    for _ in range(times):
        isl.Set("[n] -> { [i, j]: 0 <= i < n and 0 <= j < i }").is_empty()


def _limit() -> int:
    return int(isl.DEFAULT_CONTEXT.get_max_operations())


# --- whether


def test_what_is_said_last_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POLYGEN_PROOFS", raising=False)
    assert proofs_are_on()
    with without_proofs():
        assert not proofs_are_on()
        with with_proofs():
            assert proofs_are_on()
            with without_proofs():
                assert not proofs_are_on()
            assert proofs_are_on()
        assert not proofs_are_on()
    assert proofs_are_on()


@pytest.mark.parametrize(("said", "are_on"), [("0", False), ("1", True), ("", True)])
def test_the_environment_counts_where_nothing_was_said(
    monkeypatch: pytest.MonkeyPatch, said: str, *, are_on: bool
) -> None:
    monkeypatch.setenv("POLYGEN_PROOFS", said)
    assert proofs_are_on() == are_on
    with with_proofs():
        assert proofs_are_on()
    with without_proofs():
        assert not proofs_are_on()


def test_an_error_ends_what_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POLYGEN_PROOFS", raising=False)
    with pytest.raises(KeyError), without_proofs():
        raise KeyError
    assert proofs_are_on()


# --- how much


@pytest.mark.parametrize("text", LIMITS)
def test_more_work_than_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    limit, make = LIMITS[text]
    if limit:
        monkeypatch.setattr(proving, limit, 100)
    with pytest.raises(ProofLimit, match=text) as caught, make():
        _work(60)
    assert caught.value.what.endswith("are too complicated")
    assert "fix_parameters" in (caught.value.remedy or "")
    assert _limit() == 0  # none
    _work(60)
    with make():
        pass


def test_the_remedy_is_the_caller_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "MOST_OPERATIONS", 100)
    with pytest.raises(ProofLimit) as caught, limited(KERNEL, "that it is so", "or ask again"):
        _work(60)
    assert str(caught.value.remedy).endswith("; or ask again")


def test_other_errors_stay_what_they_are() -> None:
    for limit in (limited_comparison, limited_attempt):
        with pytest.raises(isl.Error, match="syntax error"), limit():
            isl.Set("{ nothing of the kind")
        with pytest.raises(KeyError), limit():
            raise KeyError
        assert _limit() == 0


@pytest.mark.parametrize(("count", "times"), [(0, 1), (1, 1), (99, 1), (100, 2), (250, 3)])
def test_large_kernels_may_take_more(count: int, times: int) -> None:
    kernel = KERNEL.copy(instructions=count * KERNEL.instructions)
    with limited(kernel, "that it is so", "or do it"):
        assert _limit() == times * proving.MOST_OPERATIONS
        with limited_step("a step", kernel):
            assert _limit() == times * proving.MOST_IN_A_STEP
        assert _limit() == times * proving.MOST_OPERATIONS
    assert _limit() == 0  # none


# --- attempts


def test_limits_within_an_attempt_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "MOST_IN_A_COUNT", 1)
    with limited_attempt(10**9), limited_attempt(1), limited_count():
        assert _limit() == 10**9
        _work(60)


def test_what_limits_within_an_attempt_bound_is_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "MOST_IN_A_COUNT", 100)
    with pytest.raises(ProofLimit, match="the sets of an attempt"), limited_attempt(200):
        for _ in range(60):
            with limited_count():
                _work(1)
    # The attempt has ended: limits are looked at again.
    with pytest.raises(ProofLimit, match="points are counted"), limited_count():
        _work(60)
