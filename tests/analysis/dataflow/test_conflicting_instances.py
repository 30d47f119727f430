"""Pairs of instances that touch one element, beside two loops that compare all accesses."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from polygen.analysis.dataflow.conflicting_instances import Related, direct_pairs, memory_pairs
from polygen.ir.kernel import Kernel
from tests.analysis.bounded import both, enumerated
from tests.analysis.brute_force import direct_pairs as executed_pairs
from tests.analysis.brute_force import runs
from tests.oracle.cases import kernel
from tests.proof.patterns import array, scalar
from tests.proof.trace import Instance

N = 4
# Instruction, variable, and element that each iteration touches, and whether it writes.
Touch = tuple[str, str, Callable[[int], int], bool]
Pair = tuple[str, str, int, str, int]  # kind, instruction and iteration of the first, of the second

LAST_OF_TWO = kernel(
    "{ [i]: 0<=i<n }",
    "a[i] = 1 {id=one}\na[n-1-i] = 2 {id=two, dep=one}\nb[i] = a[i] {id=use, dep=one:two}",
    array("a", "n"),
    array("b", "n"),
)


def _found(related: Iterable[Related], n: int = N) -> set[Pair]:
    return {
        (r.kind, r.first.insn_id, i, r.second.insn_id, j)
        for r in related
        for i, j in enumerated(r.pairs, both("i"), {"n": n})
    }


def _expected(touches: list[Touch], n: int = N) -> set[Pair]:
    kinds = {(True, True): "output", (True, False): "flow", (False, True): "anti"}
    return {
        (kinds[written, overwritten], first, i, second, j)
        for first, name, element, written in touches
        for second, other, its_element, overwritten in touches
        if name == other and (written or overwritten)
        for i in range(n)
        for j in range(n)
        if element(i) == its_element(j)
    }


def test_memory_pairs_are_all_that_touch_one_element() -> None:
    touches: list[Touch] = [
        ("one", "a", lambda i: i, True),
        ("two", "a", lambda i: N - 1 - i, True),
        ("use", "a", lambda i: i, False),
        ("use", "b", lambda i: i, True),
    ]
    found = list(memory_pairs(LAST_OF_TWO))
    assert _found(found) == _expected(touches)
    assert all(r.certain for r in found)
    assert _found(found, 0) == set()


def _in_order(knl: Kernel, n: int) -> set[tuple[str, str, Instance, Instance]]:
    """Return the direct pairs that come in the order in which one execution has them."""
    (run,) = runs(knl, {"n": n}, {}, 1)
    places = {instance: place for place, instance in enumerate(run.order)}
    found: set[tuple[str, str, Instance, Instance]] = set()
    for related in direct_pairs(knl):
        for i, j in enumerated(related.pairs, both("i"), {"n": n}):
            first: Instance = (related.first.insn_id, (("i", i),))
            second: Instance = (related.second.insn_id, (("i", j),))
            if places[first] < places[second]:
                found.add((related.kind, related.first.name, first, second))
    return found


def test_direct_pairs_have_no_write_in_between() -> None:
    for knl in (
        LAST_OF_TWO,
        kernel(
            "{ [i]: 1<=i<n }", "a[i//2] = a[i//2] + b[i] {id=s}", array("b", "n"), array("a", "n")
        ),
        kernel("{ [i]: 1<=i<n }", "a[i] = a[i-1] {id=s}", array("a", "n")),
    ):
        (run,) = runs(knl, {"n": N}, {}, 1)
        assert _in_order(knl, N) == executed_pairs(run) != set()
    # Element n-1 is written in the first iteration, and again in the last before it is read.
    hidden = _found(memory_pairs(LAST_OF_TWO)) - _found(direct_pairs(LAST_OF_TWO))
    assert ("flow", "two", 0, "use", N - 1) in hidden


def test_what_data_decides_is_not_certain() -> None:
    knl = kernel(
        "{ [i]: 0<=i<n }",
        "a[idx[i]] = 1 {id=s}\nb[i] = a[i] {id=u, dep=s}",
        array("a", "n"),
        array("b", "n"),
        array("idx", "n", dtype="int32"),
    )
    for pairs in (memory_pairs, direct_pairs):
        (flow,) = (r for r in pairs(knl) if (r.kind, r.first.name) == ("flow", "a"))
        assert not flow.certain
        every = {(i, j) for i in range(N) for j in range(N)}
        assert enumerated(flow.pairs, both("i"), {"n": N}) == every


def test_any_elements_of_arrays_that_overlap_may_be_one() -> None:
    knl = kernel(
        "{ [i]: 0<=i<n }",
        "a[i] = b[i] {id=s}",
        array("a", "n", may_alias=True),
        array("b", "n"),
    )
    between = [r for r in memory_pairs(knl) if r.first.name != r.second.name]
    assert {(r.kind, r.first.name, r.second.name) for r in between} == {
        ("flow", "a", "b"),
        ("anti", "b", "a"),
    }
    every = {(i, j) for i in range(N) for j in range(N)}
    for related in between:
        assert enumerated(related.pairs, both("i"), {"n": N}) == every
        assert not related.certain
    assert {r.kind for r in direct_pairs(knl) if r.first.name != r.second.name} == {"flow", "anti"}


def test_a_temporary_of_one_iteration_passes_nothing_to_others() -> None:
    text = """t = a[i] {id=w}
    t = 0     {id=v, dep=w, if=a[i] > 1}
    u = t     {id=x, dep=w:v, inames=i}
    b[i] = t  {id=r, dep=w:v}""".replace("    ", "")
    data = [scalar("t"), scalar("u"), array("a", "n"), array("b", "n")]
    knl = kernel("{ [i]: 0<=i<n }", text, *data)
    flow = [r for r in direct_pairs(knl) if r.kind == "flow" and r.first.name == "t"]
    assert {r.second.insn_id for r in flow} == {"x", "r"}
    for related in flow:
        assert enumerated(related.pairs, both("i"), {"n": N}) == {(i, i) for i in range(N)}
    # Nothing reads u: which write of it is the last does not matter.
    assert "u" not in {r.first.name for r in direct_pairs(knl)}
    assert "u" in {r.first.name for r in memory_pairs(knl)}
