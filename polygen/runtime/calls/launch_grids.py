"""The grids of launches, and the order of these."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import TypeAlias

from polygen.ir import walk
from polygen.ir.array import ValueArg
from polygen.ir.cached import cached_property
from polygen.ir.expression import Expression
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


_NO_GRID = Grid((1,), (1,))  # of a call of a library


@dataclass(frozen=True)
class Step:
    """A launch, or a call of a library, with all that sizes say of it.

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


@dataclass(frozen=True)
class WhileLoop:
    """Parts that are repeated while flags are set, the same each time.

    Attributes:
        number: which of the program's it is, from 0 on.
        flags: the flags.
        most: how many trips there are at most.
        body: the parts.
    """

    number: int
    flags: tuple[str, ...]
    most: int
    body: tuple[Piece | WhileLoop, ...]


Part: TypeAlias = Piece | WhileLoop


def _flags(node: HostNode) -> frozenset[str]:
    """Return the flags that loops on the host ask."""
    if isinstance(node, Launch):
        return frozenset()
    own = frozenset[str]() if node.runs is None else walk.free_variables(node.runs)
    return own.union(*map(_flags, node.body))


def _launches_in(parts: Sequence[Part]) -> int:
    """Return how many launches parts have, one trip of each loop."""
    return sum(
        len(part.steps) * part.times if isinstance(part, Piece) else _launches_in(part.body)
        for part in parts
    )


class Script:
    """The launches of a program in order, once sizes are known.

    Attributes:
        pieces: all of them, if they are not too many, and flags have no say in how many they are;
            what a loop on the host repeats without a difference stands there once, with how often.
        parts: the same with loops that flags end; None if their trips differ, too.
        loops: how many loops that flags end the parts have.
        flags: the variables that loops on the host ask, which are 0 before the first launch.
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
            if not function.calls_library
            and all(walk.free_variables(n) <= values.keys() for n in function.group_counts)
        }
        for name, grid in self._grids.items():
            check(self._functions[name], grid)
        self._every = program.loop_program.options.check_every
        self.flags = frozenset(flag for node in self._host for flag in _flags(node))
        self.pieces = None if self.flags else self._pieces(self._host, values)
        self.loops = 0
        self.parts = self._parts(self._host, values) if self.flags else self.pieces

    @property
    def only(self) -> Step | None:
        """The only launch, if it is one."""
        if self.pieces is None or [(len(p.steps), p.times) for p in self.pieces] != [(1, 1)]:
            return None
        step = self.pieces[0].steps[0]
        return None if step.loops else step

    def steps(self, is_set: Callable[[str], bool] | None = None) -> Iterator[Step]:
        """Yield all launches in order.

        Parameters:
            is_set: tells whether a flag is set, once the launches that were yielded are over;
                needed if there are `flags`.
        """
        self._is_set = is_set
        for piece in self._walk(self._host, self._values) if self.pieces is None else self.pieces:
            for _ in range(piece.times):
                yield from piece.steps

    def _pieces(
        self, host: Sequence[HostNode], values: Mapping[str, int]
    ) -> tuple[Piece, ...] | None:
        """Return what nodes are that ask no flags, neighbours in one piece; None as `pieces`."""
        found: list[Piece] = []
        single: list[Step] = []  # what nothing repeats
        kept = 0
        for piece in self._walk(host, values):
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
            if node.runs is not None:
                for index in self._while(node.runs, indices):
                    yield from self._walk(node.body, {**values, node.iname: index})
                continue
            body = self._repeated(node, {**values, node.iname: lower}) if len(indices) > 1 else None
            if body is None:
                for index in indices:
                    yield from self._walk(node.body, {**values, node.iname: index})
            elif body:
                yield Piece(body, len(indices))

    def _parts(
        self, host: Sequence[HostNode], values: Mapping[str, int]
    ) -> tuple[Part, ...] | None:
        """Return what a part of the program is, loops that flags end as such; None as `parts`."""
        found: list[Part] = []
        for asks, group in groupby(host, lambda node: bool(_flags(node))):
            nodes = list(group)
            parts = self._loops(nodes, values) if asks else self._pieces(nodes, values)
            if parts is None:
                return None
            found += parts
        return tuple(found)

    def _loops(
        self, nodes: Sequence[HostNode], values: Mapping[str, int]
    ) -> tuple[WhileLoop, ...] | None:
        """Return loops that flags end; None as `parts`."""
        found: list[WhileLoop] = []
        for node in nodes:
            assert isinstance(node, HostLoop), "a launch asks no flags"
            lower, upper = value_of(node.lower, values), value_of(node.upper, values)
            if node.runs is None or node.iname in self._needed_in(node):
                return None
            most = max(0, -(-(upper - lower) // node.step))
            number, self.loops = self.loops, self.loops + 1
            body = self._parts(node.body, {**values, node.iname: lower}) if most else ()
            if body is None or _launches_in(body) > _AT_ONCE:
                return None
            flags = tuple(sorted(walk.free_variables(node.runs)))
            found.append(WhileLoop(number, flags, most, body))
        return tuple(found)

    def _while(self, runs: Expression, indices: range) -> Iterator[int]:
        """Yield the indices of a loop that flags end; they are asked before some of them."""
        assert self._is_set is not None, "nobody asks the flags of a loop"
        flags = sorted(walk.free_variables(runs))
        for count, index in enumerate(indices):
            if count % self._every == 0 and not all(map(self._is_set, flags)):
                return
            yield index

    def _repeated(self, loop: HostLoop, values: Mapping[str, int]) -> tuple[Step, ...] | None:
        """Return what all iterations of a loop are; None if they differ, or if that is much."""
        if loop.iname in self._needed_in(loop):
            return None
        if _flags(loop):  # which nobody may ask before the launches ahead are over
            return None
        pieces = self._walk(loop.body, values)
        steps = (step for piece in pieces for _ in range(piece.times) for step in piece.steps)
        body = tuple(islice(steps, _AT_ONCE + 1))
        return body if len(body) <= _AT_ONCE else None

    def _needed_in(self, loop: HostLoop) -> frozenset[str]:
        """Return what the body of a loop depends on."""
        return frozenset[str]().union(*map(self._needs, loop.body))

    def _needs(self, node: HostNode) -> frozenset[str]:
        """Return what a part of the program depends on."""
        if isinstance(node, Launch):
            function = self._functions[node.name]
            names = frozenset(arg.name for arg in function.arguments)
            return names.union(*map(walk.free_variables, function.group_counts))
        inside = self._needed_in(node) - {node.iname}
        inside |= _flags(node)
        return inside | walk.free_variables(node.lower) | walk.free_variables(node.upper)

    def _step(self, launch: Launch, values: Mapping[str, int]) -> Step:
        function = self._functions[launch.name]
        names = (arg.name for arg in function.arguments if isinstance(arg, ValueArg))
        inner = values.keys() - self._values.keys()
        loops = tuple([(name, values[name]) for name in names if name in inner])
        grid = _NO_GRID if function.calls_library else self._grids.get(launch.name)
        if grid is None:
            grid = grid_of(function, values)
            self._check(function, grid)
        return Step(function, loops, grid)
