"""Whether the assignees of one instruction are different elements, beside all subscripts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from polygen.analysis.wellformed.distinct_assignees import check_at_once
from polygen.analysis.wellformed.obligations import ORDERED
from polygen.errors import WrittenTwice
from polygen.ir.kernel import Kernel
from tests.analysis.wellformed.unproved import LINE, array, unproved

Index = Callable[[int, int], int]
INDICES: dict[str, tuple[str, str, Index, Index]] = {
    "one": ("i", "i", lambda i, n: i, lambda i, n: i),
    "neighbours": ("i", "i+1", lambda i, n: i, lambda i, n: i + 1),
    "even and odd": ("2*i", "2*i+1", lambda i, n: 2 * i, lambda i, n: 2 * i + 1),
    "turned": ("i", "n-1-i", lambda i, n: i, lambda i, n: n - 1 - i),
    "beyond": ("i", "n+i", lambda i, n: i, lambda i, n: n + i),
    "a half": ("i", "i//2", lambda i, n: i, lambda i, n: i // 2),
    "a number": ("i", "3", lambda i, n: i, lambda i, n: 3),
    "a number that is not reached": ("i+4", "3", lambda i, n: i + 4, lambda i, n: 3),
}


def _refusal(knl: Kernel) -> str | None:
    try:
        assert list(check_at_once(knl, "s")) == []
    except WrittenTwice as error:
        return error.what
    return None


@pytest.mark.parametrize("case", INDICES)
def test_two_elements_of_an_array(case: str) -> None:
    first, second, one, other = INDICES[case]
    knl = unproved(LINE, f"a[{first}], a[{second}] = 1, 2 {{id=s}}", array("a", "2*n + 9"))
    twice = {(n, i) for n in range(6) for i in range(n) if one(i, n) == other(i, n)}
    what = _refusal(knl)
    assert (what is not None) == bool(twice)
    if what is not None:
        assert f"writes one element twice at once, as a[{first}] and as a[" in what
        assert any(f"n={n}, s[i={i}]" in what for n, i in twice)


@pytest.mark.parametrize(
    ("condition", "refused"), [("i > 2", True), ("i < 2 and i > 2", False), ("n < 2", False)]
)
def test_only_where_it_is_executed(condition: str, refused: bool) -> None:
    """`i` is `i//2 + 2` for 3 and 4."""
    text = f"a[i], a[i//2 + 2] = 1, 2 {{id=s, if={condition}}}"
    assert (_refusal(unproved(LINE, text, array("a", "n + 2"))) is not None) == refused


def test_other_iterations_do_not_count() -> None:
    """Two instances may write one element, one after the other."""
    for text in ("a[i], a[i-1] = 1, 2 {id=s, if=i > 0}", "a[i+1], a[i//2] = 1, 2 {id=s}"):
        knl = unproved(LINE, text, array("a", "n + 1"))
        assert list(check_at_once(knl, "s")) == []


def test_arrays_that_may_overlap() -> None:
    """Two arrays are apart, unless they are declared otherwise: then nobody knows."""
    apart = unproved(LINE, "a[i], b[i] = 1, 2 {id=s}", array("a", "n"), array("b", "n"))
    assert list(check_at_once(apart, "s")) == []
    both = (array(name, "n", may_alias=True) for name in "ab")
    (owed,) = check_at_once(unproved(LINE, "a[i], b[i] = 1, 2 {id=s}", *both), "s")
    assert str(owed) == "s: a[i] and b[i] are never one element in the same instance"


def test_data_decides() -> None:
    data = array("a", "n"), *(array(name, "n", dtype="int32") for name in "pq")
    knl = unproved(LINE, "a[p[i]], a[q[i]] = 1, 2 {id=s}", *data)
    (owed,) = check_at_once(knl, "s")
    assert str(owed) == "s: a[p[i]] and a[q[i]] are never one element in the same instance"
    assert (owed.kind, owed.instructions, owed.array) == (ORDERED, ("s",), "a")
    assert owed.loose is not None
    assert owed.loose.equal == ("i",)


def test_each_pair_of_three() -> None:
    data = array("a", "n"), *(array(name, "n", dtype="int32") for name in "pqr")
    knl = unproved(LINE, "a[p[i]], a[q[i]], a[r[i]] = 1, 2, 3 {id=s}", *data)
    assert len(list(check_at_once(knl, "s"))) == 3
