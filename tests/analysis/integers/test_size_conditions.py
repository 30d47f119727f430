"""Conditions on sizes: they print, are evaluated, and agree with isl's sets at every point."""

from __future__ import annotations

import pickle
from itertools import product

import islpy as isl
import pytest

import polygen as pg
from polygen.analysis.integers.size_conditions import SizeCondition, compiled_condition
from polygen.errors import MissingArgument

EVERYTHING = "{ : }"


def flat(text: str) -> isl.Set:
    return isl.Set(text).params()


def condition(text: str, known: str = EVERYTHING) -> SizeCondition:
    return SizeCondition(flat(text), flat(known))


@pytest.mark.parametrize(
    ("text", "known", "shown"),
    [
        (
            "[n, k] -> { : k >= n or k = 0 or k <= -n }",
            EVERYTHING,
            "k + n <= 0 or n <= k or k == 0",
        ),
        # That k is positive in the first part need not be said: n is not negative.
        ("[n, k] -> { : k >= n and k >= 1 or k = 0 }", "[n] -> { : n >= 0 }", "n <= k or k == 0"),
        ("[n] -> { : n >= 3 }", "[n] -> { : n >= 5 }", "always"),
        ("[n] -> { : n < 3 }", "[n] -> { : n >= 5 }", "never"),
        ("[n] -> { : n mod 4 = 0 }", EVERYTHING, "n % 4 == 0"),
    ],
)
def test_how_a_condition_reads(text: str, known: str, shown: str) -> None:
    assert str(condition(text, known)) == shown


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("[n, k] -> { : k >= n or k = 0 or k <= -n }", lambda n, k: k >= n or k == 0 or k <= -n),
        ("[n, k] -> { : 3k >= 2n + 1 }", lambda n, k: 3 * k >= 2 * n + 1),
        ("[n, k] -> { : (n + k) mod 3 = 1 }", lambda n, k: (n + k) % 3 == 1),
        ("[n, k] -> { : exists e: n <= 3e + 1 and 4e <= k }", None),
        ("[n, k] -> { : n = k and n > k }", lambda n, k: False),
    ],
)
def test_at_every_point(text: str, means: object) -> None:
    allowed = flat(text)
    made, known = condition(text), flat("[n] -> { : n >= -2 }")
    within = SizeCondition(allowed, known)
    asked = compiled_condition(allowed)
    for n, k in product(range(-7, 8), repeat=2):
        if callable(means):
            expected = means(n, k)
        else:  # a multiple of 4 below k, and of which 3/4 and 1 are not below n
            expected = any(n <= 3 * e + 1 and 4 * e <= k for e in range(-20, 20))
        assert made.holds(n=n, k=k) is asked({"n": n, "k": k}) is expected
        assert n < -2 or within.among({"n": n, "k": k, "other": 1}) is expected
        assert n < -2 or (~within).holds(n=n, k=k) is not expected


def test_names_that_python_has_taken() -> None:
    made = compiled_condition(flat("[lambda, _values, x'] -> { : lambda < _values }"))
    assert made({"lambda": 1, "_values": 2, "x'": 0, "x": 0})
    assert not made({"lambda": 2, "_values": 2, "x'": 0, "x": 0})


def test_and_or_not() -> None:
    some, other = condition("[n] -> { : n >= 3 }"), condition("[n] -> { : n <= 7 }")
    assert str(some & other) == "n >= 3 and n <= 7"
    assert (some | other).is_always
    assert (some & ~some).is_never
    assert ~~some == some
    assert some != other
    assert hash(some) == hash(~~some)


def test_a_value_that_is_missing_is_named() -> None:
    with pytest.raises(MissingArgument, match="without a value of 'k'") as caught:
        condition("[n, k] -> { : k >= n }").holds(n=3)
    assert "pass k=..." in str(caught.value)


def test_it_is_kept_in_files_and_taken_by_assume() -> None:
    made = condition("[n, k] -> { : k >= n or k = 0 }", "[n] -> { : n >= 0 }")
    again = pickle.loads(pickle.dumps(made))  # noqa: S301  (made here)
    assert again == made
    assert repr(again) == "SizeCondition('n <= k or k == 0')"
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = k", assumptions="n >= 0")
    assert pg.assume(knl, made.text).assumptions.set.is_equal(
        isl.Set("[n, k] -> { : n >= 0 and (k >= n or k = 0) }")
    )
