"""Scans that take several elements in an iteration, or what is written in the same loop.

out[i] = sum(j, a[j])  over 0 <= j <= 2*i    ->    acc_j = 0
                                                   acc_j = acc_j + a[k]   (2*i - 1 <= k <= 2*i)
                                                   out[i] = acc_j

Those that take one element of what is there before the loop are left to `polygen.lower.scans`.
"""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polygen.analysis.access.domains import domain_of
from polygen.analysis.integers.isl_affine import set_condition
from polygen.analysis.order.reduction_statements import places
from polygen.analysis.typing.expression_types import reduction_types
from polygen.analysis.typing.inference import kinds
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import Domain, flat_names, rename_dimension, unflatten
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import facts_of, identity_of, parts_of
from polygen.ir.revision import Revision
from polygen.lower.group_scans import reductions_of, scan_of_group
from polygen.lower.scans import (
    Scan,
    depends,
    depends_on_loop,
    find_scan,
    names_of_bounds,
    new_elements,
    one_by_one,
    shape,
    swept_if_inside,
)
from polygen.lower.shared_scans import with_results


def with_carried_scans(kernel: Kernel) -> tuple[Kernel, frozenset[str]]:
    """Return the kernel with instructions that carry such scans through loops.

    And the names of their accumulators.

    Parameters:
        kernel: its types are known, and it has no rules.
    """
    carried: set[str] = set()
    for insn in kernel.instructions:
        for reduction, all_conditions in reductions_of(insn).items():
            if isinstance(insn, Assigning) and len(all_conditions) == 1:
                now = kernel.instruction(insn.id)
                found = carried_scan(kernel, now, reduction, all_conditions[0])
                if found is not None:
                    kernel, names = _carrying(kernel, now, reduction, all_conditions[0], found)
                    carried.update(names)
    return kernel, frozenset(carried)


@dataclass(frozen=True)
class CarriedScan:
    """The plan of such a scan.

    Attributes:
        sweep: the loops through which it is carried, outermost first.
        new: what each iteration takes, as a flat set.
    """

    sweep: tuple[str, ...]
    new: isl.Set


def carried_scan(
    kernel: Kernel,
    insn: Instruction,
    reduction: ex.Reduction,
    conditions: tuple[Expression, ...],
) -> CarriedScan | None:
    """Return how to carry a reduction through the innermost loops around it, if this is needed.

    Parameters:
        kernel: its types are known, and it has no rules.
        insn: what the reduction stands in.
        reduction: the reduction.
        conditions: those under which it is computed.
    """
    around = insn.within_inames
    if shape(kernel, reduction) or not depends_on_loop(kernel, around, reduction):
        return None
    loops = tuple([p for p in places(kernel).of[insn.id, around] if isinstance(p, str)])
    if isinstance(find_scan(kernel, around, loops, reduction, conditions), Scan):
        return None
    if scan_of_group(kernel, insn, reduction, [conditions]) is not None:
        return None
    if swept_if_inside(kernel, around, loops, reduction, conditions):
        return None  # another order of the loops does better, which a warning says
    for first in reversed(range(len(loops))):
        sweep = loops[first:]
        if depends(kernel, sweep, reduction, conditions, insn) is not None:
            return None
        new = new_elements(kernel, around, sweep, reduction.inames[0])
        if new is not None:
            return CarriedScan(sweep, new)
    return None


def _carrying(
    kernel: Kernel,
    insn: Instruction,
    reduction: ex.Reduction,
    conditions: tuple[Expression, ...],
    found: CarriedScan,
) -> tuple[Kernel, tuple[str, ...]]:
    """Return the kernel with what starts, updates and uses accumulators, and their names."""
    revision = Revision(kernel)
    (iname,) = reduction.inames
    facts, dtypes = facts_of(reduction.operation), reduction_types(reduction, dict(kinds(kernel)))
    accumulators = tuple([revision.temporary(f"acc_{iname}", dtype) for dtype in dtypes])
    start = revision.stage(
        insn,
        "init",
        accumulators,
        identity_of(reduction.operation, dtypes),
        within_inames=insn.within_inames.difference(found.sweep),
        depends_on=_outside(kernel, insn, found.sweep),
        predicates=(),  # which reads no data too early
    )
    inside, at, where = _taken(revision, insn, iname, found)
    parts = tuple([walk.substitute(part, {iname: at}) for part in parts_of(reduction)])
    update = revision.stage(
        insn,
        "update",
        accumulators,
        facts.combined(accumulators, parts, dtypes),
        within_inames=insn.within_inames | inside,
        depends_on=insn.depends_on | {start.id},
        predicates=(*conditions, *where),
    )
    use = insn.map_expressions(lambda node: with_results(node, reduction, accumulators))
    use = use.copy(depends_on=insn.depends_on | {update.id})
    new = revision.with_stages({insn.id: [start, update, use]})
    return new, tuple([a.name for a in accumulators])


def _outside(kernel: Kernel, insn: Instruction, sweep: tuple[str, ...]) -> frozenset[str]:
    """Return those that an instruction comes after, and that are not in these loops."""
    within = {d: kernel.instruction(d).within_inames for d in insn.depends_on}
    return frozenset([d for d, inames in within.items() if inames.isdisjoint(sweep)])


def _taken(
    revision: Revision, insn: Instruction, iname: str, found: CarriedScan
) -> tuple[frozenset[str], Expression, tuple[Expression, ...]]:
    """Return the loop over what an iteration takes, if it has one, and which element that is.

    And the conditions under which it is taken.
    """
    kernel, around = revision.kernel, insn.within_inames
    one = one_by_one(kernel, around, found.sweep, iname, found.new)
    if one is not None:
        return frozenset(), one.value, one.conditions
    name = revision.name(iname)
    new = rename_dimension(found.new, iname, name)
    instances = domain_of(kernel, around).intersect(kernel.assumptions.flat)
    whole = isl.Set.from_basic_set(new.simple_hull())
    rest = new.gist(whole).gist(instances).coalesce()
    bounds = _without_unused(whole.gist(instances))
    revision.domains = (*revision.domains, Domain(unflatten(bounds, (name,))))
    where = () if rest.plain_is_universe() else (set_condition(rest),)
    return frozenset([name]), ex.Variable(name), where


def _without_unused(flat: isl.Set) -> isl.Set:
    """Return a flat set without the names that say nothing in it."""
    for position in reversed(range(len(flat_names(flat)))):
        if not flat.involves_dims(isl.dim_type.param, position, 1):
            flat = flat.project_out(isl.dim_type.param, position, 1)
    return flat


def order_of_scan(
    kernel: Kernel, insn: Instruction, reduction: ex.Reduction, inner: str | None = None
) -> tuple[str, ...]:
    """Return the loops around a reduction, inside those that it may be carried through.

    Parameters:
        kernel: it has no rules.
        insn: what the reduction stands in; none of its inames is on an axis.
        reduction: the reduction.
        inner: the iname of the loop to carry it through; those that its bounds mention if None.
    """
    around = insn.within_inames
    loops = [p for p in places(kernel).of[insn.id, around] if isinstance(p, str)]
    names = {inner} if inner else names_of_bounds(kernel, reduction)
    return tuple(sorted(loops, key=lambda iname: iname in names))


def why_no_scan(
    kernel: Kernel,
    insn: Instruction,
    reduction: ex.Reduction,
    conditions: tuple[Expression, ...],
) -> str | None:
    """Return why a reduction is not carried through the loops around it, or None if it is.

    Parameters are those of `carried_scan`; types need not be known.
    """
    around = insn.within_inames
    if not depends_on_loop(kernel, around, reduction):
        return "how far it runs does not depend on a loop around it"
    loops = tuple([p for p in places(kernel).of[insn.id, around] if isinstance(p, str)])
    found = find_scan(kernel, around, loops, reduction, conditions, insn)
    if isinstance(found, Scan) or carried_scan(kernel, insn, reduction, conditions) is not None:
        return None
    return found
