"""Schedules kernels for processors: threads, vectors, caches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from polygen.schedules.loop_orders import in_memory_order
from polygen.schedules.plan import Plan
from polygen.schedules.scans import scans_in_parts
from polygen.schedules.sums import products_packed, sums_shared
from polygen.schedules.threads import on_threads
from polygen.schedules.vectors import in_vectors
from polygen.schedules.waves import in_waves

Stage: TypeAlias = Callable[[Plan], None]

STAGES: tuple[Stage, ...] = (
    products_packed,  # large products of matrices: tiles in registers, panels packed
    sums_shared,  # other reductions: threads and vectors, in the order of memory
    in_memory_order,  # element-wise nests: the innermost loop walks through memory
    in_vectors,  # outer loops, where iterations of the innermost one wait for each other
    scans_in_parts,  # long scans, if there are threads for their parts
    on_threads,  # the outermost parallel loop of each nest, if it has work for threads
    in_waves,  # nests without a parallel loop: tiles, those of a wave at once
)
