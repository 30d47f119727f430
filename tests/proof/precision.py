"""Which random steps are refused that nothing shows to be harmful."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import polygen as pg
from polygen.analysis.dataflow.permitted_executions import why_none_is_permitted
from polygen.errors import (
    CannotProve,
    IllegalStep,
    IllFormedKernel,
    NotTheSame,
    ProofLimit,
    UserError,
)
from polygen.ir.kernel import Kernel
from tests.proof.any_step import DECLARED, AnyStep, random_step
from tests.proof.harmless import harm
from tests.proof.sequences import REGROUPING, Draw, grid_is_data, random_kernel

STEPS, TRIES = 3, 9
REFUSALS = (CannotProve, IllegalStep, IllFormedKernel, NotTheSame, ProofLimit)
HARMLESS = "harmless"
# What is always legal, or not proved, says nothing about proofs.
_PLAIN = (*DECLARED, "expand_subst", "extract_subst")


@dataclass(frozen=True)
class Looked:
    """What became of a step.

    Attributes:
        place: the seed, and which of its steps it is.
        step: the step.
        kernel: the kernel before it.
        error: why it was refused; None if it was not.
        verdict: `HARMLESS`, or what is wrong with it; empty if it was accepted.
    """

    place: tuple[int, int]
    step: AnyStep
    kernel: Kernel
    error: UserError | None = None
    verdict: str = ""


def look_at(seed: int, draw: Draw = random_step) -> Iterator[Looked]:
    """Take random steps; look at each that is refused.

    Parameters:
        seed: of all choices.
        draw: makes a step for a kernel.
    """
    choices = random.Random(seed)
    kernel = random_kernel(seed)
    taken = 0
    for number in range(TRIES):
        step = draw(kernel, choices)
        new = result_of(kernel, step)
        if new is None or taken == STEPS:
            continue
        taken += 1
        try:
            accepted = step(kernel)
        except REFUSALS as error:
            verdict = harm(kernel, new, error, exact=_is_exact(seed, step)) or HARMLESS
            yield Looked((seed, number), step, kernel, error, verdict)
        else:
            if not _is_plain(step):
                yield Looked((seed, number), step, kernel)
            kernel = accepted


def result_of(kernel: Kernel, step: AnyStep) -> Kernel | None:
    """Return what a step leads to without proof, if that is another kernel that can be executed."""
    try:
        with pg.without_proofs():
            new = step(kernel)
    except UserError:
        return None
    if new is kernel or why_none_is_permitted(new) is not None or grid_is_data(new):
        return None
    return new


def _is_exact(seed: int, step: AnyStep) -> bool:
    return seed % 3 == 2 or step.name.startswith(REGROUPING)


def _is_plain(step: AnyStep) -> bool:
    return step.name in _PLAIN or (step.name == "rename_iname" and not step.options)


def count(found: Iterable[Looked]) -> Counter[str]:
    """Return how many steps were accepted, were refused and wrong, and refused but harmless."""
    return Counter(
        "accepted" if each.error is None else HARMLESS if each.verdict == HARMLESS else "wrong"
        for each in found
    )
