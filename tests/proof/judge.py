"""Whether a step keeps what a kernel computes, found by executing both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.oracle.compare import make_arguments, typed
from tests.oracle.evaluate import OracleError
from tests.oracle.interpreter import interpret

UNDEFINED = "?"  # what an execution leaves that reads what was not written


def outcomes(kernel: Kernel, arguments: Mapping[str, Any], seeds: Iterable[int]) -> set[str]:
    """Return what executions of a kernel leave, each as a text, in several permitted orders."""
    found: set[str] = set()
    for seed in seeds:
        try:
            arrays = interpret(kernel, arguments, seed).arrays
        except OracleError:
            found.add(UNDEFINED)
        else:
            found.add(repr([(n, a.tolist()) for n, a in sorted(arrays.items())]))
    return found


def arguments_of(
    kernel: Kernel, sizes: Mapping[str, int], seed: int, limits: Mapping[str, int]
) -> dict[str, Any]:
    """Return arguments with various numbers: elements of the arrays in `limits` are subscripts."""
    arguments = make_arguments(kernel, sizes, seed)
    random = np.random.default_rng(seed)
    for name, limit in limits.items():
        if name in arguments:
            shape = arguments[name].shape
            arguments[name] = random.integers(0, limit, size=shape).astype(np.int32)
    return arguments


@dataclass(frozen=True)
class Verdict:
    """What executions say of a step.

    Attributes:
        differs: sizes, and a seed of arguments, for which a result changed; None if none.
        calls: how many calls said something: not those whose results the old kernel leaves open.
    """

    differs: tuple[Mapping[str, int], int] | None
    calls: int


def judge(
    old: Kernel,
    new: Kernel,
    calls: Iterable[tuple[Mapping[str, int], int]],
    limits: Mapping[str, int] | None = None,
    seeds: int = 4,
) -> Verdict:
    """Execute a kernel before and after a step, and compare.

    Parameters:
        old: the kernel before.
        new: the kernel after.
        calls: sizes, and a seed for arguments, of each call.
        limits: arrays of subscripts, and what these are less than.
        seeds: how many orders to try.
    """
    said = 0
    for sizes, seed in calls:
        arguments = arguments_of(old, sizes, seed, limits or {})
        with pg.without_proofs():
            before, after = typed(old, arguments), typed(new, arguments)
        expected = outcomes(before, arguments, range(seeds))
        if len(expected) == 1 and UNDEFINED not in expected:
            said += 1
            if outcomes(after, arguments, range(seeds)) != expected:
                return Verdict((sizes, seed), said)
    return Verdict(None, said)
