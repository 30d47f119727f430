"""`polygen.optimize`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import SupportsIndex

from polygen.inspection.devices.limits import Limits
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.schedules.schedule import BUDGET, scheduled


@public
def optimize(
    kernel: Kernel,
    limits: Limits | None = None,
    *,
    sizes: Mapping[str, SupportsIndex] | None = None,
    tune: bool = False,
    budget: float = BUDGET,
) -> Kernel:
    """Schedule a kernel for its target, without a step of yours.

    First the statements: stores that nobody sees are dropped; loops that are serial because of some
    statements are distributed; nests are fused if that keeps loops parallel and saves bytes;
    temporaries become scalars, or are computed where they are read if that is cheaper.

    On processors, large products of matrices are computed in tiles of packed operands; other
    reductions go along memory, in vectors; element-wise loops are turned so that the innermost one
    walks through memory; loops around those that go on from one iteration to the next are executed
    in vectors; threads share the outermost parallel loop of each nest that has work for them, parts
    of long scans, and updates of elements that data names; where no loop is parallel, tiles are
    shared in waves.

    On GPUs, contractions are computed in register tiles, as many as the device has units for;
    groups of work items share other reductions (`optimize_reductions`); what is cheap is computed
    where it is used; loops whose iterations need each other stay around the launches, all others go
    to axes of the grid, neighbours in memory to work items side by side.  Transpositions go through
    tiles in local memory, and items have several rows of stencils.

    All these are ordinary steps, proved one by one, and in the kernel's history.  `explain` says
    why each was taken, and what was not; `propose` returns them as data.

    Loops that are on an axis already, and their nests, stay as they are.

    Parameters:
        kernel: the kernel.  Inputs whose types are not known are taken for ``float64``, or
            ``int32`` in subscripts; the result is right for all.
        limits: those of the device.  If not given: of a processor, as many threads as it has cores
            for this process (or ``OMP_NUM_THREADS``); of a GPU, what the driver states; where there
            is none, those of an H200.
        sizes: what to expect of sizes that are not numbers; the result is right for all.  1024 if
            not given.
        tune: measure schedules around the model's choice: other orders of loops, other loops on
            threads, tiles, groups, and the kernel as it is.  They run on the target's device, with
            random numbers of these sizes.  `explain` shows the times.  What was found is kept on
            disk, by kernel, sizes, device, driver, compiler and polygen's version.  A bar on a
            terminal shows how it goes, if rich is installed.
        budget: for how many seconds to look for a faster one, with `tune`; a call, or a
            compilation, that has begun is waited for.

    Returns:
        The kernel, for the same target; an equal one, if there is nothing to gain.  It has code
        whenever the one that was given has.

    Raises:
        NoLoopNest, DependencyCycle: if the kernel has no order.
        InvalidArgument: if `budget` is not a positive number.
        NoDevice: if there is no device to measure on.
        OutOfMemory: if arrays of these sizes are too large to measure with: they take more than a
            quarter of the memory.

    >>> import polygen as pg
    >>> knl = pg.make_kernel(
    ...     "{ [i,j]: 0<=i,j<n }", "b[j,i] = 2*a[j,i]", target="c", loop_priority="i, j"
    ... )
    >>> fast = pg.optimize(knl)
    >>> for step in fast.history:
    ...     print(step)
    prioritize_loops(loop_priority=('j', 'i'))
    tag_inames(iname_to_tag={'j': 'g.0'}, force=False, ignore_nonexistent=False)

    Source: Bondhugula, Hartono, Ramanujam, Sadayappan, A practical automatic polyhedral
    parallelizer and locality optimizer (PLDI 2008); Wolf, Lam, A data locality optimizing algorithm
    (PLDI 1991); S. Williams, A. Waterman, D. Patterson, Roofline (CACM 2009).
    """
    return scheduled(kernel, limits, sizes or {}, tune=tune, budget=budget)
