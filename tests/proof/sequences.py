"""Random sequences of steps, each taken if polygen takes it, and what they lead to."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np

import polygen as pg
from polygen.analysis.access.domains import domain_temporaries, with_surrounding
from polygen.analysis.dataflow.liveness import live_variables
from polygen.analysis.dataflow.permitted_executions import why_none_is_permitted
from polygen.errors import (
    BarrierNotPossible,
    GridSizeNotKnown,
    LanesNotConstant,
    LocalSizeNotConstant,
    NotAsynchronous,
    NotUnrollable,
    PrivateAcrossLaunches,
    ReductionNotSequential,
    UserError,
    WaitNeeded,
)
from polygen.ir.kernel import Kernel
from polygen.ir.tags import is_parallel
from polygen.lower.lower import Model, lower
from tests.oracle.compare import run_program, typed
from tests.oracle.interpreter import interpret
from tests.proof.any_step import AnyStep, random_step
from tests.proof.generator import LIMITS, Maker
from tests.proof.judge import DISTINCT, Call, Limits, allowed, arguments_of, judge
from tests.proof.nests import NestsMaker
from tests.properties.generator import Generator

TRIES = 9  # steps that are tried in a sequence
# Sums may be added up in another order.
REGROUPING = (
    "split_reduction",
    "realize_reduction",
    "reduce_in_parts",
    "pairwise_sums",
    "parallelize_reduction",
    "coalesce_reduction",
    "fuse_reductions",
    "share_rows",
    "split_scan",
    "privatize_atomics",
)
DATA: Limits = {**LIMITS, "count": 4}
CALLS = [({"n": n, "m": m}, seed) for seed, (n, m) in enumerate(((4, 3), (3, 4), (5, 2), (0, 1)))]
# What a kernel that computes the right values may be too much for.
NO_CODE = (
    BarrierNotPossible,
    GridSizeNotKnown,
    LanesNotConstant,
    LocalSizeNotConstant,
    NotAsynchronous,
    NotUnrollable,
    PrivateAcrossLaunches,
    ReductionNotSequential,
    WaitNeeded,
)
Draw = Callable[[Kernel, random.Random], AnyStep]


@dataclass(frozen=True)
class Sequence:
    """A kernel, and what steps made of it.

    Attributes:
        seed: what it was made from.
        kernels: the kernel at first, and after each step.
        steps: those that were taken.
        refused: how many were not.
        fixed: the scalar arguments that were given values.
    """

    seed: int
    kernels: tuple[Kernel, ...]
    steps: tuple[AnyStep, ...]
    refused: int
    fixed: Mapping[str, int]

    @property
    def calls(self) -> list[Call]:
        """Sizes that the last kernel permits, each with a seed for the arguments."""
        calls = [({**sizes, **self.fixed}, seed) for sizes, seed in CALLS]
        return allowed(self.kernels[-1], calls)

    @property
    def data(self) -> Limits:
        """What is in arrays of subscripts."""
        claimed = any(step.name == "assume_injective" for step in self.steps)
        return {**DATA, "idx": DISTINCT} if claimed else DATA

    def __str__(self) -> str:
        shown = "\n".join(str(step) for step in self.steps)
        return f"seed {self.seed}:\n{shown}\n{self.kernels[0]}"


def random_kernel(seed: int) -> Kernel:
    """Return a kernel of one of three kinds."""
    if seed % 3 == 2:
        while True:
            knl = Generator(random.Random(seed)).case().kernel
            # What nobody needs may be lost.
            if why_none_is_permitted(knl) is None and knl.writers.keys() <= live_variables(knl):
                return knl
            seed += 1_000_003
    return (NestsMaker if seed % 3 else Maker)(seed).kernel()


def random_sequence(seed: int, *, proofs: bool = True, draw: Draw = random_step) -> Sequence:
    """Take random steps, with proofs or without; what is refused is left out.

    Parameters:
        seed: of all choices.
        proofs: whether steps are proved.
        draw: makes a step for a kernel.
    """
    choices = random.Random(seed)
    kernels, steps = [random_kernel(seed)], list[AnyStep]()
    fixed: dict[str, int] = {}
    refused = 0
    for _ in range(TRIES):
        step = draw(kernels[-1], choices)
        with nullcontext() if proofs else pg.without_proofs():
            try:
                new = step(kernels[-1])
            except UserError:
                refused += 1
                continue
        if new is kernels[-1] or grid_is_data(new):
            continue
        if not proofs and why_none_is_permitted(new) is not None:
            continue
        kernels.append(new)
        steps.append(step)
        if step.name == "fix_parameters":
            fixed |= step.options
    return Sequence(seed, tuple(kernels), tuple(steps), refused, fixed)


def grid_is_data(kernel: Kernel) -> bool:
    """Tell whether the size of a grid is computed: the interpreter cannot know it beforehand."""
    inames = [i for i, tag in kernel.tags.items() if is_parallel(tag)]
    return bool(domain_temporaries(kernel, with_surrounding(kernel, inames)))


def check_results(sequence: Sequence, seeds: int = 3) -> int:
    """Check that steps changed no result; return how many calls were compared."""
    first, last = sequence.kernels[0], sequence.kernels[-1]
    verdict = judge(first, last, sequence.calls, sequence.data, seeds, exact=_is_exact(sequence))
    assert verdict.differs is None, f"{verdict.differs}: {_first_wrong(sequence)}\n{sequence}"
    return verdict.calls


def _is_exact(sequence: Sequence) -> bool:
    """Tell whether to compute with numbers of which sums are exact."""
    # And integers must not overflow.
    names = {step.name for step in sequence.steps}
    return sequence.seed % 3 == 2 or any(name.startswith(REGROUPING) for name in names)


def _first_wrong(sequence: Sequence) -> str:
    """Name the first step after which results differ."""
    for step, kernel in zip(sequence.steps, sequence.kernels[1:], strict=True):
        calls = allowed(kernel, sequence.calls)
        if judge(sequence.kernels[0], kernel, calls, sequence.data, 3).differs is not None:
            return str(step)
    return "seen with other orders only"


def check_code(sequence: Sequence) -> int:
    """Check the loop programs of what steps led to; return how many there are."""
    calls = sequence.calls[:1]
    done = 0
    for sizes, seed in calls:
        arguments = arguments_of(sequence.kernels[0], sizes, seed, sequence.data)
        last = sequence.kernels[-1]
        left = {n: v for n, v in arguments.items() if n in last.variables}
        wanted = interpret(typed(sequence.kernels[0], arguments), arguments).arrays
        for model in Model:
            try:
                program = lower(typed(last, left), model)
            except NO_CODE:
                continue
            found = run_program(program, left, seed).arrays
            for name, array in wanted.items():
                message = f"{model}: {name}\n{sequence}"
                np.testing.assert_array_equal(found[name], array, err_msg=message, strict=True)
            done += 1
    return done
