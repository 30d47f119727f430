"""Whether accesses are inside their arrays, beside all subscripts of small domains."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.values.sound_accesses import NOTHING
from polygen.analysis.wellformed.array_bounds import are_inside, check_bounds
from polygen.analysis.wellformed.obligations import INSIDE
from polygen.errors import OutOfBounds
from polygen.ir.kernel import Kernel
from tests.analysis.wellformed.unproved import LINE, SQUARE, array, unproved

# A subscript and a condition, for polygen and for Python: a has n elements.
INDICES: dict[str, tuple[str, str, Callable[[int, int], int], Callable[[int, int], bool]]] = {
    "all": ("i", "True", lambda i, n: i, lambda i, n: True),
    "backwards": ("n-1-i", "True", lambda i, n: n - 1 - i, lambda i, n: True),
    "one late": ("i+1", "True", lambda i, n: i + 1, lambda i, n: True),
    "one early": ("i-1", "True", lambda i, n: i - 1, lambda i, n: True),
    "guarded": ("i-1", "i > 0", lambda i, n: i - 1, lambda i, n: i > 0),
    "badly guarded": ("i-1", "i >= 0", lambda i, n: i - 1, lambda i, n: i >= 0),
    "a half": ("i//2", "True", lambda i, n: i // 2, lambda i, n: True),
    "twice": ("2*i", "True", lambda i, n: 2 * i, lambda i, n: True),
    "twice the first half": ("2*i", "2*i < n", lambda i, n: 2 * i, lambda i, n: 2 * i < n),
    "around": ("(i+3) % n", "n > 0", lambda i, n: (i + 3) % n if n else 0, lambda i, n: n > 0),
    "a number": ("3", "True", lambda i, n: 3, lambda i, n: True),
    "a number where it is": ("3", "n > 3", lambda i, n: 3, lambda i, n: n > 3),
}


def _refusal(knl: Kernel) -> str | None:
    try:
        assert list(check_bounds(knl, NOTHING)) == []
    except OutOfBounds as error:
        return error.what
    return None


@pytest.mark.parametrize("case", INDICES)
def test_every_subscript(case: str) -> None:
    text, condition, index, holds = INDICES[case]
    knl = unproved(
        LINE,
        f"b[i] = a[{text}] {{id=s, if={condition}}}",
        *(array(name, "n") for name in "ab"),
    )
    outside = [
        (n, i, at)
        for n in range(6)
        for i in range(n)
        if holds(i, n) and not 0 <= (at := index(i, n)) < n
    ]
    what = _refusal(knl)
    assert (what is not None) == bool(outside)
    if what is not None:
        assert any(f"n={n}, s[i={i}] reads a[{at}]" in what for n, i, at in outside)
        assert "its shape is (n)" in what or "its shape is (n,)" in what
    assert not are_inside(knl) or not outside


def test_what_is_plain_and_what_is_proved() -> None:
    plain = unproved(LINE, "b[i] = a[n-1-i]", *(array(name, "n") for name in "ab"))
    assert are_inside(plain)
    late = unproved(LINE, "b[i] = a[i+1]", *(array(name, "n") for name in "ab"))
    assert not are_inside(late)


@pytest.mark.parametrize(
    ("subscript", "extent", "inside"),
    [("2*i + 1", 7, False), ("2*i + 1", 8, True), ("i - 1", 8, False), ("3 - i", 4, True)],
)
def test_numbers_as_extents(subscript: str, extent: int, inside: bool) -> None:
    knl = unproved("{ [i]: 0<=i<4 }", f"b[i] = a[{subscript}]", array("a", str(extent)))
    assert are_inside(knl) == inside
    assert (_refusal(knl) is None) == inside


def test_where_no_instance_is_all_is_inside() -> None:
    knl = unproved("{ [i]: 0<=i<0 }", "b[i] = a[i + 100]", array("a", "1"), array("b", "1"))
    assert _refusal(knl) is None


def test_writes_and_each_axis() -> None:
    data = array("a", "n", "m"), array("b", "m", "n")
    assert _refusal(unproved(SQUARE, "b[j, i] = a[i, j]", *data)) is None
    what = _refusal(unproved(SQUARE, "b[i, j] = a[i, j] {id=s}", *data))
    assert what is not None
    assert "s[" in what
    assert "writes b[" in what


def test_data_decides() -> None:
    """An obligation for each axis and reference."""
    data = array("a", "m"), array("idx", "n", dtype="int32")
    knl = unproved(LINE, "b[i] = a[idx[i]] {id=s}", *data)
    (owed,) = check_bounds(knl, NOTHING)
    assert str(owed) == "s: a[idx[i]] is inside of 'a': 0 <= idx[i] < m"
    assert (owed.kind, owed.axis, owed.array) == (INSIDE, 0, "a")
    (reference,) = owed.references
    assert reference.name == "a"
    assert not are_inside(knl)


@pytest.mark.parametrize(
    ("text", "decides"),
    [
        ("b[i] = a[idx[i] % 4]", False),
        ("b[i] = a[idx[i] % 4 + 1]", True),
        ("b[i] = a[(idx[i] + i) % 4]", False),
        ("b[i] = a[idx[i]] {if=idx[i] >= 0 and idx[i] < 4}", True),  # a call looks at it
    ],
)
def test_what_is_known_of_data(text: str, decides: bool) -> None:
    knl = unproved(LINE, text, array("a", "4"), array("idx", "n", dtype="int32"))
    assert bool(list(check_bounds(knl, NOTHING))) == decides


def test_tables_are_known() -> None:
    for last, inside in ((2, True), (3, False)):
        table = pg.TemporaryVariable(
            "t", initializer=np.array([0, 2, last], np.int32), read_only=True
        )
        knl = unproved("{ [i]: 0<=i<3 }", "b[i] = a[t[i]]", array("a", "3"), table)
        assert (_refusal(knl) is None) == inside


def test_a_name_that_may_be_meant_to_be_an_iname() -> None:
    knl = unproved(LINE, "b[i] = a[h]", array("a", "n"), pg.ValueArg("h", "int32"))
    with pytest.raises(OutOfBounds) as caught:
        list(check_bounds(knl, NOTHING))
    assert "'h' is no iname, but a scalar argument" in str(caught.value.remedy)
