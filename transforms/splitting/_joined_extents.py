"""Loops whose extents are sizes as one: how many iterations it has, and what the old inames are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import islpy as isl

from polygen.analysis.access.instance_map import instruction_at
from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.analysis.integers.recombined_numbers import recombined
from polygen.analysis.rearrangement.same_instances import iname_groups
from polygen.errors import InvalidArgument, MapMixesInames
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.verify import excerpt
from polygen.language.priorities import circle
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transforms.loops.loop_extents import (
    Box,
    Sizes,
    apart,
    box_of,
    domains_with,
    holds,
    simple,
)


def coalesced(kernel: Kernel, olds: Sequence[str], name: str) -> Rearranged:
    """Return a kernel in which independent loops are one, whatever their extents are.

    By construction, it computes what the kernel does in which they are nested, with nothing between
    them: that is what has to be proved.

    Parameters:
        kernel: the kernel.
        olds: the inames, the fastest one last; not tagged.
        name: that of the new iname.

    Raises:
        TagConflict: if one is tagged.
        ExtentNotConstant: if the extent of one depends on another, or on data.
        MapMixesInames: if an instruction, or a reduction, is within some only.
        InvalidArgument: if priorities put another loop between.
    """
    kernel = apart(kernel, olds)
    box = box_of(kernel, olds)
    _check_groups(kernel, olds)
    sizes = Sizes(kernel, (name,))
    count, values = _values(box, olds, name, sizes)
    ends = (holds(0, "<=", ex.Variable(name)), holds(ex.Variable(name), "<", count))
    inames = [name if i == olds[0] else i for i in kernel.inames if i not in olds[1:]]
    inames = list(dict.fromkeys([*inames, name]))

    def moved(insn: Instruction) -> Instruction:
        if not any(group.intersection(olds) for group in iname_groups(insn)):
            return insn
        return instruction_at(insn, values, inames).map_expressions(_with_whole_subscripts)

    new = kernel.copy(
        domains=domains_with(kernel, olds, (name,), reduce(isl.Set.intersect, ends, box.rest)),
        instructions=tuple([moved(insn) for insn in kernel.instructions]),
        tags={i: t for i, t in kernel.tags.items() if i not in olds},
        priorities=_priorities(kernel, olds, name),
        separations=tuple(
            [c for c in kernel.separations if walk.free_variables(c).isdisjoint(olds)]
        ),
        derived_sizes=sizes.all,
    )
    return Rearranged(new, values, computes_as=_nested(kernel, olds, new, name))


def _with_whole_subscripts(node: Expression) -> Expression:
    def rule(part: Expression) -> Expression:
        if not isinstance(part, ex.Subscript):
            return part
        index = tuple(map(simple, map(recombined, ex.index_tuple(part))))
        return ex.Subscript(part.aggregate, index if isinstance(part.index, tuple) else index[0])

    return walk.rewrite(node, rule)


# --- which loops


def _check_groups(kernel: Kernel, olds: Sequence[str]) -> None:
    for insn in kernel.expanded.instructions:
        for group in iname_groups(insn):
            here = group.intersection(olds)
            if here and len(here) < len(olds):
                lacking = sorted(set(olds) - here)[0]
                raise MapMixesInames(
                    f"'{lacking}' cannot be joined to '{min(here)}': instruction '{insn.id}', or a "
                    f"reduction in it, is within '{min(here)}' alone",
                    where=caller_location(),
                    excerpt=excerpt(kernel, insn.id),
                    remedy="give instructions that are to stay as they are inames of their own "
                    "(duplicate_inames)",
                )


# --- the new kernel


def _values(
    box: Box, olds: Sequence[str], name: str, sizes: Sizes
) -> tuple[Expression, dict[str, Expression]]:
    """Return how many values the new iname has, and what the old ones are for each."""
    first, *others = box.ranges
    count = first.count
    divisors: list[Expression] = []
    for each, iname in zip(others, olds[1:], strict=True):
        inner = sizes.count(each.count, iname)
        count = _product(count, inner, name, sizes)
        divisors.append(inner.expression() or 1)  # there is no iteration that divides by 0
    left: Expression = ex.Variable(name)
    offsets: list[Expression] = []
    for size in reversed(divisors):
        offsets.append(simple(ex.remainder_of(left, size)))
        left = simple(ex.floor_quotient(left, size))
    both = zip(olds, box.ranges, (left, *reversed(offsets)), strict=True)
    return count, {iname: each.value(offset) for iname, each, offset in both}


def _product(first: Expression, size: LinearForm, name: str, sizes: Sizes) -> Expression:
    form, second = linear_form(first), size.expression()
    if form is not None and size.is_constant:
        return (form * size.constant).expression()
    names = [f.name for f in (first, second) if isinstance(f, ex.Variable)]
    like = "_".join(names) if len(names) == 2 else f"{name}_count"
    return sizes.named(like, (first, second))


def _priorities(kernel: Kernel, olds: Sequence[str], name: str) -> tuple[tuple[str, ...], ...]:
    found = [
        tuple(dict.fromkeys([name if i in olds else i for i in priority]))
        for priority in kernel.priorities
    ]
    found = [priority for priority in dict.fromkeys(found) if len(priority) > 1]
    if around := circle(found):
        between = next(i for i in around if i != name)
        raise InvalidArgument(
            f"{', '.join(olds)} cannot be joined: a priority puts '{between}' between them",
            where=caller_location(),
            remedy=f"say first where it is to be: prioritize_loops(knl, '{', '.join(olds)}, "
            f"{between}')",
        )
    return tuple(found)


def _nested(kernel: Kernel, olds: Sequence[str], new: Kernel, name: str) -> Kernel:
    """Return the kernel with the loops nested, and others outside or inside of all of them."""
    expanded = [
        tuple([i for own in priority for i in (olds if own == name else (own,))])
        for priority in new.priorities
    ]
    return kernel.copy(priorities=tuple(dict.fromkeys((*expanded, tuple(olds)))))
