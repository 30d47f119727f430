"""The statements that reductions become, and where each stands."""

from __future__ import annotations

import pytest

from polygen.analysis.order.loop_tree import loop_tree, statements
from polygen.analysis.order.reduction_statements import places, realized, shares_reduction_loops
from polygen.ir.kernel import Kernel
from tests.analysis.pair_sets import tagged, unproved

SQUARE = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"]
NOWHERE = frozenset[str]()
IN_I, IN_BOTH = frozenset("i"), frozenset("ij")


def _order(knl: Kernel) -> list[str]:
    return [insn.id for insn in statements(loop_tree(knl, quiet=True))]


def test_a_kernel_without_reductions_stays_as_it_is() -> None:
    knl = unproved(SQUARE, "a[i] = 1 {id=s}\nb[i, j] = a[i] {id=u}")
    made, ids = realized(knl)
    assert made.instructions == knl.instructions
    assert ids == {("s", IN_I): "s", ("u", IN_BOTH): "u"}


def test_a_reduction_is_a_start_an_update_and_a_use() -> None:
    knl = unproved(SQUARE, "c[0] = sum(i, b[i]) {id=r, inames=}")
    made, ids = realized(knl)
    update, use = ids["r", IN_I], ids["r", NOWHERE]
    assert use == "r"
    assert [insn.within_inames for insn in made.instructions] == [NOWHERE, IN_I, NOWHERE]
    assert not any(insn.reduction_inames for insn in made.instructions)
    start, *others = _order(made)
    assert others == [update, use]
    assert start not in ids.values()
    assert made.instruction(update).depends_on == {start}
    assert made.instruction(use).depends_on == {update}


def test_reductions_in_each_other() -> None:
    """The inner one starts in each iteration of the outer one, and is used there."""
    knl = unproved(SQUARE, "c[0] = sum(i, b[i]*sum(j, a[i, j])) {id=r, inames=}")
    made, ids = realized(knl)
    assert set(ids) == {("r", NOWHERE), ("r", IN_I), ("r", IN_BOTH)}
    outer, inner, use = ids["r", IN_I], ids["r", IN_BOTH], "r"
    start, inner_start, *others = _order(made)
    assert others == [inner, outer, use]
    assert made.instruction(outer).depends_on == {start, inner}
    assert made.instruction(inner).depends_on == {start, inner_start}
    assert made.instruction(start).within_inames == NOWHERE
    assert made.instruction(inner_start).within_inames == IN_I


def test_a_reduction_that_is_there_twice_runs_once() -> None:
    once = unproved(SQUARE, "c[0] = sum(i, b[i]) {id=r, inames=}")
    twice = unproved(SQUARE, "c[0] = sum(i, b[i])*sum(i, b[i]) {id=r, inames=}")
    other = unproved(SQUARE, "c[0] = sum(i, b[i])*sum(i, b[i] + 1) {id=r, inames=}")
    counts = [len(realized(knl)[0].instructions) for knl in (once, twice, other)]
    assert counts == [3, 3, 5]
    made, ids = realized(other)
    *_, last = (insn.id for insn in made.instructions if insn.within_inames)
    assert ids["r", IN_I] == last


def test_what_comes_before_the_instruction_comes_before_its_reduction() -> None:
    """What stands in the reduction's loop cannot come before the start, and need not."""
    lines = """
        b[i] = 2*a[i] {id=w, dep=*}
        <> s = 2 {id=early, dep=*}
        c[0] = sum(i, b[i]*s) {id=r, dep=*w:early, inames=}
        """
    made, ids = realized(unproved(SQUARE, lines))
    update = ids["r", IN_I]
    (start,) = made.instruction(update).depends_on - {"w", "early"}
    assert made.instruction(start).depends_on == {"early"}
    order = _order(made)
    assert order.index("early") < order.index(start) < order.index("w") < order.index(update)


@pytest.mark.parametrize(
    ("lines", "shares"),
    [
        ("b[i] = a[i] {id=w}\nc[0] = sum(i, b[i]) {id=r, dep=w, inames=}", True),
        ("b[j] = a[j] {id=w}\nc[0] = sum(i, b[i]) {id=r, dep=w, inames=}", False),
        ("b[j] = a[j] {id=w}\nc[j] = sum(i, b[i]) {id=r, dep=w}", False),
        ("b[i] = a[i] {id=w}\nc[i] = b[i] {id=r, dep=w}", False),
        ("c[0] = sum(i, a[i]) {id=r, inames=}\nd[0] = sum(i, 2*a[i]) {id=w, inames=}", False),
    ],
)
def test_loops_of_reductions_that_others_are_in(lines: str, shares: bool) -> None:
    assert shares_reduction_loops(unproved(SQUARE, lines)) is shares


def test_places_are_ways_through_the_loop_tree() -> None:
    lines = "b[i] = 2*a[i] {id=w}\nc[0] = sum(i, b[i]*sum(j, a[j])) {id=r, dep=w, inames=}"
    found = places(unproved(SQUARE, lines))
    loops = {key: [p for p in place if isinstance(p, str)] for key, place in found.of.items()}
    assert loops == {
        ("w", IN_I): ["i"],
        ("r", NOWHERE): [],
        ("r", IN_I): ["i"],
        ("r", IN_BOTH): ["i", "j"],
    }
    # Positions count among siblings, so places that share their loops can be compared.
    loop, inner = found.of["w", IN_I][0], found.of["r", IN_BOTH]
    assert inner[0] == found.of["r", IN_I][0] == loop
    assert found.of["w", IN_I] < inner[:3] < found.of["r", IN_I]
    use = found.of["r", NOWHERE]
    assert isinstance(use[0], int)
    assert isinstance(loop, int)
    assert loop < use[0]
    assert found.depth == len(inner) == 5


def test_an_axis_is_no_loop() -> None:
    knl = tagged(unproved(SQUARE, "c[i] = sum(j, a[i, j]) {id=r}"), i="g.0")
    found = places(knl)
    assert [p for p in found.of["r", IN_BOTH] if isinstance(p, str)] == ["j"]
    assert len(found.of["r", IN_I]) == 1


def test_no_instruction() -> None:
    found = places(unproved(SQUARE, ""))
    assert (dict(found.of), found.depth) == ({}, 0)
