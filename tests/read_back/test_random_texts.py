"""Random kernels in all languages, for machines that have no such device: read back, not run."""

from __future__ import annotations

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

_NOT_READ = "vectors of two numbers beside complex ones: both are 'float2'"
TARGETS = ("cuda", "opencl")
# With complex numbers in parentheses, random numbers of several kinds, bits of such, and unsigned
# ones that wrap around.
SEEDS = (11, 107, 304, 497, 785)


def test_random_kernels() -> None:
    count = 0
    for seed in SEEDS:
        case = make_case(seed, steps=0)
        for target in TARGETS:
            with pg.without_proofs():
                try:
                    made = generate_code(typed(case.changed, case.arguments), target)
                except (*NO_CODE, AtomicNotSupported, NotAsynchronous):
                    continue
            assert check(made) in ("", _NOT_READ), f"{target}, {case}"
            count += 1
    assert count > 1.5 * len(SEEDS)
