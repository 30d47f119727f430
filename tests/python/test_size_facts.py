"""polygen.python.size_facts: the call decides, and what it decides is a guard."""

from __future__ import annotations

from polygen.python.affine import Affine, number
from polygen.python.size_facts import SizeFacts

N, M, ROW, J = (Affine.of(name) for name in ("n", "m", "i", "j"))


def facts(n: int = 7, m: int = 5) -> SizeFacts:
    """Return facts with a triangle of loops: 0 <= j < i < n."""
    found = SizeFacts({"n": n, "m": m}, {"n", "m"})
    found.ranges["i"] = (number(0), N.minus(1))
    found.ranges["j"] = (number(0), ROW.minus(1))
    return found


def test_what_holds_for_all_extents_needs_no_guard() -> None:
    known = facts()
    assert known.is_never_negative(N.minus(2))
    assert known.is_never_negative(ROW)
    assert known.is_never_negative(N.minus(1).minus(ROW))
    assert not known.guards


def test_what_holds_in_this_call_is_a_guard() -> None:
    known = facts()
    assert known.holds(N.minus(M))
    assert known.holds(M.minus(N)) is False
    assert list(known.guards) == [N.minus(M), N.minus(M).minus(1)]


def test_loops_are_between_their_bounds() -> None:
    known = facts()
    assert known.is_never_negative(ROW.minus(J).minus(1))
    assert known.is_always_negative(J.minus(ROW))
    assert not known.is_never_negative(J.minus(1))
    assert not known.is_always_negative(J.minus(1))


def test_a_condition_around_is_known_inside() -> None:
    known = facts()
    with known.assuming([ROW.minus(1)]):
        assert known.is_never_negative(ROW.minus(1))
    assert not known.is_never_negative(ROW.minus(1))


def test_data_is_not_known() -> None:
    known = facts()
    known.ranges["t"] = (None, N)
    assert not known.is_never_negative(Affine.of("t"))
    assert known.is_never_negative(N.minus(Affine.of("t")))
    assert known.holds(Affine.of("t")) is None


def test_equal_sizes_are_a_guard_from_both_sides() -> None:
    known = facts(6, 6)
    assert known.equal(N, M)
    assert set(known.guards) == {N.minus(M), M.minus(N)}
    assert facts().equal(N, M) is False
