"""Random functions beside CPython with NumPy."""

from __future__ import annotations

import re

import numpy as np

from tests.jit.agreement import check, outcome
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
