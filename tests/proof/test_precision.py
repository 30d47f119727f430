"""Few steps are refused that do no harm, and for those it is known why."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.proof import wide
from tests.proof.precision import HARMLESS, Looked, count, look_at
from tests.proof.unproved import REASONS, UNPROVED

QUICK, WIDE_QUICK = range(200, 260), range(150, 175)
DEEP, BATCH, WIDE_DEEP = 600, 50, range(350)
ACCEPTED = 90  # steps at least, of each batch
SHARE = 0.02  # of the steps that do no harm are refused at most


def _check(seeds: range) -> list[Looked]:
    """Check that the list has the steps that are refused and harmless, and no others."""
    looked = [each for seed in seeds for each in look_at(seed)]
    found = {each.place: str(each.step) for each in looked if each.verdict == HARMLESS}
    listed = {place: text for place, (text, _) in UNPROVED.items() if place[0] in seeds}
    assert sorted(found) == sorted(listed)
    assert all(found[place].startswith(text) for place, text in listed.items())
    return looked


def test_some_steps() -> None:
    counted = count(_check(QUICK))
    assert counted["accepted"] > 100
    assert counted["wrong"] > 20  # there is something to be refused


def _counted_over_the_whole_language(seeds: range) -> Counter[str]:
    return count(each for seed in seeds for each in wide.look_at(seed))


def test_some_steps_over_the_whole_language() -> None:
    counted = _counted_over_the_whole_language(WIDE_QUICK)
    assert counted["accepted"] > 40
    assert counted["wrong"] > 0
    assert counted[HARMLESS] < 0.1 * counted["accepted"]


def test_each_has_a_reason() -> None:
    assert {reason for _, reason in UNPROVED.values()} == REASONS.keys()


def test_few_are_refused() -> None:
    # That there are so many others is checked by the deep test, batch by batch.
    harmless = len(UNPROVED) + ACCEPTED * (DEEP // BATCH)
    assert len(UNPROVED) < SHARE * harmless


@pytest.mark.deep
@pytest.mark.parametrize("start", range(0, DEEP, BATCH))
def test_hundreds_of_steps(start: int) -> None:
    looked = _check(range(start, start + BATCH))
    counted = count(looked)
    assert counted["accepted"] >= ACCEPTED, counted
    assert counted["wrong"] > 0.1 * len(looked)


@pytest.mark.deep
def test_hundreds_of_steps_over_the_whole_language() -> None:
    # Which these are changes with the language: `python -m tests.proof.wide` prints them.
    counted = _counted_over_the_whole_language(WIDE_DEEP)
    assert counted["accepted"] > 800
    assert counted["wrong"] > 20
    assert counted[HARMLESS] < SHARE * (counted[HARMLESS] + counted["accepted"])
