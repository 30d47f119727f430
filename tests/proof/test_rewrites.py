"""Steps that exchange instructions: proved by dataflow, or refused; execution agrees."""

from __future__ import annotations

import pytest

from polygen import errors
from polygen.ir.kernel import Kernel
from polygen.transformation import transformation
from tests.oracle.compare import typed
from tests.proof.judge import Limits, arguments_of, judge
from tests.proof.rewrites import REWRITES, Rewrite

CALLS = [({"n": n, "m": m}, seed) for seed, (n, m) in enumerate(((5, 5), (8, 8), (1, 4), (0, 3)))]
LIMITS: Limits = {"idx": 8, "wild": range(-3, 11)}

BY_NAME = {r.name: r for r in REWRITES}


def _kernels(rewrite: Rewrite) -> tuple[Kernel, Kernel]:
    """Return the kernels, the scalar arguments in the order of the first."""
    before = rewrite.before.kernel(*rewrite.arguments)
    after = rewrite.after.kernel(*rewrite.arguments)
    return before, after.copy(arguments=before.arguments)


def _step(rewrite: Rewrite) -> Kernel:
    before, after = _kernels(rewrite)

    @transformation
    def become(kernel: Kernel) -> Kernel:
        """Become another kernel."""
        return kernel.copy(
            domains=after.domains,
            instructions=after.instructions,
            temporaries=after.temporaries,
            tags=after.tags,
        )

    return become(before)


@pytest.mark.parametrize("name", BY_NAME)
def test_rewrites(name: str) -> None:
    rewrite = BY_NAME[name]
    if not rewrite.error:
        assert _step(rewrite).history
        return
    with pytest.raises(getattr(errors, rewrite.error)) as refused:
        _step(rewrite)
    assert type(refused.value).__name__ == rewrite.error
    assert rewrite.says in str(refused.value)


@pytest.mark.parametrize("name", BY_NAME)
def test_execution_agrees(name: str) -> None:
    before, after = _kernels(BY_NAME[name])
    arguments = arguments_of(before, *CALLS[0], LIMITS)
    assert typed(before, arguments).arguments == typed(after, arguments).arguments
    verdict = judge(before, after, CALLS, LIMITS)
    assert verdict.calls
    assert (verdict.differs is not None) == bool(BY_NAME[name].error)
