"""Writers in the order of execution: a search finds what a look at all of them finds."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import islpy as isl
import pytest

import polygen as pg
from polygen.analysis.access.accesses import references
from polygen.analysis.dataflow import latest_instances, read_sources
from polygen.analysis.dataflow.latest_instances import greatest
from polygen.analysis.dataflow.read_sources import final_sources, sources
from polygen.analysis.dataflow.write_order import Timed, WriteOrder
from polygen.analysis.integers.projected_facts import ProjectedFacts
from polygen.errors import DependencyCycle, NoLoopNest
from polygen.ir.kernel import Kernel
from tests.few import few
from tests.proof.generator import Maker
from tests.proof.patterns import PATTERNS

_Found = dict[str, dict[str | None, isl.Set]]


def _all_at_once(
    reader: Timed,
    order: WriteOrder,
    known: ProjectedFacts | None = None,
    *,
    following: bool = False,
) -> tuple[Mapping[int, isl.Map], isl.Set | None]:
    """Return what `last_writes` returns, by its definition: the greatest of all earlier times."""
    assert known is None
    assert not following
    here = isl.Map(f"{{ R[{', '.join(reader.inames)}] -> [{', '.join(reader.row)}] }}")
    earlier = here.apply_range(isl.Map.lex_gt(here.get_space().range()))
    pairs, times = [list[isl.Map](), list[isl.Map]()]
    for writer in order.writers:
        time = isl.Map(f"{{ W[{', '.join(writer.inames)}] -> [{', '.join(writer.row)}] }}")
        both = reader.elements.apply_range(writer.elements.reverse())
        pairs.append(both.intersect(earlier.apply_range(time.reverse())))
        times.append(time)
    found = isl.Map.empty(here.get_space())
    for both, time in zip(pairs, times, strict=True):
        found = found.union(both.apply_range(time))
    last = greatest(found.detect_equalities().coalesce())
    by_number = {
        number: last.apply_range(time.reverse()).intersect(both)
        for number, (both, time) in enumerate(zip(pairs, times, strict=True))
    }
    left = reader.elements.domain().subtract(last.domain())
    return {number: both for number, both in by_number.items() if not both.is_empty()}, left


def _asked(knl: Kernel, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Return of how many writers how many are looked at, for each read."""
    seen: list[tuple[int, int]] = []

    class Noted(latest_instances._Search):
        def run(self) -> None:
            self.asked = set[int]()
            super().run()
            seen.append((len(self._order.writers), len(self.asked)))

        def _pairs(
            self, number: int, loops: tuple[tuple[str, str | isl.Map], ...]
        ) -> tuple[isl.Map, isl.Set] | None:
            if self.left is not None:
                self.asked.add(number)
            return super()._pairs(number, loops)

    with monkeypatch.context() as patch:
        patch.setattr(latest_instances, "_Search", Noted)
        _sources(knl.copy(name="other"))
    return seen


def _sources(knl: Kernel) -> _Found:
    """Return what each reference sees, and what is left in arrays, by writer."""
    found: _Found = {}
    for insn in knl.instructions:
        for number, reference in enumerate(references(insn)):
            if reference.name in knl.writers:
                found[f"{insn.id} {number}"] = _by_writer(sources(knl, reference))
    for array in knl.arguments:
        if array.name in knl.writers:
            found[array.name] = _by_writer(final_sources(knl, array.name))
    return found


def _by_writer(flow: Sequence[read_sources.Source] | None) -> dict[str | None, isl.Set]:
    found: dict[str | None, isl.Set] = {}
    for source in flow or ():
        before = found.get(source.writer)
        found[source.writer] = source.pairs if before is None else before.union(source.pairs)
    return found


def check(knl: Kernel, monkeypatch: pytest.MonkeyPatch) -> int:
    """Compare with a look at all writers; return how many were left out."""
    with monkeypatch.context() as patch:
        patch.setattr(read_sources, "last_writes", _all_at_once)
        every = _sources(knl.copy(name="every"))
    few = _sources(knl.copy(name="few"))
    left_out = sum(all_ - some for all_, some in _asked(knl, monkeypatch))
    assert few.keys() == every.keys()
    for read, by_writer in every.items():
        assert few[read].keys() == by_writer.keys()
        for writer, pairs in by_writer.items():
            assert few[read][writer].is_equal(pairs)
    return left_out


def _nests(text: str, priority: str | None = None) -> Kernel:
    return pg.make_kernel(
        ["{ [t]: 0<=t<m }", *(f"{{ [{i}]: 1<={i}<n-1 }}" for i in "ijkl")],
        text,
        [pg.GlobalArg("a", shape="n"), pg.GlobalArg("b", shape="n"), "..."],
        seq_dependencies=True,
        loop_priority=priority,
    )


def test_later_writes_hide_earlier_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    knl = _nests("\n".join(f"a[{i}] = 1 {{id={i}}}" for i in "ijk") + "\nb[l] = a[l] {id=r}")
    assert check(knl, monkeypatch) > 0
    assert (3, 1) in _asked(knl, monkeypatch)


def test_in_one_iteration_of_a_loop_around_all(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "for t\na[i] = 1\na[j] = 2\nb[k] = a[k] {id=r}\na[l] = 3\nend"
    knl = _nests(text)
    assert (3, 1) in _asked(knl, monkeypatch)
    assert check(knl, monkeypatch) > 0


def test_earlier_iterations_of_an_inner_loop_come_later_than_what_is_outside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The reads see the iteration before, and what was written to all elements first."""
    text = "for t\na[i] = 1 {id=w}\nfor j\nb[j] = a[j-1] + a[j+1] {id=r}\na[j] = 2 {id=s}\nend\nend"
    knl = _nests(text, "t,j")
    check(knl, monkeypatch)
    found = _sources(knl.copy(name="other"))
    assert {*found["r 0"]} == {None, "s"}  # a[0] was there before
    assert {*found["r 1"]} == {None, "w"}


def test_what_is_hidden_in_part_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a[i-1] = 1\na[j] = 2\na[2*k-k] = 3\nb[l] = a[l-1] + a[l+1] {id=r}"
    check(_nests(text), monkeypatch)


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check(PATTERNS[name].kernel(), monkeypatch)


def _random_nests(seed: int) -> Kernel:
    """Return a kernel of nests over two arrays in a row, some in loops together."""
    choose = random.Random(seed)
    lines: list[str] = []
    for number in range(choose.randint(3, 5)):
        loops = choose.choice(["", "t", "t", "t:u"])
        i = f"i{number}"
        shift, other = choose.randint(-1, 1), choose.randint(-1, 1)
        extra = choose.choice(["", f" + a[{i}+({other})]"])
        within = ":".join([*filter(None, [loops]), i])
        name = choose.choice("aab")
        lines.append(
            f"{name}[{i}+({shift})] = {choose.choice('ab')}[{i}]{extra} {{inames={within}}}"
        )
    with pg.without_proofs():
        return pg.make_kernel(
            [
                "{ [t,u]: 0<=t,u<3 }",
                *(f"{{ [i{n}]: 1<=i{n}<{choose.randint(3, 5)} }}" for n in range(6)),
            ],
            "\n".join(lines),
            seq_dependencies=True,
            loop_priority=["t,u", *(f"t,i{n}" for n in range(6))],
            silenced_warnings=("AmbiguousNesting", "PriorityIgnored"),
        )


@few(1, "start", [0, *range(5, 100, 5)])
def test_random_kernels(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    left_out = 0
    for seed in range(start, start + 5):
        with pg.without_proofs():
            kernels = [Maker(seed).kernel(), _random_nests(seed)]
        for knl in kernels:
            try:
                left_out += check(knl, monkeypatch)
            except (DependencyCycle, NoLoopNest):
                continue
    assert left_out > 0
