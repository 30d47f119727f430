"""Few steps are refused that do no harm, and for those it is known why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pytest

from tests.proof import wide
from tests.proof.precision import HARMLESS, Looked, count, look_at
from tests.proof.unproved import REASONS, UNPROVED, UNPROVED_WIDE

QUICK, WIDE_QUICK = range(200, 230), range(150, 158)
DEEP, WIDE_DEEP, BATCH = 600, 350, 50
ACCEPTED, WIDE_ACCEPTED = 90, 140  # steps at least, of each batch
SHARE = 0.02  # of the steps that do no harm are refused at most

Looks = Callable[[int], Iterator[Looked]]
Listed = Mapping[tuple[int, int], tuple[str, str]]


def _check(seeds: range, looks: Looks = look_at, unproved: Listed = UNPROVED) -> list[Looked]:
    """Check that the list has the steps that are refused and harmless, and no others."""
    looked = [each for seed in seeds for each in looks(seed)]
    found = {each.place: str(each.step) for each in looked if each.verdict == HARMLESS}
    listed = {place: text for place, (text, _) in unproved.items() if place[0] in seeds}
    assert sorted(found) == sorted(listed)
    assert all(found[place].startswith(text) for place, text in listed.items())
    return looked


@pytest.mark.more
def test_some_steps() -> None:
    counted = count(_check(QUICK))
    assert counted["accepted"] > 50
    assert counted["wrong"] > 10  # there is something to be refused


@pytest.mark.more
def test_some_steps_over_the_whole_language() -> None:
    counted = count(_check(WIDE_QUICK, wide.look_at, UNPROVED_WIDE))
    assert counted["accepted"] > 20
    assert counted["wrong"] > 0


def test_each_has_a_reason() -> None:
    given = (*UNPROVED.values(), *UNPROVED_WIDE.values())
    assert {reason for _, reason in given} == REASONS.keys()


@pytest.mark.parametrize(
    ("unproved", "accepted", "seeds"),
    [(UNPROVED, ACCEPTED, DEEP), (UNPROVED_WIDE, WIDE_ACCEPTED, WIDE_DEEP)],
    ids=["patterns", "whole language"],
)
def test_few_are_refused(unproved: Listed, accepted: int, seeds: int) -> None:
    # That there are so many others is checked by the deep tests, batch by batch.
    harmless = len(unproved) + accepted * (seeds // BATCH)
    assert len(unproved) < SHARE * harmless


@pytest.mark.deep
@pytest.mark.parametrize("start", range(0, DEEP, BATCH))
def test_hundreds_of_steps(start: int) -> None:
    looked = _check(range(start, start + BATCH))
    counted = count(looked)
    assert counted["accepted"] >= ACCEPTED, counted
    assert counted["wrong"] > 0.1 * len(looked)


@pytest.mark.deep
@pytest.mark.parametrize("start", range(0, WIDE_DEEP, BATCH))
def test_hundreds_of_steps_over_the_whole_language(start: int) -> None:
    # Which these are changes with the language: `python -m tests.proof.wide` prints them.
    counted = count(_check(range(start, start + BATCH), wide.look_at, UNPROVED_WIDE))
    assert counted["accepted"] >= WIDE_ACCEPTED, counted
    assert counted["wrong"] > 3
