"""The grids of launches, and the order of these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from polygen.ir.cached import cached_property
from polygen.lower.program import HostNode, Launch
from polygen.runtime.evaluate import value_of
from polygen.targets.program import DeviceFunction

_Three: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True)
class Grid:
    """How many work items a launch has.

    Attributes:
        size: along each axis.
        group: how many of them form a group.
    """

    size: tuple[int, ...]
    group: tuple[int, ...]

    @cached_property
    def launched(self) -> tuple[_Three, _Three]:
        """The numbers of groups, and of work items in one, along three axes: as CUDA counts."""
        more = (1,) * (3 - len(self.size))
        groups = tuple([n // m for n, m in zip(self.size, self.group, strict=True)])
        first, second, third = groups + more
        x, y, z = self.group + more
        return (first, second, third), (x, y, z)


def grid_of(function: DeviceFunction, values: Mapping[str, int]) -> Grid:
    """Return the grid of a launch, once sizes are known."""
    group = function.local_size or (1,)
    counts = [max(0, value_of(count, values)) for count in function.group_counts or (1,)]
    return Grid(tuple(n * m for n, m in zip(counts, group, strict=True)), group)


def sequence(
    host: Sequence[HostNode], values: Mapping[str, int]
) -> Iterator[tuple[Launch, Mapping[str, int]]]:
    """Yield every launch in order, with the values of the loops around it."""
    for node in host:
        if isinstance(node, Launch):
            yield node, values
            continue
        lower, upper = value_of(node.lower, values), value_of(node.upper, values)
        for index in range(lower, upper, node.step):
            yield from sequence(node.body, {**values, node.iname: index})
