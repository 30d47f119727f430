"""Copies side by side in global memory, of which each is updated by one iteration after another."""

from __future__ import annotations

from dataclasses import dataclass

from polygen.analysis.access.domains import domain_of
from polygen.analysis.integers.affine_forms import LinearForm
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.integers.moving_box import TileAxis, sized_axis, tile_axis
from polygen.errors import NotPrivatizable
from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace
from polygen.ir.atomicity import updated
from polygen.ir.domain import Domain, project_out, rename_dimension, unflatten
from polygen.ir.dtype import is_exact
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel
from polygen.ir.operation import Special
from polygen.ir.reduction import widens
from polygen.ir.tags import InameTag
from polygen.ir.verify import excerpt
from polygen.source import caller_location
from polygen.transforms.atomics._atomic_copies import AtomicCopy


@dataclass(frozen=True)
class OrderedCopies(AtomicCopy):
    """Copies for all iterations of some loops, added up in their order when all are complete."""

    def privatized(self, tag: InameTag | None, space: AddressSpace) -> Kernel:
        """Return the kernel in which the updates reach copies, and are not atomic any more."""
        new = super().privatized(tag, space)
        values = domain_of(self.kernel, self.loops)
        for iname, name in self._again.items():
            values = rename_dimension(values, iname, name)
        again = Domain(unflatten(values, tuple(self._again.values())))
        return new.copy(domains=(*new.domains, again))

    def in_sequence(self, new: Kernel) -> Kernel:
        """Return the new kernel without the tags of loops in which copies are updated."""
        loops = NO_NAMES.union(*(insn.within_inames for insn in self.updates))
        return new.copy(tags={iname: tag for iname, tag in new.tags.items() if iname not in loops})

    @property
    def _again(self) -> dict[str, str]:
        """Return what each of the loops is called where the copies are added up."""
        return {i: self.kernel.new_name(f"{i}_again") for i in self._loops_in_order}

    @property
    def _loops_in_order(self) -> tuple[str, ...]:
        return tuple([iname for iname in self.kernel.inames if iname in self.loops])

    def shape(self) -> tuple[Expression, ...]:
        """Return how many copies there are along each loop, and how large they are."""
        counts = [self._places(iname).size for iname in self._loops_in_order]
        return (*counts, *super().shape())

    def _places(self, iname: str) -> TileAxis:
        """Return an axis with a place for each iteration of one of the loops."""
        values = project_out(domain_of(self.kernel, self.loops), self.loops - {iname})
        values = unflatten(values, (iname,))
        sizes, known = sorted(self.kernel.parameters), known_parameters(self.kernel)
        axis = tile_axis(values) or sized_axis(values, sizes, known)
        if axis is None:
            raise NotPrivatizable(
                f"how many copies of '{self.array}' there would be for '{iname}', sizes do not say",
                where=caller_location(),
                excerpt=excerpt(self.kernel, *[i.id for i in self.updates]),
                remedy="take loops whose bounds are sizes",
            )
        return axis

    def _element(self, inames: tuple[str, ...]) -> ex.Variable | ex.Subscript:
        return self._of_copy(tuple(map(ex.Variable, inames)))

    def _of_copy(self, index: tuple[Expression, ...], *, again: bool = False) -> ex.Subscript:
        names = self._again if again else {i: i for i in self._loops_in_order}
        copy = [self._places(i).place(LinearForm.of_name(name)) for i, name in names.items()]
        return ex.Subscript(ex.Variable(self.name), (*copy, *index))

    def _flush(self, insn_id: str, inames: tuple[str, ...]) -> Assignment:
        """Return the instruction that updates the array by what is in all copies."""
        like = self.updates[0]
        assert like.update is not None
        own = self._of_copy(tuple(map(ex.Variable, inames)), again=True)
        places = [a.value(ex.Variable(i)) for a, i in zip(self.axes, inames, strict=True)]
        element = ex.element(ex.Variable(self.array), tuple(places))
        operation = None if like.atomicity is None else like.atomicity.operation
        reduced = like.update.operation if operation is None else operation
        if widens(reduced) and is_exact(self.dtype):  # whatever is cut off, it is the same
            reduced = Special(str(reduced), self.dtype)
        found = ex.Reduction(reduced, tuple(self._again.values()), own)
        value = updated(like.assignee, like.expression, element, operation, operand=found)
        before = NO_NAMES.union(*(i.depends_on for i in self.updates))
        return Assignment(
            insn_id,
            element,
            value,
            frozenset(inames),
            before.union(i.id for i in self.updates),
            location=like.location,
        )

    def _inside(self) -> frozenset[str]:
        return super()._inside() | self.loops

    def _private(self, insn: Assignment, first: str) -> Assignment:
        own = self._of_copy(self._index(insn))
        assert insn.atomicity is not None
        value = updated(insn.assignee, insn.expression, own, insn.atomicity.operation)
        return insn.copy(
            assignee=own, expression=value, depends_on=insn.depends_on | {first}, atomicity=None
        )
