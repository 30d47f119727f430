"""Few steps are refused that do no harm, and for those it is known why."""

from __future__ import annotations

import pytest

from tests.proof import wide
from tests.proof.precision import HARMLESS, Looked, count, look_at
from tests.proof.unproved import REASONS, UNPROVED, WIDE

QUICK, WIDE_QUICK = range(200, 260), range(150, 175)
DEEP, WIDE_DEEP, BATCH = 600, 350, 50
ACCEPTED, WIDE_ACCEPTED = 90, 140  # steps at least, of each batch
SHARE = 0.02  # of the steps that do no harm are refused at most


def _check(seeds: range, *, whole_language: bool = False) -> list[Looked]:
    """Check that the list has the steps that are refused and harmless, and no others."""
    look, known = (wide.look_at, WIDE) if whole_language else (look_at, UNPROVED)
    looked = [each for seed in seeds for each in look(seed)]
    found = {each.place: str(each.step) for each in looked if each.verdict == HARMLESS}
    listed = {place: text for place, (text, _) in known.items() if place[0] in seeds}
    assert sorted(found) == sorted(listed)
    assert all(found[place].startswith(text) for place, text in listed.items())
    return looked


def test_some_steps() -> None:
    counted = count(_check(QUICK))
    assert counted["accepted"] > 100
    assert counted["wrong"] > 20  # there is something to be refused


def test_some_steps_over_the_whole_language() -> None:
    counted = count(_check(WIDE_QUICK, whole_language=True))
    assert counted["accepted"] > 40
    assert counted["wrong"] > 0


def test_each_has_a_reason() -> None:
    assert {reason for _, reason in (UNPROVED | WIDE).values()} == REASONS.keys()


def test_few_are_refused() -> None:
    # That there are so many others is checked by the deep test, batch by batch.
    harmless = len(UNPROVED) + ACCEPTED * (DEEP // BATCH)
    assert len(UNPROVED) < SHARE * harmless
    harmless = len(WIDE) + WIDE_ACCEPTED * (WIDE_DEEP // BATCH)
    assert len(WIDE) < SHARE * harmless


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
    looked = _check(range(start, start + BATCH), whole_language=True)
    counted = count(looked)
    assert counted["accepted"] >= WIDE_ACCEPTED, counted
    assert counted["wrong"] > 0
