"""Random kernels in all languages, for machines that have no such device: read back, not run."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

import polygen as pg
from polygen.errors import AtomicNotSupported, NotAsynchronous
from polygen.pipeline import generate_code
from tests.oracle.compare import typed
from tests.random_kernels.check import NO_CODE, make_case
from tests.read_back.compare import check

# Hints that a later step leaves without effect.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::polygen.errors.{name}")
    for name in ("SeparationIgnored", "NotVectorized")
]

_NOT_READ = "vectors of two beside complex numbers: both are 'float2'"
TARGETS = ("c", "opencl", "cuda")
# With complex numbers in parentheses, random numbers of several kinds, bits of such, and unsigned
# ones that wrap around.
SEEDS = (11, 107, 304, 497, 785)


def _check(seeds: Iterable[int], steps: int = 0) -> int:
    """Compare texts with loop programs; return how many there are."""
    count = 0
    for seed in seeds:
        case = make_case(seed, steps=steps)
        for target in TARGETS:
            with pg.without_proofs():
                try:
                    made = generate_code(typed(case.changed, case.arguments), target)
                except (*NO_CODE, AtomicNotSupported, NotAsynchronous):
                    continue
            assert check(made) in ("", _NOT_READ), f"{target}, {case}"
            count += 1
    return count


def test_random_kernels() -> None:
    assert _check(SEEDS) > 2 * len(SEEDS)


@pytest.mark.deep
@pytest.mark.parametrize("start", range(500_000, 502_100, 100))
def test_thousands_of_random_kernels(start: int) -> None:
    assert _check(range(start, start + 60)) > 120
    assert _check(range(start + 60, start + 100), 4) > 60
