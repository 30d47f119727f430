"""Reductions that are carried through loops: what an iteration takes that none before it took.

An accumulator that starts before some loops, and takes up one element in each iteration, holds in
each the reduction over all that was taken up so far.  That is what the kernel asks for if each
iteration of the kernel takes all that earlier ones take, and the new elements come in the order of
the reduction.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import islpy as isl

from polygen.analysis.access.domains import domain_of
from polygen.analysis.dataflow.read_sources import overlapping
from polygen.analysis.integers.isl_affine import pw_aff_expression, set_condition
from polygen.analysis.integers.second_instance import OTHER
from polygen.analysis.order.reduction_statements import places
from polygen.analysis.pairs.instance_pairs import equal, greater, less, renamed, witness
from polygen.errors import WrongStatement
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import flat_names, project_out
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning
from polygen.ir.show_expression import show_expression
from polygen.validation.faults import fault, shown
from polygen.validation.frames import SEQUENTIAL, Statement
from polygen.validation.view import View


def origin_of(insn: Assigning) -> str:
    """Return the id of the kernel's instruction that something is a part of."""
    return insn.id.partition("'")[0]  # no name in a kernel has one


def has_value(view: View, statement: Statement, iname: str) -> bool:
    """Tell whether an iname stands for something where a statement is."""
    return view.terms(statement.frame).bound(iname) is not None or iname in statement.values


def sweep_of(
    view: View,
    insn_id: str,
    around: frozenset[str],
    starts: Sequence[Statement],
    updates: Sequence[Statement],
) -> tuple[str, ...]:
    """Return the loops that an accumulator is updated in and not started in, as they are nested.

    It need not be updated: where conditions never hold, say.

    Parameters:
        view: the kernel and its program.
        insn_id: the instruction of the kernel.
        around: the inames around the reduction.
        starts: what sets the accumulator.
        updates: what changes it.
    """
    if not starts:
        return ()
    lacks = {i for i in around if not has_value(view, starts[0], i)}
    if not lacks or not all(has_value(view, update, i) for update in updates[:1] for i in lacks):
        return ()
    around_it = [f for update in updates[:1] for f in update.frame.outwards()]
    loops = [f.name for f in reversed(around_it) if f.role in SEQUENTIAL and f.name in lacks]
    if len(loops) < len(lacks):  # some are unrolled, or it is not updated
        place = places(view.kernel).of[insn_id, around]
        loops = [part for part in place if isinstance(part, str) and part in lacks]
    return tuple(loops)


def carried(
    view: View,
    insn: Assigning,
    sweep: tuple[str, ...],
    node: ex.Reduction,
    conditions: tuple[Expression, ...],
) -> tuple[Expression, tuple[Expression, ...]]:
    """Return which element an iteration takes up, and the conditions under which it does.

    Parameters:
        view: the kernel and its program.
        insn: what the reduction is in.
        sweep: the loops through which it is carried, as they are nested.
        node: the reduction.
        conditions: those that it is computed under.

    Raises:
        WrongStatement: if the accumulator would not hold the reduction in each iteration.
    """
    return _Lemma(view, insn, sweep, node).new(conditions)


class _Lemma:
    """Checks that a reduction may be carried through loops."""

    def __init__(
        self, view: View, insn: Assigning, sweep: tuple[str, ...], node: ex.Reduction
    ) -> None:
        self._view = view
        self._kernel = view.kernel
        self._origin = view.kernel.instruction(origin_of(insn))
        self._sweep = sweep
        self._node = node
        if len(node.inames) != 1:
            raise self._wrong("it runs over several inames")
        (self._iname,) = node.inames
        around = insn.within_inames
        self._taken = domain_of(self._kernel, around | {self._iname}).intersect(view.known)
        self._instances = domain_of(self._kernel, around).intersect(view.known)

    def new(self, conditions: tuple[Expression, ...]) -> tuple[Expression, tuple[Expression, ...]]:
        """Return which element is new, and where there is one."""
        self._check_constant(conditions)
        earlier = renamed(self._taken, self._sweep).intersect(self._earlier())
        before = project_out(earlier, [i + OTHER for i in self._sweep])
        self._check_empty(
            before.intersect(self._instances).subtract(self._taken), "an element is taken no longer"
        )
        new = self._taken.subtract(before)
        pairs = new.intersect(renamed(new, (*self._sweep, self._iname)))
        same = reduce(isl.Set.intersect, map(equal, self._sweep), pairs)
        self._check_empty(same.intersect(less(self._iname)), "there are several new elements")
        self._check_empty(
            pairs.intersect(self._earlier()).intersect(less(self._iname)),
            "the new elements come in another order",
        )
        where = project_out(new, [self._iname]).gist(self._instances).coalesce()
        asked = () if where.plain_is_universe() else (set_condition(where),)
        return self._value(new), asked

    def _earlier(self) -> isl.Set:
        """Return the pairs of iterations of which the other one comes before."""
        found = [
            reduce(isl.Set.intersect, map(equal, self._sweep[:depth]), greater(iname))
            for depth, iname in enumerate(self._sweep)
        ]
        return reduce(isl.Set.union, found)

    def _value(self, new: isl.Set) -> Expression:
        """Return the new element in terms of the loops."""
        if new.is_empty():
            return 0
        position = flat_names(new).index(self._iname)
        function = new.move_dims(isl.dim_type.set, 0, isl.dim_type.param, position, 1).dim_max(0)
        # As it is written where there is a new element, and only there.
        where = project_out(new, [self._iname])
        return pw_aff_expression(function.gist(where).coalesce(), new)

    def _check_constant(self, conditions: tuple[Expression, ...]) -> None:
        """Check that what is reduced, and how far, is the same in all iterations."""
        nodes = (self._node.operand, *conditions)
        if any(map(walk.reductions, nodes)):
            raise self._wrong("there is another reduction inside of it")
        names = NO_NAMES.union(*map(walk.free_variables, nodes))
        if both := sorted(names.intersection(self._sweep)):
            raise self._wrong(f"it depends on '{both[0]}'")
        names = names.union(flat_names(self._taken)).intersection(self._kernel.variables)
        touched = {o for name in names for o in overlapping(self._kernel, name)}
        for insn in self._kernel.instructions:
            inside = not insn.within_inames.isdisjoint((*self._sweep, self._iname))
            if inside and not touched.isdisjoint(map(ex.name_of, insn.assignees)):
                raise self._wrong(f"instruction '{insn.id}' changes what it depends on")

    def _check_empty(self, points: isl.Set, what: str) -> None:
        if not points.is_empty():
            point = witness(points)
            raise self._wrong(f"{what} at {shown(point, self._sweep)}")

    def _wrong(self, why: str) -> WrongStatement:
        sweep = ", ".join(self._sweep)
        return fault(
            WrongStatement,
            self._kernel,
            f"'{show_expression(self._node)}' is carried through the loops of {sweep}, and cannot "
            f"be: {why}",
            self._origin,
        )
