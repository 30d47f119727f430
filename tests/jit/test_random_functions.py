"""Random functions beside CPython with NumPy."""

from __future__ import annotations

import datetime
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import polygen
from tests.jit.agreement import check, outcome
from tests.jit.random_functions.check import SIZES, checked
from tests.jit.random_functions.maker import Function, compiled, expected, make
from tests.jit.random_functions.shrinking import shrunk


def test_seeds_say_it_all() -> None:
    for seed in range(20):
        one, other = make(seed), make(seed)
        assert one == other
        arguments = one.arguments(4, 3)
        check(outcome(compiled(one), arguments), outcome(compiled(other), other.arguments(4, 3)))


def test_functions_run_and_hold_everything() -> None:
    functions = [make(seed) for seed in range(150)]
    text = "".join(function.text for function in functions)
    wanted = (
        r"for \w+ in range\(\w+ - 1, -1, -1\)",
        r"range\(i\d+",  # triangular
        r"reversed\(",
        r"while .* and ",
        r"\bbreak\b",
        r"\bcontinue\b",
        r"    return\b",
        r"\belif\b",
        r" if .* else ",
        r"//",
        r"%=|% -\d",
        r"<<|>>",
        r"~",
        r"\[::-1",
        r"\[p\]",
        r"np\.where",
        r"np\.clip",
        r"axis=",
        r" @ ",
        r"enumerate",
        r"linear\(",
        r"\+= ",
        r"astype",
        r"np\.conj|np\.real|np\.imag",
        r" and | or ",
        r"\[k\d+\]",
    )
    missing = [pattern for pattern in wanted if not re.search(pattern, text)]
    assert missing == []
    found = [expected(function, 4, 3) is not None for function in functions]
    assert sum(found) > 0.9 * len(found)


def test_failures_shrink_to_a_few_lines() -> None:
    """Shrunk to what makes the first array other than it was."""

    def fails(function: Function) -> bool:
        try:
            left = expected(function, 4, 3)
        except Exception:
            return False
        before = function.arguments(4, 3)[2]
        return left is not None and not np.array_equal(left[1][2], before, equal_nan=True)

    long = next(f for f in map(make, range(200)) if f.text.count("\n") > 15 and fails(f))
    short = shrunk(long, fails)
    assert fails(short)
    assert short.text.count("\n") <= 4


BATCH, BATCHES = 50, 10
# Functions that stay Python in part, at most so many of a hundred.
IN_PYTHON = 20


@pytest.mark.parametrize("batch", range(BATCHES))
def test_on_c(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels of one batch in five are scheduled, and all sizes come up."""
    functions = [make(seed) for seed in range(BATCH * batch, BATCH * (batch + 1))]
    sizes = SIZES[:1] if batch % 2 else SIZES[1 + batch // 2 % 3 :][:1]
    found = checked(functions, monkeypatch, sizes, scheduled=batch % 5 == 0)
    assert not found.failures, str(found.failures[0])
    # Of no elements, most subscripts and remainders are errors in Python.
    assert found.calls > (0.6 if min(sizes[0]) > 0 else 0.1) * BATCH
    assert len(found.in_python) <= IN_PYTHON * BATCH / 100


@pytest.mark.deep
@pytest.mark.parametrize("first", range(1000, 21000, 500))
def test_many_more(first: int) -> None:
    """Twenty thousand functions, scheduled; `build/random_functions.log` has a line a batch."""
    root = Path(polygen.__file__).resolve().parent.parent
    command = [sys.executable, "-m", "tests.jit.random_functions.check", str(first), "500"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    log = root / "build" / "random_functions.log"
    log.parent.mkdir(exist_ok=True)
    last = (done.stdout.strip().splitlines() or [""])[-1]
    with log.open("a", encoding="utf-8") as file:
        file.write(f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} {first}: {last}\n")
    assert done.returncode == 0, done.stderr[-2000:]
    assert ": 0 failed;" in last, done.stdout[-5000:]
