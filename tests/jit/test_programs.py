"""Programs as users write them, beside plain Python on NumPy."""

from __future__ import annotations

import numpy as np

from tests.jit.agreement import check, outcome
from tests.jit.programs import PROGRAMS


def test_there_are_many_of_each_kind() -> None:
    assert len(PROGRAMS) >= 120
    names = [program.name for program in PROGRAMS]
    assert len(set(names)) == len(names)
    assert len({name.partition(".")[0] for name in names}) >= 11


def test_programs_say_the_same_each_time() -> None:
    for program in PROGRAMS:
        for size in program.sizes:
            first = outcome(program.function, program.arguments(size))
            check(outcome(program.function, program.arguments(size)), first)


def test_programs_do_something() -> None:
    """Each returns a value or writes an argument, at its largest size."""
    idle = {"constructs.nothing_read"}
    for program in PROGRAMS:
        before = program.arguments(program.sizes[-1])
        after = outcome(program.function, before)
        changed = any(
            isinstance(old, np.ndarray) and not np.array_equal(old, new, equal_nan=True)
            for old, new in zip(before, after.arguments, strict=True)
        )
        assert (after.result is not None or changed) == (program.name not in idle), program.name
