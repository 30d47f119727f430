"""What a temporary passes between iterations, beside a look at each instance."""

from __future__ import annotations

from itertools import product

import islpy as isl
import pytest

import polygen as pg
from polygen.analysis.pairs.iteration_local import (
    apart,
    certainly_written,
    common_inames,
    is_plainly_written,
    passes_nothing,
    unwritten,
)
from polygen.ir.domain import flatten
from polygen.ir.kernel import Kernel
from tests.analysis.pair_sets import listed, read_of, tagged, unproved, write_of
from tests.analysis.python_values import python_value

T = pg.TemporaryVariable("t", "float64", "8")
PRIVATE = pg.TemporaryVariable("t", "float64")
IN_O = frozenset({"o"})
DOMAINS = ["{ [o]: 0<=o<3 }", "{ [x]: 0<=x<4 }", "{ [i]: 0<=i<3 }"]
WRITE = "t[{}] = a[o, x] {{id=w, inames=o:x{}}}"
READ = "out[o, i] = t[{}] {{id=r, inames=o:i{}}}"


def _kernel(written: str, read: str, *, reads_first: bool = False, option: str = "") -> Kernel:
    lines = [WRITE.format(written, option), READ.format(read, ", dep=w")]
    if reads_first:
        lines = [READ.format(read, ", dep=*"), WRITE.format(written, ", dep=*r" + option)]
    return unproved(DOMAINS, "\n".join(lines), T, order="o, x")


def _elements(relation: isl.Set) -> set[tuple[int, ...]]:
    """Return the readers' o and i, and what they read, of a relation of one axis."""
    return listed(flatten(relation.set_dim_name(isl.dim_type.set, 0, "e")), ["o'", "i'", "e"])


CASES = [
    ("x", "i"),
    ("x", "i + 1"),
    ("x", "i + 2"),
    ("x + 1", "i"),
    ("2*x", "2*i"),
    ("2*x", "i"),
    ("x", "2*i"),
    ("3 - x", "i"),
    ("x + o", "i + o"),
    ("x + o", "i"),
]


@pytest.mark.parametrize("reads_first", [False, True])
@pytest.mark.parametrize(("written", "read"), CASES)
def test_each_read_beside_each_write(written: str, read: str, reads_first: bool) -> None:
    knl = _kernel(written, read, reads_first=reads_first)
    left: set[tuple[int, ...]] = set()
    for o, i in product(range(3), range(3)):
        element = int(python_value(read, {"o": o, "i": i}))
        before = {int(python_value(written, {"o": o, "x": x})) for x in range(4)}
        if element not in before or reads_first:
            left.add((o, i, element))
    assert _elements(unwritten(knl, read_of(knl, "r", "t"), IN_O)) == left
    assert passes_nothing(knl, "t", IN_O) is (not left)


def test_what_an_earlier_iteration_wrote_counts_without_inames() -> None:
    knl = _kernel("x", "i", reads_first=True)
    read = read_of(knl, "r", "t")
    assert _elements(unwritten(knl, read)) == {(0, i, i) for i in range(3)}
    assert not passes_nothing(knl, "t", frozenset())


def test_only_temporaries_carry_values_within_an_iteration() -> None:
    lines = "b[o] = a[o] {id=w}\nc[o] = b[o] {id=r, dep=w}"
    knl = unproved("{ [o]: 0<=o<n }", lines)
    assert not passes_nothing(knl, "b", IN_O)
    assert passes_nothing(
        unproved("{ [o]: 0<=o<n }", "<> " + lines.replace("b[o]", "b")), "b", IN_O
    )


def test_inames_around_all_users() -> None:
    knl = _kernel("x", "i")
    assert common_inames(knl, "t") == {"o"}
    assert common_inames(knl, "a") == {"o", "x"}


def test_outermost_loops_and_axes_keep_iterations_apart() -> None:
    lines = "t = a[k, i] {id=w}\nb[k, i] = t {id=r, dep=w}"
    knl = unproved("{ [k, i]: 0<=k,i<n }", lines, PRIVATE, order="k, i")
    for allowed, expected in (("k", "k"), ("ki", "ki"), ("i", ""), ("", "")):
        assert apart(knl, "t", frozenset(allowed)) == frozenset(expected)
    on_axis = tagged(knl, i="l.0")
    for allowed, expected in (("k", "k"), ("ki", "ki"), ("i", "i"), ("", "")):
        assert apart(on_axis, "t", frozenset(allowed)) == frozenset(expected)
    # A loop that only some are in keeps nothing apart, and what is inside of it neither.
    assert apart(_kernel("x", "i"), "t", frozenset("oxi")) == {"o"}


def test_what_shows_without_sets() -> None:
    lines = "t[{}] = a[o] {{id=w{}}}\nout[o, i] = t[{}] {{id=r, dep=w}}"

    def is_seen(written: str, read: str, option: str = "", *data: pg.GlobalArg) -> bool:
        knl = unproved(
            "{ [o, i]: 0<=o,i<4 }", lines.format(written, option, read), T, *data, order="o"
        )
        found = is_plainly_written(knl, read_of(knl, "r", "t"))
        assert not found or passes_nothing(knl, "t", frozenset())
        return found

    idx = pg.GlobalArg("idx", "int32", "4")
    assert is_seen("o", "o")
    assert is_seen("3", "3")
    assert is_seen("idx[o]", "idx[o]", "", idx)  # whatever it is, it is the same
    assert not is_seen("o", "o + 1")
    assert not is_seen("o", "i")
    assert not is_seen("o", "o", ", if=o < 9")
    knl = _kernel("x", "i")  # other loops
    assert not is_plainly_written(knl, read_of(knl, "r", "t"))


def test_a_table_that_changes_says_nothing_without_sets() -> None:
    lines = """
        t[idx[o]] = a[o] {id=w, dep=*}
        idx[o] = idx[o] + 1 {id=u, dep=*w}
        out[o] = t[idx[o]] {id=r, dep=*w:u}
        """
    knl = unproved("{ [o]: 0<=o<4 }", lines, T, pg.GlobalArg("idx", "int32", "4"))
    assert not is_plainly_written(knl, read_of(knl, "r", "t"))


def test_what_data_may_keep_from_being_written() -> None:
    """With a doubt, it was not; without, it was: what is left then certainly was not."""
    knl = _kernel("x", "i + 2", option=", if=a[o, x] > 0")
    read, write = read_of(knl, "r", "t"), write_of(knl, "w", "t")
    everything = {(o, i, i + 2) for o in range(3) for i in range(3)}
    assert certainly_written(knl, knl.instruction("w"), write, read) is None
    assert _elements(unwritten(knl, read, IN_O)) == everything
    assert _elements(unwritten(knl, read, IN_O, doubt=False)) == {(o, 2, 4) for o in range(3)}


@pytest.mark.parametrize(
    ("line", "condition", "is_found"),
    [
        ("other[i] = 2", "flag[i] > 0", True),
        ("other[i] = 2", "flag[i] > 0 and i < n", True),
        ("other[i] = 2", "flag[i] > 1", False),
        ("other[i] = 2", "i < n", False),
        ("flag[i] = 2", "flag[i] > 0", False),  # it changes in between
        ("alias[i] = 2", "flag[i] > 0", False),  # it may be changed in between
    ],
)
def test_a_condition_that_both_are_under(line: str, condition: str, is_found: bool) -> None:
    """Where it is known, the pairs are those in which it is one and the same."""
    lines = f"""
        t[i] = 1 {{id=w, dep=*, if=flag[i] > 0}}
        {line} {{id=c, dep=*w}}
        out[i] = t[i] {{id=r, dep=*w:c, if={condition}}}
        """
    flag = pg.GlobalArg("flag", "int32", "4")
    other = pg.GlobalArg("alias", "int32", "4", may_alias=True)
    knl = unproved("{ [i]: 0<=i<4 }", lines, T, flag, *([other] if "alias" in line else []))
    write, read = write_of(knl, "w", "t"), read_of(knl, "r", "t")
    found = certainly_written(knl, knl.instruction("w"), write, read)
    assert (found is not None) is is_found
    if found is not None:
        assert listed(found, ["i", "i'"], range(4)) == {(i, i) for i in range(4)}
    assert passes_nothing(knl, "t", frozenset("i")) is is_found


def test_a_write_that_is_exact_is_certain() -> None:
    knl = _kernel("x", "i", option=", if=x < 2")
    read, write = read_of(knl, "r", "t"), write_of(knl, "w", "t")
    found = certainly_written(knl, knl.instruction("w"), write, read)
    assert found is not None
    assert found.is_equal(isl.Set("{ : }"))
    assert _elements(unwritten(knl, read, IN_O)) == {(o, 2, 2) for o in range(3)}


def test_subscripts_that_are_data_are_no_certain_write() -> None:
    idx = pg.GlobalArg("idx", "int32", "4")
    lines = "t[idx[x]] = a[x] {id=w}\nout[i] = t[i] {id=r, dep=w}"
    knl = unproved(["{ [x]: 0<=x<4 }", "{ [i]: 0<=i<4 }"], lines, T, idx)
    write, read = write_of(knl, "w", "t"), read_of(knl, "r", "t")
    assert certainly_written(knl, knl.instruction("w"), write, read) is None


def test_another_work_items_copy_is_not_what_was_written() -> None:
    lines = "t = a[i] {id=w}\nb[j] = t {id=r, dep=w, inames=j}"
    domains = ["{ [i]: 0<=i<4 }", "{ [j]: 0<=j<4 }"]
    knl = tagged(unproved(domains, lines, PRIVATE), i="l.0")
    read = read_of(knl, "r", "t")
    assert not unwritten(knl, read).is_empty()
    both = tagged(knl, j="l.0")
    assert unwritten(both, read_of(both, "r", "t")).is_empty()
    fewer = tagged(unproved([domains[0], "{ [j]: 0<=j<5 }"], lines, PRIVATE), i="l.0")
    longer = tagged(fewer, j="l.0")
    flat = unwritten(longer, read_of(longer, "r", "t")).params()
    assert listed(flat, ["j'"]) == {(4,)}
