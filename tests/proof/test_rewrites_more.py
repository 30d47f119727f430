"""More steps that exchange instructions: proved by dataflow, or refused; execution agrees."""

from __future__ import annotations

import pytest

from polygen import errors
from polygen.ir.kernel import Kernel
from tests.proof.exchange import exchange
from tests.proof.judge import judge
from tests.proof.rewrites import Rewrite
from tests.proof.rewrites_more import MORE

CALLS = [({"n": n, "m": m}, seed) for seed, (n, m) in enumerate(((5, 5), (8, 8), (1, 4), (0, 3)))]
BY_NAME = {r.name: r for r in MORE}
# What is refused although nothing changes: the reasons are those of docs/proofs.md.
HARMLESS = {
    "nine copies",
    "nine copies less",
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
    verdict = judge(*_kernels(BY_NAME[name]), CALLS)
    assert verdict.calls
    harmful = bool(BY_NAME[name].error) and name not in HARMLESS
    assert (verdict.differs is not None) == harmful
