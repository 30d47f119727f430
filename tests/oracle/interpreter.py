"""The meaning of a kernel: its instances, executed one by one in a permitted order.

This follows the section on meaning of docs/design.md and nothing else.  A seed decides what
that leaves open: in which order independent instructions, and iterations of parallel inames, come.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import islpy as isl
import numpy as np
from numpy.typing import NDArray

from polygen.ir import expression as ex
from polygen.ir.instruction import Assigning, CInstruction, Instruction, KernelCall
from polygen.ir.kernel import Kernel
from polygen.ir.relation import InstanceRelation
from polygen.ir.tags import GroupTag, LocalTag
from tests.oracle.calls import given
from tests.oracle.contributions import Contribution, with_contributions
from tests.oracle.evaluate import Count, Evaluator, Event, OracleError, Value
from tests.oracle.lanes import lane_inames, parallel_inames
from tests.oracle.memory import Memory
from tests.oracle.nesting import loops_outside
from tests.oracle.parts import PartMemory, Place
from tests.oracle.points import Points, surrounding
from tests.oracle.rules import inlined
from tests.oracle.typing import samples_of, size_names, size_values
from tests.oracle.verbatim import assignments

Arrays = dict[str, NDArray[Any]]
_Sum = tuple[
    str, ex.Reduction, frozenset[tuple[str, int]]
]  # of which instance of which instruction


@dataclass(frozen=True)
class Outcome:
    """What an execution leaves: all arrays, and how often each instance was executed."""

    arrays: Arrays
    events: Counter[Event]


def interpret(
    kernel: Kernel, arguments: Mapping[str, Any], seed: int = 0, *, sorts_sums: bool = False
) -> Outcome:
    """Execute a kernel, in an order that depends on the seed.

    Parameters:
        kernel: any kernel.
        arguments: every argument: arrays, which are not changed, and scalars.
        seed: picks one of the permitted orders.
        sorts_sums: add up reductions in an order of their own, so that rounding does not tell the
            order of iterations.

    Raises:
        OracleError: if the kernel reads what was not written, or touches what is not there.
    """
    kernel = inlined(kernel)
    run = _Run(kernel, arguments, random.Random(seed))
    run.sorts_sums = sorts_sums
    with np.errstate(all="ignore"):
        run.execute(run.instructions, {})
    return Outcome(run.memory.arrays, run.events)


class _Run:
    def __init__(
        self, kernel: Kernel, arguments: Mapping[str, Any], shuffler: random.Random
    ) -> None:
        self._kernel = kernel
        self.sorts_sums = False
        self.instructions = with_contributions(kernel)
        self.contributed: dict[_Sum, list[Value]] = {}
        self.summed = {
            (c.owner, c.reduction) for c in self.instructions if isinstance(c, Contribution)
        }
        self._random = shuffler
        self.samples = samples_of(kernel, arguments)
        self.sizes = size_values(kernel, arguments)
        self.points = Points(kernel, self.sizes, lambda name: int(self.scalar(name, self._at)))
        self._at: Mapping[str, int] = {}
        self.events: Counter[Event] = Counter()
        self.memory = Memory(kernel, arguments, self.samples)
        self._tags = {i: t for i, t in kernel.tags.items() if isinstance(t, GroupTag | LocalTag)}
        self._parallel = parallel_inames(kernel)
        self._lanes = lane_inames(kernel)
        self._first = {i: self.points.first(i) for i in self._tags}
        self._outside = loops_outside(kernel, self.instructions)

    # --- order

    def execute(self, insns: Sequence[Instruction], fixed: Mapping[str, int]) -> None:
        """Execute the instances of `insns` whose sequential inames have the `fixed` values."""
        for group in self._ordered(self._groups(insns, fixed), fixed):
            if len(group) == 1 and not self._loops(group[0], fixed):
                self._statement(group[0], fixed)
                continue
            iname = self._outermost(group, fixed)
            values = {v for insn in group for v in self._values(insn, iname, fixed)}
            for value in sorted(values):
                self.execute(group, {**fixed, iname: value})

    def _loops(self, insn: Instruction, fixed: Mapping[str, int]) -> frozenset[str]:
        """Return the sequential inames of `insn` that have no value yet."""
        return insn.within_inames.difference(fixed, self._parallel)

    def _groups(
        self, insns: Sequence[Instruction], fixed: Mapping[str, int]
    ) -> list[list[Instruction]]:
        """Put instructions that share a loop, directly or through others, together."""
        groups: list[tuple[set[str], list[Instruction]]] = []
        for insn in insns:
            loops = set(self._loops(insn, fixed))
            members = [insn]
            for other in [g for g in groups if g[0] & loops]:
                groups.remove(other)
                loops |= other[0]
                members = other[1] + members
            groups.append((loops, members))
        return [members for _, members in groups]

    def _ordered(
        self, groups: list[list[Instruction]], fixed: Mapping[str, int]
    ) -> Iterator[list[Instruction]]:
        """Yield groups in a random order that dependencies permit."""
        left = list(groups)
        while left:
            ready = [g for g in left if not self._waits(g, [o for o in left if o is not g], fixed)]
            if not ready:
                raise OracleError("instructions depend on each other in a circle")
            chosen = self._random.choice(ready)
            left = [g for g in left if g is not chosen]
            yield chosen

    def _waits(
        self,
        group: list[Instruction],
        others: list[list[Instruction]],
        fixed: Mapping[str, int],
    ) -> bool:
        ids = {insn.id for other in others for insn in other}
        return any(
            not ids.isdisjoint(insn.depends_on)
            or any(r.first in ids and self._relates(r, insn, fixed) for r in insn.happens_after)
            for insn in group
        )

    def _relates(
        self, relation: InstanceRelation, insn: Instruction, fixed: Mapping[str, int]
    ) -> bool:
        """Tell whether two instances are related whose sequential inames have these values."""
        first = self._kernel.instruction(relation.first)
        for a, b in itertools.product(self._instances(first, fixed), self._instances(insn, fixed)):
            point = {**a, **{f"{name}'": value for name, value in b.items()}, **self.sizes}
            pairs = relation.flat("'")
            for name, value in point.items():
                position = pairs.find_dim_by_name(isl.dim_type.param, name)
                if position >= 0:
                    pairs = pairs.fix_val(isl.dim_type.param, position, isl.Val(value))
            if not pairs.is_empty():
                return True
        return False

    def _instances(self, insn: Instruction, fixed: Mapping[str, int]) -> list[dict[str, int]]:
        known = {i: v for i, v in fixed.items() if i in insn.within_inames}
        left = tuple(sorted(insn.within_inames.difference(known)))
        rows = self.points.values(insn.within_inames, left, known)
        return [{**known, **dict(zip(left, row, strict=True))} for row in rows]

    def _outermost(self, group: list[Instruction], fixed: Mapping[str, int]) -> str:
        shared = frozenset.intersection(*(self._loops(insn, fixed) for insn in group))
        free = [i for i in self._kernel.inames if i in shared]
        free = [i for i in free if shared.isdisjoint(self._outside[i])]
        if not free:
            raise OracleError("no loop can be outside")
        return free[0]

    # --- instances

    def _values(self, insn: Instruction, iname: str, fixed: Mapping[str, int]) -> set[int]:
        """Return the values of a sequential iname, in some work item or other."""
        found: set[int] = set()
        for known in self._items(insn, fixed, iname):
            self._at = known
            found.update(v for (v,) in self.points.values(insn.within_inames, (iname,), known))
        return found

    def _items(
        self, insn: Instruction, fixed: Mapping[str, int], *others: str
    ) -> list[dict[str, int]]:
        """Return values of inames with parallel ones among them, as far as bounds need these."""
        within = insn.within_inames
        by_data = [i for i in (*fixed, *others) if i in within and self._reads_data(i)]
        known = {i: v for i, v in fixed.items() if i in within}
        parallel = tuple(sorted(within.intersection(self._parallel)))
        if not (by_data and parallel):
            return [known]
        static = {i: v for i, v in known.items() if i not in by_data}
        rows = self.points.values(within, parallel, static)
        found = [{**static, **dict(zip(parallel, row, strict=True))} for row in rows]
        # Outermost first: what bounds an inner loop is computed where the outer one has this value.
        for iname in sorted(by_data, key=lambda i: len(surrounding(self._kernel, i))):
            if iname in known:
                found = [{**item, iname: known[iname]} for item in found]
                found = [item for item in found if self._exists(insn, item)]
        return found

    def _exists(self, insn: Instruction, inames: Mapping[str, int]) -> bool:
        self._at = inames
        return bool(self.points.values(insn.within_inames, (), inames))

    def _reads_data(self, iname: str) -> bool:
        needed = [iname, *surrounding(self._kernel, iname)]
        names = {p for i in needed for p in self._kernel.home_domains[i].parameters}
        return any(t.name in names for t in self._kernel.temporaries)

    def _statement(self, insn: Instruction, fixed: Mapping[str, int]) -> None:
        instances = [
            point for known in self._items(insn, fixed) for point in self._all(insn, known)
        ]
        self._random.shuffle(instances)
        for inames in instances:
            self._at = inames
            self._execute(_Instance(self, insn, insn.within_inames, inames), insn)

    def _all(self, insn: Instruction, known: Mapping[str, int]) -> list[dict[str, int]]:
        """Return the instances at which some inames have known values."""
        left = sorted(insn.within_inames.difference(known))
        groups = [tuple(left)]
        if any(map(self._reads_data, left)):  # which is another in other iterations around
            left.sort(key=lambda i: len(surrounding(self._kernel, i)))
            groups = [(iname,) for iname in left]
        found = [dict(known)]
        for group in groups:
            found = [more for point in found for more in self._with(insn, point, group)]
        return found

    def _with(
        self, insn: Instruction, point: dict[str, int], inames: tuple[str, ...]
    ) -> list[dict[str, int]]:
        self._at = point
        rows = self.points.values(insn.within_inames, inames, point)
        return [{**point, **dict(zip(inames, row, strict=True))} for row in rows]

    def _execute(self, instance: _Instance, insn: Instruction) -> None:
        if not isinstance(insn, Assigning) or not all(map(instance.holds, insn.predicates)):
            return
        if isinstance(insn, CInstruction):
            self._verbatim(instance, insn)
            return
        if isinstance(insn, KernelCall):
            self._call(instance, insn)
            return
        values = [instance.value(value) for value in insn.values]
        if isinstance(insn, Contribution):
            self._contribute(instance, insn, values[0])
            return
        # All is read before anything is written, and that in any order.
        places = [instance.index(a) if isinstance(a, ex.Subscript) else () for a in insn.assignees]
        writes = list(zip(insn.written_names, places, values, strict=True))
        if len(set(zip(insn.written_names, map(tuple, places), strict=True))) < len(writes):
            raise OracleError(f"{insn.id} writes an element twice at once")
        self._random.shuffle(writes)
        for name, index, value in writes:
            self.memory.write(name, index, value, self.items(instance.inames))

    def _verbatim(self, instance: _Instance, insn: CInstruction) -> None:
        inside = _Verbatim(self, instance, insn)
        for target, node in assignments(insn.code):
            value = inside.value(node)
            index = inside.index(target) if isinstance(target, ex.Subscript) else ()
            name = ex.name_of(target)
            place = inside.place(name, index)
            self.memory.write(name, place, value, self.items(instance.inames))

    def _call(self, instance: _Instance, insn: KernelCall) -> None:
        """Execute what is called, in between: its arrays are parts of those here."""
        assert insn.callee is not None
        callee, passed = inlined(insn.callee), given(insn)
        counted = size_names(callee)
        numbers = {
            name: instance.integer(node) if name in counted else instance.value(node)
            for name, node in passed.scalars.items()
        }
        for arg in callee.arguments:
            if arg.name in counted:
                continue
            if arg.name in numbers and arg.dtype is not None:
                numbers[arg.name] = arg.dtype.type(numbers[arg.name])
        arrays = {n: np.zeros(0, self.dtype(ex.name_of(p))) for n, p in passed.parts.items()}
        run = _Run(callee, {**numbers, **arrays}, self._random)
        weak = {n: v for n, v in numbers.items() if not isinstance(v, np.generic)}
        run.samples |= {n: type(v)(1) for n, v in weak.items() if n not in counted}
        run.sorts_sums, run.events = self.sorts_sums, self.events
        places = {name: instance.places(part) for name, part in passed.parts.items()}
        items = self.items(instance.inames)
        run.memory = PartMemory(callee, numbers, places, self.memory, items, run.samples)
        run.execute(run.instructions, {})

    def dtype(self, name: str) -> np.dtype[Any]:
        """Return the type of the elements of a variable."""
        return np.result_type(self.samples[name])

    def _contribute(self, instance: _Instance, insn: Contribution, value: Value) -> None:
        if insn.reduction is None:
            raise OracleError("a contribution to nothing")
        around = insn.within_inames.difference(insn.reduction.inames)
        at = frozenset((i, v) for i, v in instance.inames.items() if i in around)
        self.contributed.setdefault((insn.owner, insn.reduction, at), []).append(value)

    def items(self, inames: Mapping[str, int]) -> dict[object, int]:
        """Return the index of the work item along each axis that these inames are on, and lanes."""
        found: dict[object, int] = {i: v for i, v in inames.items() if i in self._lanes}
        found |= {self._tags[i]: v - self._first[i] for i, v in inames.items() if i in self._tags}
        return found

    def scalar(self, name: str, inames: Mapping[str, int]) -> Value:
        """Return the value of a scalar that is no iname."""
        return self.memory.read(name, (), self.items(inames))


class _Instance(Evaluator):
    """What expressions mean in one instance, or one iteration of a reduction in it."""

    def __init__(
        self, run: _Run, insn: Instruction, around: frozenset[str], inames: Mapping[str, int]
    ) -> None:
        super().__init__(run.samples, run.events)
        self._run = run
        self._insn = insn
        self._around = around
        self.inames = inames

    def variable(self, name: str) -> Value:
        if name in self.inames:
            return Count(self.inames[name])
        if name in self._run.sizes:
            return Count(self._run.sizes[name])
        return self._run.scalar(name, self.inames)

    def element(self, name: str, index: tuple[int, ...]) -> Value:
        return self._run.memory.read(name, index, self._run.items(self.inames))

    def places(self, part: ex.SubArrayRef) -> Callable[[tuple[int, ...]], Place]:
        """Return what tells which element an element of part of an array is."""
        subscript = part.subscript

        def place(index: tuple[int, ...]) -> Place:
            axes = dict(zip(part.swept_inames, index, strict=True))
            there = _Instance(self._run, self._insn, self._around, {**self.inames, **axes})
            index = there.index(subscript) if isinstance(subscript, ex.Subscript) else ()
            return ex.name_of(subscript), tuple(index)

        return place

    def contributions(self, node: ex.Reduction) -> Iterator[Value]:
        found = self._contributions(node)
        yield from sorted(found, key=repr) if self._run.sorts_sums else found

    def _contributions(self, node: ex.Reduction) -> Iterator[Value]:
        around = self._around.union(node.inames)
        if (self._insn.id, node) in self._run.summed:
            at = frozenset(self.inames.items())
            # It may be asked for several times: for both results of `argmax`, say.
            yield from self._run.contributed.get((self._insn.id, node, at), ())
            return
        for values in self._run.points.values(around, node.inames, self.inames):
            inames = {**self.inames, **dict(zip(node.inames, values, strict=True))}
            yield _Instance(self._run, self._insn, around, inames).value(node.operand)


class _Verbatim(_Instance):
    """The same in verbatim C: arrays have one axis, and names mean what they were given."""

    def __init__(self, run: _Run, instance: _Instance, insn: CInstruction) -> None:
        super().__init__(run, insn, insn.within_inames, instance.inames)
        self._names = {name: instance.integer(value) for name, value in insn.iname_exprs}
        self._allowed = {*insn.read_names, *insn.written_names}

    def variable(self, name: str) -> Value:
        return self._names[name] if name in self._names else super().variable(name)

    def place(self, name: str, index: tuple[int, ...]) -> tuple[int, ...]:
        """Return the subscripts of an element that has one subscript here."""
        if name not in self._allowed:
            raise OracleError(f"verbatim C touches {name}, and does not say so")
        shape = self._run.memory.shape(name)
        if not index:
            return ()
        if not 0 <= index[0] < int(np.prod(shape)):
            raise OracleError(f"{name}{list(index)} is outside: {shape}")
        return tuple(int(i) for i in np.unravel_index(index[0], shape))

    def element(self, name: str, index: tuple[int, ...]) -> Value:
        return super().element(name, self.place(name, index))
