"""The grids of launches, and the order of these."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from polygen.ir import walk
from polygen.ir.array import ValueArg
from polygen.ir.cached import cached_property
from polygen.lower.program import HostLoop, HostNode, Launch
from polygen.runtime.arrays.expression_values import value_of
from polygen.targets.programs.program import DeviceFunction, Program

_Three: TypeAlias = tuple[int, int, int]
_AT_ONCE = 64  # launches in a piece: a driver takes them at once
_MOST_KEPT = 65536  # launches in all pieces


@dataclass(frozen=True)
class Grid:
    """The grid of a launch: its numbers of work items.

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


@dataclass(frozen=True)
class Step:
    """A launch with all that sizes say of it.

    Attributes:
        function: what is launched.
        loops: the variables of loops on the host that it is passed, and their values.
        grid: its grid, which is not empty.
    """

    function: DeviceFunction
    loops: tuple[tuple[str, int], ...]
    grid: Grid


@dataclass(frozen=True)
class Piece:
    """Steps that are taken so many times, one after the other."""

    steps: tuple[Step, ...]
    times: int = 1


class Script:
    """The launches of a program in order, once sizes are known.

    Attributes:
        pieces: all of them, if they are not too many; what a loop on the host repeats without a
            difference stands there once, with how often.
    """

    def __init__(
        self,
        program: Program,
        values: Mapping[str, int],
        check: Callable[[DeviceFunction, Grid], None],
    ) -> None:
        """Find the launches.

        Parameters:
            program: the program.
            values: the sizes.
            check: refuses a grid that a device does not take.
        """
        self._check = check
        self._host = program.loop_program.host
        self._functions = {function.name: function for function in program.launches}
        self._values = values
        self._grids = {  # those that no loop on the host changes
            function.name: grid_of(function, values)
            for function in program.launches
            if all(walk.free_variables(n) <= values.keys() for n in function.group_counts)
        }
        for name, grid in self._grids.items():
            check(self._functions[name], grid)
        self.pieces = self._all_pieces()

    @property
    def only(self) -> Step | None:
        """The only launch, if it is one."""
        if self.pieces is None or [(len(p.steps), p.times) for p in self.pieces] != [(1, 1)]:
            return None
        step = self.pieces[0].steps[0]
        return None if step.loops else step

    def steps(self) -> Iterator[Step]:
        """Yield all launches in order."""
        for piece in self._walk(self._host, self._values) if self.pieces is None else self.pieces:
            for _ in range(piece.times):
                yield from piece.steps

    def _all_pieces(self) -> tuple[Piece, ...] | None:
        found: list[Piece] = []
        single: list[Step] = []  # what nothing repeats
        kept = 0
        for piece in self._walk(self._host, self._values):
            copies = _AT_ONCE // len(piece.steps)
            times, rest = divmod(piece.times, copies)
            if times > 1:
                found += [Piece(tuple(single)), Piece(piece.steps * copies, times)]
                single = []
                kept += len(piece.steps) * copies
            else:
                rest = piece.times
            single += piece.steps * rest
            kept += len(piece.steps) * rest
            if len(single) >= _AT_ONCE:
                found.append(Piece(tuple(single)))
                single = []
            if kept > _MOST_KEPT:
                return None
        return tuple([piece for piece in (*found, Piece(tuple(single))) if piece.steps])

    def _walk(self, host: Sequence[HostNode], values: Mapping[str, int]) -> Iterator[Piece]:
        for node in host:
            if isinstance(node, Launch):
                step = self._step(node, values)
                if 0 not in step.grid.size:
                    yield Piece((step,))
                continue
            lower, upper = value_of(node.lower, values), value_of(node.upper, values)
            indices = range(lower, upper, node.step)
            body = self._repeated(node, {**values, node.iname: lower}) if len(indices) > 1 else None
            if body is None:
                for index in indices:
                    yield from self._walk(node.body, {**values, node.iname: index})
            elif body:
                yield Piece(body, len(indices))

    def _repeated(self, loop: HostLoop, values: Mapping[str, int]) -> tuple[Step, ...] | None:
        """Return what all iterations of a loop are; None if they differ, or if that is much."""
        if loop.iname in frozenset[str]().union(*map(self._needs, loop.body)):
            return None
        pieces = self._walk(loop.body, values)
        steps = (step for piece in pieces for _ in range(piece.times) for step in piece.steps)
        body = tuple(islice(steps, _AT_ONCE + 1))
        return body if len(body) <= _AT_ONCE else None

    def _needs(self, node: HostNode) -> frozenset[str]:
        """Return what a part of the program depends on."""
        if isinstance(node, Launch):
            function = self._functions[node.name]
            names = frozenset(arg.name for arg in function.arguments)
            return names.union(*map(walk.free_variables, function.group_counts))
        inside = frozenset[str]().union(*map(self._needs, node.body)) - {node.iname}
        return inside | walk.free_variables(node.lower) | walk.free_variables(node.upper)

    def _step(self, launch: Launch, values: Mapping[str, int]) -> Step:
        function = self._functions[launch.name]
        names = (arg.name for arg in function.arguments if isinstance(arg, ValueArg))
        inner = values.keys() - self._values.keys()
        loops = tuple([(name, values[name]) for name in names if name in inner])
        grid = self._grids.get(launch.name)
        if grid is None:
            grid = grid_of(function, values)
            self._check(function, grid)
        return Step(function, loops, grid)
