"""The instance that wrote what is read, where subscripts say it, beside enumeration."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import polygen as pg
from polygen.analysis.pairs.plain_write import plainly_written
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from tests.analysis.pair_sets import listed, read_of, unproved, write_of

IN_ROWS = ["{ [o]: 0<=o<2 }", "{ [x, y]: 0<=x<5 and 0<=y<4 }", "{ [i, j]: 0<=i<4 and 0<=j<3 }"]
T = pg.TemporaryVariable("t", "float64", "9, 9")
IDX = pg.GlobalArg("idx", "int32", "9")


def _copied(written: str, read: str, *options: str) -> Kernel:
    """Return a kernel that fills a temporary, and then reads it."""
    more = "".join(f", {option}" for option in options)
    text = f"""
        t[{written}] = a[o, x, y] {{id=w, inames=o:x:y{more}}}
        out[o, i, j] = t[{read}] {{id=r, dep=w, inames=o:i:j}}
        """
    return unproved(IN_ROWS, text, T, *([IDX] if "idx" in written + read else []))


def _found(knl: Kernel, *same: str) -> tuple[set[tuple[int, ...]], dict[str, str]] | None:
    """Return the pairs as (o, i, j, o', x', y'), and the instances as texts."""
    read = read_of(knl, "r", "t")
    assert read.reference is not None
    written = write_of(knl, "w", "t"), knl.instruction("w")
    found = plainly_written(knl, (read, read.reference), written, frozenset(same))
    if found is None:
        return None
    pairs = listed(found[0], ["o", "i", "j", "o'", "x'", "y'"], range(5), n=4)
    return pairs, {iname: show_expression(value) for iname, value in found[1].items()}


@pytest.mark.parametrize(
    ("written", "read", "writer", "shown"),
    [
        ("x, y", "i, j", lambda i, j: (i, j), ("i", "j")),
        ("x, y", "i + 1, j", lambda i, j: (i + 1, j), ("i + 1", "j")),
        ("y, x", "j, 4 - i", lambda i, j: (4 - i, j), ("4 - i", "j")),
        ("4 - x, y + 2", "i, j + 3", lambda i, j: (4 - i, j + 1), ("4 - i", "j + 1")),
        # The second subscript says what y is, and the first then what x is.
        ("x + y, y", "i + j, j", lambda i, j: (i, j), ("i", "j")),
    ],
)
def test_the_writer_of_each_reader(
    written: str, read: str, writer: Callable[[int, int], tuple[int, int]], shown: tuple[str, str]
) -> None:
    found = _found(_copied(written, read), "o")
    assert found is not None
    expected = {(o, i, j, o, *writer(i, j)) for o in range(2) for i in range(4) for j in range(3)}
    assert found[0] == expected
    x, y = shown
    assert found[1] == {"o": "o", "x": x, "y": y}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("x, y", "i + 2, j"),  # nothing writes row 5
        ("2*x, y", "2*i, j"),  # a factor other than one
        ("x, 0", "i, 0"),  # which y it was is open
        ("x + y, 0", "i, 0"),  # two unknowns, and no other subscript
        ("x + y, x + y", "i, j"),
        ("x, y//1 + x//2", "i, j"),  # a floor of what is looked for
        ("x, y", "idx[i], j"),
        ("idx[x], y", "i, j"),
    ],
)
def test_subscripts_that_do_not_say_it(written: str, read: str) -> None:
    assert _found(_copied(written, read), "o") is None


def test_a_subscript_that_is_another_number() -> None:
    """All of the writer's inames are shared: then the subscripts must be the same anyway."""
    text = "t[x, {}] = a[x] {{id=w}}\nout[x] = t[x, {}] {{id=r, dep=w}}"
    for read, is_found in (("3", True), ("4", False)):
        knl = unproved("{ [x]: 0<=x<n }", text.format("3", read), T)
        access = read_of(knl, "r", "t")
        assert access.reference is not None
        writer = write_of(knl, "w", "t"), knl.instruction("w")
        found = plainly_written(knl, (access, access.reference), writer, frozenset({"x"}))
        assert (found is not None) is is_found
        if found is not None:
            for n in (0, 1, 4):
                assert listed(found[0], ["x", "x'"], n=n) == {(i, i) for i in range(n)}


def test_a_writer_that_may_not_write() -> None:
    assert _found(_copied("x, y", "i, j", "if=a[o, x, y] > 0"), "o") is None
    assert _found(_copied("x, y", "i, j", "if=x < 4"), "o") is None


def test_loops_that_the_two_are_not_to_agree_in() -> None:
    """Which iteration of the outer loop wrote, no subscript says."""
    assert _found(_copied("x, y", "i, j")) is None


def test_a_loop_as_long_as_data_says() -> None:
    text = """
        <> count = idx[0] {id=c}
        t[x, 0] = a[x] {id=w, dep=c}
        out[i] = t[i, 0] {id=r, dep=w}
        """
    knl = unproved(["{ [x]: 0<=x<count }", "{ [i]: 0<=i<4 }"], text, T, IDX)
    access = read_of(knl, "r", "t")
    assert access.reference is not None
    writer = write_of(knl, "w", "t"), knl.instruction("w")
    assert plainly_written(knl, (access, access.reference), writer, frozenset()) is None
