"""Pairs that a step may change: what is left out is never a broken order, and most is left out."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import pytest

import polygen as pg
from polygen.analysis.access.instance_map import UNMOVED, InstanceMap
from polygen.analysis.pairs.instance_pairs import is_read, users
from polygen.analysis.rearrangement import legality
from polygen.analysis.rearrangement.changed_pairs import ChangedPairs
from polygen.analysis.rearrangement.rearranged_kernel import Rearrangement
from polygen.analysis.values import unaffected_variables
from polygen.errors import UserError
from polygen.ir.expression import Variable
from polygen.ir.kernel import Kernel
from tests.few import few
from tests.proof import catalogue_illegal, catalogue_legal
from tests.proof.any_step import random_step
from tests.proof.patterns import PATTERNS, take
from tests.proof.sequences import random_kernel


def _nests(count: int) -> Kernel:
    """Return a kernel of loops, one after the other, that read what the one before wrote."""
    domains = [f"{{ [i{k}]: 0<=i{k}<n }}" for k in range(count)]
    lines = [f"a{(k + 1) % 2}[i{k}] = a{k % 2}[i{k}] + 1 {{id=s{k}}}" for k in range(count)]
    return pg.make_kernel(domains, "\n".join(lines), seq_dependencies=True)


def _pairs(old: Kernel, new: Kernel, name: str, values: InstanceMap = UNMOVED) -> set[Any]:
    return {*ChangedPairs(Rearrangement(old, new, values)).pairs(name)}


def _tagged(knl: Kernel, *inames: str) -> Kernel:
    with pg.without_proofs():
        return pg.tag_inames(knl, dict.fromkeys(inames, "g.0"))


def test_a_nest_beside_others_changes_its_own_pairs_alone() -> None:
    knl = _nests(6)
    for name in ("a0", "a1"):
        assert _pairs(knl, knl, name) == set()
        assert _pairs(knl, _tagged(knl, "i2"), name) == {("s2", "s2")}
        both = _tagged(knl, "i2", "i5")
        assert _pairs(knl, both, name) == {("s2", "s2"), ("s5", "s5")}


def test_an_order_by_way_of_a_loop_that_is_gone() -> None:
    """s comes before r because t, which is in the loop of s, does: no longer on an axis."""
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"],
        "a[i] = 1 {id=s}\nb[i] = 1 {id=t}\na[j] = 2 {id=r, dep=*t}",
    )
    assert ("s", "r") in _pairs(knl, _tagged(knl, "i"), "a")
    assert not pg.is_legal(knl, pg.tag_inames, {"i": "g.0"})


def test_a_loop_that_counts_otherwise() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = 1 {id=s}\nb[i] = a[i] {id=t}")
    assert _pairs(knl, knl, "a") == set()
    turned = InstanceMap({"i": Variable("i")})
    assert _pairs(knl, knl, "a", turned) == set(product("st", "st"))


def test_a_loop_around_all_that_stays() -> None:
    knl = pg.make_kernel(
        ["{ [t]: 0<=t<m }", "{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"],
        "for t\na[i] = b[i] {id=r}\nb[j] = a[j] {id=s}\nend",
        seq_dependencies=True,
    )
    assert _pairs(knl, _tagged(knl, "i"), "a") == {("r", "r")}
    assert _pairs(knl, _tagged(knl, "t"), "a") == set(product("rs", "rs"))


def test_what_becomes_the_own_of_each_group_is_looked_at() -> None:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"],
        "t = 1 {id=w}\na[i] = t {id=r, inames=i}\nb[j] = t {id=s, inames=j}",
        [pg.TemporaryVariable("t", address_space=pg.AddressSpace.PRIVATE), "..."],
    )
    assert {("w", "r"), ("r", "w")} <= _pairs(knl, _tagged(knl, "i"), "t")


def test_writes_that_nothing_reads_matter_in_one_instruction_alone() -> None:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"],
        "t[i] = 1 {id=r}\nt[j] = 2 {id=s}\na[i] = 1 {id=z}",
        [pg.TemporaryVariable("t", shape=9, address_space=pg.AddressSpace.GLOBAL), "..."],
        assumptions="n <= 9",
    )
    assert _pairs(knl, _tagged(knl, "i", "j"), "t") == {("r", "r"), ("s", "s")}


# --- beside a look at all pairs


class _All(ChangedPairs):
    """All pairs, as if a step changed everything."""

    def pairs(self, name: str, other_name: str | None = None) -> Iterator[tuple[str, str]]:
        new = self._step.new
        if other_name is None and not is_read(new, name):
            yield from ((i, i) for i in users(new, name))
        else:
            yield from product(users(new, name), users(new, other_name or name))


def _compared(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Let every look at orders be taken at all pairs, too; return whether they were kept."""
    seen: list[bool] = []
    look = legality.violation

    def both(*args: Any, **kwargs: Any) -> object:
        few = look(*args, **kwargs)
        with monkeypatch.context() as patch:
            patch.setattr(legality, "ChangedPairs", _All)
            assert look(*args, **kwargs) == few
        seen.append(few is None)
        return few

    for module in (sys.modules["polygen.proof"], unaffected_variables):
        monkeypatch.setattr(module, "violation", both)
    return seen


def _tried(step: Any, knl: Kernel) -> Kernel:
    try:
        taken: Kernel = step(knl)
    except UserError:
        return knl
    return taken


@few(1, "start", [7_000, 7_030, 7_060, 7_090])
def test_all_pairs_say_the_same_of_random_steps(
    start: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = _compared(monkeypatch)
    for seed in range(start, start + 10):
        knl, choices = random_kernel(seed), random.Random(seed)
        for _ in range(6):
            knl = _tried(random_step(knl, choices), knl)
    assert seen.count(True) > 10
    assert seen.count(False) > 2


@pytest.mark.more
def test_all_pairs_say_the_same_of_planted_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = _compared(monkeypatch)
    planted = [(c.pattern, c.steps) for c in catalogue_illegal.CATALOGUE]
    for pattern, steps in [*planted, *catalogue_legal.CATALOGUE]:
        knl = PATTERNS[pattern].kernel()
        for call in steps:
            knl = _tried(partial(take, call=call), knl)
    assert seen.count(True) > 100
    assert seen.count(False) > 100


def test_only_the_copies_of_a_variable_change() -> None:
    """Who has a copy changes, and no loop does: i was on one axis, and is on another."""
    knl = pg.make_kernel(
        "{ [k,i]: 0<=k<4 and 0<=i<16 }",
        """
        t[0] = a[k,0]    {id=first}
        t[i] = a[k,i]    {id=store, dep=first}
        b[k,i] = t[i]    {dep=store}
        """,
        [pg.TemporaryVariable("t", shape=(16,), address_space=pg.AddressSpace.LOCAL), "..."],
    )
    knl = pg.tag_inames(knl, {"i": "l.0"})
    # Each group writes the element that it reads, in each iteration.
    assert str(pg.tag_inames(knl, {"i": "g.0"}, force=True).tags["i"]) == "g.0"
