"""Checks that a kernel has the same instances as another, at other coordinates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import islpy as isl

from polygen.analysis.access.domains import domain_of
from polygen.analysis.access.instance_map import (
    InstanceMap,
    at_new_instance,
    is_at_new_instance,
    mentioned,
)
from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.integers.instance_wording import OTHER_ITERATIONS
from polygen.analysis.integers.isl_affine import condition_set
from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import Domain, project_out, unflatten
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, CInstruction, Instruction, identical
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import may_merge
from polygen.ir.show_expression import show_expression

_OLD = "_old"


def difference(old: Kernel, new: Kernel, instances: InstanceMap) -> str | None:
    """Return how the instances differ, or None if they are the same.

    They are the same if the map from new to old points is a bijection, and if each instruction
    does at a new point what it did at the old one.

    Parameters:
        old: the kernel before.
        new: the kernel after.
        instances: which old instance each new one computes; its values are affine.
    """
    if [i.id for i in old.instructions] != [i.id for i in new.instructions]:
        return "it has other instructions"
    if old.assumptions != new.assumptions:
        return "it assumes something else"
    for name, variable in old.variables.items():
        if new.variables.get(name) != variable:
            return f"'{name}' is declared otherwise"
    moved = _moved_points(old, new, instances)
    if moved is not None:
        return moved
    for before, after in zip(old.instructions, new.instructions, strict=True):
        values = instances.of(before.id)
        if identical(before, after) and values.keys().isdisjoint(
            before.within_inames | before.reduction_inames
        ):
            continue
        what = _other_work(before, after, values, new.inames)
        if what is not None:
            return f"instruction '{before.id}' would {what}"
    return None


def not_affine(new: Kernel, instances: InstanceMap) -> str | None:
    """Return which old iname is said to be something that no set can say, or None.

    Parameters:
        new: the kernel after.
        instances: which old instance each new one computes.
    """
    known = {*new.inames, *new.parameters}
    for values in (instances.values, *instances.by_instruction.values()):
        for iname, value in values.items():
            if linear_form(value) is None or not walk.free_variables(value) <= known:
                return f"'{iname}' = {show_expression(value)} is no affine function of its inames"
    return None


def _moved_points(old: Kernel, new: Kernel, instances: InstanceMap) -> str | None:
    """Check that the instances of each instruction, and of its reductions, are the old ones."""
    kept = set(old.domains) & set(new.domains)
    seen: set[tuple[tuple[str, Expression], ...]] = set()
    for_all = _moved(old, kept, instances.values)
    if not for_all and not instances.by_instruction:
        return None
    for insn in old.instructions:
        values = instances.of(insn.id)
        moved = for_all if values is instances.values else _moved(old, kept, values)
        for around in iname_groups(insn):
            inames = around & moved
            # What says what others are is looked at together with them.
            inames |= around.intersection(mentioned(inames, values, new.inames)).difference(values)
            group = tuple([(i, values.get(i, ex.Variable(i))) for i in sorted(inames)])
            if not group or group in seen:
                continue
            seen.add(group)
            why = _moved_group(old, new, dict(group))
            if why is not None:
                return why
    return None


def _moved(old: Kernel, kept: set[Domain], values: Mapping[str, Expression]) -> frozenset[str]:
    """Return the inames that may have other values than before.

    Domains that are the same, and mention what is the same, bound their inames as before.
    """
    return frozenset(
        iname
        for domain in old.domains
        if domain not in kept or not values.keys().isdisjoint((*domain.inames, *domain.parameters))
        for iname in domain.inames
    )


def _moved_group(old: Kernel, new: Kernel, values: Mapping[str, Expression]) -> str | None:
    """Check that the values of some old inames together, in terms of new ones, are the old ones."""
    others = mentioned(values, values, new.inames)
    before, after = domain_of(old, frozenset(values)), domain_of(new, frozenset(others))
    context = old.assumptions.flat
    olds, news = (before.intersect(context), list(values)), (after.intersect(context), others)
    return not_bijective(olds, news, values)


def iname_groups(insn: Instruction) -> Iterator[frozenset[str]]:
    """Yield the inames around an instruction, and around what each of its reductions adds up."""

    def inside(node: Expression, around: frozenset[str]) -> Iterator[frozenset[str]]:
        if isinstance(node, ex.Reduction):
            around = around.union(node.inames)
            yield around
        for part in walk.parts(node):
            yield from inside(part, around)

    yield insn.within_inames
    for node in insn.reads if insn.reductions else ():
        yield from inside(node, insn.within_inames)


_Points: TypeAlias = tuple[isl.Set, Sequence[str]]  # a flat set, and which of its names are inames


def not_bijective(before: _Points, after: _Points, values: Mapping[str, Expression]) -> str | None:
    """Return what is wrong with the map from new points to old ones, or None."""
    (wanted, olds), (relation, news) = before, after
    for iname in olds:
        value = values[iname]
        condition = condition_set(ex.Comparison(ex.Variable(iname + _OLD), "==", value))
        if condition is None:
            raise InternalError(f"{value!r} is affine, and isl has no set for it")
        relation = relation.intersect(condition)
    # Old inames that other domains' bounds mention are parameters there.
    image = project_out(relation, news)
    for iname in olds:
        position = wanted.find_dim_by_name(isl.dim_type.param, iname)
        wanted = wanted.set_dim_name(isl.dim_type.param, position, iname + _OLD)
    if not image.is_equal(wanted):
        return OTHER_ITERATIONS
    pairs = unflatten(relation, [*news, *(i + _OLD for i in olds)])
    from_new = isl.Map.from_range(pairs).move_dims(
        isl.dim_type.in_, 0, isl.dim_type.out, 0, len(news)
    )
    return None if from_new.is_injective() else "it executes iterations more than once"


def _other_work(
    before: Instruction, after: Instruction, values: Mapping[str, Expression], known: Sequence[str]
) -> str | None:
    """Return what an instruction does otherwise, in the terms of the new inames."""
    inames = frozenset(mentioned(before.within_inames, values, known))
    if inames != after.within_inames:
        return f"be within {sorted(after.within_inames)} instead of {sorted(inames)}"
    if before.depends_on != after.depends_on:
        return "have other dependencies"

    is_outside = before.reduction_inames.isdisjoint(values)

    def same(old: Expression, new: Expression) -> bool:
        if is_outside and is_at_new_instance(old, new, values):
            return True
        moved = at_new_instance(old, before.within_inames, values, known)
        return identical(moved, new) or identical(normal_form(moved), normal_form(new))

    if not isinstance(before, Assigning) or not isinstance(after, Assigning):
        # Such instructions have no expressions but their predicates.
        marks = {"depends_on": NO_NAMES, "within_inames": inames, "predicates": ()}
        if before.copy(**marks) != after.copy(**marks):
            return "be another instruction"
    else:
        what = _other_values(before, after, same)
        if what is not None:
            return what
    if len(before.predicates) != len(after.predicates) or not all(
        map(same, before.predicates, after.predicates)
    ):
        return "have other predicates"
    return None


def _other_values(
    before: Assigning, after: Assigning, same: Callable[[Expression, Expression], bool]
) -> str | None:
    """Return what an instruction writes otherwise."""
    if isinstance(before, CInstruction) or isinstance(after, CInstruction):
        return None if _same_code(before, after, same) else "execute other verbatim C"
    if len(before.pairs) != len(after.pairs):
        return "write another number of variables"
    if before.atomicity != after.atomicity:
        return "be atomic in another way"
    for (was, value), (now, new_value) in zip(before.pairs, after.pairs, strict=True):
        if not same(was, now):
            return f"write {show_expression(now)}"
        if not same(value, new_value):
            return f"compute {show_expression(new_value)}"
    return None


def _same_code(
    before: Instruction, after: Instruction, same: Callable[[Expression, Expression], bool]
) -> bool:
    """Tell whether two instructions are one text, for which all names mean the same."""
    if not isinstance(before, CInstruction) or not isinstance(after, CInstruction):
        return False
    evaluated = (map(_as_index, insn.evaluated) for insn in (before, after))
    return before.form == after.form and all(map(same, *evaluated))


def _as_index(node: Expression) -> Expression:
    """Return an integer as a subscript, of which only the value matters."""
    return ex.Subscript(ex.Variable("__any"), (node,))


def normal_form(node: Expression) -> Expression:
    """Return an expression in which equal affine subscripts are written alike.

    Reductions that are inside of each other, with nothing in between, become one over the inames
    of both: inside of both, there are the same points.
    """

    def rule(e: Expression) -> Expression:
        if isinstance(e, ex.Subscript):
            index = tuple(_affine(i) for i in ex.index_tuple(e))
            return ex.Subscript(e.aggregate, index)
        if isinstance(e, ex.Reduction):
            inames, operand = e.inames, e.operand
            if isinstance(operand, ex.Reduction) and may_merge(e.operation, operand.operation):
                inames, operand = inames + operand.inames, operand.operand
            return ex.Reduction(e.operation, tuple(sorted(inames)), operand)
        return e

    return walk.rewrite(node, rule)


def _affine(node: Expression) -> Expression:
    form = linear_form(node)
    return node if form is None else form.expression()
