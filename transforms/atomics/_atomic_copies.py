"""Copies in which atomic updates of an array are collected."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from polygen.analysis.access.domains import domain_of
from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.moving_box import TileAxis
from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.atomicity import updated
from polygen.ir.domain import Domain, unflatten, universe
from polygen.ir.dtype import DType
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.tags import InameTag
from polygen.transforms.copies.precompute import new_id


@dataclass(frozen=True)
class AtomicCopy:
    """A copy of an array, and the kernel that makes use of it.

    Attributes:
        kernel: the kernel before.
        array: what is updated.
        name: that of the copy.
        loops: those that have one in each iteration.
        updates: the instructions that update it.
        axes: which part of the array it stands for.
        identity: what it starts with.
        dtype: its type.
    """

    kernel: Kernel
    array: str
    name: str
    loops: frozenset[str]
    updates: tuple[Assignment, ...]
    axes: tuple[TileAxis, ...]
    identity: Expression
    dtype: DType

    def privatized(self, tag: InameTag | None, space: AddressSpace) -> Kernel:
        """Return the kernel in which the updates reach the copy."""
        kernel = self.kernel
        taken: set[str] = {self.name}
        start, flush = self._new_names("start", taken), self._new_names("flush", taken)
        first = Assignment(
            new_id(kernel, f"{self.array}_start"),
            self._element(start),
            self.identity,
            self.loops.union(start),
        )
        last = self._flush(new_id(kernel, f"{self.array}_flush"), flush)
        tags = {} if tag is None else dict.fromkeys([*start[-1:], *flush[-1:]], tag)
        return kernel.copy(
            instructions=tuple(self._instructions(first, last)),
            temporaries=(
                *kernel.temporaries,
                TemporaryVariable(self.name, self.dtype, self.shape(), space),
            ),
            domains=(*kernel.domains, *self._domains(start), *self._domains(flush, inside=True)),
            tags={**kernel.tags, **tags},
            priorities=(*kernel.priorities, *[n for n in (start, flush) if len(n) > 1]),
        )

    def in_sequence(self, new: Kernel) -> Kernel:
        """Return the new kernel, with updates one after the other if none is atomic any more."""
        return new

    def shape(self) -> tuple[Expression, ...]:
        """Return how large the copy is."""
        return tuple([axis.size for axis in self.axes])

    def _new_names(self, like: str, taken: set[str]) -> tuple[str, ...]:
        names: list[str] = []
        for _ in self.axes:
            names.append(self.kernel.new_name(f"{self.array}_{like}", taken))
            taken.add(names[-1])
        return tuple(names)

    def _domains(self, inames: tuple[str, ...], *, inside: bool = False) -> Iterator[Domain]:
        """Yield those of the inames that run through the copy; of places inside of the array."""
        shape = self.kernel.array(self.array).shape or ()
        for iname, axis, extent in zip(inames, self.axes, shape, strict=True):
            place = ex.Variable(iname)
            value = axis.value(place)
            wanted = [ex.Comparison(0, "<=", place), ex.Comparison(place, "<", axis.size)]
            if inside:
                wanted += [ex.Comparison(0, "<=", value), ex.Comparison(value, "<", extent)]
            values = universe()
            for condition in wanted:
                holds = condition_set(condition)
                values = values if holds is None else values.intersect(holds)
            values = values.gist(domain_of(self.kernel, self.loops))
            yield Domain(unflatten(values.drop_unused_params(), (iname,)))

    def _element(self, inames: tuple[str, ...]) -> ex.Variable | ex.Subscript:
        return ex.element(ex.Variable(self.name), tuple(map(ex.Variable, inames)))

    def _flush(self, insn_id: str, inames: tuple[str, ...]) -> Assignment:
        """Return the instruction that updates the array by what is in the copy."""
        like, own = self.updates[0], self._element(inames)
        places = [a.value(ex.Variable(i)) for a, i in zip(self.axes, inames, strict=True)]
        element = ex.element(ex.Variable(self.array), tuple(places))
        operation = None if like.atomicity is None else like.atomicity.operation
        value = updated(like.assignee, like.expression, element, operation, operand=own)
        before = NO_NAMES.union(*(i.depends_on for i in self.updates))
        return Assignment(
            insn_id,
            element,
            value,
            self.loops.union(inames),
            before.union(i.id for i in self.updates),
            (ex.Comparison(own, "!=", self.identity),),
            like.atomicity,
            location=like.location,
        )

    def _instructions(self, first: Assignment, last: Assignment) -> Iterator[Instruction]:
        """Yield the instructions, with what starts the copy and what empties it."""
        ids = {i.id for i in self.updates}
        inside = self._inside()
        after = _after(self.kernel, ids)
        end = max(n for n, i in enumerate(self.kernel.instructions) if i.id in ids)
        started = False
        for number, insn in enumerate(self.kernel.instructions):
            if insn.id in ids:
                assert isinstance(insn, Assignment)
                if not started:
                    yield first
                started = True
                yield self._private(insn, first.id)
            elif insn.id in after and inside.isdisjoint(insn.within_inames):
                yield insn.copy(depends_on=insn.depends_on | {last.id})
            else:
                yield insn
            if number == end:
                yield last

    def _inside(self) -> frozenset[str]:
        """Return the loops in which the copy is not complete."""
        return NO_NAMES.union(*(i.within_inames for i in self.updates)) - self.loops

    def _index(self, insn: Assignment) -> tuple[Expression, ...]:
        """Return where the copy has what an instruction updates."""
        index = zip(self.axes, ex.index_of(insn.assignee), strict=True)
        return tuple([_place(axis, subscript) for axis, subscript in index])

    def _private(self, insn: Assignment, first: str) -> Assignment:
        own = ex.element(ex.Variable(self.name), self._index(insn))
        atomicity = insn.atomicity
        assert atomicity is not None
        value = updated(insn.assignee, insn.expression, own, atomicity.operation)
        return insn.copy(assignee=own, expression=value, depends_on=insn.depends_on | {first})


def _place(axis: TileAxis, subscript: Expression) -> Expression:
    """Return where the copy has what is at a subscript of the array."""
    form = linear_form(subscript)
    if form is not None:
        return axis.place(form)
    return subscript  # the copy has all of an axis where data says which element is meant


def _after(kernel: Kernel, ids: Collection[str]) -> frozenset[str]:
    """Return the instructions that come after some, by dependencies."""
    found: set[str] = set(ids)
    while new := {i.id for i in kernel.instructions if i.depends_on & found} - found:
        found |= new
    return frozenset(found - set(ids))
