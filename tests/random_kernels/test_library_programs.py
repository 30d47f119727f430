"""Random programs that call libraries compute what NumPy does, as calls and as loops."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.ir.library_call import LibraryCall
from tests.random_kernels.library_programs import random_program


def check(seed: int) -> int:
    """Check a program; return how many calls it has."""
    program = random_program(seed)
    knl = program.kernel()
    assert pg.parse_kernel(str(knl)) == knl
    for n, steps in ((4, 2), (1, 1), (0, 1)):
        program.check(knl, n, steps)
    calls = [insn for insn in knl.instructions if isinstance(insn, LibraryCall)]
    if seed % 3 == 0:
        for routine in sorted({call.function for call in calls}):
            knl = pg.inline_callable_kernel(knl, routine)
        assert not knl.calls
        program.check(knl, 3, 2)
    return len(calls)


def test_programs() -> None:
    assert sum(map(check, (0, 4))) > 3


@pytest.mark.more
def test_more_programs() -> None:
    assert sum(map(check, range(1, 30))) > 60
