"""Dependencies on some instances of an instruction: which pairs they order.

Of the pairs of a relation, some are ordered by loops already; the loops must not put the second
instance first.  For the others, which are in the same iteration of all loops that both are in, the
first instruction stands before the second in the code.  The relation orders these pairs and, in
proofs, no others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

import islpy as isl

from polygen.analysis.access.domains import domain_of
from polygen.analysis.access.instance_map import InstanceMap, mentioned
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.second_instance import OTHER
from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import project_out, rename_dimension
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.relation import MARK, InstanceRelation, make_relation
from polygen.ir.remembered import per_kernel
from polygen.ir.tags import is_parallel


@per_kernel
def related_pairs(kernel: Kernel, first: str, second: str) -> isl.Set | None:
    """Return the pairs of instances that relations order: a flat set; None if there are none.

    Those that loops order are among them.
    """
    later = kernel.instruction(second)
    found = [r.flat(OTHER) for r in later.happens_after if r.first == first]
    if not found:
        return None
    pairs = reduce(isl.Set.union, found)
    own = domain_of(kernel, later.within_inames)
    for iname in sorted(later.within_inames):
        own = rename_dimension(own, iname, iname + OTHER)
    others = domain_of(kernel, kernel.instruction(first).within_inames)
    pairs = pairs.intersect(own).intersect(others)
    return None if pairs.is_empty() else pairs


def equal_in(pairs: isl.Set, inames: Sequence[str]) -> isl.Set:
    """Return those of the pairs that agree in some inames."""
    for iname in inames:
        pairs = pairs.intersect(compared(iname, "=="))
    return pairs


def compared(iname: str, operator: str) -> isl.Set:
    """Return the pairs whose values of an iname compare like this."""
    found = condition_set(ex.Comparison(ex.Variable(iname), operator, ex.Variable(iname + OTHER)))
    if found is None:
        raise InternalError(f"values of '{iname}' cannot be compared")
    return found


@per_kernel
def standing_before(kernel: Kernel) -> Mapping[str, frozenset[str]]:
    """Return, for each instruction, those that stand before it in the code."""
    return {insn.id: insn.depends_on | _related(kernel, insn) for insn in kernel.instructions}


def _related(kernel: Kernel, insn: Instruction) -> frozenset[str]:
    found: set[str] = set()
    for first in {relation.first for relation in insn.happens_after}:
        pairs = related_pairs(kernel, first, insn.id)
        shared = [
            i
            for i in sorted(insn.within_inames & kernel.instruction(first).within_inames)
            if not is_parallel(kernel.tags.get(i))
        ]
        if pairs is not None and not equal_in(pairs, shared).is_empty():
            found.add(first)
    return frozenset(found)


def with_plain_dependencies(kernel: Kernel) -> Kernel:
    """Return the kernel with dependencies on whole instructions, which order the code alike."""
    if not any(insn.happens_after for insn in kernel.instructions):
        return kernel
    before = standing_before(kernel)
    return kernel.copy(
        instructions=tuple(
            [
                insn.copy(depends_on=before[insn.id], happens_after=frozenset())
                for insn in kernel.instructions
            ]
        )
    )


# --- in other coordinates


def moved_relations(kernel: Kernel, instances: InstanceMap) -> Kernel:
    """Return a kernel whose relations, which are in terms of old inames, are in that of its own.

    Parameters:
        kernel: the kernel after a step.
        instances: which instance of the kernel before each of its instances computes.
    """
    if kernel.has_plain_instructions or not any(i.happens_after for i in kernel.instructions):
        return kernel
    return kernel.copy(
        instructions=tuple(
            [
                insn.copy(
                    happens_after=frozenset(
                        [_moved(kernel, r, insn.id, instances) for r in insn.happens_after]
                    )
                )
                for insn in kernel.instructions
            ]
        )
    )


def _moved(
    kernel: Kernel, relation: InstanceRelation, later: str, instances: InstanceMap
) -> InstanceRelation:
    sides = (
        (relation.inames, instances.of(relation.first), ""),
        (relation.later_inames, instances.of(later), MARK),
    )
    pairs = relation.flat(MARK)
    news: list[tuple[str, ...]] = []
    for inames, values, mark in sides:
        olds = [iname for iname in inames if iname in values]
        for iname in olds:
            pairs = rename_dimension(pairs, iname + mark, f"old {iname}{mark}")
        for iname in olds:
            value = _marked(values[iname], kernel.inames, mark)
            equation = condition_set(ex.Comparison(ex.Variable(f"old {iname}{mark}"), "==", value))
            if equation is None:
                raise InternalError(f"the old value of '{iname}' is not affine: {value!r}")
            pairs = pairs.intersect(equation)
        pairs = project_out(pairs, [f"old {iname}{mark}" for iname in olds])
        news.append(mentioned(inames, values, kernel.inames))
    return make_relation(relation.first, pairs, *news)


def _marked(value: ex.Expression, inames: Sequence[str], mark: str) -> ex.Expression:
    return walk.substitute(value, {i: ex.Variable(i + mark) for i in inames})
