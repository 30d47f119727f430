"""Counting one by one: what the instances of a kernel do, seen while their values are computed.

Loops, conditions and subscripts are those of inames and sizes; of data only the type matters, so
that nothing has to be passed but sizes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, GlobalArg
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import dtype_of
from polygen.ir.tags import LocalTag
from polygen.lower.program import Barrier, HostLoop, If, Launch, Loop, LoopProgram
from tests.oracle.cases import launches
from tests.oracle.evaluate import OF_INTEGERS, Evaluator, Value, integer
from tests.oracle.points import Points
from tests.oracle.typing import samples_of, size_values

Operation = tuple[str, str]  # its name and its type
Access = tuple[str, str, str]  # address space, load or store, array


@dataclass
class Done:
    """What instances have done.

    Attributes:
        operations: how many of each kind, of all work items together.
        by_subgroup: in how many sub-groups some work item did it.
        by_group: in how many work groups.
        accesses: how many of each kind.
        elements: which elements of which array are read, or written.
        places: where each access of an array went: in an instruction, for values of its inames.
    """

    operations: Counter[Operation] = field(default_factory=Counter)
    by_subgroup: Counter[Operation] = field(default_factory=Counter)
    by_group: Counter[Operation] = field(default_factory=Counter)
    accesses: Counter[Access] = field(default_factory=Counter)
    elements: set[tuple[str, str, tuple[int, ...]]] = field(default_factory=set)
    places: dict[tuple[str, str], list[tuple[dict[str, int], int]]] = field(default_factory=dict)


def group_of(program: LoopProgram) -> tuple[int, int, int]:
    """Return how many work items a group has along each axis."""
    extents = [1, 1, 1]
    for launch in launches(program):
        for axis in launch.axes:
            if isinstance(axis.tag, LocalTag):
                extents[axis.tag.axis] = max(extents[axis.tag.axis], integer(axis.size, {}))
    return extents[0], extents[1], extents[2]


def done(
    kernel: Kernel,
    sizes: Mapping[str, int],
    group: tuple[int, int, int] = (1, 1, 1),
    subgroup_size: int = 4,
    index_dtype: Any = np.int32,
) -> Done:
    """Return what a kernel does for given sizes.

    Parameters:
        kernel: its types are known, its inames tagged ``l.auto`` have axes.
        sizes: the value of each scalar argument.
        group: how many work items a group has along each axis.
        subgroup_size: how many work items a sub-group has.
        index_dtype: the type of inames and sizes.
    """
    counts = _Counts(kernel.expanded, sizes, group, subgroup_size)
    counts.index_dtype = np.dtype(index_dtype)
    return counts.all()


class _Counts:
    index_dtype: np.dtype[Any]

    def __init__(
        self,
        kernel: Kernel,
        sizes: Mapping[str, int],
        group: tuple[int, int, int],
        subgroup_size: int,
    ) -> None:
        self.kernel, self.sizes = kernel, size_values(kernel, sizes)
        self._subgroup_size = subgroup_size
        arrays = {
            a.name: np.zeros(0, a.dtype) for a in kernel.arguments if isinstance(a, GlobalArg)
        }
        self.samples = samples_of(kernel, {**sizes, **arrays})
        self.points = Points(kernel, self.sizes, self._no_data)
        self.found = Done()
        # How often one work item did it, for each sub-group, and for each group.
        self._items: dict[tuple[Any, ...], Counter[Any]] = {}
        self._axes = {i: t.axis for i, t in kernel.tags.items() if isinstance(t, LocalTag)}
        self._first = {i: self.points.first(i) for i in self._axes}
        self._extents = group

    def _no_data(self, name: str) -> int:
        raise AssertionError(f"{name} is data")

    def all(self) -> Done:
        for insn in self.kernel.assignments:
            names = tuple(sorted(insn.within_inames))
            for values in self.points.values(insn.within_inames, names, {}):
                self._instance(insn, dict(zip(names, values, strict=True)))
        self._total()
        return self.found

    def _total(self) -> None:
        for (who, *_, operation), counts in self._items.items():
            total = self.found.by_subgroup if who == "subgroup" else self.found.by_group
            total[operation] += max(counts.values())

    def _instance(self, insn: Assigning, inames: dict[str, int]) -> None:
        seen = _Seen(self, insn, insn.within_inames, inames)
        if not all(map(seen.holds, insn.predicates)):
            return
        values = insn.values
        if insn.atomicity is not None and len(values) == 2:  # the old value is read once
            old, sample = values[0], self.samples[ex.name_of(values[0])]
            new = walk.rewrite(values[1], lambda part: sample if part == old else part)
            values = (old, new)
        for value in {(v.aggregate if isinstance(v, ex.Component) else v): 0 for v in values}:
            seen.value(value)
        for target in insn.assignees:
            seen.touches(target, "store")

    def note(
        self, where: tuple[str, int], inames: Mapping[str, int], name: str, dtype: Any
    ) -> None:
        """Count an operation."""
        operation = (name, np.dtype(dtype).name)
        self.found.operations[operation] += 1
        others = tuple(sorted((i, v) for i, v in inames.items() if i not in self._axes))
        item = [0, 0, 0]
        for iname, axis in self._axes.items():
            if iname in inames:
                item[axis] = inames[iname] - self._first[iname]
        number = item[0] + self._extents[0] * (item[1] + self._extents[1] * item[2])
        key = (*where, others, operation)
        subgroup = number // self._subgroup_size
        self._items.setdefault(("subgroup", subgroup, *key), Counter())[number] += 1
        self._items.setdefault(("group", 0, *key), Counter())[number] += 1


class _Seen(Evaluator):
    def __init__(
        self, counts: _Counts, insn: Assigning, around: frozenset[str], inames: dict[str, int]
    ) -> None:
        super().__init__(counts.samples)
        self._counts, self._insn, self._around, self._inames = counts, insn, around, inames

    def value(self, node: Expression) -> Value:
        for name in _operations(node):
            dtype = self._type(node)
            self._counts.note((self._insn.id, id(node)), self._inames, name, dtype)
        return super().value(node)

    def integer(self, node: Expression) -> int:
        if type(node) in OF_INTEGERS:
            for name in _operations(node):
                self._counts.note((self._insn.id, id(node)), self._inames, name, self._type(node))
        return super().integer(node)

    def _type(self, node: Expression) -> Any:
        sample = self.sample(node)
        whole = isinstance(sample, int) and not isinstance(sample, np.generic)
        return self._counts.index_dtype if whole else np.result_type(sample)

    def variable(self, name: str) -> Value:
        if name in self._inames:
            return self._inames[name]
        if name in self._counts.sizes:
            return self._counts.sizes[name]
        self.touches(ex.Variable(name), "load")
        return self.samples[name]

    def element(self, name: str, index: tuple[int, ...]) -> Value:
        self._touched(name, index, "load")
        return self.samples[name]

    def touches(self, target: Expression, direction: str) -> None:
        """Note an access."""
        index = self.index(target) if isinstance(target, ex.Subscript) else ()
        self._touched(ex.name_of(target), index, direction)

    def _touched(self, name: str, index: tuple[int, ...], direction: str) -> None:
        kernel = self._counts.kernel
        if name not in kernel.variables or not hasattr(kernel.variables[name], "shape"):
            return
        space = kernel.address_space(name)
        if space is AddressSpace.PRIVATE:
            return
        found = self._counts.found
        found.accesses[space.value, direction, name] += 1
        found.elements.add((name, "read" if direction == "load" else "write", index))
        place = 0
        for subscript, extent in zip(index, kernel.array(name).shape or (), strict=True):
            place = place * integer(extent, self._counts.sizes) + subscript
        places = found.places.setdefault((self._insn.id, f"{direction} {name}"), [])
        places.append((dict(self._inames), place))

    def contributions(self, node: ex.Reduction) -> Iterator[Value]:
        around = self._around.union(node.inames)
        for values in self._counts.points.values(around, node.inames, self._inames):
            inames = {**self._inames, **dict(zip(node.inames, values, strict=True))}
            inside = _Seen(self._counts, self._insn, around, inames)
            name = str(node.operation).partition("<")[0]
            if name not in ("any", "all"):
                dtype = dtype_of(node.operation)
                dtype = self._reduced(node) if dtype is None else dtype
                where = (self._insn.id, id(node))
                self._counts.note(where, inames, _REDUCED.get(name, f"func:{name}"), dtype)
            yield inside.value(node.operand)

    def _reduced(self, node: ex.Reduction) -> Any:
        sample = self.sample(node)
        return np.result_type(sample[0] if isinstance(sample, tuple) else sample)


_REDUCED = {"sum": "add", "product": "mul", "min": "func:min", "max": "func:max"}
_BETWEEN = {
    "Sum": "add",
    "Product": "mul",
    "BitwiseAnd": "bw",
    "BitwiseOr": "bw",
    "BitwiseXor": "bw",
    "Min": "func:min",
    "Max": "func:max",
}
_ALONE = {
    "Quotient": "div",
    "FloorDiv": "div",
    "Remainder": "div",
    "Power": "pow",
    "LeftShift": "shift",
    "RightShift": "shift",
    "BitwiseNot": "bw",
}


def _operations(node: Expression) -> Iterator[str]:
    """Yield the operations that a node is, without what is inside of it."""
    kind = type(node).__name__
    if kind in _BETWEEN:
        children: Any = node.children  # type: ignore[union-attr]
        signs = kind == "Product" and isinstance(children[0], int) and children[0] == -1
        yield from [_BETWEEN[kind]] * (len(children) - 1 - signs)
    elif kind in _ALONE:
        yield _ALONE[kind]
    elif isinstance(node, ex.Call):
        name = ex.name_of(node.function)
        if not name.startswith(("int", "uint", "float", "complex", "bool")):
            yield f"func:{name}"


def synchronized(program: LoopProgram, sizes: Mapping[str, int]) -> tuple[int, int]:
    """Return how many barriers the first work item passes, and how much is launched."""
    return _passed(program.host, dict(sizes))


def _passed(nodes: Sequence[Any], values: dict[str, int]) -> tuple[int, int]:
    barriers = launched = 0
    for node in nodes:
        inside = [(0, 0)]
        if isinstance(node, Launch):
            first = {i: integer(f, values) for axis in node.axes for i, f in axis.inames}
            inside = [(0, 1), _passed(node.body, {**values, **first})]
        elif isinstance(node, Loop | HostLoop):
            ends = integer(node.lower, values), integer(node.upper, values)
            inside = [
                _passed(node.body, {**values, node.iname: value})
                for value in range(*ends, node.step)
            ]
        elif isinstance(node, If) and any(isinstance(n, Barrier | Loop | If) for n in node.body):
            if integer(ex.If(node.condition, 1, 0), values):
                inside = [_passed(node.body, values)]
        elif isinstance(node, Barrier):
            inside = [(1, 0)]
        barriers += sum(one for one, _ in inside)
        launched += sum(one for _, one in inside)
    return barriers, launched
