"""Sums that loops add up in a variable, number by number: what has been added with each write.

``acc = acc + x[k]`` in a loop holds what was there before the loop, and all ``x`` so far.  Which
these are, isl finds as the transitive closure of the step from a write to the one before it; that
is used only if it is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

import islpy as isl

from polygen.analysis.dataflow.comparison_context import Frame, at_source
from polygen.analysis.equality.compared_values import Value, in_names
from polygen.analysis.equality.flow import Flow
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, CInstruction
from polygen.ir.kernel import Kernel

_PARAM, _IN, _OUT = isl.dim_type.param, isl.dim_type.in_, isl.dim_type.out
_HERE, _BEFORE = "__here_", "__before_"  # names of users do not begin so
_NODES: dict[str, type] = {"sum": ex.Sum, "product": ex.Product, "min": ex.Min, "max": ex.Max}


@dataclass(frozen=True)
class Adding:
    """An instruction that adds to what it finds in a variable.

    Attributes:
        insn: the instruction.
        before: what it finds: a read of the variable.
        rest: the other terms.
    """

    insn: Assigning
    before: Expression
    rest: tuple[Expression, ...]


@dataclass(frozen=True)
class Added:
    """Writes whose terms are in what a later one wrote.

    Attributes:
        frame: the instances.
        adding: the instruction.
        points: which instances, and in which later ones their terms are.
    """

    frame: Frame
    adding: Adding
    points: isl.Set


class Running:
    """The running sum in a variable.

    Parameters:
        flow: follows reads.
        kernel: the kernel.
        name: the variable.
        operation: what is called adding here: ``sum``, ``product``, ``min`` or ``max``.
    """

    def __init__(self, flow: Flow, kernel: Kernel, name: str, operation: str) -> None:
        self._flow, self._kernel = flow, kernel
        found = [_adding(w, name, operation) for w in kernel.writers.get(name, ())]
        self._adding = {each.insn.id: each for each in found if isinstance(each, Adding)}
        is_other = any(each is None for each in found)
        self._before = None if is_other or not self._adding else self._closure()

    def holds(self, insn_id: str) -> bool:
        """Tell whether an instruction adds, and it is known what was added before."""
        return self._before is not None and insn_id in self._adding

    def added(self, insn_id: str, names: dict[str, str], points: isl.Set) -> Iterator[Added]:
        """Yield the writes whose terms are in what an instruction wrote, its own included.

        Parameters:
            insn_id: the instruction.
            names: those of its instances.
            points: which instances.
        """
        own = self._adding[insn_id]
        yield Added(self._frame(own, names), own, points)
        for step in self._before or ():
            ids = [str(step.get_tuple_name(kind)) for kind in (_IN, _OUT)]
            if ids[0] != insn_id:
                continue
            other = self._adding[ids[1]]
            others = self._flow.names.fresh(other.insn.within_inames)
            pairs = _flat(step, own.insn, other.insn)
            here = {_HERE + iname: name for iname, name in names.items()}
            before = {_BEFORE + iname: name for iname, name in others.items()}
            inner = points.intersect(in_names(pairs, {**here, **before}))
            if not inner.is_empty():
                yield Added(self._frame(other, others), other, inner)

    def _frame(self, adding: Adding, names: dict[str, str]) -> Frame:
        return Frame(self._kernel, adding.insn, names, adding.insn.predicates)

    def _closure(self) -> list[isl.Map] | None:
        """Return all writes before each write, from instruction to instruction; None if unknown."""
        steps: list[isl.Map] = []
        for adding in self._adding.values():
            here = {iname: _HERE + iname for iname in adding.insn.within_inames}
            frame = self._frame(adding, here)
            sources = self._flow.sources(Value(adding.before, frame))
            if not sources:
                return None  # data decides
            for source in sources:
                if source.writer not in self._adding:
                    continue
                other = self._adding[source.writer]
                before = {iname: _BEFORE + iname for iname in other.insn.within_inames}
                steps.append(_map(at_source(source, here, before), adding.insn, other.insn))
        if not steps:
            return []
        whole = reduce(isl.UnionMap.union, map(isl.UnionMap.from_map, steps))
        closure, exact = whole.transitive_closure()
        if not exact:
            self._flow.note(f"isl does not find what '{next(iter(self._adding))}' has added up")
            return None
        maps = closure.get_map_list()
        return [maps.get_at(position) for position in range(maps.n_map())]


def _adding(writer: Assigning, name: str, operation: str) -> Adding | bool | None:
    """Return how an instruction adds to a variable; False if it begins anew, None for others."""
    if isinstance(writer, CInstruction) or len(writer.assignees) != 1:
        return None
    value = writer.values[0]
    if name not in walk.free_variables(value):
        return False
    if operation not in _NODES or type(value) is not _NODES[operation]:
        return None
    before = [c for c in walk.parts(value) if _is_element(c, name)]
    rest = [c for c in walk.parts(value) if not _is_element(c, name)]
    if len(before) != 1 or any(name in walk.free_variables(c) for c in rest):
        return None
    return Adding(writer, before[0], tuple(rest))


def _is_element(node: Expression, name: str) -> bool:
    return isinstance(node, ex.Subscript | ex.Variable) and ex.name_of(node) == name


def _map(pairs: isl.Set, here: Assigning, before: Assigning) -> isl.Map:
    """Return the map from instances of one instruction to those of another."""
    found = isl.Map.from_range(isl.Set.from_params(pairs))
    for kind, prefix, insn in ((_IN, _HERE, here), (_OUT, _BEFORE, before)):
        for position, iname in enumerate(sorted(insn.within_inames)):
            source = found.find_dim_by_name(_PARAM, prefix + iname)
            if source < 0:
                found = found.add_dims(kind, 1)
            else:
                found = found.move_dims(kind, position, _PARAM, source, 1)
        found = found.set_tuple_name(kind, insn.id)
    return found


def _flat(step: isl.Map, here: Assigning, before: Assigning) -> isl.Set:
    for kind, prefix, insn in ((_IN, _HERE, here), (_OUT, _BEFORE, before)):
        step = step.reset_tuple_id(kind)
        count = step.dim(_PARAM)
        for position, iname in enumerate(sorted(insn.within_inames)):
            step = step.set_dim_name(kind, position, prefix + iname)
        step = step.move_dims(_PARAM, count, kind, 0, len(insn.within_inames))
    return step.params()
