"""Claims about pairs of values: used while they are proved, widened, and remembered."""

from __future__ import annotations

import islpy as isl

from polygen.analysis.equality.claims import Claims
from polygen.analysis.equality.compared_values import Value, in_names, onto
from polygen.ir.kernel import Kernel
from tests.analysis.equality.small_kernels import ordered, value
from tests.analysis.flat import points, where

TIMES = "{ [t]: 1<=t<6 }"
PAIRS = isl.Set("[a, b] -> { : a = b and 1 <= a <= 5 }")


def running(start: int = 0) -> Kernel:
    return ordered(TIMES, f"u[t] = 2*u[t-1] + {start}  {{id=u}}")


def both() -> tuple[Value, Value]:
    return value(running(), "u", t="a"), value(running(), "u", t="b")


def earlier(a: Value, b: Value, at: isl.Set) -> tuple[Value, Value, isl.Set]:
    """Return the values one step before, and where these are compared."""
    names = [*a.frame.names.values(), *b.frame.names.values()]
    first, second = (f"{name}_before" for name in names)
    steps = isl.Set(
        f"[{', '.join([*names, first, second])}] -> "
        f"{{ : {first} = {names[0]} - 1 and {second} = {names[1]} - 1 and {first} >= 1 }}"
    )
    there = onto(at.intersect(steps), {first, second})
    return a.named({"t": first}), b.named({"t": second}), there


def test_a_recurrence_is_proved_by_induction() -> None:
    claims, asked = Claims(), list[isl.Set]()

    def compare(a: Value, b: Value, at: isl.Set) -> isl.Set:
        asked.append(at)
        assert len(asked) < 20
        one, other, there = earlier(a, b, at)
        held = claims.holds(one, other, there, compare)
        assert held.is_equal(there)
        return at

    a, b = both()
    found = claims.holds(a, b, PAIRS, compare)
    assert points(found, "ab") == where(lambda x, y: x == y and 1 <= x <= 5, 2)


def test_what_was_proved_is_not_proved_again() -> None:
    claims, count = Claims(), 0

    def compare(_a: Value, _b: Value, at: isl.Set) -> isl.Set:
        nonlocal count
        count += 1
        return at

    a, b = both()
    assert claims.holds(a, b, PAIRS, compare).is_equal(PAIRS)
    smaller = PAIRS.intersect(isl.Set("[a] -> { : a < 3 }"))
    assert claims.holds(a, b, smaller, compare).is_equal(smaller)
    assert count == 1
    other = value(running(1), "u", t="b")  # another kernel's value: another claim
    assert claims.holds(a, other, PAIRS, compare).is_equal(PAIRS)
    assert count == 2


def test_what_does_not_hold_is_left_out() -> None:
    a, b = both()
    even = isl.Set("[a] -> { : exists k: a = 2k }")

    def compare(x: Value, _y: Value, at: isl.Set) -> isl.Set:
        (name,) = x.frame.names.values()
        return at.intersect(in_names(even, {"a": name}))

    found = Claims().holds(a, b, PAIRS, compare)
    assert points(found, "ab") == where(lambda x, y: x == y and x in (2, 4), 2)


def test_a_claim_that_fails_is_not_used_for_itself() -> None:
    """Each step holds if the one before does; but the first one does not."""
    claims = Claims()

    def compare(a: Value, b: Value, at: isl.Set) -> isl.Set:
        one, other, there = earlier(a, b, at)
        held = claims.holds(one, other, there, compare)
        names = [*a.frame.names.values(), *b.frame.names.values()]
        before = [*one.frame.names.values(), *other.frame.names.values()]
        step = isl.Set(
            f"[{', '.join([*names, *before])}] -> "
            f"{{ : {before[0]} = {names[0]} - 1 and {before[1]} = {names[1]} - 1 }}"
        )
        return at.intersect(onto(held.intersect(step), set(names)))

    a, b = both()
    assert claims.holds(a, b, PAIRS, compare).is_empty()
