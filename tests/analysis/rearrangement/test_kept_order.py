"""Orders that are seen to be kept without isl: never one that is not, and the usual ones."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import polygen as pg
from polygen.analysis.access.instance_map import InstanceMap
from polygen.analysis.rearrangement import legality
from polygen.analysis.rearrangement.kept_order import is_plainly_kept
from polygen.analysis.rearrangement.rearranged_kernel import Rearrangement
from polygen.analysis.values import unaffected_variables
from polygen.errors import UserError
from polygen.ir.kernel import Kernel
from polygen.language.parser import parse_statement
from tests.few import few
from tests.proof import catalogue_illegal, catalogue_legal
from tests.proof.any_step import random_step
from tests.proof.patterns import PATTERNS, take
from tests.proof.sequences import random_kernel

N = "{ [i]: 0<=i<n }"
SUM = "<> t = 0 {id=w, dep=}\nt = t + b[i] {id=s, dep=w, inames=i}\nc[0] = t {id=r, dep=s, inames=}"
RUN = "a[i+1] = a[i] + 1 {id=s}"
IN_TILE = "{ [o, r]: 0<=r<%s and 0<=16*o+r<n }"


def _kernel(domains: str | list[str], text: str, order: str = "") -> Kernel:
    with pg.without_proofs():
        knl = pg.make_kernel(domains, text)
        return pg.prioritize_loops(knl, order) if order else knl


def _is_kept(old: Kernel, new: Kernel, name: str, **values: str) -> bool:
    """Tell whether it is seen that all pairs of s, w and r come as they came."""
    said = {iname: parse_statement(f"x = {value}").values[0] for iname, value in values.items()}
    step = Rearrangement(old, new, InstanceMap(said))
    ids = [i.id for i in new.instructions if name in i.read_names | set(i.written_names)]
    return all(is_plainly_kept(step, (a, b), name) for a in ids for b in ids)


def _in(tile: str, subscript: str = "16*o+r") -> Kernel:
    return _kernel(IN_TILE % tile, f"a[{subscript}+1] = a[{subscript}] + 1 {{id=s}}", "o, r")


def test_digits_count_up() -> None:
    old = _kernel(N, RUN)
    assert _is_kept(old, _in("16"), "a", i="16*o + r")
    inside = _kernel(IN_TILE % "16", "a[16*o+r+1] = a[16*o+r] + 1 {id=s}", "r, o")
    assert not _is_kept(old, inside, "a", i="16*o + r")


@pytest.mark.parametrize("tile", ["17", "n", "17+n"])
def test_digits_that_are_too_long_do_not(tile: str) -> None:
    assert not _is_kept(_kernel(N, RUN), _in(tile), "a", i="16*o + r")


COUNTING = "p", "p + n", "2*p - 7", "3"
OTHERS = "-p", "n - 1 - p", "p//2", "p + p//2", "p - 2*(p//2)"


@pytest.mark.parametrize("value", [*COUNTING, *OTHERS])
def test_values_of_one_loop(value: str) -> None:
    """Where it is 3, the old loop has one iteration: then nothing is in order in it."""
    old = _kernel(N, "a[b[i]] = a[b[i]] + 1 {id=s, dep=*}")
    new = _kernel("{ [p]: 0<=p<n }", f"a[b[{value}]] = a[b[{value}]] + 1 {{id=s, dep=*}}")
    assert _is_kept(old, new, "a", i=value) is (value in COUNTING)


def test_what_is_skewed_counts_up() -> None:
    """For each t, j grows with i."""
    text = "a[b[{0}]] = a[b[{0}]] + t {{id=s, dep=*}}"
    skewed = "{ [t, j]: 0<=t<n and t<=j<n+t }"
    old = _kernel("{ [t, i]: 0<=t,i<n }", text.format("i"), "t, i")
    assert _is_kept(old, _kernel(skewed, text.format("j-t"), "t, j"), "a", i="j - t")
    turned = _kernel(skewed, text.format("j-t"), "j, t")
    assert not _is_kept(old, turned, "a", i="j - t")


def test_each_instruction_has_its_values() -> None:
    text = "a[b[{0}]] = 1 {{id=s, dep=}}\na[b[{0}]] = 2 {{id=w, dep=s}}"
    old = _kernel(N, text.format("i"))
    new = _kernel("{ [p]: 0<=p<n+1 }", text.format("p"))
    p, q = (parse_statement(f"x = {value}").values[0] for value in ("p", "p - 1"))
    step = Rearrangement(old, new, InstanceMap({"i": p}, {"w": {"i": q}}))
    assert is_plainly_kept(step, ("s", "s"), "a")
    assert not is_plainly_kept(step, ("s", "w"), "a")
    assert not is_plainly_kept(step, ("w", "s"), "a")


def test_what_touches_one_element_agrees() -> None:
    """Elements are apart, and with them iterations, which may come in any order."""
    old = _kernel(N, "a[i] = a[i] + 1 {id=s}\nc[i] = a[i] {id=r, dep=s}")
    turned = _kernel("{ [p]: 0<=p<n }", "a[-p] = a[-p] + 1 {id=s}\nc[-p] = a[-p] {id=r, dep=s}")
    assert _is_kept(old, turned, "a", i="-p")
    loose = turned.copy(
        instructions=tuple(i.copy(depends_on=frozenset()) for i in turned.instructions)
    )
    assert not _is_kept(old, loose, "a", i="-p")


def test_a_dependency_needs_the_loops_around() -> None:
    """Within one old iteration, w comes before s; over all of the new loop, it does not."""
    text = "a[0] = 1 {{id=w, dep=, inames={0}}}\nb[i] = a[0] {{id=s, dep=w, inames=i{1}}}"
    old = _kernel(N, text.format("", ""))
    assert _is_kept(old, old, "a")
    new = _kernel([N, "{ [z]: 0<=z<2 }"], text.format("z", ":z"))
    assert not _is_kept(old, new, "a")
    free = old.copy(instructions=tuple(i.copy(depends_on=frozenset()) for i in old.instructions))
    assert not _is_kept(old, free, "a")


def test_sums_of_iterations_that_pass_nothing() -> None:
    """What is added up in one iteration is there before the next begins; or each has its own."""
    around = SUM.replace("c[0]", "c[j]").replace("b[i]", "b[i, j]")
    around = around.replace("dep=}", "dep=, inames=j}").replace("inames=i}", "inames=i:j}")
    around = around.replace("inames=}", "inames=j}")
    old = _kernel("{ [i, j]: 0<=i,j<n }", around, "j, i")
    tiled = pg.split_iname(old, "j", 4, outer_tag="g.0")
    value = {"j": "4*j_outer + j_inner"}
    assert _is_kept(old, tiled, "t", **value)
    kept = _kernel("{ [i, j]: 0<=i,j<n }", around.replace("t = 0", "t = t"), "j, i")
    with pg.without_proofs():
        tiled = pg.split_iname(kept, "j", 4, outer_tag="g.0")
    assert not _is_kept(kept, tiled, "t", **value)


# --- beside isl


def _never(*_: object) -> bool:
    return False


def _compared(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Let every look at orders be taken by isl alone, too; return what was seen without it."""
    seen: list[bool] = []
    look = legality.violation

    def noted(*args: Any) -> bool:
        seen.append(is_plainly_kept(*args))
        return seen[-1]

    def both(*args: Any, **kwargs: Any) -> object:
        with monkeypatch.context() as patch:
            patch.setattr(legality, "is_plainly_kept", _never)
            by_isl = look(*args, **kwargs)
        with monkeypatch.context() as patch:
            patch.setattr(legality, "is_plainly_kept", noted)
            assert look(*args, **kwargs) == by_isl
        return by_isl

    for module in (sys.modules["polygen.proof"], unaffected_variables):
        monkeypatch.setattr(module, "violation", both)
    return seen


def _tried(step: Callable[[Kernel], Kernel], knl: Kernel) -> Kernel:
    try:
        return step(knl)
    except UserError:
        return knl


@few(1, "start", [5_000, 5_040, 5_080])
def test_isl_says_the_same_of_random_steps(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = _compared(monkeypatch)
    for seed in range(start, start + 40):
        knl, choices = random_kernel(seed), random.Random(seed)
        for _ in range(6):
            knl = _tried(random_step(knl, choices), knl)
    assert sum(seen) > 100
    assert seen.count(False) > 100


@pytest.mark.more
def test_isl_says_the_same_of_planted_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = _compared(monkeypatch)
    planted = [(c.pattern, c.steps) for c in catalogue_illegal.CATALOGUE]
    for pattern, steps in [*planted, *catalogue_legal.CATALOGUE]:
        knl = PATTERNS[pattern].kernel()
        for call in steps:
            knl = _tried(partial(take, call=call), knl)
    assert sum(seen) > 100
    assert seen.count(False) > 100
