"""Launches that begin while those ahead of them are still at work, and wait for these themselves.

    extern "C" __global__ void __launch_bounds__(256) twice(float *__restrict__ a)
    {
        int const i = blockIdx.x;
        int const j = threadIdx.x;
        pg_after_other_launches();
        ...

What is saved is the time that a launch takes to begin, about a microsecond.  It is for short
launches alone.  A group waits for half a microsecond or so even if nothing is ahead any more: where
many come one after the other, that adds up.  And early groups get the places that are free at that
moment, several on one multiprocessor while others have none: few groups that move much take longer
then.  (Measured on an H200: rows of sums, and two launches with 2**17 and 2**15 work items.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.lower.executed import executed_in, known_value
from polygen.lower.program import Assign, Launch, LoopProgram

_ROOM = 2**18  # work items that a large device executes at once
_SPREAD = _ROOM // 4  # as many are on all of it
_LITTLE, _MOST = 2**22, 2**25  # bytes: a microsecond's, and eight


def begins_early(
    launch: Launch,
    program: LoopProgram,
    groups: Sequence[ex.Expression],
    local_size: Sequence[int],
) -> bool:
    """Tell whether a launch begins early: only if its size is known when code is generated.

    Parameters:
        launch: the launch.
        program: the program that it is part of.
        groups: how many groups there are along each axis.
        local_size: how many work items a group has along each axis.
    """
    items = known_value(ex.product_of(*groups, *local_size), {})
    if items is None or items > _ROOM:
        return False
    moved = items * _bytes_of_item(launch, program)
    return moved <= _LITTLE or (items >= _SPREAD and moved <= _MOST)


def _bytes_of_item(launch: Launch, program: LoopProgram) -> int:
    """Return about how many bytes of global memory a work item reads and writes."""
    names = {a.name for a in (*program.arguments, *program.global_temporaries)}
    widths = {n: k.itemsize for n in names if isinstance(k := program.dtypes.get(n), np.dtype)}
    return sum(
        times * widths.get(ex.name_of(element), 0)
        for node, times, _ in executed_in(launch.body, dict(_in_the_middle(launch)))
        if isinstance(node, Assign)
        for element in _elements(node)
    )


def _in_the_middle(launch: Launch) -> Iterator[tuple[str, int]]:
    """Yield inames on axes with their values for an item in the middle."""
    for axis in launch.axes:
        size = known_value(axis.size, {})
        for iname, first in axis.inames:
            start = known_value(first, {})
            if size is not None and start is not None:
                yield iname, start + size // 2


def _elements(node: Assign) -> set[ex.Subscript]:
    """Return the elements that a statement reads and writes."""
    both = (part for pair in node.pairs for part in pair)
    parts = (inner for part in both for inner in walk.subexpressions(part))
    return {part for part in parts if isinstance(part, ex.Subscript)}
