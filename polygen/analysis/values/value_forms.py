"""Normal forms of subscripts and conditions that are data, comparable between kernels.

``2*idx[i + 1] + j`` has the form ``_0*idx[_1] + _2``, with the arguments ``2``, ``i + 1`` and
``j``.  Two expressions of one form have the same value where they have the same arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import islice, product

import islpy as isl

from polygen.analysis.access.accesses import Reference
from polygen.analysis.access.instance_map import InstanceMap
from polygen.analysis.dataflow.comparison_context import (
    Frame,
    Names,
    at_source,
    equal_set,
    executed,
)
from polygen.analysis.dataflow.read_sources import overlapping, sources
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.typing.kept_types import keeps_type
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import ValueArg
from polygen.ir.domain import flat_names, project_out
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, identical
from polygen.ir.kernel import Kernel

_MOST_PAIRINGS = 16
_ARGUMENT = "__argument_"  # names of users do not begin so


@dataclass(frozen=True)
class ValueForm:
    """An expression without what is affine in it.

    Attributes:
        form: has names in place of the arguments.
        arguments: affine expressions of the names of a context.
    """

    form: Expression
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Touched:
    """The elements along one axis that a reference touches.

    Attributes:
        points: the instances, a flat set over the names of a context.
        subscript: which element it is.
        conditions: those that are data, all of which have to hold.
        complete: whether all of these are there.  If not, elements may be in it that are not
            touched.
    """

    points: isl.Set
    subscript: ValueForm
    conditions: tuple[ValueForm, ...]
    complete: bool

    def left(self, others: Iterable[Touched]) -> isl.Set:
        """Return the points at which none of the others certainly touches the same element."""
        left = self.points
        for other in (o for o in others if o.complete):
            for pairing in islice(self._pairings(other), _MOST_PAIRINGS):
                left = left.subtract(self._in_common(other, pairing))
                if left.is_empty():
                    return left
        return left

    def _pairings(self, other: Touched) -> Iterator[tuple[ValueForm, ...]]:
        """Yield conditions of this one that have the forms of the other's."""
        if not identical(self.subscript.form, other.subscript.form):
            return
        candidates = [
            [mine for mine in self.conditions if identical(mine.form, theirs.form)]
            for theirs in other.conditions
        ]
        yield from product(*candidates)

    def _in_common(self, other: Touched, pairing: tuple[ValueForm, ...]) -> isl.Set:
        there = _with_arguments(other.points, (other.subscript, *other.conditions))
        here = _with_arguments(self.points, (self.subscript, *pairing))
        names = [n for n in flat_names(there) if n.startswith("__") and not _is_argument(n)]
        both = here.intersect(project_out(there, names))
        return project_out(both, [n for n in flat_names(both) if _is_argument(n)])


def _with_arguments(points: isl.Set, forms: Sequence[ValueForm]) -> isl.Set:
    arguments = [argument for form in forms for argument in form.arguments]
    equations = (
        equal_set(ex.Variable(f"{_ARGUMENT}{number}"), argument)
        for number, argument in enumerate(arguments)
    )
    return reduce(isl.Set.intersect, equations, points)


def _is_argument(name: str) -> bool:
    return name.startswith(_ARGUMENT)


class ValueForms:
    """Finds the forms of one kernel's expressions.

    Parameters:
        kernel: the kernel.
        names: gives names to inames in the context.
        instances: what old inames are in terms of those of this kernel.
        inames_of: the old inames of an instruction that is known to compute what it computed in
            the other kernel; None for all other instructions, whose expressions are followed.
    """

    def __init__(
        self,
        kernel: Kernel,
        names: Names,
        instances: InstanceMap,
        inames_of: Callable[[str], frozenset[str] | None],
    ) -> None:
        self._kernel = kernel
        self._names = names
        self._instances = instances
        self._inames_of = inames_of
        self._points = kernel.assumptions.flat

    def touched(self, reference: Reference, axis: int) -> Touched | None:
        """Return what a reference certainly touches along an axis; None if that has no form."""
        if not isinstance(reference.insn, Assigning) or reference.vague:
            return None  # verbatim C may touch nothing
        names = self._names.fresh(reference.inames)
        frame = Frame(self._kernel, reference.insn, names, reference.conditions)
        self._points, exact = executed(frame)
        if not exact:
            return None
        self._points = self._points.intersect(known_parameters(self._kernel))
        data: list[Expression] = []
        for condition in reference.conditions:
            holds = frame.holds(condition)
            if holds is None:
                data.append(condition)
            else:
                self._points = self._points.intersect(holds)
        subscript = self._form(reference.index[axis], frame)
        conditions = [self._form(condition, frame) for condition in data]
        if subscript is None:
            return None
        known = tuple([c for c in conditions if c is not None])
        return Touched(self._points, subscript, known, len(known) == len(conditions))

    def _form(self, node: Expression, frame: Frame) -> ValueForm | None:
        arguments: list[Expression] = []
        form = self._formed(node, frame, arguments)
        return None if form is None else ValueForm(form, tuple(arguments))

    def _formed(
        self, node: Expression, frame: Frame, arguments: list[Expression]
    ) -> Expression | None:
        if frame.integer(node) is not None:
            return _argument(frame.named(node), arguments)
        if isinstance(node, ex.Subscript | ex.Variable):
            return self._read(node, frame, arguments)
        if isinstance(node, ex.Reduction):
            return None
        parts = walk.parts(node)
        if isinstance(node, ex.Sum):
            affine = [p for p in parts if frame.integer(p) is not None]
            rest = [p for p in parts if frame.integer(p) is None]
            parts = (*rest, ex.sum_of(*affine)) if affine else tuple(rest)
        formed = [self._formed(part, frame, arguments) for part in parts]
        known = tuple([part for part in formed if part is not None])
        if len(known) < len(formed):
            return None
        return ex.sum_of(*known) if isinstance(node, ex.Sum) else walk.rebuild(node, known)

    def _read(
        self,
        node: ex.Subscript | ex.Variable,
        frame: Frame,
        arguments: list[Expression],
    ) -> Expression | None:
        name = ex.name_of(node)
        if isinstance(self._kernel.variables.get(name), ValueArg):
            return node
        arrays = overlapping(self._kernel, name)
        if not any(array in self._kernel.writers for array in arrays):
            return self._element(node, frame, arguments)
        if len(arrays) > 1 or frame.is_too_deep:
            return None
        source = self._only_source(node, frame)
        if source is None:
            return None
        writer, names = source.writer, source.names
        if writer is None:
            return self._element(node, frame, arguments)
        inames = self._inames_of(writer)
        insn = self._kernel.assignment(writer)
        there = frame.followed(insn, names, {})
        if inames is None:
            if not keeps_type(self._kernel, name, writer):
                return None
            return self._formed(insn.values[source.position], there, arguments)
        values = [self._instances.value(writer, iname) for iname in sorted(inames)]
        marks = tuple([_argument(there.named(value), arguments) for value in values])
        return ex.Subscript(ex.Variable(f"{name} of {writer}, {source.position}"), marks)

    def _element(
        self,
        node: ex.Subscript | ex.Variable,
        frame: Frame,
        arguments: list[Expression],
    ) -> Expression | None:
        """Return the form of what was there before the kernel."""
        if isinstance(node, ex.Variable):
            return node
        index = [self._formed(i, frame, arguments) for i in ex.index_tuple(node)]
        known = tuple([part for part in index if part is not None])
        return ex.Subscript(node.aggregate, known) if len(known) == len(index) else None

    def _only_source(self, node: ex.Subscript | ex.Variable, frame: Frame) -> _Written | None:
        """Return what wrote all that is read; None if that is not one assignee of one."""
        found: list[tuple[_Written, isl.Set]] = []
        for source in sources(self._kernel, frame.reference(node)) or ():
            inames = NO_NAMES
            if source.writer is not None:
                inames = self._kernel.instruction(source.writer).within_inames
            names = self._names.fresh(inames)
            points = self._points.intersect(at_source(source, frame.names, names))
            if not points.is_empty():
                found.append((_Written(source.writer, source.position, names), points))
        if len(found) != 1:
            return None
        ((written, self._points),) = found
        return written


@dataclass(frozen=True)
class _Written:
    """The origin of a value.

    Attributes:
        writer: the instruction; None if it was there before the kernel.
        position: which of its assignees it is.
        names: what its inames are called in the context.
    """

    writer: str | None
    position: int
    names: dict[str, str]


def _argument(node: Expression, arguments: list[Expression]) -> Expression:
    arguments.append(node)
    return ex.Variable(f"_{len(arguments) - 1}")
