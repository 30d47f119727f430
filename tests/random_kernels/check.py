"""Random kernels are what they print, and compute what the interpreter says."""

from __future__ import annotations

import random
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import MixedAssignees, SubscriptNotConstant, UserError, WaitNeeded
from polygen.ir.kernel import Kernel
from polygen.ir.tags import is_parallel
from tests.oracle.interpreter import interpret
from tests.proof import sequences
from tests.proof.any_step import AnyStep
from tests.properties.every_step import DECLARED, random_step
from tests.properties.together import run_together
from tests.random_kernels.layouts import passed, whole
from tests.random_kernels.maker import Maker, arguments_of, random_maker

SIZES = ((4, 3), (3, 4), (5, 2), (1, 1), (0, 2), (2, 0))
NO_CODE = (*sequences.NO_CODE, MixedAssignees, SubscriptNotConstant, WaitNeeded)
Arrays = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A kernel, what steps made of it, and a call.

    Attributes:
        seed: what it was made from.
        kernel: the kernel at first.
        changed: what steps made of it.
        steps: these.
        arguments: of the call.
        errors: for each array how far off it may be.
    """

    seed: int
    kernel: Kernel
    changed: Kernel
    steps: tuple[AnyStep, ...]
    arguments: Arrays
    errors: dict[str, float]

    def __str__(self) -> str:
        steps = "\n".join(map(str, self.steps))
        return f"seed {self.seed}\n{steps}\n{self.kernel}"


def make_case(seed: int, *, steps: int = 0, target: str = "c") -> Case:
    """Return what a seed stands for, after trying some steps."""
    maker = random_maker(seed, target)
    kernel = maker.kernel()
    choices = random.Random(seed)
    changed, taken = _changed(kernel, choices, steps)
    if choices.random() < 0.4:
        changed = _inlined(changed)
    n, m = SIZES[seed % len(SIZES)]
    arguments = arguments_of(kernel, {"n": n, "m": m}, seed)
    return Case(seed, kernel, changed, taken, arguments, _errors(maker))


def _changed(kernel: Kernel, r: random.Random, steps: int) -> tuple[Kernel, tuple[AnyStep, ...]]:
    taken: list[AnyStep] = []
    for _ in range(steps):
        step = random_step(kernel, r)
        if step.name in DECLARED:
            continue
        try:
            new = step(kernel)
        except UserError:
            continue
        if new is not kernel and _has_code(new):
            kernel = new
            taken.append(step)
    return kernel, tuple(taken)


def _inlined(kernel: Kernel) -> Kernel:
    """Return the kernel with all of its calls inlined; else there are functions for them."""
    for name in dict.fromkeys(call.function for call in kernel.calls):
        kernel = pg.inline_callable_kernel(kernel, name)
    return kernel


def _has_code(kernel: Kernel) -> bool:
    """Tell whether no reduction is on an axis."""
    reduced = frozenset[str]().union(*(i.reduction_inames for i in kernel.instructions))
    return not any(is_parallel(kernel.tags[i]) for i in reduced & kernel.tags.keys())


def _errors(maker: Maker) -> dict[str, float]:
    found: dict[str, float] = {}
    for source in maker.sources:
        found[source.name] = max(found.get(source.name, 0.0), source.value.error)
    return found


def check_text(case: Case) -> None:
    """Check that a kernel is what its text says, before and after steps."""
    with pg.without_proofs():
        for kernel in dict.fromkeys((case.kernel, case.changed)):
            assert pg.parse_kernel(str(kernel)) == kernel, str(case)


def check_arrays(case: Case, found: Arrays, expected: Arrays, what: str) -> None:
    """Check that two executions left the same, up to what rounding may do."""
    for name, array in expected.items():
        message = f"{what}: {name} of {case}"
        bound = 2 * case.errors.get(name, 0.0)
        if bound == 0:
            np.testing.assert_array_equal(found[name], array, err_msg=message, strict=True)
            continue
        wide = np.result_type(array, np.float64)
        with np.errstate(invalid="ignore"):  # of infinities, the difference is not a number
            near = np.abs(found[name].astype(wide) - array.astype(wide)) <= bound
        good = near | (found[name] == array)
        assert good.all(), f"{message}\n{found[name][~good]}, not {array[~good]}, up to {bound}"


def check_meaning(case: Case) -> Arrays:
    """Check that what the kernel leaves open makes no difference; return what it leaves."""
    first = interpret(case.kernel, case.arguments, case.seed).arrays
    if case.seed % 4 == 0:
        check_arrays(
            case, interpret(case.kernel, case.arguments, case.seed + 1).arrays, first, "order"
        )
    return first


def check_compiled(
    cases: Iterable[Case], target: str, patch: pytest.MonkeyPatch, *, validated: bool = True
) -> int:
    """Check what compiled kernels compute; return how many were.

    Parameters:
        cases: the kernels.
        target: ``"c"``, ``"opencl"`` or ``"cuda"``.
        patch: lets kernels be compiled together.
        validated: whether polygen compares the loop programs with the kernels, too.
    """
    cases = list(cases)
    kernels = [(case.changed, passed(case.changed, case.arguments)) for case in cases]
    with nullcontext() if validated else pg.without_proofs():
        results = run_together(kernels, target, patch, NO_CODE)
    for case, found in zip(cases, results, strict=True):
        if found is not None:
            check_arrays(case, whole(found), check_meaning(case), target)
    return sum(found is not None for found in results)
