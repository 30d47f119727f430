"""Whether a loop program does what another one does, by executing both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from polygen.lower.program import LoopProgram
from tests.oracle.evaluate import OracleError
from tests.oracle.machine import execute


def differs(
    program: LoopProgram,
    other: LoopProgram,
    calls: Iterable[Mapping[str, Any]],
    seeds: Iterable[int] = range(4),
) -> str | None:
    """Return how the other program differs in one of the calls, or None if in none.

    Parameters:
        program: what is right.
        other: what may not be.
        calls: the arguments of each.
        seeds: of orders of work items, groups and parallel iterations.
    """
    for arguments in calls:
        wanted = execute(program, arguments).arrays
        for seed in seeds:
            try:
                found = execute(other, arguments, seed).arrays
            except (OracleError, KeyError, AssertionError) as error:
                return f"{type(error).__name__}: {error}"
            for name, array in wanted.items():
                if not np.array_equal(array, found[name], equal_nan=True):
                    return f"'{name}' is another"
    return None
