"""Pairs of instances whose order is open, against all nests that a kernel permits."""

from __future__ import annotations

from functools import reduce
from itertools import combinations, permutations, product

import islpy as isl
import pytest

from polygen.analysis.integers.second_instance import OTHER
from polygen.analysis.order.loop_tree import loops_outside
from polygen.analysis.pairs.unordered_pairs import loose_pairs
from polygen.ir.domain import unflatten
from tests.oracle.cases import kernel

NAMES = ("a", "b", "c")
# The loop of `a` has to be inside of that of `c`; nothing is said of `b`.
SOME = ["{ [c]: 0<=c<3 }", "{ [a]: 0<=a<=c }", "{ [b]: 0<=b<3 }"]
ALL = ["{ [a,b,c]: 0<=a<3 and 0<=b<3 and 0<=c<3 }"]


@pytest.mark.parametrize("domains", [SOME, ALL])
def test_they_are_those_that_nests_put_in_either_order(domains: list[str]) -> None:
    knl = kernel(domains, "x[a, b, c] = 1 {id=s}")
    outside = loops_outside(knl)
    nests = [
        nest
        for nest in permutations(NAMES)
        if not any(o in outside[i] for n, i in enumerate(nest) for o in nest[n:])
    ]
    assert len(nests) == (3 if domains is SOME else 6)
    pairs = reduce(isl.Set.union, [loose.pairs for loose in loose_pairs(knl, "s", "s")])
    pairs = unflatten(pairs, [*NAMES, *(name + OTHER for name in NAMES)])
    for p, q in combinations(product(range(3), repeat=3), 2):
        both = isl.Set(f"{{ {[*p, *q]}; {[*q, *p]} }}")
        is_open = not both.intersect(pairs).is_empty()
        first = {_in_nest(p, nest) < _in_nest(q, nest) for nest in nests}
        assert is_open == (len(first) == 2), (p, q)


def _in_nest(point: tuple[int, ...], nest: tuple[str, ...]) -> list[int]:
    return [point[NAMES.index(iname)] for iname in nest]
