"""`polygen.optimize_reductions`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import SupportsIndex

from polygen.errors import (
    InvalidArgument,
    MissingArgument,
    NotOptimized,
    TypeNotFound,
    UserError,
)
from polygen.inspection.limits import Limits
from polygen.ir import walk
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.ir.tags import is_parallel
from polygen.source import caller_location, warn
from polygen.transforms.coalesce_reduction import coalesce_reduction
from polygen.transforms.parallelize_reduction import parallelize_reduction
from polygen.tuning.measure import fastest
from polygen.tuning.model import Choice, ranked
from polygen.tuning.prepared import with_producers
from polygen.tuning.work import work_of

_MEASURED = 12  # candidates: those that the model finds best


@public
def optimize_reductions(
    kernel: Kernel,
    limits: Limits,
    *,
    sizes: Mapping[str, SupportsIndex] | None = None,
    tune: bool = False,
) -> Kernel:
    """Share the reductions of a kernel among the work items of a GPU, as is fastest there.

    Each reduction computes what element-wise instructions ahead of it do (`propagate_reduction`),
    gets one loop, and one around it (`coalesce_reduction`), and is shared by groups of work items
    (`parallelize_reduction`).  How many, and how much each of them has under way,
    follows from what is read, how it lies in memory, and the limits: the choice that a model finds
    fastest.  It knows how many bytes have to be on their way for the bandwidth to be reached, that
    groups fill compute units in waves, and what a second launch costs.  So a small input gets as
    many groups as it has work for, and a large one as many as keep the device busy.

    All these are ordinary steps, proved one by one, and in the kernel's history: take them with
    other arguments where you know better.

    Parameters:
        kernel: the kernel; the types of its inputs are known.
        limits: those of the device, `Limits.compute_units` among them.
        sizes: what to expect of sizes that are not numbers; the result is right for all.
        tune: measure the candidates that the model finds best, on CUDA's device if there is one,
            else in C, with random numbers.  What was found is kept on disk.

    Returns:
        The kernel; the same one, if it has no reductions.  What is left as it is, because a step is
        refused, because data decides how much there is to do, or because what is reduced is tagged
        already as parallel, the warning `NotOptimized` tells, with the reason.

    Raises:
        InvalidArgument: if the limits do not say how many compute units there are.
        MissingArgument: if the value of a size is needed.
        TypeNotFound: if the type of an input is not known.

    >>> import polygen as pg
    >>> knl = pg.make_kernel(
    ...     "{ [i,j,k]: 0<=i<64 and 0<=j<128 and 0<=k<768 }", "s[k] = sum((i,j), a[i,j,k])"
    ... )
    >>> knl = pg.add_dtypes(knl, {"a": "float32"})
    >>> fast = pg.optimize_reductions(knl, pg.Limits.named("H200"))
    >>> [step.name for step in fast.history[1:]]
    ['coalesce_reduction', 'parallelize_reduction']

    Source: Zhao, Bastoul, Yi, Hu, Nie, Zhang, Geng, Li, Tachon, Gan, Parallelizing Neural Network
    Models Effectively on GPU by Implementing Reductions Atomically (PACT 2022), whose tile sizes
    are tuned; S. Williams, A. Waterman, D. Patterson, Roofline (CACM 2009).
    """
    if limits.compute_units is None:
        raise InvalidArgument(
            "optimize_reductions was given limits that do not say how many compute units there are",
            where=caller_location(),
            remedy="Limits(..., compute_units=132), Limits.named('H100') or Limits.of_device()",
        )
    kernel = with_producers(kernel, [name for nest in _nests(kernel) for name in nest.ids])
    for nest in _nests(kernel):
        kernel = _shared(kernel, nest, limits, sizes or {}, tune=tune)
    return kernel


@dataclass(frozen=True)
class _Nest:
    """Instructions within the same inames, with reductions over the same ones."""

    ids: tuple[str, ...]
    reduced: tuple[str, ...]


def _nests(kernel: Kernel) -> list[_Nest]:
    found: dict[tuple[frozenset[str], frozenset[str]], list[Instruction]] = {}
    for insn in kernel.expanded.instructions:
        if reduced := _reduced(insn):
            found.setdefault((insn.within_inames, frozenset(reduced)), []).append(insn)
    return [_Nest(tuple([i.id for i in insns]), _reduced(insns[0])) for insns in found.values()]


def _reduced(insn: Instruction) -> tuple[str, ...]:
    """Return what the reductions of an instruction run over."""
    names = [name for node in insn.reads for r in walk.reductions(node) for name in r.inames]
    return tuple(dict.fromkeys(names))


def _shared(
    kernel: Kernel,
    nest: _Nest,
    limits: Limits,
    sizes: Mapping[str, SupportsIndex],
    *,
    tune: bool,
) -> Kernel:
    """Let groups of work items share the reductions of a nest; warn if that cannot be."""
    tagged = [iname for iname in nest.reduced if is_parallel(kernel.tags.get(iname))]
    if tagged:
        _warn(kernel, nest, f"'{tagged[0]}' is tagged {kernel.tags[tagged[0]]}")
        return kernel
    plain = kernel.expanded
    insns = [plain.instruction(name) for name in nest.ids]
    first: UserError | None = None
    for prepared in (_joined, _as_it_is):
        try:
            best = ranked(work_of(plain, insns, nest.reduced, sizes), limits)
            make = partial(_with, kernel=prepared(kernel, nest.ids), ids=nest.ids)
            return _measured(kernel, make, best, sizes) if tune else make(best[0])
        except (InvalidArgument, MissingArgument, TypeNotFound):
            raise
        except UserError as error:
            first = first or error
    assert first is not None
    _warn(kernel, nest, first.what)
    return kernel


def _joined(kernel: Kernel, ids: Sequence[str]) -> Kernel:
    for name in ids:
        kernel = coalesce_reduction(kernel, name)
    return kernel


def _as_it_is(kernel: Kernel, _: Sequence[str]) -> Kernel:
    return kernel


def _with(choice: Choice, kernel: Kernel, ids: Sequence[str]) -> Kernel:
    return parallelize_reduction(kernel, " or ".join(f"id:{name}" for name in ids), **vars(choice))


def _measured(
    kernel: Kernel,
    make: Callable[[Choice], Kernel],
    best: Sequence[Choice],
    sizes: Mapping[str, SupportsIndex],
) -> Kernel:
    """Return what the candidate makes that takes the least time."""
    few = best[:_MEASURED]
    found = fastest(kernel, [str(choice) for choice in few], lambda k: make(few[k]), sizes)
    return make(few[found])


def _warn(kernel: Kernel, nest: _Nest, why: str) -> None:
    if NotOptimized.__name__ not in kernel.options.silenced_warnings:
        names = " and ".join(f"'{name}'" for name in nest.ids)
        warn(NotOptimized(f"kernel '{kernel.name}': {names} is left as it is: {why}"))
