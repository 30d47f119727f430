"""Separate code for parts of a loop: several loops in a row, and several versions of a launch.

A kernel's separations are conditions.  Each inequality of one is asked at the innermost of the
loops that it mentions: this loop becomes two, where it does not hold, and where it does.  One that
mentions none, but axes of the hardware and loops on the host, makes two versions of all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import islpy as isl

from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.analysis.integers.integer_parameters import integer_parameters
from polygen.analysis.integers.isl_affine import form_condition
from polygen.analysis.integers.loop_separations import HalfSpace, Separation, separations_of
from polygen.analysis.order.loop_tree import BarrierNode, LoopNode, TreeNode, assignments
from polygen.errors import SeparationIgnored
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.bounding import bounding
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from polygen.ir.tags import LocalTag
from polygen.lower.launches import Grid
from polygen.source import warn

_PARAM = isl.dim_type.param
_Divider: TypeAlias = tuple[Separation, Sequence[HalfSpace]]


@dataclass(frozen=True)
class Part:
    """Some of the instances: those in a set.

    Attributes:
        points: the set, flat; None for all.
        left_out: the separations that divide it no further: it is where they do not hold.
    """

    points: isl.Set | None = None
    left_out: tuple[Separation, ...] = ()

    def of(self, points: isl.Set) -> isl.Set:
        """Return which of the points are in it."""
        return points if self.points is None else points.intersect(self.points)

    def where(self, points: isl.Set) -> Part:
        """Return what of it is in a set."""
        return replace(self, points=points if self.points is None else points & self.points)

    def without(self, separation: Separation) -> Part:
        """Return the same, to be divided no further by a separation."""
        return replace(self, left_out=(*self.left_out, separation))


EVERYTHING = Part()


def with_equality(values: isl.Set, iname: str) -> isl.Set:
    """Return a set that says if an iname has but one value in it: ``i = n - 1``, not two bounds."""
    found = values.detect_equalities()
    position = found.find_dim_by_name(_PARAM, iname)
    pinned = position >= 0 and any(
        c.is_equality() and c.get_coefficient_val(_PARAM, position).abs().is_one()
        for piece in found.get_basic_sets()
        for c in piece.get_constraints()
    )
    return found if pinned else values


def check_separations(kernel: Kernel) -> None:
    """Warn of conditions that are no longer comparisons of affine expressions."""
    if not kernel.separations:
        return
    possible = {s.condition for s in separations_of(kernel)}
    for condition in kernel.separations:
        if condition not in possible:
            ignore(kernel, condition, "it is no conjunction of affine comparisons of loops")


def ignore(kernel: Kernel, condition: Expression, why: str) -> None:
    """Warn that code is not separated."""
    if SeparationIgnored.__name__ not in kernel.options.silenced_warnings:
        warn(
            SeparationIgnored(
                f"kernel '{kernel.name}': code is not separated by '{show_expression(condition)}': "
                f"{why}"
            )
        )


class Separator:
    """Divides what is executed by the separations of a kernel.

    Parameters:
        kernel: with its tree of loops known.
        grid: the axes of the launch.

    Attributes:
        is_asked: whether there is anything to divide.
        integers: the inames and the parameters that are integers.
    """

    def __init__(self, kernel: Kernel, grid: Grid) -> None:
        self._kernel = kernel
        self._values = grid.values
        self._separations = separations_of(kernel) if kernel.separations else ()
        self.is_asked = bool(self._separations)
        self._inames = frozenset(kernel.inames)
        self.integers = integer_parameters(kernel).union(kernel.inames)
        tags = {i: kernel.tags.get(i) for i in kernel.inames}
        self._axes = frozenset(i for i, tag in tags.items() if tag in grid.owners)
        self._items = frozenset(i for i, tag in tags.items() if isinstance(tag, LocalTag))

    def parts(self, node: LoopNode, around: frozenset[str], whole: Part) -> list[Part]:
        """Return into which parts a loop is divided, in the order of its iterations.

        Parameters:
            node: the loop.
            around: the loops around it.
            whole: what is left of the instances there.
        """
        found = [whole]
        for separation in self._separations:
            halves = separation.at(node.iname, around | self._axes, self._inames)
            halves = self._uniform(self._computed(halves, node.iname), [node])
            if halves and separation not in whole.left_out:
                found = [p for old in found for p in _divided(separation, halves, node.iname, old)]
        return found

    def versions(
        self, nodes: Sequence[TreeNode], around: frozenset[str], known: isl.Set
    ) -> list[tuple[Part, Expression]]:
        """Return the parts into which all of a launch is divided, and where each is executed.

        Parameters:
            nodes: what the launch executes.
            around: the loops on the host.
            known: what is known there.
        """
        inames = NO_NAMES.union(*(i.within_inames for i in assignments(nodes)))
        own = around | (self._axes & inames)
        # What is asked of two inames of one axis is asked once.
        alike: dict[tuple[LinearForm, ...], list[_Divider]] = {}
        for separation in self._separations:
            halves = self._computed(separation.at(None, own, self._inames), None)
            halves = self._uniform(halves, nodes)
            halves = [half for half in halves if not known.is_subset(half.inside)]
            if halves and not any(known.is_disjoint(half.inside) for half in halves):
                key = tuple([self._on_axes(half) for half in halves])
                alike.setdefault(key, []).append((separation, halves))
        found: list[tuple[Part, Expression]] = [(EVERYTHING, True)]
        for dividers in alike.values():
            found = [v for old in found for v in _versions(dividers, *old)]
        return found

    def _on_axes(self, half: HalfSpace) -> LinearForm:
        """Return an inequality in terms of the inames that stand for axes, where it is affine."""
        form = linear_form(walk.substitute(half.form.expression(), self._values))
        return half.form if form is None else form

    def _computed(self, halves: list[HalfSpace], iname: str | None) -> list[HalfSpace]:
        """Return what may be asked around a loop, or all of a launch: by then, it is known."""
        scalars = bounding(self._kernel, () if iname is None else (iname,))
        known = self._inames.union(self._kernel.parameters, scalars)
        found = [half for half in halves if half.names <= known]
        for half in halves:
            if half not in found:
                why = f"'{min(half.names - known)}' is not computed before its loop"
                ignore(self._kernel, form_condition(half.form), why)
        return found

    def _uniform(self, halves: list[HalfSpace], nodes: Sequence[TreeNode]) -> list[HalfSpace]:
        """Return what may be asked around nodes: all items of a group come to the same barriers."""
        if not any(map(_has_barrier, nodes)):
            return halves
        uniform = [half for half in halves if half.names.isdisjoint(self._items)]
        for half in halves:
            if half not in uniform:
                condition = form_condition(half.form)
                ignore(self._kernel, condition, "work items differ in it, and wait for each other")
        return uniform


def _divided(
    separation: Separation, halves: Sequence[HalfSpace], iname: str, whole: Part
) -> Iterator[Part]:
    """Yield the parts of a part, in the order of a loop's iterations."""
    above: list[Part] = []
    for half in halves:
        if half.form.terms[iname] > 0:
            yield whole.where(half.outside).without(separation)
            whole = whole.where(half.inside)
    for half in halves:
        if half.form.terms[iname] < 0:
            above.append(whole.where(half.outside).without(separation))
            whole = whole.where(half.inside)
    yield whole
    yield from reversed(above)


def _versions(
    dividers: Sequence[_Divider], whole: Part, condition: Expression
) -> Iterator[tuple[Part, Expression]]:
    """Yield a version where conditions that mean the same hold, and one where they do not."""
    part, other = whole, whole
    for separation, halves in dividers:
        for half in halves:
            part = part.where(half.inside)
        if len(halves) == 1:
            other = other.where(halves[0].outside)
        other = other.without(separation)
    _, asked = dividers[0]
    holds = [form_condition(half.form) for half in asked]
    fails = [form_condition(half.form * -1 - 1) for half in asked]
    yield part, _both(condition, *holds)
    yield other, _both(condition, fails[0] if len(fails) == 1 else ex.LogicalOr(tuple(fails)))


def _both(*conditions: Expression) -> Expression:
    asked = [c for c in conditions if c is not True]
    return asked[0] if len(asked) == 1 else ex.LogicalAnd(tuple(asked))


def _has_barrier(node: TreeNode) -> bool:
    if isinstance(node, LoopNode):
        return any(_has_barrier(child) for child in node.children)
    return isinstance(node, BarrierNode)
