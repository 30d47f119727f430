"""Random kernels are what calls of a `Builder` make that say them again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from polygen.ir.library_call import LibraryCall
from polygen.ir.sizes import OpenEnd
from tests.random_kernels.library_programs import random_program
from tests.random_kernels.maker import random_maker
from tests.random_kernels.said_again import SaidAgain


def check(kernels: Iterable[Kernel]) -> Counter[str]:
    """Check kernels; return of how many nodes and instructions of each kind they were made."""
    found = Counter[str]()
    for kernel in kernels:
        again = SaidAgain(kernel)
        made = again.kernel()
        assert made == kernel, f"{kernel}\n{made}"
        found["by operators"] += again.by_operators
        found["as trees"] += again.as_trees
        found.update([type(insn).__name__ for insn in kernel.instructions])
        found["rules"] += len(kernel.substitutions)
        found["relations"] += sum(len(insn.happens_after) for insn in kernel.instructions)
        found["without sync"] += sum(len(insn.no_sync_with) for insn in kernel.instructions)
    return found


def _check_of_all_kinds(seeds: range) -> None:
    with pg.without_proofs():
        kernels = [random_maker(seed).kernel() for seed in seeds]
        # A loop that a condition ends is flags by now, which no call says: its own tests say it.
        plain = [k for k in kernels if not any(isinstance(s, OpenEnd) for s in k.derived_sizes)]
        assert len(plain) > len(kernels) // 2
        found = check(plain)
    kinds = "Assignment MultiAssignment CInstruction KernelCall Barrier NoOp"
    rare = [k for k in (*kinds.split(), "rules", "relations", "without sync") if found[k] < 2]
    assert rare == []
    # Of the rest, Python makes another tree: it adds up numbers, and joins (a + b) + c.
    assert found["by operators"] > 10 * found["as trees"]


def test_kernels() -> None:
    _check_of_all_kinds(range(45))


@pytest.mark.more
def test_more_kernels() -> None:
    _check_of_all_kinds(range(45, 300))


def test_programs_that_call_libraries() -> None:
    found = check(random_program(seed).kernel() for seed in (0, 2))
    assert found[LibraryCall.__name__] > 3
