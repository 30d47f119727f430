"""Random steps on random kernels: none is accepted that changes what an execution leaves."""

from __future__ import annotations

import pytest

from tests.few import few
from tests.proof.sequences import check_code, check_results, random_sequence

FIRST, QUICK, BATCH = 1_200, 30, 15


def _check(seeds: range, *, proofs: bool = True) -> tuple[int, int]:
    """Check sequences; return how many steps were taken in them, and how many refused."""
    taken = refused = compared = programs = 0
    for seed in seeds:
        sequence = random_sequence(seed, proofs=proofs)
        compared += check_results(sequence) > 0
        programs += check_code(sequence) > 0
        taken += len(sequence.steps)
        refused += sequence.refused
    assert compared > 0.95 * len(seeds)
    assert programs > 0.4 * len(seeds)
    return taken, refused


@few(1, "start", [FIRST, FIRST + BATCH])
def test_no_step_is_accepted_that_changes_results(start: int) -> None:
    taken, refused = _check(range(start, start + BATCH))
    assert taken > 3 * BATCH  # not everything is refused,
    assert refused > BATCH  # nor is everything harmless


@pytest.mark.more
def test_without_proofs_such_steps_are_noticed() -> None:
    noticed = 0
    for seed in range(FIRST, FIRST + BATCH // 2):
        try:
            check_results(random_sequence(seed, proofs=False))
        except AssertionError:
            noticed += 1
    assert noticed > BATCH // 10


@pytest.mark.deep
@pytest.mark.parametrize("start", (FIRST + QUICK, *range(100_000, 110_000, 500)))
def test_thousands_of_sequences(start: int) -> None:
    taken, refused = _check(range(start, start + 500))
    assert taken > 1_500
    assert refused > 500
