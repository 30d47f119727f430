"""Work items that own elements: nobody waits where subscripts show one, and only there."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from polygen.ir.tags import GroupTag
from polygen.lower.owners import Owners
from polygen.lower.waits import Conflicts


def _kernel(reads: str, begin: int = 0) -> Kernel:
    """Return a kernel of a write by i, from 0 on, and of a read by j, both on `g.0`."""
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", f"{{ [j]: {begin}<=j<n-2 }}"],
        f"a[i] = b[i] {{id=first}}\nc[j] = {reads} {{id=second, dep=first}}",
        [pg.GlobalArg("a,b,c", "float64", shape="n"), "..."],
        assumptions="n >= 8",
    )
    return pg.tag_inames(knl, {"i": "g.0", "j": "g.0"})


@pytest.mark.parametrize(
    ("reads", "begin", "is_one"),
    [
        ("a[j]", 0, True),
        ("a[j+1]", 0, False),  # group e - 1 reads what group e writes
        ("a[j]", 1, False),  # group 0 has j = 1
        ("a[j-1]", 1, True),
        ("a[j] + a[j+1]", 0, False),
        ("a[2*j/2]", 0, False),
        ("a[n-1-j]", 0, False),
    ],
)
def test_one_owner_each(reads: str, begin: int, is_one: bool) -> None:
    if "/" in reads:
        reads = reads.replace("/", "//").replace("2*j", "j")  # no plain subscript
    knl = _kernel(reads, begin)
    owners = Owners(knl, [GroupTag(0)])
    common = owners.of("first", "a") & owners.of("second", "a")
    assert owners.are_enough(common) == is_one
    waits = Conflicts(knl).waits("a", knl.assignment("first"), knl.assignment("second"))
    # By hand: an element e is written by group e, and read by group e - begin + offset.
    assert waits != is_one
    assert "__global__" in (code := str(pg.generate_code(knl, "cuda")))
    assert code.count("__global__") == 1 + waits


def test_each_axis_needs_one() -> None:
    knl = pg.make_kernel(
        "{ [i,k]: 0<=i<n and 0<=k<16 }",
        "a[i] = b[i] {id=first, inames=i:k}\nc[i,k] = a[i] {id=second, dep=first}",
        [pg.GlobalArg("a,b", "float64", shape="n"), "..."],
    )
    knl = knl.copy(tags={"i": GroupTag(0), "k": GroupTag(1)})
    owners = Owners(knl, [GroupTag(0), GroupTag(1)])
    assert not owners.are_enough(owners.of("first", "a"))
    assert owners.of("first", "a") == {(GroupTag(0), 0, 0)}


def test_what_is_not_touched_has_none() -> None:
    knl = _kernel("a[j]")
    assert Owners(knl, [GroupTag(0)]).of("first", "c") == frozenset()
