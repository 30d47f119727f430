"""What a loop program does, statement by statement, with the checks that hardware lacks.

Work items of a group run in lockstep from barrier to barrier, in a random order; groups, and the
iterations of parallel loops, in a random order too.  Two of them that touch one element without a
barrier in between, one writing, are a race, and an error: so are subscripts outside of an array,
variables that are read before they are written, and barriers that not all items of a group reach.
Asynchronous copies are made as late as can be; who meets one that is under way makes an error.
"""

from __future__ import annotations

import random
from collections import ChainMap, Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any, TypeAlias

import numpy as np

from polygen.analysis.typing.kinds import is_index
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, GlobalArg, ImageArg, TemporaryVariable
from polygen.ir.expression import Expression
from polygen.ir.tags import GroupTag
from polygen.lower.program import (
    Assign,
    Barrier,
    Block,
    BlocksBegun,
    Call,
    Declare,
    HostLoop,
    HostNode,
    If,
    Launch,
    Loop,
    LoopProgram,
    Shuffle,
    TensorProduct,
    Verbatim,
    Wait,
)
from tests.oracle.cells import Cells, Shifted, Who
from tests.oracle.evaluate import Count, Evaluator, Event, OracleError, Value, as_read
from tests.oracle.interpreter import Outcome
from tests.oracle.layouts import places
from tests.oracle.libraries import as_loops
from tests.oracle.verbatim import assignments


class _Env(ChainMap[str, Any]):
    """The library's, but quicker: most names are those of the maps behind."""

    def __getitem__(self, name: str) -> Any:
        for names in self.maps:
            if name in names:
                return names[name]
        raise KeyError(name)


_Steps: TypeAlias = Generator[tuple[int, ...], None, None]


def execute(program: LoopProgram, arguments: Mapping[str, Any], seed: int = 0) -> Outcome:
    """Run a loop program.

    Parameters:
        program: what `polygen.lower.lower.lower` returns.
        arguments: every argument: arrays, row-major and not changed, and scalars.
        seed: picks an order of groups, work items and parallel iterations.

    Raises:
        OracleError: if the program does what it must not.
    """
    return _Machine(program, arguments, random.Random(seed)).run()


class _Machine:
    def __init__(
        self, program: LoopProgram, arguments: Mapping[str, Any], shuffler: random.Random
    ) -> None:
        self._program = program
        self._random = shuffler
        self._shapes = {n: np.shape(v) for n, v in arguments.items()}
        self.images: dict[str, tuple[int, ...]] = {}
        self.events: Counter[Event] = Counter()
        self.samples: dict[str, Value] = {
            name: Count(1) if is_index(kind) else np.dtype(kind).type(1)
            for name, kind in program.dtypes.items()
        }
        self.group: tuple[int, ...] = ()  # how many work items along each axis
        self._globals: dict[str, Any] = {}
        for arg in program.arguments:
            value = arguments[arg.name]
            if isinstance(arg, ImageArg):
                self.images[arg.name] = np.asarray(value).shape
            if isinstance(arg, GlobalArg):
                self._globals[arg.name] = Cells.of_array(arg.name, np.asarray(value))
            else:
                self._globals[arg.name] = self._typed(arg.name, value)
        self._place_arguments()
        for table in program.tables:
            elements = table.initializer
            assert elements is not None
            self._globals[table.name] = Cells.of_array(table.name, elements)
        at = _Scope(self, _Env({}, self._globals), _NOBODY)
        for t in program.global_temporaries:
            assert t.dtype is not None
            extents = tuple([max(0, at.integer(e)) for e in t.shape])
            self._globals[t.name] = cells = Cells(t.name, t.dtype, prod(extents))
            if t.dim_tags is not None:
                cells.places = _places(t, extents, at.integer)

    def _place_arguments(self) -> None:
        """Say where elements are, for arguments with a layout."""
        at = _Scope(self, _Env({}, self._globals), _NOBODY)
        for arg in self._program.arguments:
            if isinstance(arg, GlobalArg) and (arg.dim_tags is not None or arg.offset != 0):
                self._globals[arg.name].places = _places(arg, self._shapes[arg.name], at.integer)

    def _typed(self, name: str, value: Any) -> Value:
        kind = self._program.dtypes[name]
        return int(value) if is_index(kind) else np.dtype(kind).type(value)

    def run(self) -> Outcome:
        with np.errstate(all="ignore"):
            for node in self._program.host:
                self._host(node, {})
        arrays = {
            name: cells.array.reshape(self._shapes[name])
            for name, cells in self._globals.items()
            if isinstance(cells, Cells) and name in self._shapes
        }
        return Outcome(arrays, self.events)

    # --- the host

    def _host(self, node: HostNode, counters: dict[str, int]) -> None:
        if isinstance(node, Launch):
            self._launch(node, counters)
            return
        at = _Scope(self, _Env(dict(counters), self._globals), _NOBODY)
        for value in at.range(node):
            if at.ends(node, value):
                break
            at.bind(node.iname, value)
            for child in node.body:
                self._host(child, {**counters, node.iname: value})

    def _launch(self, launch: Launch, counters: dict[str, int]) -> None:
        known = {**self._globals, **counters}
        seen = (*launch.arguments, *self._program.tables)
        passed = {variable.name: known[variable.name] for variable in seen}
        self._forget()
        at = _Scope(self, _Env({}, known), _NOBODY)
        sizes = {axis.tag: at.integer(axis.size) for axis in launch.axes}
        groups = [tag for tag in sizes if isinstance(tag, GroupTag)]
        items = [tag for tag in sizes if not isinstance(tag, GroupTag)]
        self.group = tuple([sizes[tag] for tag in items])
        for group in self.shuffled(product(*(range(sizes[t]) for t in groups))):
            local: dict[str, Cells] = {}
            running: list[_Steps] = []
            for item in product(*(range(sizes[t]) for t in items)):
                index = dict(zip((*groups, *items), (*group, *item), strict=True))
                who = Who(group, item)
                scope = _Scope(self, _Env({}, passed), who, local if launch.axes else None)
                for axis in launch.axes:
                    for iname, first in axis.inames:
                        scope.bind(iname, index[axis.tag] + at.integer(first))
                running.append(scope.block(launch.body))
            self._lockstep(running)
        self._forget()

    def _lockstep(self, running: list[_Steps]) -> None:
        """Run the work items of a group from one barrier to the next."""
        while running:
            reached = {next(item, None) for item in self.shuffled(running)}
            if len(reached) > 1:
                raise OracleError("work items of a group wait at different barriers")
            if None in reached:
                return

    def _forget(self) -> None:
        for cells in self._globals.values():
            if isinstance(cells, Cells):
                cells.forget()

    def shuffled(self, items: Any) -> list[Any]:
        """Return the items in a random order."""
        result = list(items)
        self._random.shuffle(result)
        return result

    def synchronize(self) -> None:
        """Let everything that happened be seen by all: at the borders of parallel loops."""
        self._forget()

    @property
    def sub_group_size(self) -> int:
        """How many work items in a row read each other's registers."""
        return self._program.options.sub_group_size or 1

    @property
    def bounding(self) -> frozenset[str]:
        """The variables that bound loops."""
        return self._program.bounding

    @property
    def nonnegative(self) -> frozenset[str]:
        """The names that the program promises are never negative."""
        return self._program.nonnegative

    def function(self, name: str) -> LoopProgram:
        """Return a function that the program calls."""
        libraries = (as_loops(f) for f in self._program.libraries if f.name == name)
        (found,) = (*(f for f in self._program.functions if f.name == name), *libraries)
        return found


class _Called(_Machine):
    """The same for a function that a work item calls."""

    def __init__(self, program: LoopProgram, caller: _Machine, given: Mapping[str, Any]) -> None:
        super().__init__(replace(program, arguments=()), {}, caller._random)
        self.events = caller.events
        self.given = {
            name: value if isinstance(value, Shifted) else self._typed(name, value)
            for name, value in given.items()
        }


def _places(
    array: GlobalArg | TemporaryVariable, shape: tuple[int, ...], integer: Callable[[Any], int]
) -> dict[tuple[int, ...], int]:
    """Return where each element is in a row-major copy of an array."""
    order = {index: place for place, index in enumerate(product(*map(range, shape)))}
    return {at: order[index] for at, index in places(array, shape, integer).items()}


def _declared(node: Declare) -> Cells:
    if node.vector is None:
        return Cells(node.name, node.dtype, node.extent or 1)
    vectors = range(node.extent or 1)
    cells = Cells(node.name, node.dtype, len(vectors) * node.vector)
    pairs = product(vectors, range(node.vector))
    cells.places = {(at, part): at * node.vector + part for at, part in pairs}
    return cells


class _Register(Cells):
    """An element of an array in registers: that of one work item.

    Attributes:
        holds: its place in the array.
    """

    def __init__(self, name: str, dtype: np.dtype[Any]) -> None:
        super().__init__(name, dtype, 1)
        self.holds: int | None = None

    def place(self, index: tuple[int, ...]) -> int:
        (offset,) = index
        if self.holds not in (None, offset):
            raise OracleError(f"a work item that has {self.name}[{self.holds}] touches {offset}")
        self.holds = offset
        return 0

    def of_another(self, offset: int) -> Value | None:
        """Return the element that another work item asks for; None if it is another one."""
        return as_read(self.array[0]) if self.holds == offset and self._written[0] else None


_OF_DOMAINS = {
    ex.Comparison,
    ex.Sum,
    ex.Product,
    ex.FloorDiv,
    ex.Remainder,
    ex.Min,
    ex.Max,
    ex.Variable,
    int,
}
_NOTHING = object()  # what is read of nobody
_NOBODY = Who((), ())
_OLD = "the old value"


class _Scope(Evaluator):
    """The variables that one work item sees."""

    def __init__(
        self,
        machine: _Machine,
        env: _Env,
        who: Who,
        local: dict[str, Cells] | None = None,
    ) -> None:
        super().__init__(machine.samples, machine.events)
        self._machine = machine
        self._env = env
        self._who = who
        self._local = local
        self._path: tuple[int, ...] = ()
        self._begun: list[tuple[Cells | Shifted, int, Cells | Shifted, int]] = []

    def bind(self, name: str, value: int) -> None:
        """Set a loop's variable."""
        if value < 0 and name in self._machine.nonnegative:
            raise OracleError(f"{name} = {value}, which was said to be never negative")
        self._env[name] = value

    def variable(self, name: str) -> Value:
        found = self._env[name]
        if found is _NOTHING:
            raise OracleError(f"{name} is read of no work item that has it")
        if isinstance(found, Cells):
            found = found.read(0, self._who)
            return Count(found) if isinstance(self._machine.samples.get(name), Count) else found
        if isinstance(found, int) and found < 0 and name in self._machine.nonnegative:
            raise OracleError(f"{name} = {found}, which was said to be never negative")
        return Count(found) if type(found) is int else found

    def element(self, name: str, index: tuple[int, ...]) -> Value:
        shape = self._machine.images.get(name)
        cells = self._cells(name)
        place = cells.place(index) if shape is None else int(np.ravel_multi_index(index, shape))
        return cells.read(place, self._who)

    def contributions(self, node: ex.Reduction) -> Iterator[Value]:  # noqa: ARG002
        raise OracleError("a reduction is left in a loop program")

    def _place(self, target: ex.Variable | ex.Subscript) -> int:
        """Return the place of what is written to in its memory."""
        if isinstance(target, ex.Variable):
            return 0
        return self._cells(ex.name_of(target)).place(tuple(self.index(target)))

    def _cells(self, name: str) -> Cells | Shifted:
        found = self._env[name]
        if not isinstance(found, Cells | Shifted):
            raise OracleError(f"{name} is no array")
        return found

    def holds(self, node: Expression) -> bool:
        """Tell whether a condition holds: one of integers, if that is what loops' domains say."""
        if isinstance(node, ex.Comparison) and self._is_of_domain(node):
            sides = self.integer(node.left), self.integer(node.right)
            return super().holds(ex.Comparison(sides[0], node.operator, sides[1]))
        return super().holds(node)

    def _is_of_domain(self, node: ex.Comparison) -> bool:
        classes = {type(part) for part in walk.subexpressions(node)}
        bounding = self._machine.bounding & walk.free_variables(node)
        return bool(bounding) and classes <= _OF_DOMAINS

    def range(self, loop: Loop | HostLoop) -> range:
        """Return the values of a loop's variable."""
        return range(self.integer(loop.lower), self.integer(loop.upper), loop.step)

    def ends(self, loop: Loop | HostLoop, value: int) -> bool:
        """Tell whether a loop ends before an iteration; often, it goes on for nothing instead."""
        return loop.runs is not None and value % 3 != 1 and not self.holds(loop.runs)

    # --- statements: generators that yield at each barrier

    def block(self, block: Block) -> _Steps:  # noqa: C901  (a case for each kind of node)
        self._env = self._env.new_child()
        for position, node in enumerate(block):
            if isinstance(node, Assign):
                self._assign(node)
            elif isinstance(node, Declare):
                self._declare(node)
            elif isinstance(node, Barrier):
                self._who = self._who.after_barrier()
                yield (*self._path, id(node), position)
            elif isinstance(node, Shuffle):
                yield (*self._path, id(node), position)
                self._env[node.name] = self._of_another(node)
                yield (*self._path, id(node), position, 1)
            elif isinstance(node, Wait):
                self._finish()
            elif isinstance(node, If):
                if self.holds(node.condition):
                    yield from self.block(node.body)
            elif isinstance(node, Verbatim):
                self._verbatim(node)
            elif isinstance(node, Call):
                self._call(node)
            else:
                assert not isinstance(node, BlocksBegun | TensorProduct)  # only targets make them
                yield from self._any_loop(node)
        self._env = self._env.parents

    def _of_another(self, node: Shuffle) -> Value:
        """Return what a work item further on in the sub-group has; nothing if that is no sense."""
        assert self._local is not None
        self.samples = {**self.samples, node.name: node.dtype.type(1)}
        own, size = self._number(), self._machine.sub_group_size
        register: Any = self._local.get(f"{ex.name_of(node.element)} of {own + node.distance}")
        if register is None or own // size != (own + node.distance) // size:
            return _NOTHING
        (offset,) = self.index(node.element) if isinstance(node.element, ex.Subscript) else (0,)
        found = register.of_another(offset)
        return _NOTHING if found is None else found

    def _number(self) -> int:
        """Return the number of the work item in its group, the first axis first."""
        number = 0
        for index, size in zip(
            reversed(self._who.item), reversed(self._machine.group), strict=True
        ):
            number = number * size + index
        return number

    def _any_loop(self, node: Loop) -> _Steps:
        if node.parallel:
            self._parallel(node)
        elif node.at_once:
            self._at_once(node)
        else:
            yield from self._loop(node)

    def _loop(self, node: Loop) -> _Steps:
        path = self._path
        self._env = self._env.new_child()
        for value in self.range(node):
            if self.ends(node, value):
                break
            self._path = (*path, value)
            self.bind(node.iname, value)
            yield from self.block(node.body)
        self._path = path
        self._env = self._env.parents

    def _begin(self, node: Assign) -> None:
        """Begin an asynchronous copy."""
        assert isinstance(node.value, ex.Variable | ex.Subscript)
        self.value(node.value)  # where what it reads is in a race
        source = self._cells(ex.name_of(node.value)), self._place(node.value)
        target = self._cells(ex.name_of(node.target)), self._place(node.target)
        target[0].begin(target[1], self._who)
        self._begun.append((*target, *source))

    def _finish(self) -> None:
        """Make the copies that were begun."""
        for target, offset, source, place in self._machine.shuffled(self._begun):
            target.end(offset, source.read(place, self._who), self._who)
        self._begun = []

    def _at_once(self, node: Loop) -> None:
        """Make an assignment for all iterations at once: all is read before anything is written."""
        (assign,) = node.body
        assert isinstance(assign, Assign)
        if assign.asynchronous:
            for value in self._machine.shuffled(self.range(node)):
                self._env = self._env.new_child()
                self.bind(node.iname, value)
                self._begin(assign)
                self._env = self._env.parents
            return
        writes: list[tuple[Cells | Shifted, int, Value]] = []
        for value in self._machine.shuffled(self.range(node)):
            self._env = self._env.new_child()
            self.bind(node.iname, value)
            target = self._cells(ex.name_of(assign.target))
            writes.append((target, self._place(assign.target), self.value(assign.value)))
            self._env = self._env.parents
        for cells, offset, number in self._machine.shuffled(writes):
            cells.write(offset, number, self._who)

    def _parallel(self, node: Loop) -> None:
        """Run perfectly nested loops in any order, each iteration as a work item of its own."""
        if self._who != _NOBODY:
            raise OracleError("parallel loops inside parallel loops")
        loops, body = [node], node.body
        while len(loops) < node.parallel:
            if len(body) != 1 or not isinstance(body[0], Loop):
                raise OracleError(
                    f"the {node.parallel} loops of {node.iname} do not nest perfectly"
                )
            loops.append(body[0])
            body = body[0].body
        self._machine.synchronize()
        for values in self._machine.shuffled(self._iterations(loops)):
            self._env = self._env.new_child()
            self._who = Who(values, ())
            for loop, value in zip(loops, values, strict=True):
                self.bind(loop.iname, value)
            if any(True for _ in self.block(body)):
                raise OracleError("a barrier in ordinary loops")
            self._env = self._env.parents
        self._who = _NOBODY
        self._machine.synchronize()

    def _iterations(self, loops: Sequence[Loop]) -> Iterator[tuple[int, ...]]:
        if not loops:
            yield ()
            return
        for value in self.range(loops[0]):
            self._env = self._env.new_child({loops[0].iname: value})
            rest = list(self._iterations(loops[1:]))
            self._env = self._env.parents
            yield from ((value, *others) for others in rest)

    def _verbatim(self, node: Verbatim) -> None:
        values = {name: self.integer(value) for name, value in node.names}
        self._env = self._env.new_child({**values})
        for target, value in assignments(node.code):
            if ex.name_of(target) not in node.writes:
                raise OracleError(f"{node.insn_id} writes {ex.name_of(target)}")
            offset = self._place(target)
            self._cells(ex.name_of(target)).write(offset, self.value(value), self._who)
        self._env = self._env.parents

    def _call(self, node: Call) -> None:
        """Run a function with what it is given: numbers, and arrays from some element on."""
        function = self._machine.function(node.function)
        given: dict[str, Any] = {}
        for parameter, value in zip(function.arguments, node.arguments, strict=True):
            if isinstance(parameter, GlobalArg):
                assert isinstance(value, ex.Subscript | ex.Variable)
                (offset,) = self.index(value) if isinstance(value, ex.Subscript) else (0,)
                given[parameter.name] = Shifted(self._cells(ex.name_of(value)), offset)
            else:
                counted = is_index(function.dtypes[parameter.name])
                given[parameter.name] = self.integer(value) if counted else self.value(value)
        called = _Called(function, self._machine, given)
        (launch,) = function.host
        assert isinstance(launch, Launch)
        scope = _Scope(called, _Env({}, called.given), self._who)
        if any(True for _ in scope.block(launch.body)):
            raise OracleError("a barrier in a function")

    def _update(self, node: Assign) -> None:
        """Combine an element with one operand, with nothing in between."""
        assert node.atomicity is not None
        if node.atomicity.operation is not None:
            self._update_with(node, node.atomicity.operation.name)
            return
        combined: Any = node.value
        others = [child for child in combined.children if child != node.target]
        if len(others) != 1 or len(combined.children) != 2:
            raise OracleError(f"{node.insn_id} is no update")
        offset = self._place(node.target)
        self.value(others[0])  # where what it reads is in a race
        cells = self._cells(ex.name_of(node.target))
        self._env[_OLD] = cells.update(offset, type(combined).__name__, self._who)
        children = [ex.Variable(_OLD) if c == node.target else c for c in combined.children]
        silent = _Scope(self._machine, self._env, self._who)
        silent._events = None  # counted above
        cells.put(offset, silent.value(type(combined)(tuple(children))))

    def _update_with(self, node: Assign, operation: str) -> None:
        """Combine an element by an operation of a user's own: its old value is in the new one."""
        offset = self._place(node.target)
        cells = self._cells(ex.name_of(node.target))
        self._env[_OLD] = cells.update(offset, operation, self._who)
        old = ex.Variable(_OLD)
        value = walk.rewrite(node.value, lambda part: old if part == node.target else part)
        cells.put(offset, self.value(value))

    def _fetch(self, node: Assign) -> None:
        """Update an element that others may update, too, and write what was there before."""
        (kept, _), (target, written) = node.pairs
        value: Any = written
        offset, place = self._place(target), self._place(kept)
        old = ex.Variable(_OLD)
        new = walk.rewrite(value, lambda part: old if part == target else part)
        operand = value.children[1:] if isinstance(value, ex.Sum) else ()
        commutes = len(operand) == 1 and not any(
            part == target for part in walk.subexpressions(operand[0])
        )
        operation = "Sum" if commutes and value.children[0] == target else "fetched"
        cells = self._cells(ex.name_of(target))
        self.samples = {**self.samples, _OLD: self.samples[ex.name_of(target)]}
        self._env[_OLD] = before = cells.update(offset, operation, self._who, claimed=True)
        cells.put(offset, self.value(new))
        self._cells(ex.name_of(kept)).write(place, before, self._who)

    def _assign(self, node: Assign) -> None:
        if node.others and node.atomicity is not None and node.atomicity.any_order:
            self._fetch(node)
            return
        if not node.others and node.atomicity is not None and not node.atomicity.init:
            self._update(node)
            return
        if node.asynchronous:
            self._begin(node)
            return
        writes: list[tuple[Cells | Shifted, int, Value]] = []
        for target, value in node.pairs:
            offset = self._place(target)
            writes.append((self._cells(ex.name_of(target)), offset, self.value(value)))
        for cells, offset, value in self._machine.shuffled(writes):
            cells.write(offset, value, self._who)

    def _declare(self, node: Declare) -> None:
        if node.address_space is AddressSpace.LOCAL and self._local is not None:
            self._declare_local(node)
            return
        if node.constant and not node.insn_id and node.initial is not None:
            self._env[node.name] = self.integer(node.initial)  # a number, which all see
            return
        cells = _declared(node)
        if node.initial is not None:
            cells.write(0, self.value(node.initial), self._who)
        self._env[node.name] = cells

    def _declare_local(self, node: Declare) -> None:
        # Targets declare it at the top of the function, and its first value is an assignment.
        assert self._local is not None
        if node.in_registers:
            register = _Register(node.name, node.dtype)
            self._env[node.name] = register
            self._local[f"{node.name} of {self._number()}"] = register
            return
        cells = self._local.setdefault(node.name, _declared(node))
        self._env[node.name] = cells
        if node.initial is not None:
            cells.write(0, self.value(node.initial), self._who)
