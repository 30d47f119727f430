"""More steps that exchange instructions: proved by dataflow, or refused; execution agrees."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen import errors
from polygen.ir.kernel import Kernel
from tests.proof.exchange import exchange
from tests.proof.judge import Limits, judge
from tests.proof.rewrites import Rewrite
from tests.proof.rewrites_by_instructions import COPY, MORE, A, B, chain
from tests.proof.rewrites_of_data import COUNTS, IN_STAGES, OF_DATA

CALLS = [({"n": n, "m": m}, seed) for seed, (n, m) in enumerate(((5, 5), (8, 8), (1, 4), (0, 3)))]
LIMITS: Limits = {"idx": 8, "count": 4}
BY_NAME = {r.name: r for r in (*MORE, *OF_DATA, *IN_STAGES, *COUNTS)}
# What is refused although nothing changes: the reasons are those of docs/proofs.md.
HARMLESS = {
    "two sums as one",
    "another order of factors",
    "stored between",  # arrays that are passed do not overlap
    "a number of values that differs",
}


def _kernels(rewrite: Rewrite) -> tuple[Kernel, Kernel]:
    before = rewrite.before.kernel(*rewrite.arguments)
    after = rewrite.after.kernel(*rewrite.arguments)
    return before, after.copy(arguments=before.arguments)


@pytest.mark.parametrize("name", BY_NAME)
def test_rewrites(name: str) -> None:
    rewrite = BY_NAME[name]
    if not rewrite.error:
        assert exchange(*_kernels(rewrite)).history
        return
    with pytest.raises(getattr(errors, rewrite.error)) as refused:
        exchange(*_kernels(rewrite))
    assert type(refused.value).__name__ == rewrite.error
    assert rewrite.says in str(refused.value)


@pytest.mark.parametrize("name", BY_NAME)
def test_execution_agrees(name: str) -> None:
    verdict = judge(*_kernels(BY_NAME[name]), CALLS, LIMITS)
    assert verdict.calls
    harmful = bool(BY_NAME[name].error) and name not in HARMLESS
    assert (verdict.differs is not None) == harmful


def test_a_hundred_writes_are_followed() -> None:
    shortest, longest, longer = (k.kernel(A, B) for k in (COPY, chain(100), chain(101)))
    assert exchange(shortest, longest).history
    assert exchange(longest, shortest).history
    for before, after in ((shortest, longer), (longer, shortest)):
        with pytest.raises(errors.CannotProve, match="too many writes"):
            exchange(before, after)


def test_stages_add_up_in_another_order() -> None:
    before, after = _kernels(BY_NAME["a sum in two stages"])
    before = pg.set_options(before, allow_reassociation=False)
    with pytest.raises(errors.NotTheSame, match="instead of"):
        exchange(before, after)
