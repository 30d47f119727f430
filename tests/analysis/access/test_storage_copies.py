"""Copies of temporaries on the axes of the hardware: which instances share one."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.analysis.access.instance_map import UNMOVED, InstanceMap
from polygen.analysis.access.storage_copies import SameCopy, axes, has_copies, same_copy
from polygen.ir import expression as ex
from polygen.ir.domain import universe
from polygen.ir.kernel import Kernel
from tests.analysis.flat import points, where
from tests.oracle.cases import kernel

SPACES = pg.AddressSpace


def _kernel(space: pg.AddressSpace, tags: dict[str, str], domains: list[str]) -> Kernel:
    """Return a kernel in which `s` writes a temporary in `i`, and `u` reads it in `j`."""
    text = """
        c = count[0]          {id=c, inames=}
        t = a[i]              {id=s, inames=i}
        out[j] = t            {id=u, dep=s, inames=j}
        """
    with pg.without_proofs():
        knl = kernel(
            domains,
            text,
            pg.TemporaryVariable("c", "int32", address_space=SPACES.PRIVATE),
            pg.TemporaryVariable("t", "float64", address_space=space),
            pg.GlobalArg("count", "int32", (1,)),
        )
        return pg.tag_inames(knl, tags)


PLAIN = ["{ [i]: 0<=i<4 }", "{ [j]: 2<=j<6 }"]
BY_DATA = ["{ [i]: c<=i<9 }", "{ [j]: 2<=j<6 }"]
UP_TO_DATA = ["{ [i]: 0<=i<c }", "{ [j]: 2<=j<6 }"]
LOCALS = {"i": "l.0", "j": "l.0"}


@pytest.mark.parametrize(
    ("space", "tag", "several"),
    [
        (SPACES.PRIVATE, "l.0", True),
        (SPACES.PRIVATE, "g.1", True),
        (SPACES.PRIVATE, "unr", False),
        (SPACES.LOCAL, "l.0", False),
        (SPACES.LOCAL, "g.1", True),
        (SPACES.GLOBAL, "l.0", False),
        (SPACES.GLOBAL, "g.1", False),
    ],
)
def test_who_has_copies(space: pg.AddressSpace, tag: str, several: bool) -> None:
    knl = _kernel(space, {"i": tag}, PLAIN)
    assert has_copies(knl, "t", "i") == several
    assert not has_copies(knl, "t", "j")
    assert not has_copies(knl, "a", "i")  # an array argument is everyone's
    assert list(axes(knl, "s", "t").values()) == (["i"] if several else [])
    assert not axes(knl, "u", "t")


def test_a_copy_has_the_distance_from_the_first_value() -> None:
    knl = _kernel(SPACES.PRIVATE, LOCALS, PLAIN)
    found = same_copy(knl, ("s", "u"), "t", UNMOVED)
    assert points(found.possible, ["i", "j'"]) == where(lambda i, j: i == j - 2, 2)
    assert (found.certain, found.complete) == (True, True)
    back = same_copy(knl, ("u", "s"), "t", UNMOVED)
    assert points(back.possible, ["j", "i'"]) == where(lambda j, i: i == j - 2, 2)


def test_one_iname_has_one_value() -> None:
    knl = _kernel(SPACES.PRIVATE, LOCALS, PLAIN)
    found = same_copy(knl, ("s", "s"), "t", UNMOVED)
    assert points(found.possible, ["i", "i'"]) == where(lambda i, other: i == other, 2)


def test_the_values_are_those_before_a_step() -> None:
    knl = _kernel(SPACES.PRIVATE, LOCALS, PLAIN)
    moved = InstanceMap(by_instruction={"s": {"i": ex.sum_of(ex.Variable("x"), 1)}})
    found = same_copy(knl, ("s", "u"), "t", moved)
    assert points(found.possible, ["x", "j'"]) == where(lambda x, j: x + 1 == j - 2, 2)


def test_where_data_says_which_value_is_the_first() -> None:
    knl = _kernel(SPACES.PRIVATE, LOCALS, BY_DATA)
    for insns in (("s", "u"), ("u", "s")):
        found = same_copy(knl, insns, "t", UNMOVED)
        assert not found.certain
        assert found.possible.is_equal(universe())
        assert found.finds(universe()).is_empty()
    # Of one and the same iname, it does not matter.
    same = same_copy(knl, ("s", "s"), "t", UNMOVED)
    assert same.certain
    assert points(same.possible, ["i", "i'"]) == where(lambda i, other: i == other, 2)


def test_an_axis_begins_at_the_least_value_for_any_data() -> None:
    knl = _kernel(SPACES.PRIVATE, LOCALS, UP_TO_DATA)
    found = same_copy(knl, ("s", "u"), "t", UNMOVED)
    assert found.certain
    assert points(found.possible, ["i", "j'"]) == where(lambda i, j: i == j - 2, 2)


def test_what_lacks_an_axis() -> None:
    knl = _kernel(SPACES.PRIVATE, {"i": "l.0"}, PLAIN)
    to, back = (same_copy(knl, ids, "t", UNMOVED) for ids in (("s", "u"), ("u", "s")))
    assert (to.certain, to.complete) == (True, False)
    assert (back.certain, back.complete) == (True, True)
    assert to.finds(universe()).is_empty()
    assert back.finds(universe()).is_equal(universe())


def test_finding() -> None:
    pairs = universe()
    assert SameCopy(pairs, certain=True, complete=True).finds(pairs).is_equal(pairs)
    assert SameCopy(pairs, certain=False, complete=True).finds(pairs).is_empty()
    assert SameCopy(pairs, certain=True, complete=False).finds(pairs).is_empty()
    assert SameCopy(pairs.complement(), certain=True, complete=True).finds(pairs).is_empty()
