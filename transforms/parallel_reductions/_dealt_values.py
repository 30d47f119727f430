"""Deals the values of an iname out to groups, work items, and lanes of these.

With 2 groups of 4 work items with 3 lanes each, ``j = 24*step + 12*group + 4*lane + item``: all
lanes of an item are independent of each other, so that what they load is under way at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import islpy as isl

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.integers.affine_forms import LinearForm
from polygen.analysis.integers.isl_affine import condition_set, form_condition, form_of_aff
from polygen.ir import expression as ex
from polygen.ir.domain import (
    Domain,
    flat_names,
    parse_domain,
    project_out,
    rename_dimension,
    unflatten,
)
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.tags import GroupTag, IlpTag, InameTag, LocalTag, VectorTag


@dataclass(frozen=True)
class Shares:
    """The numbers of shares of each kind, and their axes.

    Attributes:
        groups: groups of work items; if there is one, none is named.
        lanes: lanes of a work item, as far apart as all items of a group are long.
        items: work items of a group.
        width: neighbours, which a lane takes as a vector.
        group_tag: that of groups: an axis of the grid, or of a cluster.
        item_axis: the axis of work items.
    """

    groups: int
    lanes: int
    items: int
    width: int
    group_tag: GroupTag | LocalTag
    item_axis: int

    @property
    def at_once(self) -> int:
        """The number of values that a group takes at once."""
        return self.lanes * self.items * self.width


@dataclass(frozen=True)
class Dealt:
    """Inames for shares of what is reduced.

    Attributes:
        group: the iname that counts groups; None if there is one group.
        item: the one that counts work items.
        lanes: those that count what a work item has in flight: lanes, components of a vector.
        inner: what each share reduces over, by what is reduced: the iname that is dealt out has
            become the number of a step.
        value: what this iname is in terms of the new ones.
        domains: those of the new inames.
        tags: theirs.
        full: where all shares of a step are there; None if that is not affine, or always so.
    """

    group: str | None
    item: str
    lanes: tuple[str, ...]
    inner: Mapping[str, str]
    value: Expression
    domains: tuple[Domain, ...]
    tags: Mapping[str, InameTag]
    full: Expression | None

    @property
    def values(self) -> dict[str, Expression]:
        """All inames of the reduction, in terms of the new ones."""
        others: dict[str, Expression] = {i: ex.Variable(new) for i, new in self.inner.items()}
        return {**others, next(iter(self.inner)): self.value}


def deal(kernel: Kernel, around: frozenset[str], reduced: tuple[str, ...], shares: Shares) -> Dealt:
    """Return inames for shares of what is reduced.

    Parameters:
        kernel: the kernel.
        around: the inames that the reduction is within.
        reduced: those that it is over; the first of them is dealt out.
        shares: how many there are.
    """
    names = _names(kernel, reduced, shares)
    value, boxes = _digits(names, shares)
    outside = with_surrounding(kernel, around)
    known, values = domain_of(kernel, outside), _values(kernel, outside, reduced)
    inside = reduce(isl.Set.intersect, [box.flat for box in boxes.values()], known)
    inner = {iname: names[iname] for iname in reduced}
    steps = _steps(values.intersect(inside), inner, value)
    own = unflatten(steps.gist(inside).drop_unused_params(), list(inner.values()))
    if (group := names.get("group")) is not None and isinstance(shares.group_tag, GroupTag):
        boxes[group] = _busy(steps, known, group, boxes[group], outside.union(kernel.parameters))
    kinds: dict[str, InameTag] = {"lane": IlpTag(), "vec": VectorTag()}
    kinds |= {"group": shares.group_tag, "item": LocalTag(shares.item_axis)}
    first = LinearForm(0, {n: value.terms[n] for n in (group, names[reduced[0]]) if n})
    return Dealt(
        group,
        names["item"],
        tuple([names[kind] for kind in ("lane", "vec") if kind in names]),
        inner,
        value.expression(),
        (*boxes.values(), Domain(own)),
        {names[kind]: tag for kind, tag in kinds.items() if kind in names},
        _where_full(values.gist(known), reduced, first, shares.at_once, steps),
    )


def _names(kernel: Kernel, reduced: tuple[str, ...], shares: Shares) -> dict[str, str]:
    """Return names of new inames, by what they count, or what they stand for."""
    counts = {"group": shares.groups, "item": None, "lane": shares.lanes, "vec": shares.width}
    names: dict[str, str] = {}
    for kind, count in counts.items():
        if count != 1:
            names[kind] = kernel.new_name(f"{reduced[0]}_{kind}", names.values())
    names[reduced[0]] = kernel.new_name(f"{reduced[0]}_step", names.values())
    for other in reduced[1:]:
        names[other] = kernel.new_name(other, names.values())
    return names


def _digits(names: Mapping[str, str], shares: Shares) -> tuple[LinearForm, dict[str, Domain]]:
    """Return what is dealt out in terms of the new inames, and the domains of all but the step."""
    counts = {"vec": shares.width, "item": shares.items, "lane": shares.lanes}
    counts["group"] = shares.groups
    value, factor, boxes = LinearForm(), 1, dict[str, Domain]()
    for kind, count in counts.items():
        if (name := names.get(kind)) is not None:
            value = value + LinearForm.of_name(name) * factor
            boxes[name] = parse_domain(f"{{ [{name}]: 0<={name}<{count} }}")
        factor *= count
    step = next(name for kind, name in names.items() if kind not in counts)
    value = value + LinearForm.of_name(step) * factor
    return value, dict(reversed(boxes.items()))


def _values(kernel: Kernel, outside: frozenset[str], reduced: tuple[str, ...]) -> isl.Set:
    """Return what is reduced over, for each instance, as a flat set."""
    inames = with_surrounding(kernel, outside.union(reduced))
    return project_out(domain_of(kernel, inames), inames - outside.union(reduced))


def _steps(values: isl.Set, inner: Mapping[str, str], value: LinearForm) -> isl.Set:
    """Return what each share reduces over, as a flat set."""
    dealt, *others = inner
    same = condition_set(ex.Comparison(ex.Variable(dealt), "==", value.expression()))
    assert same is not None  # it is affine
    steps = project_out(values.intersect(same), [dealt])
    for other in others:
        steps = rename_dimension(steps, other, inner[other])
    return steps


def _busy(
    steps: isl.Set, known: isl.Set, group: str, box: Domain, outside: frozenset[str]
) -> Domain:
    """Return the groups, without those that would certainly have nothing to do, if that is simple.

    Parameters:
        steps: what each share reduces over.
        known: where the reduction is.
        group: the iname of the groups.
        box: its domain.
        outside: what the domain may mention.
    """
    gone = [name for name in flat_names(steps) if name not in outside and name != group]
    busy = project_out(steps, gone).remove_divs().coalesce().gist(known)
    if busy.n_basic_set() != 1:
        return box
    return Domain(unflatten(busy.intersect(box.flat).drop_unused_params(), [group]))


def _where_full(
    values: isl.Set, reduced: tuple[str, ...], first: LinearForm, at_once: int, steps: isl.Set
) -> Expression | None:
    """Return where all shares of a step are there; None if that is always so, or not affine.

    Parameters:
        values: what is reduced over.
        reduced: the inames.
        first: the first value of a group's step.
        at_once: how many values follow in a row.
        steps: what each share reduces over.
    """
    values = project_out(values, reduced[1:]).coalesce()
    if values.n_basic_set() != 1 or values.involves_locals():
        return None
    conditions: list[Expression] = []
    for constraint in values.get_basic_sets()[0].get_constraints():
        form = form_of_aff(constraint.get_aff())
        factor = form.terms.get(reduced[0], 0)
        if constraint.is_equality() and factor:
            return None
        least = first * factor + min(0, factor * (at_once - 1))
        condition = form_condition(form - LinearForm.of_name(reduced[0]) * factor + least)
        always = condition_set(condition)
        if factor and not (always is not None and steps.is_subset(always)):
            conditions.append(condition)
    if len(conditions) > 1:
        return ex.LogicalAnd(tuple(conditions))
    return next(iter(conditions), None)
