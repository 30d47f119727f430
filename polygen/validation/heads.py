"""Conditions and bounds: asked before what they guard, and so perhaps where the kernel does not.

Their value must not change before the last statement that they guard, and they must not read
outside of an array where the kernel would not ask them at all.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

import islpy as isl

from polygen.analysis.access.domains import domain_of
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.pairs.instance_pairs import witness
from polygen.errors import UnsafeCondition, WrongOrder
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import flat_names, project_out, universe
from polygen.ir.expression import Expression
from polygen.ir.show_expression import show_expression
from polygen.lower.program import If
from polygen.validation.constraints import Facts, conjuncts, plain
from polygen.validation.copy_of import Copy
from polygen.validation.faults import fault, shown
from polygen.validation.frames import Frame, Role, Statement, head_names
from polygen.validation.points import inames_of, set_of
from polygen.validation.terms import key
from polygen.validation.view import View
from polygen.validation.works import Work, Works


def check_heads(view: View, works: Works) -> None:
    """Check the conditions and bounds of a program.

    Raises:
        WrongOrder: if what one depends on is written by what it guards.
        UnsafeCondition: if one reads outside of an array.
    """
    heads = _Heads(view, works)
    for frame in view.frames:
        if frame.role is Role.LOOP or isinstance(frame.node, If):
            heads.check(frame)


class _Heads:
    def __init__(self, view: View, works: Works) -> None:
        self._view = view
        self._works = works
        self._changing = works.kernel.writers.keys()
        self._copies: dict[Statement, tuple[Work, Copy]] = {
            copy.statement: (work, copy) for work in works.all for copy in work.copies
        }

    def check(self, frame: Frame) -> None:
        names = head_names(frame)
        changing = names & self._changing
        if changing:
            self._check_stable(frame, changing)
        if isinstance(frame.node, If) and not names.isdisjoint(self._view.layouts.arrays):
            self._check_inside(frame, frame.node)

    def _check_stable(self, frame: Frame, names: frozenset[str]) -> None:
        """Check that nothing that is guarded writes what the condition or the bounds read.

        But for the last statement, if it is executed once.
        """
        statements = list(frame.statements())
        last = statements[-1] if statements else None
        for statement in statements:
            written = names.intersection(statement.written_names)
            if not written:
                continue
            around = list(_between(statement.frame, frame))
            once = frame.role is Role.BRANCH and all(f.role is Role.BRANCH for f in around)
            if statement is not last or not once:
                raise fault(
                    WrongOrder,
                    self._view.kernel,
                    f"'{min(written)}' is written where a condition or a bound has read it "
                    "already, and counts on it further on",
                    self._copies[statement][0].origin,
                )

    # --- where conditions are asked

    def _check_inside(self, frame: Frame, node: If) -> None:
        assert frame.parent is not None
        asked = self._view.facts(frame.parent)
        terms = self._view.terms(frame.parent)
        for condition in conjuncts(node.condition):
            facts = Facts()
            facts.add(condition, terms, self._view.is_integer)
            # One that numbers decide may be asked nevertheless.
            left = facts.others or {key(terms.value(condition)): (condition, terms)}
            for name, (part, _) in left.items():
                if not walk.free_variables(part).isdisjoint(self._view.layouts.arrays):
                    self._check_condition(frame, asked, name, part)
            asked = asked.and_(facts)

    def _check_condition(
        self, frame: Frame, asked: Facts, name: Hashable, condition: Expression
    ) -> None:
        """Check a condition that reads an array.

        It is asked where the kernel asks it, or it reads inside of the array anyway.
        """
        statements = list(frame.statements())
        for statement in statements:
            looped = any(f.role is not Role.BRANCH for f in _between(statement.frame, frame))
            if not looped and len(self._view.facts(statement.frame).affine) == len(asked.affine):
                return  # asked for the points of this statement, and no others
        assert frame.parent is not None
        spelled_out = plain(condition, self._view.terms(frame.parent))
        names = walk.free_variables(spelled_out).union(self._view.kernel.parameters)
        left = _onto(set_of(self._view, asked)[0].intersect(self._view.known), names)
        for statement in statements:
            work, copy = self._copies[statement]
            for at, node in self._in_kernel(work, copy, name):
                left = left.subtract(_onto(self._asked_in_kernel(work, copy, at), names))
                if self._reads_inside(copy, node, left):
                    return
        if not left.is_empty():
            point = witness(left)
            raise fault(
                UnsafeCondition,
                self._view.kernel,
                f"'{show_expression(condition)}' is asked for {shown(point, point)}, where the "
                "kernel does not ask it, and may read outside of an array",
                *(self._copies[s][0].origin for s in statements[:1]),
            )

    def _in_kernel(
        self, work: Work, copy: Copy, name: Hashable
    ) -> Iterator[tuple[int, Expression]]:
        """Yield where a condition stands among those of a work, and what it is there."""
        for at, condition in enumerate(_all_conjuncts(work)):
            facts = Facts()
            facts.add(condition, copy.terms, self._view.is_integer)
            if name in facts.others or name == key(copy.terms.value(condition)):
                yield at, condition

    def _asked_in_kernel(self, work: Work, copy: Copy, at: int) -> isl.Set:
        """Return where the kernel asks a condition of a work, in terms of the program's loops."""
        asked = domain_of(self._view.kernel, work.asked_within)
        for condition in _all_conjuncts(work)[:at]:
            holds = condition_set(condition, self._view.integers)
            asked = asked if holds is None else asked.intersect(holds)
        return asked.intersect(inames_of(self._view, copy, work.asked_within))

    def _reads_inside(self, copy: Copy, condition: Expression, asked: isl.Set) -> bool:
        """Tell whether a condition of the kernel reads inside of its arrays where it is asked."""
        names = walk.free_variables(condition)
        outside = asked.intersect(inames_of(self._view, copy, names))
        inside = universe()
        for node in walk.subexpressions(condition):
            if not isinstance(node, ex.Subscript):
                continue
            shape = self._view.kernel.array(ex.name_of(node)).shape or ()
            for subscript, extent in zip(ex.index_tuple(node), shape, strict=True):
                low, high = (
                    ex.Comparison(subscript, operator, limit)
                    for operator, limit in ((">=", 0), ("<", extent))
                )
                holds = condition_set(ex.LogicalAnd((low, high)), self._view.integers)
                if holds is None:
                    return False
                inside = inside.intersect(holds)
        return bool(outside.is_subset(inside))


def _onto(flat: isl.Set, names: frozenset[str]) -> isl.Set:
    """Return a flat set without all other dimensions."""
    return project_out(flat, [name for name in flat_names(flat) if name not in names])


def _between(inner: Frame, outer: Frame) -> Iterator[Frame]:
    """Yield the frames inside of one that another is in, itself included."""
    for frame in inner.outwards():
        if frame is outer:
            return
        yield frame


def _all_conjuncts(work: Work) -> list[Expression]:
    return [part for predicate in work.insn.predicates for part in conjuncts(predicate)]
