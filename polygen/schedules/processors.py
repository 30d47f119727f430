"""Schedules kernels for processors: threads, vectors, caches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from polygen.schedules.accumulations import accumulations_collected
from polygen.schedules.cache_tiles import rows_in_tiles
from polygen.schedules.chain_tiles import chains_in_tiles
from polygen.schedules.contracted_arrays import arrays_contracted
from polygen.schedules.dead_stores import dead_stores_dropped
from polygen.schedules.distributed_loops import loops_distributed
from polygen.schedules.fused_nests import nests_fused
from polygen.schedules.loop_orders import in_memory_order
from polygen.schedules.own_arrays import arrays_for_threads
from polygen.schedules.plan import Plan
from polygen.schedules.recomputed_arrays import arrays_recomputed
from polygen.schedules.rows_at_once import in_several_rows
from polygen.schedules.scans import scans_in_parts
from polygen.schedules.sums import products_packed, sums_shared
from polygen.schedules.threads import on_threads
from polygen.schedules.threads_around_sums import sums_in_threads
from polygen.schedules.time_tiles import in_time_tiles
from polygen.schedules.vectors import in_vectors
from polygen.schedules.waves import in_waves

Stage: TypeAlias = Callable[[Plan], None]

STAGES: tuple[Stage, ...] = (
    dead_stores_dropped,  # what nothing reads
    accumulations_collected,  # loops that add to one element: sums
    loops_distributed,  # statements that are parallel, beside some that are not
    nests_fused,  # nests side by side that share data, if their loops stay parallel
    arrays_contracted,  # temporaries that one iteration uses alone: scalars
    arrays_recomputed,  # those that are cheaper to compute again than to move
    products_packed,  # large products of matrices: tiles in registers, panels packed
    arrays_for_threads,  # arrays that iterations overwrite one after the other: one for each
    sums_in_threads,  # loops around several sums: threads
    sums_shared,  # other reductions: threads and vectors, in the order of memory
    in_memory_order,  # element-wise nests: the innermost loop walks through memory
    in_time_tiles,  # steps that move more than caches hold: several of them on some rows
    rows_in_tiles,  # those that walk along rows and columns: tiles, whose lines stay in a cache
    in_several_rows,  # stencils whose rows are long: several rows of results at once
    in_vectors,  # outer loops, where iterations of the innermost one wait for each other
    scans_in_parts,  # long scans, if there are threads for their parts
    on_threads,  # the outermost parallel loop of each nest, if it has work for threads
    in_waves,  # nests without a parallel loop: tiles, those of a wave at once
    chains_in_tiles,  # what waits in rows and in columns: small tiles, of which rows overlap
)
