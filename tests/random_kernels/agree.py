"""What random kernels compute on a target: into a file, which another process compares.

python -m tests.random_kernels.agree TARGET FIRST COUNT FILE
"""

from __future__ import annotations

import pickle
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import polygen as pg
from tests.properties.together import run_together
from tests.random_kernels.check import NO_CODE, Arrays, Case, check_arrays, make_case
from tests.random_kernels.layouts import passed, whole

STEPS = 4


def cases_of(first: int, count: int) -> list[Case]:
    """Return kernels that every target takes, each second after steps."""
    seeds = range(first, first + count)
    return [make_case(seed, steps=STEPS * (seed % 2), target="every") for seed in seeds]


def found_by(cases: list[Case], target: str) -> list[Arrays | None]:
    """Return what kernels leave on a target; None for one that there is no code for."""
    kernels = [(case.changed, passed(case.changed, case.arguments)) for case in cases]
    with pytest.MonkeyPatch.context() as patch, pg.without_proofs():
        found = run_together(kernels, target, patch, NO_CODE)
    return [None if arrays is None else whole(arrays) for arrays in found]


def check_agreement(cases: list[Case], found: dict[str, list[Any]]) -> int:
    """Check that all targets found the same, up to rounding; return how many kernels were run."""
    (first, expected), *others = found.items()
    for target, arrays in others:
        for case, mine, theirs in zip(cases, expected, arrays, strict=True):
            assert (mine is None) == (theirs is None), f"{first}, {target}: {case}"
            if mine is not None:
                check_arrays(case, theirs, mine, f"{target} and {first}")
    return sum(arrays is not None for arrays in expected)


def main() -> None:
    target, first, count, path = sys.argv[1:]
    warnings.simplefilter("ignore")
    found = found_by(cases_of(int(first), int(count)), target)
    Path(path).write_bytes(pickle.dumps(found))


if __name__ == "__main__":
    main()
