"""Random steps of all kinds: none is accepted that changes results; the harmless are accepted."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from functools import cache

import pytest

import polygen as pg
from tests.proof.precision import HARMLESS, count, look_at
from tests.proof.sequences import Sequence, check_code, check_results, random_sequence
from tests.properties.every_step import NOT_DRAWN, new_step, random_step
from tests.public_steps import public_steps

# Hints that a later step leaves without effect, and lanes that become no vectors.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::polygen.errors.{name}")
    for name in ("SeparationIgnored", "NotVectorized")
]

QUICK, BATCH = 20, 20
HARMLESS_AT_MOST = 0.02  # of the steps that do no harm are refused


@cache
def _sequence(seed: int) -> Sequence:
    return random_sequence(seed, draw=random_step)


def _check(sequences: Iterable[Sequence]) -> Counter[str]:
    """Check sequences; return how often each kind of step was taken."""
    taken: Counter[str] = Counter()
    compared = programs = number = 0
    for sequence in sequences:
        compared += check_results(sequence) > 0
        programs += check_code(sequence) > 0
        taken.update(step.name for step in sequence.steps)
        number += 1
    assert compared > 0.9 * number
    assert programs > 0.4 * number
    return taken


@pytest.mark.parametrize("start", range(0, QUICK, BATCH))
def test_no_step_is_accepted_that_changes_results(start: int) -> None:
    taken = _check(map(_sequence, range(start, start + BATCH)))
    assert taken.total() > 3 * BATCH
    assert len(taken) > 15


@pytest.mark.deep
@pytest.mark.parametrize("start", (QUICK, *range(10_000, 20_000, 500)))
def test_thousands_of_sequences(start: int) -> None:
    taken = _check(random_sequence(seed, draw=random_step) for seed in range(start, start + 500))
    assert taken.total() > 1_500
    assert len(taken) > 0.75 * len(_names())  # some are rarely possible


def _names() -> set[str]:
    """Return the names of the transformations that are drawn."""
    return set(public_steps()) - NOT_DRAWN.keys()


def test_all_are_drawn() -> None:
    calls = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [p, q]: 0<=p<n and 0<=q<4 }"],
        "[k]: out[i, k] = twice([k]: a[i, k])\nb[0] = sum((p, q), 1)*n",
        [*(pg.GlobalArg(name, "int32", "n, 4") for name in ("a", "out")), "..."],
        functions={"twice": pg.make_function("{ [k]: 0<=k<4 }", "y[k] = 2*x[k]", name="twice")},
    )
    choices, drawn = random.Random(0), set[str]()
    for knl in (calls, *(_sequence(seed).kernels[-1] for seed in range(20))):
        drawn |= {random_step(knl, choices).name for _ in range(300)}
    assert drawn == _names()


@pytest.mark.parametrize("name", sorted(NOT_DRAWN))
def test_what_is_not_drawn_is_there(name: str) -> None:
    assert hasattr(pg, name)


def _is_noticed(seed: int) -> bool:
    try:
        check_results(random_sequence(seed, proofs=False, draw=new_step))
    except AssertionError:
        return True
    return False


@pytest.mark.more
def test_without_proofs_new_steps_that_change_results_are_noticed() -> None:
    assert sum(map(_is_noticed, range(10))) > 2


def _check_refused(seeds: range) -> Counter[str]:
    """Check that few steps are refused which nothing shows to be harmful."""
    looked = [each for seed in seeds for each in look_at(seed, new_step)]
    counted = count(looked)
    harmless = [f"{each.place} {each.step}" for each in looked if each.verdict == HARMLESS]
    assert len(harmless) <= HARMLESS_AT_MOST * (counted["accepted"] + len(harmless)), harmless
    return counted


@pytest.mark.more
def test_what_is_refused_is_harmful() -> None:
    counted = _check_refused(range(68, 84))
    assert counted["accepted"] > 30
    assert counted["wrong"] > 5


@pytest.mark.deep
@pytest.mark.parametrize("start", range(1_000, 1_600, 100))
def test_much_of_what_is_refused_is_harmful(start: int) -> None:
    assert _check_refused(range(start, start + 100))["wrong"] > 20
