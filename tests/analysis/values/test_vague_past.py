"""Writes that data decides about, between a certain write and a read."""

from __future__ import annotations

import islpy as isl
import pytest

from polygen.analysis.access.instance_map import UNMOVED
from polygen.analysis.dataflow.comparison_context import Context, Names, equal_set
from polygen.analysis.values.vague_past import Start, VaguePasts
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from tests.analysis.values.compared import LOOP, made, same_instances

# t is certain to write what r reads; data decides about u.
BETWEEN = """\
v[i] = b[i] {id=t, dep=*}
v[i] = a[i] {id=u, dep=*t, if=p[i]>0}
out[i] = v[i] {id=r, dep=*u}"""
BEFORE = """\
v[i] = a[i] {id=u, dep=*, if=p[i]>0}
v[i] = b[i] {id=t, dep=*u}
out[i] = v[i] {id=r, dep=*t}"""
AFTER = """\
v[i] = b[i] {id=t, dep=*}
out[i] = v[i] {id=r, dep=*t}
v[i] = a[i] {id=u, dep=*r, if=p[i]>0}"""
TWO = """\
v[i] = b[i] {id=t, dep=*}
v[i] = a[i] {id=u, dep=*t, if=p[i]>0}
v[i] = 3 {id=w, dep=*u, if=p[i]>1}
out[i] = v[i] {id=r, dep=*w}"""


def _context(old: Kernel, new: Kernel, names: Names) -> tuple[tuple[Start, Start], Context]:
    """Return the reads of r, and the writes by t at the same instances."""
    at = same_instances(old, new, "r", names)
    starts: list[Start] = []
    points: isl.Set = at.points
    for _ in range(2):
        called = names.fresh(("i",))
        points = points.intersect(
            equal_set(ex.Variable(called["i"]), ex.Variable(at.old.names["i"]))
        )
        starts.append(Start("t", called))
    return (starts[0], starts[1]), at.restricted(points)


def _between(old: str, new: str, *arrays: str | None, start: bool = False) -> bool | None:
    was, now = made(old), made(new)
    names = Names()
    pasts = VaguePasts(was, now, UNMOVED, names)
    since, at = _context(was, now, names)
    if start:
        since = Start(None, {}), Start(None, {})
    first, second = arrays or ("v", "v")
    nodes = was.assignment("r").values[0], now.assignment("r").values[0]
    found = pasts.vague_between((first, second), nodes, since, at)
    if found is not None:
        assert pasts.relied_on_writes == ({("v", i) for i in _vague(new)} if found else set())
    return found


def _vague(text: str) -> list[str]:
    return [i for i in "uw" if f"id={i}" in text]


@pytest.mark.parametrize(
    ("text", "found"),
    [(BETWEEN, True), (BEFORE, False), (AFTER, False), (TWO, True)],
)
def test_one_kernel_beside_itself(text: str, found: bool) -> None:
    assert _between(text, text) is found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (BETWEEN, BEFORE),
        (BETWEEN, AFTER),
        (BETWEEN, TWO),  # one more
        # two in another order
        (TWO, TWO.replace("*t,", "*w,").replace("*u, i", "*t, i").replace("*w}", "*u}")),
        # of another element
        (BETWEEN, BETWEEN.replace("v[i] = a", "v[7 - i] = a")),
    ],
)
def test_other_writes_come_between(old: str, new: str) -> None:
    assert _between(old, new) is None
    assert _between(new, old) is None


def test_the_same_writes_come_between() -> None:
    assert _between(BETWEEN, BETWEEN.replace("a[i]", "2*a[i]")) is True  # compared elsewhere
    assert _between(BEFORE, AFTER) is False
    # One that only the other kernel has does not matter where it never comes between.
    assert _between(BEFORE, BEFORE.replace("id=u", "id=w").replace("*u", "*w")) is False


def test_since_the_start() -> None:
    assert _between(BEFORE, BEFORE, start=True) is True
    assert _between(AFTER, AFTER, start=True) is False


def test_of_one_array_at_most() -> None:
    assert _between(BETWEEN, BETWEEN, "v", "s") is None
    assert _between(BETWEEN, BETWEEN, "v", None) is None  # the other side has none to compare
    assert _between(AFTER, AFTER, None, "v") is False


def test_nowhere_nothing_comes_between() -> None:
    never = made(BETWEEN, LOOP.replace("8", "0"))
    names = Names()
    since, at = _context(never, never, names)
    node = never.assignment("r").values[0]
    pasts = VaguePasts(never, never, UNMOVED, names)
    assert pasts.vague_between(("v", "v"), (node, node), since, at) is False
