"""Instructions that write a temporary an iteration ahead of where it is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import islpy as isl

from polygen.analysis.access.domains import domain_of, domain_temporaries, with_surrounding
from polygen.analysis.access.instance_map import instruction_at
from polygen.analysis.integers.affine_forms import LinearForm, with_normal_subscripts
from polygen.analysis.integers.isl_affine import condition_set, form_of_aff, pieces, set_condition
from polygen.errors import InternalError, NotBufferable
from polygen.ir import expression as ex
from polygen.ir.domain import Domain, project_out, rename_dimension, unflatten
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.verify import excerpt
from polygen.source import caller_location
from polygen.transforms.copies._waiting_instructions import waiting_for


def refused(kernel: Kernel, what: str, *insns: str, remedy: str) -> NotBufferable:
    """Return the error that a temporary cannot be buffered, with the instructions it is about."""
    return NotBufferable(
        what,
        where=caller_location(),
        excerpt=excerpt(kernel, *insns) if insns else None,
        remedy=remedy,
    )


def is_own(kernel: Kernel, writer: Instruction, iname: str) -> bool:
    """Tell whether no other instruction is within an iname."""
    others = (i for i in kernel.instructions if i.id != writer.id)
    return all(iname not in i.within_inames | i.reduction_inames for i in others)


@dataclass(frozen=True)
class Moved:
    """The writer of a temporary at another iteration, with the loops that it then needs.

    Attributes:
        insn: the writer there.
        domains: of its loops.
        names: of its inames that are others there, what they are called.
    """

    insn: Assignment
    domains: tuple[Domain, ...]
    names: Mapping[str, str]


@dataclass(frozen=True)
class Ahead:
    """Makes the instructions that write a temporary ahead of where it is used.

    Attributes:
        kernel: the kernel.
        writer: what writes it.
        iname: that of the loop.
        copied: inames of the writer that have other values, or loops of their own, ahead.
    """

    kernel: Kernel
    writer: Assignment
    iname: str
    copied: tuple[str, ...]

    def first(self) -> LinearForm:
        """Return where the loop begins, in terms of what is around it."""
        kernel = self.kernel
        around = with_surrounding(kernel, self.writer.within_inames - {*self.copied})
        values = unflatten(domain_of(kernel, around), (self.iname,))
        forms = {form_of_aff(aff): None for _, aff in pieces(values.dim_min(0))}
        data = domain_temporaries(kernel, around)
        if len(forms) != 1 or not data.isdisjoint(next(iter(forms)).names()):
            raise refused(
                kernel,
                f"the loop of '{self.iname}' does not begin at one affine function of loops "
                "outside and sizes",
                remedy="split it, or shift it to begin at 0",
            )
        return next(iter(forms))

    def at(self, value: LinearForm, suffix: str) -> Moved:
        """Return the writer for the iteration `value` of the loop."""
        kernel, stays = self.kernel, suffix == "next"
        names = {i: self.kernel.new_name(f"{i}_{suffix}") for i in self.copied}
        if stays and self._can_stay():
            names = {i: i for i in self.copied}
        around = self.writer.within_inames - {*self.copied}
        outer = around if stays else around - {self.iname}
        values = {self.iname: value.expression()} | {i: ex.Variable(n) for i, n in names.items()}
        moved = instruction_at(self.writer, values, (*kernel.inames, *names.values()))
        moved = moved.map_expressions(with_normal_subscripts)
        assert isinstance(moved, Assignment)
        points, condition = self._needed(value, outer, names)
        shown = unflatten(points, tuple(names.values())).drop_unused_params()
        # What is in the loop comes after what is ahead of it.
        before = moved.depends_on if stays else self._ahead_of_loop(moved.depends_on)
        moved = moved.copy(
            depends_on=before,
            id=kernel.new_name(f"{self.writer.id}_{suffix}"),
            within_inames=outer.union(names.values()),
            predicates=(*moved.predicates, *([] if condition is True else [condition])),
        )
        return Moved(moved, (Domain(shown),) if names else (), names)

    def _ahead_of_loop(self, ids: frozenset[str]) -> frozenset[str]:
        insns = [self.kernel.instruction(i) for i in ids]
        return frozenset([i.id for i in insns if self.iname not in i.within_inames])

    def _needed(
        self, value: LinearForm, outer: frozenset[str], names: Mapping[str, str]
    ) -> tuple[isl.Set, Expression]:
        """Return the values of what is copied, and the condition under which there are any.

        If there is an iteration `value` at all is part of the values, unless, with what is assumed
        of sizes, nothing else is left of that when it is said apart.
        """
        kernel = self.kernel
        around = self.writer.within_inames - {*self.copied}
        known = domain_of(kernel, with_surrounding(kernel, outer))
        there = domain_of(kernel, with_surrounding(kernel, around))
        there = _with_value(there, self.iname, value).gist_params(known)
        points = domain_of(kernel, with_surrounding(kernel, self.writer.within_inames))
        points = _with_value(points, self.iname, value)
        for old, new in names.items():
            points = rename_dimension(points, old, new)
        together = points.gist_params(known).coalesce()
        apart = points.gist_params(known.intersect(there).intersect(kernel.assumptions.flat))
        if names and _size(apart.coalesce()) >= _size(together):
            return together, True
        return apart.coalesce(), set_condition(there)

    def _can_stay(self) -> bool:
        """Tell whether the domains of what is copied are there for the writer alone."""
        homes = {i for own in self.copied for i in self.kernel.home_domains[own].inames}
        return homes <= {*self.copied} and all(
            is_own(self.kernel, self.writer, i) for i in self.copied
        )

    def kernel_with(self, *moved: Moved) -> Kernel:
        """Return the kernel with the writer at other iterations instead."""
        kernel, old = self.kernel, self.writer.id
        ids = [m.insn.id for m in moved]
        gone = {i for m in moved for i, new in m.names.items() if i == new}
        instructions: list[Instruction] = []
        for insn in kernel.instructions:
            instructions += (
                [m.insn for m in moved] if insn.id == old else [waiting_for(insn, old, ids)]
            )
        renamed = [{**m.names, self.iname: self.iname} for m in moved]
        priorities = [tuple([n.get(i, i) for i in p]) for n in renamed for p in kernel.priorities]
        tags = {
            new: kernel.tags[i] for m in moved for i, new in m.names.items() if i in kernel.tags
        }
        return kernel.copy(
            instructions=tuple(instructions),
            domains=(
                *(d for d in kernel.domains if gone.isdisjoint(d.inames)),
                *(d for m in moved for d in m.domains),
            ),
            priorities=tuple(dict.fromkeys((*kernel.priorities, *priorities))),
            tags={**kernel.tags, **tags},
        )


def _size(points: isl.Set) -> int:
    return sum(len(piece.get_constraints()) for piece in points.get_basic_sets())


_THERE = "__there"  # names of users do not begin so


def _with_value(flat: isl.Set, iname: str, value: LinearForm) -> isl.Set:
    """Return what holds of other names if an iname has a value."""
    equal = condition_set(ex.Comparison(ex.Variable(_THERE), "==", value.expression()))
    if equal is None:
        raise InternalError("the value of an iname is not affine")
    return project_out(rename_dimension(flat, iname, _THERE).intersect(equal), (_THERE,))
