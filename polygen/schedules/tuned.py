"""Measures schedules around the model's, and takes the fastest one.

A stage that has alternatives asks its plan which to take (`Plan.pick`).  The plan with the model's
choices says what was asked; plans with one other answer each are the candidates.  All are made and
proved as any schedule, and measured by successive halving.  If one is faster, it is the next one to
look around, until none is, or until the time is over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any, TypeAlias

from polygen.errors import OutOfMemory, UserError
from polygen.inspection.devices.shown_numbers import shown_time
from polygen.ir.choices import Choice
from polygen.ir.instruction import CInstruction
from polygen.ir.kernel import Kernel
from polygen.ir.sizes import OpenEnd
from polygen.schedules.plan import Plan, Question, Request
from polygen.tuning.halving import halved
from polygen.tuning.measure import Bench, kept_on_disk
from polygen.tuning.progress import Tell, progress

Planned: TypeAlias = Callable[[Kernel, Request], Plan]
Picks: TypeAlias = Mapping[str, str]

_GAIN = 0.95  # of the time: less may be noise
_MAKING = 0.5  # of the time that is left, for making candidates
_LISTED = 12  # schedules that are told, the fastest first
_MODELS, _UNTOUCHED = "the model's choice", "no step"


def tuned(kernel: Kernel, request: Request, budget: float, planned: Planned) -> Plan:
    """Return the fastest plan that is found, with what was measured among its choices.

    Parameters:
        kernel: the kernel; the types of its inputs are known, and its target.
        request: what is asked for.
        budget: for how many seconds to look; what was found is kept on disk.
        planned: makes a plan.

    Raises:
        NoDevice: if there is no device to measure on.
        OutOfMemory: if the arrays are too large for that.
    """
    assert kernel.target is not None
    bench = Bench(kernel, request.sizes, kernel.target)
    if why := _why_not(bench):
        plan = planned(kernel, request)
        plan.leave((), "measuring", why)
        return plan
    search = _Search(bench, request, budget, planned)
    about = (str(request.limits), str(request.units))
    found = kept_on_disk(
        bench, about, search.found, lambda old: old["is_done"] or old["budget"] >= budget
    )
    plan = search.plan or _again(kernel, request, planned, found["picks"])
    plan.choices += [Choice((), *each) for each in found["tried"]]
    return plan


def _again(kernel: Kernel, request: Request, planned: Planned, picks: Picks | None) -> Plan:
    """Return the plan with some answers; without a step if there are none."""
    if picks is None:
        return Plan(kernel, request)
    return planned(kernel, replace(request, picks=picks))


def _why_not(bench: Bench) -> str | None:
    """Return why a kernel is not measured; None if it can be."""
    ends = [size.name for size in bench.kernel.derived_sizes if isinstance(size, OpenEnd)]
    if ends:
        return f"data decides when a loop ends ('{ends[0]}')"
    for insn in bench.kernel.expanded.instructions:
        if isinstance(insn, CInstruction) and "printf" in insn.code:
            return f"it would print what '{insn.id}' prints, again with each run"
    try:
        bench.arguments  # noqa: B018  (it makes them)
    except OutOfMemory:
        raise
    except UserError as error:  # shapes are not known, say
        return error.what
    return None


@dataclass(eq=False)
class _Trial:
    """A schedule.

    Attributes:
        plan: how it came about.
        picks: the answers that it has; None for the kernel that was given.
        seconds: how long a call takes at least, as far as it is known.
    """

    plan: Plan
    picks: Picks | None
    seconds: float = inf

    @property
    def kernel(self) -> Kernel:
        return self.plan.kernel

    @property
    def questions(self) -> Sequence[Question]:
        return self.plan.questions

    @property
    def label(self) -> str:
        if self.picks is None:
            return _UNTOUCHED
        usual = {question.about: question.labels[0] for question in self.questions}
        others = [f"{a}: {pick}" for a, pick in self.picks.items() if usual.get(a, pick) != pick]
        return "; ".join(others) or _MODELS


class _Search:
    """A search among schedules, as long as there is time."""

    def __init__(self, bench: Bench, request: Request, budget: float, planned: Planned) -> None:
        self._bench, self._request, self._planned = bench, request, planned
        self._budget = budget
        self._until = inf
        self._trials: dict[Kernel, _Trial] = {}
        self.plan: Plan | None = None  # of what was found

    def found(self) -> dict[str, Any]:
        """Return what was found, as JSON has it."""
        self._until = time.perf_counter() + self._budget
        with progress(f"tuning '{self._bench.kernel.name}'", self._budget) as tell:
            best, is_done = self._best(tell)
        self.plan = best.plan
        ranked = sorted(self._trials.values(), key=lambda trial: trial.seconds)
        measured = [trial for trial in ranked if trial.seconds < inf]
        failed = [trial for trial in ranked if trial.kernel in self._bench.failed]
        return {
            "budget": self._budget,
            "is_done": is_done,
            "picks": best.picks,
            "tried": [
                *(self._told(trial, trial is best) for trial in measured[:_LISTED]),
                *(self._told(trial, is_taken=False) for trial in failed[:_LISTED]),
            ],
        }

    def _told(self, trial: _Trial, is_taken: bool) -> list[Any]:
        """Return what a choice has, but for its instructions."""
        error = self._bench.failed.get(trial.kernel)
        if error is not None:
            return [trial.label, error.what, is_taken]
        return [trial.label, shown_time(trial.seconds), is_taken, trial.seconds]

    def _best(self, tell: Tell) -> tuple[_Trial, bool]:
        """Return the fastest schedule, and whether the search came to its end."""
        best = self._made({}) or self._as_given()
        others = [] if self._request.on_grid else [self._as_given()]  # one work item takes too long
        better: Sequence[_Trial] = ()
        while True:
            others += self._around(best, better)
            self._race([best, *others], tell)
            better = [trial for trial in others if trial.seconds < _GAIN * best.seconds]
            if not better or time.perf_counter() > self._until:
                break
            best, others = min(better, key=lambda trial: trial.seconds), []
        is_done = time.perf_counter() <= self._until
        return min([best, *better], key=lambda trial: trial.seconds), is_done

    def _around(self, best: _Trial, better: Sequence[_Trial]) -> list[_Trial]:
        """Return schedules that differ from one in one answer, which were not measured yet.

        Parameters:
            best: the schedule.
            better: those that were faster than the one before it: all that they have is tried, too.
        """
        now = time.perf_counter()
        until = now + _MAKING * (self._until - now)
        found: list[_Trial] = []
        # Making schedules is no measuring: half of the time is left for that.
        for picks in _changed(best, better):
            if time.perf_counter() > until:
                break
            if (trial := self._made(picks)) is not None:
                found.append(trial)
        return found

    def _made(self, picks: Picks) -> _Trial | None:
        """Return a schedule with some answers; None if there is one that makes the same kernel."""
        plan = self._planned(self._bench.kernel, replace(self._request, picks=picks))
        return self._new(_Trial(plan, picks))

    def _as_given(self) -> _Trial:
        given = _Trial(Plan(self._bench.kernel, self._request), None)
        return self._new(given) or self._trials[given.kernel]

    def _new(self, trial: _Trial) -> _Trial | None:
        if trial.kernel in self._trials:
            return None
        self._trials[trial.kernel] = trial
        return trial

    def _race(self, trials: Sequence[_Trial], tell: Tell) -> None:
        """Measure schedules, in turns."""
        halved([partial(self._turn, trial, tell) for trial in trials], self._until)

    def _turn(self, trial: _Trial, tell: Tell, enough: float) -> float:
        now = self._bench.seconds(trial.kernel, enough)
        trial.seconds = min(trial.seconds, now)
        least = min(each.seconds for each in self._trials.values())
        tell(f"{len(self._trials)} candidates, best {shown_time(least)}")
        return trial.seconds


def _changed(best: _Trial, better: Sequence[_Trial]) -> Iterator[Picks]:
    """Yield answers beside those of a schedule: what was better together, then one by one."""
    own = best.picks or {}
    joined = dict[str, str]()
    for trial in sorted(better, key=lambda trial: trial.seconds, reverse=True):
        joined.update(trial.picks or {})
    if joined:
        yield joined
    for question in sorted(best.questions, key=lambda question: -question.weight):
        for label in question.labels:
            if label != own.get(question.about, question.labels[0]):
                yield {**own, question.about: label}
