"""Value-based dataflow against executions: which write each read sees."""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl
import pytest

import polygen as pg
from polygen.analysis.access.accesses import references
from polygen.analysis.dataflow.read_sources import Source, element_names, final_sources, sources
from polygen.analysis.integers.second_instance import OTHER
from polygen.analysis.order.loop_tree import loop_tree
from polygen.errors import DependencyCycle
from polygen.ir.domain import unflatten
from polygen.ir.kernel import Kernel
from tests.analysis.brute_force import is_decided
from tests.few import few
from tests.oracle.cases import kernel
from tests.proof.generator import LIMITS, Maker
from tests.proof.judge import arguments_of
from tests.proof.patterns import array
from tests.proof.trace import Instance, Trace, trace

Seen = set[tuple[Instance, Instance | None]]  # a reader, and the last writer before it
SIZES = {"n": 3, "m": 2}


def _points(flat: isl.Set, names: list[str], sizes: dict[str, int]) -> list[dict[str, int]]:
    """Return the points of a flat set, the parameters fixed."""
    for name, value in sizes.items():
        position = flat.find_dim_by_name(isl.dim_type.param, name)
        if position >= 0:
            flat = flat.fix_val(isl.dim_type.param, position, isl.Val(value))
    found: list[dict[str, int]] = []
    box = unflatten(flat, names)

    def note(point: isl.Point) -> None:
        values = [point.get_coordinate_val(isl.dim_type.set, p) for p in range(len(names))]
        found.append({n: v.to_python() for n, v in zip(names, values, strict=True)})

    box.foreach_point(note)
    return found


def _seen(knl: Kernel, insn_id: str, source: Source, sizes: dict[str, int]) -> Seen:
    """Return the pairs of a source, by brute force."""
    inames = sorted(knl.instruction(insn_id).within_inames)
    writer = knl.instruction(source.writer).within_inames if source.writer else frozenset[str]()
    theirs = sorted(writer)
    found: Seen = set()
    for point in _points(source.pairs, [*inames, *(i + OTHER for i in theirs)], sizes):
        reader = (insn_id, tuple((i, point[i]) for i in inames))
        origin = (source.writer, tuple((i, point[i + OTHER]) for i in theirs))
        found.add((reader, (str(origin[0]), origin[1]) if source.writer else None))
    return found


def _executed(found: Trace, name: str) -> Seen:
    """Return what an execution shows: who read the variable, and who wrote it last before."""
    last: dict[tuple[int, ...], Instance] = {}
    pairs: Seen = set()
    for instance in found.order:
        touches = [t for t in found.touched[instance] if t[0] == name]
        pairs |= {(instance, last.get(index)) for _, index, writes in touches if not writes}
        last |= {index: instance for _, index, writes in touches if writes}
    return pairs


def _has_an_order(knl: Kernel) -> bool:
    try:
        loop_tree(knl, quiet=True)
    except DependencyCycle:
        return False
    return True


def _check(knl: Kernel, seed: int = 0, wanted: Mapping[str, int] = SIZES) -> int:
    """Compare all that is decided; return how many variables that were."""
    found = trace(knl, arguments_of(knl, wanted, seed, LIMITS), seed)
    sizes = {n: v for n, v in wanted.items() if n in knl.parameters}
    checked = 0
    for name in knl.writers:
        if not is_decided(knl, name):
            continue
        seen: Seen = set()
        for insn in knl.instructions:
            for reference in references(insn):
                if reference.name == name and not reference.is_write:
                    known = sources(knl, reference)
                    assert known is not None
                    for source in known:
                        seen |= _seen(knl, insn.id, source, sizes)
        assert seen == _executed(found, name), f"{name} in\n{knl}"
        checked += 1
    return checked


@few(1, "start", range(0, 60, 20))
def test_random_kernels(start: int) -> None:
    kernels = {seed: Maker(seed).kernel() for seed in range(start, start + 20)}
    checked = sum(_check(knl, seed) for seed, knl in kernels.items() if _has_an_order(knl))
    assert checked > 15


def test_a_write_in_between_hides_an_earlier_one() -> None:
    knl = kernel(
        ["{ [i]: 0<=i<n }"],
        """a[i] = 1     {id=one}
        a[i] = 2       {id=two, dep=one, if=i > 1}
        b[i] = a[i]    {id=use, dep=one:two}""".replace("        ", ""),
        array("a", "n"),
        array("b", "n"),
    )
    (reference,) = (r for r in references(knl.instruction("use")) if r.name == "a")
    found = sources(knl, reference)
    assert found is not None
    assert {s.writer for s in found if not s.pairs.is_empty()} == {"one", "two"}
    assert _check(knl) == 2  # a and b


@pytest.mark.parametrize("n", range(1, 8))
def test_loops_that_others_determine(n: int) -> None:
    """isl's own analysis loses reads here."""
    domains = [
        "{ [k,m,i]: 0<=i<2 and 0<=k<2 and 0 < i + 2*k + 4*m <= n }",
        "{ [p]: p = i + 2*k + 4*m }",
    ]
    text = """a[i+2*k+4*m+2] = a[n-i-2*k-4*m+7] + 1 {id=s, inames=k:m:i:p}
    a[8-i-2*k-4*m] = 3 {id=u, inames=k:m:i:p, dep=s}""".replace("    ", "")
    data = [array("a", "24"), "..."]
    options = {"loop_priority": "m, k, i, p", "assumptions": "0 <= n <= 7"}
    knl = kernel(domains, text, *data, **options)
    assert _check(knl, wanted={"n": n}) == 1
    with pg.without_proofs():
        other = pg.tag_inames(knl, {"m": "g.0", "k": "l.0"})
    assert _check(other, wanted={"n": n}) == 1


def test_what_is_there_at_the_end() -> None:
    knl = kernel(
        ["{ [i]: 0<=i<n }"],
        "a[i] = 1 {id=one}\na[n-1-i] = 2 {id=two, dep=one}",
        array("a", "n"),
    )
    # Element e is written by one[i=e] and, where i = n-1-e is later or the same, by two.
    (axis,) = element_names(knl, "a")
    found = final_sources(knl, "a")
    assert found is not None
    last: dict[int, tuple[str | None, int]] = {}
    for source in found:
        for point in _points(source.pairs, [axis, "i" + OTHER], {"n": 5}) if source.writer else []:
            last[point[axis]] = (source.writer, point["i" + OTHER])
    expected: dict[int, tuple[str | None, int]] = {}
    for i in range(5):
        expected[i] = ("one", i)
        expected[4 - i] = ("two", i)
    assert last == expected


def test_data_decides() -> None:
    knl = kernel(
        ["{ [i]: 0<=i<n }"],
        "a[idx[i]] = 1 {id=one}\nb[i] = a[i] {id=two, dep=one}",
        array("a", "n"),
        array("b", "n"),
        array("idx", "n", dtype="int32"),
    )
    (reference,) = (r for r in references(knl.instruction("two")) if r.name == "a")
    assert sources(knl, reference) is None
    assert final_sources(knl, "a") is None
    assert final_sources(knl, "b") is not None


def test_each_work_item_reads_its_own_copy() -> None:
    knl = kernel(
        ["{ [i,j]: 0<=i<n and 0<=j<m }"],
        "t = a[i,j] {id=w}\nb[i,j] = t {id=r, dep=w}",
        array("a", "n", "m"),
        array("b", "n", "m"),
        pg.TemporaryVariable("t", "float64"),
    )
    tagged = pg.tag_inames(knl, {"i": "g.0", "j": "l.0"})
    (reference,) = (r for r in references(tagged.instruction("r")) if r.name == "t")
    (source,) = sources(tagged, reference) or ()
    same = {(i, i) for i in range(3)}
    points = _points(source.pairs, ["i", "i" + OTHER], SIZES)
    assert {(p["i"], p["i" + OTHER]) for p in points} == same
