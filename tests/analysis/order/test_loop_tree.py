"""Which loop stands outside of which: structure, then priorities, through others, too."""

from __future__ import annotations

from itertools import pairwise, permutations

import pytest

import polygen as pg
from polygen.analysis.order.loop_tree import LoopNode, loop_tree, loops_outside
from polygen.errors import NoLoopNest
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel


def _nest(knl: Kernel) -> list[str]:
    """Return the loops around the first instruction."""
    found: list[str] = []
    nodes = loop_tree(knl)
    while isinstance(nodes[0], LoopNode):
        found.append(nodes[0].iname)
        nodes = nodes[0].children
    return found


def _cube(domains: str | list[str] = "{ [a,b,c]: 0<=a,b,c<n }") -> Kernel:
    return kernel(domains, "x[a,b,c] = 0")


def test_nothing_is_said() -> None:
    assert loops_outside(_cube()) == dict.fromkeys("abc", frozenset())
    assert _nest(_cube()) == ["a", "b", "c"]


def test_a_priority_holds_through_what_structure_requires() -> None:
    knl = _cube(["{ [c]: 0<=c<n }", "{ [a]: 0<=a<n }", "{ [b]: 0<=b<a }"])
    knl = pg.prioritize_loops(knl, "b, c")
    assert loops_outside(knl) == {"a": frozenset(), "b": {"a"}, "c": {"a", "b"}}
    assert _nest(knl) == ["a", "b", "c"]


def test_priorities_hold_through_each_other() -> None:
    knl = kernel("{ [a,b,c]: 0<=a,b,c<n }", "x[a,b,c] = 0  {dep=*}")
    knl = pg.prioritize_loops(pg.prioritize_loops(knl, "c, b"), "b, a")
    assert _nest(knl) == ["c", "b", "a"]


def test_priorities_of_loops_in_no_common_nest_say_nothing_of_others() -> None:
    knl = kernel("{ [a,b,c]: 0<=a,b,c<n }", "x[a,c] = 0  {dep=*}\ny[b] = 0  {dep=*}")
    knl = pg.prioritize_loops(pg.prioritize_loops(knl, "c, b"), "b, a")
    assert loops_outside(knl)["a"] == frozenset()
    assert _nest(pg.prioritize_loops(knl, "c, a")) == ["c", "a"]


def test_structure_goes_before_a_priority() -> None:
    knl = pg.make_kernel(["{ [a]: 0<=a<n }", "{ [b]: 0<=b<a }"], "x[a,b] = 0")
    with pytest.warns(pg.PriorityIgnored, match="priority of 'b' over 'a'"):
        knl = pg.prioritize_loops(knl, "b, a")
    assert loops_outside(knl)["b"] == {"a"}
    assert _nest(knl) == ["a", "b"]


@pytest.mark.parametrize("order", list(permutations("xyz")))
def test_an_iname_is_one_loop_in_whatever_order_it_is_seen(order: tuple[str, ...]) -> None:
    # The order in which a set of names is looked at is another one in each process.
    for first, second in pairwise(f"{letter}{number}" for letter in "pqrs" for number in range(4)):
        lines = {
            "x": f"x[{first}] = 0          {{dep=*}}",
            "y": f"y[{second}] = 0         {{dep=*}}",
            "z": f"z[{first},{second}] = 0 {{dep=*}}",
        }
        domains = [f"{{ [{iname}]: 0<={iname}<n }}" for iname in (first, second)]
        with pg.without_proofs():
            knl = kernel(domains, "\n".join(lines[name] for name in order))
        with pytest.raises(NoLoopNest):
            loop_tree(knl)


def test_a_loop_with_fewer_instructions_is_inside() -> None:
    knl = kernel("{ [a,b]: 0<=a,b<n }", "x[b] = 0  {dep=*}\ny[a,b] = x[b] + 1")
    assert loops_outside(knl) == {"a": {"b"}, "b": frozenset()}
    assert _nest(pg.prioritize_loops(knl, "b, a")) == ["b"]
