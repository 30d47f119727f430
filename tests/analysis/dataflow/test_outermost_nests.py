"""Outermost loops: what is in each, and that what loops carry is found in them alone."""

from __future__ import annotations

import random
from collections import Counter

import pytest

import polygen as pg
from polygen.analysis.dataflow.dependences import Dependence, carried_dependences, dependences
from polygen.analysis.dataflow.outermost_nests import (
    accesses_in,
    nest_of,
    outermost_nests,
    writers_in,
    written_in,
)
from polygen.errors import DependencyCycle, NoLoopNest
from polygen.ir.kernel import Kernel
from tests.proof.generator import Maker
from tests.proof.patterns import PATTERNS
from tests.properties.generator import Generator

THREE = pg.make_kernel(
    ["{ [i,j]: 0<=i,j<n }", "{ [k]: 0<=k<n }"],
    "a[i,j] = 1 {id=s}\nb[i] = sum(j, a[i,j]) {id=t, inames=i}\nb[k] = 2*b[k] {id=r}\nc[0] = 1",
    seq_dependencies=True,
    loop_priority="i,j",
)


def test_what_is_in_each() -> None:
    first, second, third = outermost_nests(THREE)
    assert [written_in(THREE, nest) for nest in (first, second, third)] == [
        ("a", "b"),
        ("b",),
        ("c",),
    ]
    assert [w.id for w in writers_in(THREE, "b", first)] == ["t"]
    assert [w.id for w in writers_in(THREE, "b", second)] == ["r"]
    assert [(a.insn_id, a.is_write) for a in accesses_in(THREE, "a", first)] == [
        ("s", True),
        ("t", False),
    ]
    assert [(a.insn_id, a.is_write) for a in accesses_in(THREE, "b", second)] == [
        ("r", False),
        ("r", True),
    ]
    assert not accesses_in(THREE, "a", second)
    assert not written_in(THREE, 17)
    assert [nest_of(THREE, iname) for iname in "ijkz"] == [first, first, second, None]


# --- beside the dependences of all of the kernel


def _listed(found: tuple[Dependence, ...]) -> list[tuple[object, ...]]:
    return [
        (d.source, d.sink, d.kind, d.array, d.sink_array, d.loops, d.distance, d.certain)
        for d in found
    ]


def check(knl: Kernel) -> Counter[str]:
    """Compare with the dependences of the whole kernel; return how many there are of each kind."""
    every = dependences(knl)
    found = carried_dependences(knl)
    for iname in knl.inames:
        carried = tuple(d for d in every if d.carried_by == iname)
        few = found.get(iname, ())
        assert _listed(few) == _listed(carried)
        for mine, other in zip(few, carried, strict=True):
            assert mine.relation.is_equal(other.relation)
    assert found.keys() <= set(knl.inames)
    return Counter(d.kind for carried in found.values() for d in carried)


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns(name: str) -> None:
    check(PATTERNS[name].kernel())


STARTS = [0, *(pytest.param(start, marks=pytest.mark.more) for start in range(10, 120, 10))]


@pytest.mark.parametrize("start", STARTS)
def test_random_kernels(start: int) -> None:
    found: Counter[str] = Counter()
    for seed in range(start, start + 10):
        with pg.without_proofs():
            kernels = [Maker(seed).kernel(), Generator(random.Random(seed)).case().kernel]
        for knl in kernels:
            try:
                found += check(knl)
            except (DependencyCycle, NoLoopNest):
                continue
    assert min(found[kind] for kind in ("flow", "anti", "output")) > 0


def test_a_write_in_another_nest_hides_nothing_in_this_one() -> None:
    """Both loops over t carry the same, although all is overwritten between them."""
    lines = [f"a[t{k}+1,i{k}] = a[t{k},i{k}] + 1 {{id=s{k}}}" for k in range(2)]
    knl = pg.make_kernel(
        [f"{{ [t{k},i{k}]: 0<=t{k},i{k}<n }}" for k in range(2)],
        "\n".join(lines),
        seq_dependencies=True,
        loop_priority=["t0,i0", "t1,i1"],
    )
    assert {i: len(found) for i, found in carried_dependences(knl).items()} == {"t0": 1, "t1": 1}
    check(knl)
