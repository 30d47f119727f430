"""`polygen.optimize_reductions`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import SupportsIndex, TypeAlias

from polygen.errors import (
    InvalidArgument,
    MissingArgument,
    NoDevice,
    NotOptimized,
    TagConflict,
    TypeNotFound,
    UserError,
)
from polygen.inspection.devices.limits import Limits
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.ir.tags import is_parallel
from polygen.ir.target_facts import facts_of
from polygen.source import caller_location, warn
from polygen.transforms.loops.size_estimates import likely_sizes
from polygen.transforms.parallel_reductions.parallelize_reduction import parallelize_reduction
from polygen.transforms.reductions.coalesce_reduction import coalesce_reduction
from polygen.transforms.rules.expand_subst import expand_subst
from polygen.tuning.blocked_sums import IN_A_ROW, steps_in_blocks
from polygen.tuning.launch_plan import on_first_axes, with_launches
from polygen.tuning.measure import fastest
from polygen.tuning.model import Choice, ranked, usual_first
from polygen.tuning.nests import Family, families, names_of, scan_in, work_of_all
from polygen.tuning.on_processors import (
    beside,
    in_loops_of_their_own,
    on_processors,
    together,
    why_as_it_is,
)
from polygen.tuning.once import computed_once
from polygen.tuning.parts import in_parts
from polygen.tuning.passed_on import with_passed_on
from polygen.tuning.prepared import (
    beside_rows,
    in_the_same_loops,
    with_producers,
    with_terms,
    without_single_iterations,
)
from polygen.tuning.repeated import with_repeated
from polygen.tuning.rows import with_rows
from polygen.tuning.scattered import Scatter, on_device, on_threads, scatter_of, scattering, unsaid
from polygen.tuning.shared_values import in_memory, names_computed_again
from polygen.tuning.spread import spread
from polygen.tuning.substituted import substituted
from polygen.tuning.time_steps import results_of, with_time_steps

_MEASURED = 12  # candidates: those that the model finds best

Make: TypeAlias = Callable[[Choice], Kernel]
# Of a kernel, the instructions that reduce, choices for them, and what makes a kernel of one.
Pick: TypeAlias = Callable[[Kernel, Sequence[str], Sequence[Choice], Make], int]


@public
def optimize_reductions(
    kernel: Kernel,
    limits: Limits,
    *,
    sizes: Mapping[str, SupportsIndex] | None = None,
    tune: bool = False,
) -> Kernel:
    """Share the reductions of a kernel among the work items of a GPU, as is fastest there.

    Reductions over up to four values become terms (`unroll_reduction`), unless something else goes
    along the same rows.  Each other one computes what element-wise instructions ahead of it do
    (`propagate_reduction`).
    Reductions of the same shape get the same loops, as do those of rows, and what uses their
    results row by row (`fuse_reductions`).  Then:

    - steps of time, loops around reductions whose iterations need each other, stay loops, and are
      tagged ``for``: each step shares its reductions.  How many there are does not matter, and is
      not asked for;
    - where several instructions go along a row, items share rows (`share_rows`): a softmax, say.
      Up to 32 elements of a row (64 halves) they keep in registers, also in clusters of groups;
      more they read again;
    - all other reductions get one loop, and one around it (`coalesce_reduction`), and are shared by
      groups of work items (`parallelize_reduction`).  How many, and how much each item has under
      way, is the choice that a model finds fastest, from what is read, how it lies in memory, and
      the limits: how many bytes have to be on their way for the bandwidth to be reached, how fast
      groups begin, what trees and a second launch cost, or a cluster that saves it.  So a small
      input has as many groups as there is work for, and a large one as many as keep the device
      busy;
    - atomic updates of elements that data names (histograms, sums by labels) are collected in
      copies (`privatize_atomics`): in local memory, if these fit, and if a group makes more updates
      than a copy has elements; in global memory, and in a certain order, for floating-point numbers
      under the option ``deterministic``; else they update the array itself;
    - other element-wise loops go to axes of the grid, in groups of 256 work items, neighbours along
      what lies side by side in memory: as one loop of all, or as tiles of two where arrays have
      their rows along different loops.  Where there is much to do, each item has several elements:
      vectors, if arrays begin where these do (their ``alignment``), or some in turn.  What is cheap
      is computed where it is used; what reads the rows of a reduction is done in its loops.  Nests
      whose groups have one shape, and that do not need each other, share a launch.  So do a small
      whole reduction and what needs its result: each group computes it again, if that takes less
      time than a launch.  Equal whole reductions are computed once.

    Clusters are CUDA's (the option ``clusters``), and taken if the limits have them: for OpenCL,
    make the kernel for it (``target="opencl"``), or pass limits with ``cluster_groups=1``.

    For a kernel whose target is C, threads and vectors share a reduction instead
    (`reduce_in_parts`, lanes, blocks of results side by side), in each step of time, whatever the
    limits are; and threads have copies of what is updated atomically, which are combined in order.

    Long sums of floating-point numbers are sums of blocks: as exact as NumPy's.

    All these are ordinary steps, proved one by one, and in the kernel's history: take them with
    other arguments where you know better.

    Parameters:
        kernel: the kernel; the types of its inputs are known.
        limits: those of the device, `Limits.compute_units` among them.
        sizes: what to expect of sizes that are not numbers; the result is right for all.  For C,
            those of arrays that data names elements of; others are taken for 1024.
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
    are tuned; S. Williams, A. Waterman, D. Patterson, Roofline (CACM 2009);
    Gómez-Luna et al., An optimized approach to histogram computation on GPU (2013).
    """
    sizes = sizes or {}
    pick = partial(_measured, sizes=sizes) if tune else _first
    return shared_reductions(kernel, limits, sizes, pick)


def shared_reductions(
    kernel: Kernel, limits: Limits, sizes: Mapping[str, SupportsIndex], pick: Pick
) -> Kernel:
    """Return a kernel as `polygen.optimize_reductions` does.

    Parameters:
        kernel: the kernel; the types of its inputs are known.
        limits: those of the device.
        sizes: what to expect of sizes that are not numbers.
        pick: returns which of some choices to take, and may make the kernels that they lead to.
    """
    facts = facts_of(kernel.target)
    if not facts.has_grid:
        new = beside(_on_processors(kernel, sizes)) if families(kernel) else kernel
        return _scattered(new, sizes, on_threads)
    if limits.compute_units is None:
        raise InvalidArgument(
            "optimize_reductions was given limits that do not say how many compute units there are",
            where=caller_location(),
            remedy="Limits(..., compute_units=132), Limits.named('H100') or Limits.of_device()",
        )
    units = limits.compute_units
    shared = [name for family in families(kernel) for name in names_of(family)]
    kernel = with_time_steps(kernel, [*shared, *(insn.id for insn in scattering(kernel))])
    kernel = _scattered(kernel, sizes, partial(on_device, limits=limits))
    if not families(kernel):
        return kernel
    short = with_terms(kernel)
    nests = [nest for family in families(short) for nest in family]
    simple = substituted(with_producers(short, names_of(nests)), sizes)
    simple = without_single_iterations(simple)
    fused = in_parts(computed_once(in_the_same_loops(simple, sizes), sizes), sizes, units)
    prepared = with_passed_on(beside_rows(fused, sizes, units))
    found = families(prepared)
    is_alone = _is_alone(prepared, found)
    if not (facts.has_clusters and is_alone):  # what else is in a launch would run in one block
        limits = replace(limits, cluster_groups=1)
    new = prepared
    for family in found:
        new = _shared(new, family, limits, sizes, pick=pick, alike=not is_alone)
    if new is prepared and short is kernel:
        return kernel
    new = spread(on_first_axes(new), units, partial(_warn, new))
    return with_launches(with_repeated(new, sizes, limits), sizes)


def _is_alone(kernel: Kernel, found: Sequence[Family]) -> bool:
    """Tell whether all instructions are in the loops of one family."""
    if len(found) != 1:
        return False
    around = results_of(kernel, kernel.expanded.instruction(found[0][0].ids[0]))
    ids = names_of(found[0])
    return all(i.id in ids or (around and around <= i.within_inames) for i in kernel.instructions)


def _scattered(
    kernel: Kernel, sizes: Mapping[str, SupportsIndex], share: Callable[[Kernel, Scatter], Kernel]
) -> Kernel:
    """Let threads or work items share updates of elements that data names."""
    for insn in unsaid(kernel):
        _warn(kernel, f"'{insn.id}'", "it is not {atomic}, so that its order counts")
    for insn in scattering(kernel):
        try:
            kernel = share(kernel, scatter_of(kernel.expanded, insn, sizes))
        except (MissingArgument, TypeNotFound):
            raise
        except UserError as error:
            _warn(kernel, f"'{insn.id}'", error.what)
    return kernel


def shared_by_threads(
    kernel: Kernel, sizes: Mapping[str, SupportsIndex], left: Collection[str] = ()
) -> Kernel:
    """Let threads of a processor share reductions and updates; warn where that cannot be.

    Parameters:
        kernel: the kernel; the types of its inputs are known.
        sizes: what to expect of sizes that are not numbers.
        left: ids of instructions whose reductions stay as they are.
    """
    return _scattered(_on_processors(kernel, sizes, left), sizes, on_threads)


def _on_processors(
    kernel: Kernel, sizes: Mapping[str, SupportsIndex], left: Collection[str] = ()
) -> Kernel:
    """Let threads and vectors share reductions; warn where that cannot be."""
    found = [family for family in families(kernel) if not set(left) >= {*names_of(family)}]
    if not found:
        return kernel
    shared = [name for family in found for name in names_of(family)]
    kernel = with_time_steps(_spelled_out(kernel, shared), shared)
    kernel = with_producers(kernel, shared)
    expected = likely_sizes(kernel) | {n: size.__index__() for n, size in sizes.items()}
    kernel = in_loops_of_their_own(in_the_same_loops(kernel, expected, alike=False))
    for family in families(kernel):
        names = names_of(family)
        if set(left) >= {*names}:
            continue
        try:
            _check_free(kernel, family)
            whys = [why_as_it_is(kernel, kernel.instruction(name)) for name in names]
            if any(whys):
                _warn(kernel, _shown(family), next(why for why in whys if why))
                continue
            is_one = len(names) == len(set(kernel.instruction(names[0]).reductions)) == 1
            if is_one:
                kernel = on_processors(kernel, names[0], expected)
            else:
                kernel = together(kernel, names, expected)
        except (InvalidArgument, TypeNotFound):
            raise
        except UserError as error:
            _warn(kernel, _shown(family), error.what)
    return _stored(kernel)


def _stored(kernel: Kernel) -> Kernel:
    """Return the kernel with results in memory that threads would each compute again."""
    threads = [iname for iname, tag in kernel.tags.items() if is_parallel(tag)]
    again = names_computed_again(kernel, threads)
    try:
        return in_memory(kernel, threads)
    except UserError as error:
        _warn(kernel, " and ".join(map(repr, again)), error.what)
        return kernel


def _spelled_out(kernel: Kernel, ids: Sequence[str]) -> Kernel:
    """Return the kernel with reductions in instructions that have them by rules alone."""
    hidden = [f"id:{name}" for name in ids if not kernel.instruction(name).reductions]
    return expand_subst(kernel, hidden) if hidden else kernel


def _shared(
    kernel: Kernel,
    family: Family,
    limits: Limits,
    sizes: Mapping[str, SupportsIndex],
    *,
    pick: Pick,
    alike: bool,
) -> Kernel:
    """Let groups of work items share the reductions of some nests; warn if that cannot be.

    Parameters:
        pick: returns which of some choices to take.
        alike: take groups of the usual shape, where that costs little: then other nests fit in.
    """
    first: UserError | None = None
    for prepared in (_joined, _as_it_is):
        try:
            _check_free(kernel, family)
            if (scan := scan_in(kernel, family, sizes)) is not None:
                _warn(kernel, _shown(family), f"'{scan}' is a scan: split_scan shares these")
                return kernel
            if (rows := with_rows(kernel, family, limits, sizes)) is not None:
                return rows
            work = work_of_all(kernel, family, sizes)
            best = ranked(work, limits)
            if len(family) > 1:  # each result is complete in the group that the next one is made in
                best = [choice for choice in best if choice.blocks == 1]
            if alike:
                best = usual_first(work, limits, best)
            make = partial(
                _with, kernel=prepared(kernel, family), family=family, length=work.length
            )
            return make(best[pick(kernel, names_of(family), best, make)])
        except (InvalidArgument, MissingArgument, NoDevice, TypeNotFound):
            raise
        except UserError as error:
            first = first or error
    assert first is not None
    _warn(kernel, _shown(family), first.what)
    return kernel


def _check_free(kernel: Kernel, family: Family) -> None:
    """Raise TagConflict if what is reduced over is parallel already."""
    for iname in [iname for nest in family for iname in nest.reduced]:
        if is_parallel(tag := kernel.tags.get(iname)):
            raise TagConflict(
                f"'{iname}' is tagged {tag}",
                where=caller_location(),
                remedy="leave the tag out, or share it by steps of your own",
            )


def _joined(kernel: Kernel, family: Family) -> Kernel:
    for name in names_of(family):
        kernel = coalesce_reduction(kernel, name)
    return kernel


def _as_it_is(kernel: Kernel, _: Family) -> Kernel:
    return kernel


def _with(choice: Choice, kernel: Kernel, family: Family, length: int) -> Kernel:
    """Return the kernel with nests on the same axes; the longest sum has some length."""
    for nest in family:
        known = kernel.instructions_by_id
        query = " or ".join(f"id:{name}" for name in nest.ids)
        kernel = parallelize_reduction(kernel, query, **vars(choice))
        at_once = choice.blocks * choice.threads // choice.across * choice.items
        if length > IN_A_ROW * at_once:
            kernel = steps_in_blocks(kernel, known)
        # The loops over results are divided now.
        choice = replace(choice, threads=choice.threads // choice.across, across=1)
    return kernel


def _first(_: Kernel, __: Sequence[str], ___: Sequence[Choice], ____: Make) -> int:
    """Return the place of the choice that the model finds best."""
    return 0


def _measured(
    kernel: Kernel,
    _: Sequence[str],
    best: Sequence[Choice],
    make: Make,
    *,
    sizes: Mapping[str, SupportsIndex],
) -> int:
    """Return the place of the candidate that takes the least time."""
    few = best[:_MEASURED]
    return fastest(kernel, [str(choice) for choice in few], lambda k: make(few[k]), sizes)


def _warn(kernel: Kernel, names: str, why: str) -> None:
    if NotOptimized.__name__ not in kernel.options.silenced_warnings:
        warn(NotOptimized(f"kernel '{kernel.name}': {names} is left as it is: {why}"))


def _shown(family: Family) -> str:
    return " and ".join(map(str, family))
