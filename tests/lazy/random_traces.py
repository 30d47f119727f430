"""Random sequences of calls over views, parts of them, reads and writes in between.

`observed` runs a sequence and returns all that it reads, and what views hold at the end.  With the
space Debug, each call runs in Python at once: that is what a trace has to give, too.
"""

# What annotations of views and accumulators mean, polygen knows.
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
# mypy: no-warn-unused-ignores
# mypy: disable-error-code="arg-type,attr-defined,index,misc,operator,type-arg,valid-type"

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

import polygen as pg
import polygen.workunits as pk

N = 12


@pk.workunit
def triad(i: int, a: pk.View1D[pk.double], b: pk.View1D[pk.double], s: float):
    a[i] += b[i] * s


@pk.workunit
def copied(i: int, a: pk.View1D[pk.double], b: pk.View1D[pk.double]):
    a[i] = b[i]


@pk.workunit
def smoothed(i: int, a: pk.View1D[pk.double], b: pk.View1D[pk.double]):
    a[i] = b[i] + 2.0 * b[i + 1]


@pk.workunit
def reversed_sum(i: int, a: pk.View1D[pk.double], b: pk.View1D[pk.double], n: int):
    a[i] = b[n - 1 - i] - 1.0


@pk.workunit
def first_is_nine(i: int, a: pk.View1D[pk.double]):
    if i == 0:
        a[0] = 9.0


@pk.workunit
def kept_below(i: int, a: pk.View1D[pk.double], b: pk.View1D[pk.double], s: float):
    t = b[i]
    if t > s:
        a[i] = t - s


@pk.workunit
def total(i: int, acc: pk.Acc[pk.double], a: pk.View1D[pk.double], b: pk.View1D[pk.double]):
    acc += a[i] * b[i] % 17


@pk.workunit
def running(i: int, acc: pk.Acc[pk.double], last: bool, a: pk.View1D[pk.double]):
    acc += a[i] % 5
    if last:
        a[i] = acc


@pg.jit
def shifted(a, s):
    return a + s


@pg.jit
def added(a, b):
    a[:] += b
    return a.sum()


UNITS: dict[str, tuple[Any, str, int]] = {
    # Its arrays, whether it takes a number, and how many elements it reads beyond its range.
    "triad": (triad, "abs", 0),
    "copied": (copied, "ab", 0),
    "smoothed": (smoothed, "ab", 1),
    "reversed": (reversed_sum, "abn", 0),
    "first": (first_is_nine, "a", 0),
    "kept": (kept_below, "abs", 0),
}


class Run:
    """A sequence of calls, as one seed makes it, on views of its own.

    Parameters:
        seed: the seed.
        space: where work units run.
    """

    def __init__(self, seed: int, space: pk.ExecutionSpace) -> None:
        self.random = random.Random(seed)
        self.space = space
        self.views = [pk.View(array=np.arange(N) * k + 1.0) for k in (1.0, 2.0, -1.0)]
        self.numbers: list[Any] = [0.5]
        self.seen: list[Any] = []

    def go(self, count: int) -> None:
        """Make calls, reads and writes."""
        steps = [self._call] * 6 + [self._reduce] * 2
        steps += [self._read, self._write, self._part, self._new, self._scan, self._function]
        for _ in range(count):
            self.random.choice(steps)()

    def results(self) -> list[Any]:
        """Return all that was read, and what views hold."""
        held = [np.array(view) for view in self.views]
        return [*[np.asarray(one) for one in self.seen], *held, *map(float, self.numbers)]

    # --- steps

    def _pick(self) -> Any:
        return self.random.choice(self.views)

    def _number(self) -> Any:
        found = self.random.choice([*self.numbers, 0.25, 2.0])
        return found * 0.5 if self.random.random() < 0.3 else found

    def _policy(self, count: int) -> Any:
        begin = self.random.choice([0, 0, 1])
        return pk.RangePolicy(self.space, min(begin, count), count)

    def _call(self) -> None:
        unit, takes, beyond = UNITS[self.random.choice(list(UNITS))]
        a, b = self._pick(), self._pick()
        count = min(len(a), len(b)) - beyond
        if "b" in takes and _overlap(a, b) and (beyond or "n" in takes or a is not b):
            return  # a race, but for the same elements
        given: dict[str, Any] = {"a": a}
        if "b" in takes:
            given["b"] = b
        if "s" in takes:
            given["s"] = self._number()
        if "n" in takes:
            given["n"] = count
        pk.parallel_for(self._policy(max(count, 0)), unit, **given)

    def _reduce(self) -> None:
        a, b = self._pick(), self._pick()
        found = pk.parallel_reduce(self._policy(min(len(a), len(b))), total, a=a, b=b)
        self.numbers.append(found)
        if self.random.random() < 0.2:
            self.seen.append(float(found))

    def _scan(self) -> None:
        a = self._pick()
        self.numbers.append(pk.parallel_scan(pk.RangePolicy(self.space, 0, len(a)), running, a=a))

    def _read(self) -> None:
        a = self._pick()
        self.seen.append(np.array(a) if self.random.random() < 0.5 else float(a[len(a) // 2]))

    def _write(self) -> None:
        a = self._pick()
        if self.random.random() < 0.5:
            a.fill(self.random.randrange(5))
        else:
            a[0] = 7.0

    def _part(self) -> None:
        a = self._pick()
        if len(a) < 5:
            return
        low = self.random.randrange(len(a) - 3)
        step = self.random.choice([1, 1, 2])
        self.views.append(a[low : low + 2 + self.random.randrange(len(a) - low) : step])

    def _new(self) -> None:
        if self.random.random() < 0.5:
            self.views.append(pk.View([N]))
        elif len(self.views) > 3:
            self.views.pop(self.random.randrange(3, len(self.views)))

    def _function(self) -> None:
        a = self._pick()
        found = shifted(a, 1.5)
        b = self._pick()
        if len(b) == len(a):
            self.numbers.append(added(b, found))
        self.seen.append(np.array(found) if self.random.random() < 0.5 else 0.0)


def _overlap(a: Any, b: Any) -> bool:
    return bool(np.may_share_memory(a.traced_array, b.traced_array))


def eager(seed: int, count: int) -> list[Any]:
    """Return what a sequence gives, each call as Python and at once."""
    run = Run(seed, pk.Debug)
    with pg.debug():
        run.go(count)
    return run.results()


def traced(seed: int, count: int, around: Callable[[], Any] = pk.lazy) -> list[Any]:
    """Return what a sequence gives whose calls wait."""
    run = Run(seed, pk.Serial)
    with around():
        run.go(count)
    return run.results()
