"""Random kernels, after steps or not, read back in each language."""

from __future__ import annotations

import pytest

import polygen as pg
from tests.nvidia.test_text import source_of
from tests.random_kernels.check import make_case
from tests.read_back.every_text import compare, read_back

# Hints that a later step leaves without effect.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::polygen.errors.{name}")
    for name in ("SeparationIgnored", "NotVectorized")
]


@pytest.mark.deep
@pytest.mark.parametrize("start", range(500_000, 502_100, 100))
@pytest.mark.parametrize("target", ["c", "opencl", "cuda"])
def test_thousands(target: str, start: int) -> None:
    hindered: list[str] = []
    for seed in range(start, start + 100):
        case = make_case(seed, steps=seed % 4, target="opencl" if target == "opencl" else "c")
        with read_back() as programs, pg.without_proofs():
            source_of(case.changed, case.arguments, target)
        hindered += compare(programs)
    assert len(hindered) > 60  # for the others there is no code
    assert not any(hindered)
