"""Random steps on random kernels whose temporaries are declared ``auto``.

What a step is proved for is where each of them lives before it and after it, which tags decide.
"""

from __future__ import annotations

from collections import Counter

import pytest

from polygen.ir.array import AddressSpace
from polygen.ir.kernel import Kernel
from tests.few import few
from tests.proof import sequences
from tests.proof.sequences import check_code, check_results, random_sequence

BATCH = 12


def _auto(kernel: Kernel) -> Kernel:
    return kernel.copy(
        temporaries=tuple([t.in_space(AddressSpace.AUTO) for t in kernel.temporaries])
    )


@few(1, "start", [0, BATCH])
def test_no_step_is_accepted_that_changes_results(
    start: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = sequences.random_kernel
    monkeypatch.setattr(sequences, "random_kernel", lambda seed: _auto(made(seed)))
    found: Counter[AddressSpace] = Counter()
    taken = compared = 0
    # Where data says how often a loop runs (every third), the interpreter cannot tell the space.
    for seed in (s for s in range(start, start + 3 * BATCH // 2) if s % 3 < 2):
        sequence = random_sequence(seed)
        last = sequence.kernels[-1]
        compared += check_results(sequence) > 0
        check_code(sequence)
        taken += len(sequence.steps)
        found.update(last.address_space(t.name) for t in last.temporaries)
    assert compared > 0.9 * BATCH
    assert taken > 3 * BATCH
    assert found[AddressSpace.PRIVATE] > found[AddressSpace.LOCAL] > 0
