"""Lowered, a kernel does what it means: every instance once, the same arrays at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

import polygen as pg
from polygen.ir.array import AddressSpace, GlobalArg
from polygen.ir.kernel import Kernel
from polygen.ir.tags import is_on_axis
from polygen.lower.lower import Model, lower
from polygen.lower.program import LoopProgram
from tests.oracle.evaluate import integer
from tests.oracle.interpreter import Outcome, interpret
from tests.oracle.machine import execute
from tests.oracle.trace import Traced, traced

FLOAT64 = np.dtype(np.float64)


def make_arguments(
    kernel: Kernel, sizes: Mapping[str, int], seed: int = 0, **given: Any
) -> dict[str, Any]:
    """Return arguments for a kernel: small integers, of which floating-point sums are exact.

    Parameters:
        kernel: arrays without a type get float64.
        sizes: the scalar arguments.
        seed: of the random numbers.
        given: arrays that are wanted as they are.
    """
    random = np.random.default_rng(seed)
    arguments: dict[str, Any] = dict(sizes)
    for arg in kernel.arguments:
        if isinstance(arg, GlobalArg) and arg.name not in given:
            shape = tuple(max(0, integer(e, sizes)) for e in arg.shape or ())
            values = random.integers(-8, 9, size=shape)
            arguments[arg.name] = values.astype(FLOAT64 if arg.dtype is None else arg.dtype)
    return arguments | given


def typed(kernel: Kernel, arguments: Mapping[str, Any]) -> Kernel:
    """Return the kernel with the types of its array arguments declared as they are."""
    dtypes = {
        a.name: arguments[a.name].dtype
        for a in kernel.arguments
        if isinstance(a, GlobalArg) and a.dtype is None
    }
    return pg.add_dtypes(kernel, dtypes) if dtypes else kernel


def assert_same(kernel: Kernel, arguments: Mapping[str, Any], *more: Kernel, seed: int = 0) -> None:
    """Check that kernels, lowered for both models, do what the first of them means.

    Parameters:
        kernel: defines what is right.
        arguments: of a call.
        more: what transformations made of `traced(kernel).kernel`, or the marks do not match.
        seed: of the order of what is unordered.
    """
    marked = traced(typed(kernel, arguments))
    check(marked, arguments, [marked.kernel, *more], seed=seed)


class Lowered(NamedTuple):
    """A kernel with its loop programs, one for each model: the same for all calls."""

    kernel: Kernel
    programs: tuple[LoopProgram, ...]


def lowered_for_all(kernel: Kernel) -> Lowered:
    """Return a kernel with its loop programs."""
    return Lowered(kernel, tuple([lower(kernel, model) for model in Model]))


def check(
    marked: Traced, arguments: Mapping[str, Any], kernels: Iterable[Kernel], seed: int = 0
) -> Outcome:
    """Check that `kernels`, made from `marked`, do what that one means; return what it does."""
    return check_lowered(marked, arguments, map(lowered_for_all, kernels), seed)


def check_lowered(
    marked: Traced, arguments: Mapping[str, Any], kernels: Iterable[Lowered], seed: int = 0
) -> Outcome:
    """Do what `check` does with kernels that are lowered once for several calls."""
    expected = interpret(marked.kernel, arguments, seed)
    assert set(expected.events.values()) <= {1}
    for kernel, programs in kernels:
        known = {a.name for a in kernel.arguments}
        passed = {n: v for n, v in arguments.items() if n in known}
        same_outcome(interpret(kernel, passed, seed + 1), expected, set())
        for program in programs:
            outcome = run_program(program, passed, seed)
            same_outcome(outcome, expected, replicated(marked, kernel))
    return expected


def check_arrays(
    kernel: Kernel,
    arguments: Mapping[str, Any],
    steps: Iterable[Callable[[Kernel], Kernel]],
    seed: int = 0,
) -> None:
    """Check that what steps make of a kernel leaves the arrays that the kernel leaves."""
    check_lowered_arrays(kernel, arguments, (lowered_for_all(s(kernel)) for s in steps), seed)


def check_lowered_arrays(
    kernel: Kernel, arguments: Mapping[str, Any], kernels: Iterable[Lowered], seed: int = 0
) -> None:
    """Do what `check_arrays` does with kernels that are lowered once for several calls."""
    expected = interpret(kernel, arguments, seed)
    for new, programs in kernels:
        outcomes = [interpret(new, arguments, seed + 1)]
        outcomes += [run_program(program, arguments, seed) for program in programs]
        for outcome in outcomes:
            for name, array in expected.arrays.items():
                np.testing.assert_array_equal(
                    outcome.arrays[name], array, err_msg=name, strict=True
                )


def run_program(program: LoopProgram, arguments: Mapping[str, Any], seed: int = 0) -> Outcome:
    """Run a loop program; what goes wrong is reported with its text."""
    try:
        return execute(program, arguments, seed)
    except Exception as error:
        error.add_note(str(program))
        raise


def same_outcome(outcome: Outcome, expected: Outcome, several: set[int]) -> None:
    """Check that two executions left the same; marks in `several` may have come more than once."""
    for name, array in expected.arrays.items():
        np.testing.assert_array_equal(outcome.arrays[name], array, err_msg=name, strict=True)
    found = {e: n for e, n in outcome.events.items() if e[0] not in several}
    wanted = {e: n for e, n in expected.events.items() if e[0] not in several}
    assert found == wanted
    assert outcome.events.keys() == expected.events.keys()


def replicated(marked: Traced, kernel: Kernel) -> set[int]:
    """Return the marks of what every work item executes for itself.

    Writes of private variables that lack an axis are; and so is the computation of a reduction
    that a single work item writes.
    """
    axes = {t for t in kernel.tags.values() if is_on_axis(t)}
    found: set[int] = set()
    for mark, insn_id in enumerate(marked.insn_ids):
        insn = kernel.assignment(insn_id)
        own = {kernel.tags.get(i) for i in insn.within_inames}
        written = insn.written_names[0]  # and so are the others
        private = kernel.address_space(written) is AddressSpace.PRIVATE
        last = mark + 1 == len(marked.insn_ids) or marked.insn_ids[mark + 1] != insn_id
        if not axes <= own and (private or not last):
            found.add(mark)
    return found
