"""The comparer notices each kind of difference, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.jit.agreement import DiffersError, Outcome, check, compare, outcome

ONES = np.ones(3)


@pytest.mark.parametrize(
    ("found", "expected", "what"),
    [
        (ONES.astype(np.float32), ONES, "type float32"),
        (np.ones(4), ONES, "shape"),
        (np.float64(1), np.ones(()), "is of"),
        (np.array([1, 1, 2]), np.array([1, 1, 1]), r"at \(2,\)"),
        (np.array([1.0, np.nan]), np.array([1.0, 1.0]), "nan"),
        (np.array([1.0, 1.0]), np.array([1.0, np.nan]), "nan"),
        (np.array([np.inf]), np.array([-np.inf]), "inf"),
        (np.array([1e300]), np.array([np.inf]), "inf"),
        (np.array([1 + 1j]), np.array([1 + 2j]), "1 of 1"),
        ((1, 2), (1, 2, 3), "the result is"),
        ((1, 2), 1, "is"),
        (None, 1, "type object"),
        (1, None, "is 1"),
        (1, 1.0, "type int64"),
        (True, 1, "type bool"),
        (1.0 + 1e-12, 1.0, "differ"),
    ],
)
def test_notices(found: Any, expected: Any, what: str) -> None:
    with pytest.raises(DiffersError, match=what):
        check(Outcome(found, ()), Outcome(expected, ()), 100.0)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (np.float64(2.5), 2.5),
        (np.array([np.nan, np.inf]), np.array([np.nan, np.inf])),
        (1.0 + 1e-14, 1.0),
        (1e6 + np.array([0.0, 1e-9]), 1e6 * np.ones(2)),
        ((1, (2.0, None)), (1, (2.0, None))),
    ],
)
def test_agrees(found: Any, expected: Any) -> None:
    compare("it", found, expected, 100.0)


def test_without_roundings_bits_count() -> None:
    with pytest.raises(DiffersError):
        compare("it", 1.0 + 2**-52, 1.0, 0.0)


def test_arguments() -> None:
    def add(a: Any) -> None:
        a += 1.0

    with pytest.raises(DiffersError, match="argument 0"):
        check(outcome(lambda a: None, (ONES,)), outcome(add, (ONES,)))
    check(outcome(add, (ONES,)), outcome(add, (ONES,)))
    assert (ONES == 1.0).all()


def test_views_and_copies_are_told_apart() -> None:
    view, copied = outcome(lambda a: a[1:], (ONES,)), outcome(lambda a: a[1:].copy(), (ONES,))
    check(view, view)
    with pytest.raises(DiffersError, match="share memory"):
        check(copied, view)
    with pytest.raises(DiffersError, match="share memory"):
        check(view, copied)
