"""Which launches begin while those ahead of them are still at work.

Each waits for these itself, by its first statement; what is saved is the time that a launch takes
to begin, about a microsecond.  But its groups get the places that are free at that moment, several
on one multiprocessor while others have none: what moves much with few groups then takes longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

import numpy as np

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.lower.program import Assign, Launch, LoopProgram
from polygen.runtime.cuda_driver import Driver
from polygen.runtime.executed import executed_in, known_value
from polygen.runtime.grids import Step
from polygen.targets.programs.launches import launches_of

_FIRST = 9  # the compute capability from which on a launch may begin early
_FEW_ITEMS = 4  # times as many, and a device is full
_FEW_BYTES = 2**22  # a microsecond of a large device's bandwidth


class EarlyLaunches:
    """The launches of a program with sizes that may begin early."""

    def __init__(self, cuda: Driver, program: LoopProgram, sizes: Mapping[str, int]) -> None:
        """Ask the current device.

        Parameters:
            cuda: the driver.
            program: the launches.
            sizes: the values of all sizes.
        """
        device = cuda.device()
        self._any = cuda.attribute("COMPUTE_CAPABILITY_MAJOR", device) >= _FIRST
        names = ("MULTIPROCESSOR_COUNT", "MAX_THREADS_PER_MULTIPROCESSOR")
        self._room = prod(cuda.attribute(name, device) for name in names)
        self._bytes = {
            launch.name: _bytes_of_item(launch, program, sizes)
            for launch in launches_of(program.host)
        }

    def may_begin(self, step: Step) -> bool:
        """Tell whether a launch may begin before the one ahead of it is over."""
        items = prod(step.grid.size)
        is_full = _FEW_ITEMS * items >= self._room
        return self._any and (is_full or items * self._bytes[step.function.name] <= _FEW_BYTES)


def _bytes_of_item(launch: Launch, program: LoopProgram, sizes: Mapping[str, int]) -> int:
    """Return about how much of global memory a work item reads and writes."""
    names = {a.name for a in (*program.arguments, *program.global_temporaries)}
    widths = {n: k.itemsize for n in names if isinstance(k := program.dtypes.get(n), np.dtype)}
    values = {**sizes, **dict(_in_the_middle(launch, sizes))}
    return sum(
        times * widths.get(ex.name_of(element), 0)
        for node, times, _ in executed_in(launch.body, values)
        if isinstance(node, Assign)
        for element in _elements(node)
    )


def _in_the_middle(launch: Launch, sizes: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """Yield inames on axes with their values for an item in the middle."""
    for axis in launch.axes:
        size = known_value(axis.size, sizes)
        for iname, first in axis.inames:
            start = known_value(first, sizes)
            if size is not None and start is not None:
                yield iname, start + size // 2


def _elements(node: Assign) -> set[ex.Subscript]:
    """Return the elements that a statement reads and writes."""
    both = (part for pair in node.pairs for part in pair)
    parts = (inner for part in both for inner in walk.subexpressions(part))
    return {part for part in parts if isinstance(part, ex.Subscript)}
