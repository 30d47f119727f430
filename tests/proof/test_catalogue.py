"""Planted steps, illegal and legal: refused with a witness that is one, or accepted."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest

import polygen as pg
from polygen.analysis.integers.second_instance import OTHER
from polygen.analysis.rearrangement.legality import MERGED, SEPARATED, Violation, violation
from polygen.errors import CannotProve, IllegalStep
from polygen.ir.kernel import Kernel
from polygen.proof import Rearranged
from tests.oracle.compare import typed
from tests.oracle.evaluate import Evaluator, Value
from tests.proof import catalogue_illegal, catalogue_legal
from tests.proof.catalogue_illegal import Illegal
from tests.proof.judge import arguments_of, judge
from tests.proof.patterns import PATTERNS, Call, take
from tests.proof.trace import Trace, instance, trace

SIZES = (0, 1, 2, 5, 17)


def _label(pattern: str, steps: tuple[Call, ...]) -> str:
    return f"{pattern}: " + ", ".join(f"{name}{args}" for name, args, _ in steps)


ILLEGAL = [pytest.param(c, id=_label(c.pattern, c.steps)) for c in catalogue_illegal.CATALOGUE]
LEGAL = [pytest.param(p, s, id=_label(p, s)) for p, s in catalogue_legal.CATALOGUE]


def _prepared(case: Illegal) -> Kernel:
    knl = PATTERNS[case.pattern].kernel()
    for call in case.steps[:-1]:
        knl = take(knl, call)
    return knl


def _rearranged(knl: Kernel, call: Call) -> Rearranged:
    name, args, kwargs = call
    result = getattr(pg, name).__wrapped__(knl, *args, **kwargs)
    return result if isinstance(result, Rearranged) else Rearranged(result)


@pytest.mark.parametrize("case", ILLEGAL)
def test_illegal_steps_are_refused(case: Illegal) -> None:
    knl, call = _prepared(case), case.steps[-1]
    with pytest.raises(CannotProve if case.data else IllegalStep):
        take(knl, call)
    result = _rearranged(knl, call)
    found = violation(knl, result.kernel, result.instances)
    assert found is not None
    assert found.name == case.name
    assert found.kind in case.kinds.split()
    assert found.now in case.now.split()
    assert found.certain is not case.data
    _confirm(case, knl, result, found)
    assert take(knl, call, unsafe=True).claims


class _Values(Evaluator):
    """Evaluates what an old iname is."""

    def variable(self, name: str) -> Value:
        return self.samples[name]


def _confirm(case: Illegal, knl: Kernel, result: Rearranged, found: Violation) -> None:
    """Execute both kernels, and see the witness happen."""
    sizes = {p: found.point.get(p, 3) for p in knl.parameters}
    arguments = arguments_of(knl, sizes, 0, PATTERNS[case.pattern].limits)
    now = _pair(result.kernel, found)
    before = [_old(knl, result, insn_id, {**sizes, **dict(inames)}) for insn_id, inames in now]
    old = trace(typed(knl, arguments), arguments, 0)
    with pg.without_proofs():
        changed = typed(result.kernel, arguments)
    runs = [trace(changed, arguments, seed) for seed in range(24)]
    if found.now != MERGED:
        assert old.order.index(before[0]) < old.order.index(before[1])
    if not case.data:
        _touch_one_element(old, before, found)
    if found.now == SEPARATED:
        items = [set(runs[0].items[i].items()) for i in now]
        assert not items[0] <= items[1]  # the second does not find what the first wrote
    else:
        assert any(run.order.index(now[1]) < run.order.index(now[0]) for run in runs)


def _pair(kernel: Kernel, found: Violation) -> list[Any]:
    pairs = ((found.first, ""), (found.second, OTHER))
    return [
        instance(i, {n: found.point[n + suffix] for n in kernel.instruction(i).within_inames})
        for i, suffix in pairs
    ]


def _old(knl: Kernel, result: Rearranged, insn_id: str, point: Mapping[str, int]) -> Any:
    values = {
        i: int(_Values(point).value(result.instances.value(insn_id, i)))
        for i in knl.instruction(insn_id).within_inames
    }
    return instance(insn_id, values)


def _touch_one_element(old: Trace, pair: list[Any], found: Violation) -> None:
    first, second = (
        {(index, written) for name, index, written in old.touched[i] if name == found.name}
        for i in pair
    )
    writes = {"flow": (True, False), "anti": (False, True), "output": (True, True)}[found.kind]
    assert any(
        a == b and (x, y) == writes for (a, x), (b, y) in product(sorted(first), sorted(second))
    )


# Additions may come in any order where each is one instance; and these arrays do not overlap.
_UNSEEN = {"product", "solve", "running sum", "alias"}


@pytest.mark.parametrize("case", ILLEGAL[::4])
def test_illegal_steps_change_results(case: Illegal) -> None:
    knl = _prepared(case)
    new = take(knl, case.steps[-1], unsafe=True)
    calls = [({"n": n}, seed) for n in (5, 6, 9) for seed in range(2)]
    calls = [(dict.fromkeys(knl.parameters, sizes["n"]), seed) for sizes, seed in calls]
    verdict = judge(knl, new, calls, PATTERNS[case.pattern].limits, seeds=12)
    assert (verdict.differs is None) is (case.pattern in _UNSEEN)


@pytest.mark.parametrize(("pattern", "steps"), LEGAL)
def test_legal_steps_are_accepted(pattern: str, steps: tuple[Call, ...]) -> None:
    knl = new = PATTERNS[pattern].kernel()
    for call in steps:
        new = take(new, call)
    assert not new.claims
    sizes = SIZES if len(knl.inames) < 3 else SIZES[:4]
    calls = [(dict.fromkeys(knl.parameters, n), n) for n in sizes]
    verdict = judge(knl, new, calls, PATTERNS[pattern].limits, seeds=2)
    assert verdict.calls == len(calls)
    assert verdict.differs is None


def test_the_catalogues_are_large() -> None:
    assert len(ILLEGAL) >= 200
    assert len({case.pattern for case in catalogue_illegal.CATALOGUE}) >= 25
    assert len(LEGAL) >= len(ILLEGAL)
