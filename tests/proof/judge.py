"""Whether a step keeps what a kernel computes, found by executing both."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import islpy as isl
import numpy as np
from numpy.typing import NDArray

import polygen as pg
from polygen.ir.domain import flat_names
from polygen.ir.kernel import Kernel
from tests.oracle.compare import make_arguments, typed
from tests.oracle.evaluate import OracleError, OracleLimitError
from tests.oracle.interpreter import interpret

_PARAM = isl.dim_type.param
UNDEFINED = "?"  # what an execution leaves that reads what was not written

Call = tuple[Mapping[str, int], int]  # sizes, and a seed of arguments
DISTINCT = "distinct"  # each number once
Limits = Mapping[str, int | range | str]


def outcomes(kernel: Kernel, arguments: Mapping[str, Any], seeds: Iterable[int]) -> set[str]:
    """Return a digest of what each execution of a kernel leaves, in several permitted orders.

    Reductions are added up in an order of their own.
    """
    found: set[str] = set()
    for seed in seeds:
        try:
            arrays = interpret(kernel, arguments, seed, sorts_sums=True).arrays
        except OracleError:
            found.add(UNDEFINED)
        else:
            # Not as text: what is left may be large.
            left = b"".join(a.tobytes() for _, a in sorted(arrays.items()))
            found.add(hashlib.sha256(left).hexdigest())
    return found


def arguments_of(
    kernel: Kernel,
    sizes: Mapping[str, int],
    seed: int,
    limits: Limits,
    *,
    exact: bool = True,
) -> dict[str, Any]:
    """Return arguments with various numbers.

    Parameters:
        kernel: the kernel.
        sizes: its scalar arguments.
        seed: of the random numbers.
        limits: arrays of subscripts, and what these are less than; or their range, or `DISTINCT`.
        exact: whether sums of floating-point numbers are exact, and so the same in any order.
    """
    arguments = make_arguments(kernel, sizes, seed)
    numbers = np.random.default_rng(seed)
    for name, value in arguments.items():
        if name in limits:
            arguments[name] = _subscripts(numbers, limits[name], value.shape)
        elif not exact and getattr(value, "dtype", np.dtype(np.int32)).kind == "f":
            scales = 10.0 ** numbers.integers(-3, 4, size=value.shape)
            arguments[name] = (numbers.standard_normal(value.shape) * scales).astype(value.dtype)
    return arguments


def _subscripts(
    numbers: np.random.Generator, given: int | range | str, shape: tuple[int, ...]
) -> NDArray[np.int32]:
    if isinstance(given, str):
        return numbers.permutation(math.prod(shape)).reshape(shape).astype(np.int32)
    within = given if isinstance(given, range) else range(given)
    return numbers.integers(within.start, within.stop, size=shape).astype(np.int32)


@dataclass(frozen=True)
class Verdict:
    """What executions say of a step.

    Attributes:
        differs: sizes, and a seed of arguments, for which a result changed; None if none.
        calls: how many calls said something: not those whose results the old kernel leaves open.
    """

    differs: Call | None
    calls: int


def judge(
    old: Kernel,
    new: Kernel,
    calls: Iterable[Call],
    limits: Limits | None = None,
    seeds: int = 4,
    *,
    exact: bool = True,
) -> Verdict:
    """Execute a kernel before and after a step, and compare.

    Parameters:
        old: the kernel before.
        new: the kernel after; it may have fewer scalar arguments, if these are fixed.
        calls: sizes, and a seed for arguments, of each call.
        limits: as those of `arguments_of`.
        seeds: how many orders of the new kernel to try; of the old one, two.
        exact: whether sums may be added up in another order: see `arguments_of`.
    """
    said = 0
    for sizes, seed in calls:
        arguments = arguments_of(old, sizes, seed, limits or {}, exact=exact)
        left = {n: v for n, v in arguments.items() if n in new.variables}
        with pg.without_proofs():
            before, after = typed(old, arguments), typed(new, left)
        try:
            expected = outcomes(before, arguments, range(2))
            if len(expected) > 1 or UNDEFINED in expected:
                continue
            found = outcomes(after, left, range(seeds))
        except OracleLimitError:
            continue
        said += 1
        if found != expected:
            return Verdict((sizes, seed), said)
    return Verdict(None, said)


def allowed(kernel: Kernel, calls: Iterable[Call]) -> list[Call]:
    """Return the calls whose sizes are as the kernel assumes."""
    known = kernel.assumptions.flat
    found: list[Call] = []
    for sizes, seed in calls:
        here = known
        for position, name in enumerate(flat_names(known)):
            if name in sizes:
                here = here.fix_val(_PARAM, position, isl.Val(sizes[name]))
        if not here.is_empty():
            found.append((sizes, seed))
    return found


def other_nests(kernel: Kernel, count: int) -> Iterator[Kernel]:
    """Yield the kernel with loops nested at random where it leaves that open."""
    for seed in range(count):
        order = list(kernel.inames)
        random.Random(seed).shuffle(order)
        yield kernel.copy(priorities=(*kernel.priorities, tuple(order)))
