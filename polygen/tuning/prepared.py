"""Prepares kernels before their reductions are shared: producers, terms, shared loops."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import SupportsIndex

import islpy as isl

from polygen.analysis.access.accesses import references
from polygen.errors import (
    CannotProve,
    IllegalStep,
    NotCountable,
    ProducerNeeded,
    SeveralLaunches,
    UserError,
)
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.tags import is_parallel
from polygen.transforms.fusion.loop_sharing import in_one_loop
from polygen.transforms.inames.duplicate_inames import duplicate_inames
from polygen.transforms.inames.remove_inames_from_insn import remove_inames_from_insn
from polygen.transforms.instructions.map_instructions import map_instructions
from polygen.transforms.loops.size_estimates import likely_extent
from polygen.transforms.reductions.fuse_reductions import fuse_reductions
from polygen.transforms.reductions.propagate_reduction import propagate_reduction
from polygen.transforms.reductions.unroll_reduction import unroll_reduction
from polygen.tuning.neighbours import shared_uses, strides_of
from polygen.tuning.nests import reduced_by
from polygen.tuning.work import Work, points, work_of

_LITTLE, _FEW = 1 << 15, 1 << 17  # elements: for a few groups; of writes across memory
_TERMS = 4  # of a reduction that needs no loop


def with_producers(kernel: Kernel, ids: Sequence[str]) -> Kernel:
    """Return the kernel in which reductions compute what they read, where that can be.

    What something else needs, too, stays in memory.
    """
    for name in ids:
        try:
            kernel = propagate_reduction(kernel, name)
        except (CannotProve, IllegalStep, ProducerNeeded):
            continue
    return kernel


def with_terms(kernel: Kernel) -> Kernel:
    """Return the kernel with terms in the place of reductions over very few values.

    Then these need no items that share them, nor a launch of their own.  Not where something else
    goes along what is reduced, which then is a row.
    """
    for insn in kernel.assignments:
        plain = kernel.expanded
        inames = plain.instruction(insn.id).reduction_inames
        for iname in sorted(inames if insn.within_inames else ()):
            count = _constant_extent(kernel, iname)
            if count is None or count > _TERMS or is_parallel(kernel.tags.get(iname)):
                continue
            if count == 1 or not _is_row_of_others(plain, insn):
                try:
                    kernel = unroll_reduction(kernel, iname, f"id:{insn.id}")
                except UserError:  # it runs over others, too, say
                    continue
    return kernel


def without_single_iterations(kernel: Kernel) -> Kernel:
    """Return the kernel without loops that have one iteration, where that can be.

    Then it is seen which reductions are of a whole array, and which loops go along the same rows.
    """
    for insn in kernel.assignments:
        inames = insn.within_inames | insn.reduction_inames
        values = {i: v for i in sorted(inames) if (v := _only_value(kernel, i)) is not None}
        around = [iname for iname in values if iname in insn.within_inames]
        if not values:
            continue
        query = f"id:{insn.id}"
        try:
            new = map_instructions(kernel, query, partial(_mapped, values=values))
            kernel = remove_inames_from_insn(new, around, query) if around else new
        except UserError:  # bounds of another loop mention one, say
            continue
    return kernel


def _mapped(insn: Instruction, values: Mapping[str, int]) -> Instruction:
    return insn.map_expressions(partial(_with_values, values=values))


def _with_values(node: Expression, values: Mapping[str, int]) -> Expression:
    """Return an expression with numbers for inames, which no reduction is over any more."""

    def shorter(part: Expression) -> Expression:
        if not isinstance(part, ex.Reduction):
            return part
        inames = tuple([iname for iname in part.inames if iname not in values])
        return ex.Reduction(part.operation, inames, part.operand) if inames else part

    return walk.substitute(walk.rewrite(node, shorter), values)


def _only_value(kernel: Kernel, iname: str) -> int | None:
    """Return the number that an iname without a tag always is."""
    if iname in kernel.tags or _constant_extent(kernel, iname) != 1:
        return None
    values = kernel.home_domains[iname].set
    return int(values.dim_min_val(values.find_dim_by_name(isl.dim_type.set, iname)).to_python())


def _constant_extent(kernel: Kernel, iname: str) -> int | None:
    is_constant = not kernel.home_domains[iname].parameters
    return likely_extent(kernel, iname) if is_constant else None


def _is_row_of_others(kernel: Kernel, insn: Instruction) -> bool:
    """Tell whether what uses the results has more loops than these."""
    used = [i for i in kernel.instructions if not i.read_names.isdisjoint(insn.written_names)]
    return any(len(i.within_inames | i.reduction_inames) > len(insn.within_inames) for i in used)


def in_the_same_loops(
    kernel: Kernel, sizes: Mapping[str, SupportsIndex], *, alike: bool = True
) -> Kernel:
    """Return the kernel with loops in common for what uses results of rows, or reduces alike.

    What needs results of many groups is left in loops of its own.

    Parameters:
        kernel: the kernel.
        sizes: what to expect of sizes that are not numbers.
        alike: whether what reduces alike, but is not needed, gets them, too.
    """
    order = [insn.id for insn in kernel.assignments]
    for place, first in enumerate(order):
        for other in order[place + 1 :]:
            if _belong_together(kernel, first, other, sizes, alike=alike):
                kernel = _fused(kernel, first, other)
    return kernel


def beside_rows(kernel: Kernel, sizes: Mapping[str, SupportsIndex], units: int) -> Kernel:
    """Return the kernel with what reads the same rows as reductions in their loops.

    So these are read once, and in one launch.  Not where there are fewer rows than compute units,
    or where it would write across memory, unless there is little to do.
    """
    for reduction in kernel.assignments:
        for other in kernel.assignments:
            plain = kernel.expanded
            one, two = plain.instruction(reduction.id), plain.instruction(other.id)
            if one.reductions and not two.reductions and not _share_loops(one, two):
                work = _work(plain, one, sizes)
                if work is None or not work.along or work.results == 1:
                    continue
                count = work.results * work.length
                is_worth_it = count <= _LITTLE or work.results >= units
                if is_worth_it and _goes_along(plain, one, two, sizes):
                    kernel = _in_loops_that_read(kernel, one, two, apart=count <= _FEW)
    return kernel


def _in_loops_that_read(
    kernel: Kernel, one: Instruction, two: Instruction, *, apart: bool
) -> Kernel:
    """Return the kernel with loops of one for the other, where both read the same elements.

    Parameters:
        kernel: the kernel.
        one: the reduction.
        two: the other one.
        apart: whether neighbours may write what is far apart.
    """
    # What is done along with another reduction, comes with it.
    is_joined = any(
        i.reductions and i.within_inames & two.within_inames for i in kernel.assignments
    )
    for pairs in _alike(one, two):
        others = two.within_inames.difference([other for _, other in pairs])
        if len(others) != 1:  # it reads an element of a row, or is in a loop around rows
            continue
        (along,) = others
        if not apart and not writes_along(kernel.expanded, two, along):
            continue
        try:
            new, news = (kernel, {}) if is_joined else in_loops_of_its_own(kernel, two.id)
            for leading, following in pairs:
                new = in_one_loop(new, leading, news.get(following, following))
        except UserError:  # it shares scalars with others, say
            continue
        return new
    return kernel


def in_loops_of_its_own(kernel: Kernel, insn_id: str) -> tuple[Kernel, dict[str, str]]:
    """Return the kernel in which an instruction shares no loops, and the new names of its own.

    Raises:
        IllegalStep: if it cannot be, because others need its scalars in each iteration, say.
    """
    loops = kernel.instruction(insn_id).within_inames
    others = [insn for insn in kernel.instructions if insn.id != insn_id]
    if all(loops.isdisjoint(insn.within_inames | insn.reduction_inames) for insn in others):
        return kernel, {}
    news: dict[str, str] = {}
    for iname in sorted(loops):
        news[iname] = kernel.new_name(iname, news.values())
    return duplicate_inames(kernel, list(news), f"id:{insn_id}", list(news.values())), news


def _alike(one: Instruction, two: Instruction) -> Iterator[list[tuple[str, str]]]:
    """Yield the loops around one and those of another that an array is read in alike."""
    around = one.within_inames
    for read, other in product(references(one), references(two)):
        if read.name != other.name or read.is_write or other.is_write:
            continue
        if len(read.index) != len(other.index):  # one of them is the whole array
            continue
        places = zip(read.index, other.index, strict=True)
        variables = [(ex.name_of(a), ex.name_of(b)) for a, b in places if _are_names(a, b)]
        pairs = [(a, b) for a, b in variables if a in around and b in two.within_inames]
        if frozenset(a for a, _ in pairs) == around and len({b for _, b in pairs}) == len(
            pairs
        ) == len(around):
            yield pairs


def writes_along(kernel: Kernel, insn: Instruction, iname: str) -> bool:
    """Tell whether neighbours along an iname write neighbours in memory."""
    uses = [use for use in shared_uses(kernel, [insn.id]) if use.is_write]
    inames = sorted(insn.within_inames)
    return all(strides_of(kernel, use, inames).get(iname) == 1 for use in uses)


def _are_names(*nodes: Expression) -> bool:
    return all(isinstance(node, ex.Variable) for node in nodes)


def _belong_together(
    kernel: Kernel, first: str, other: str, sizes: Mapping[str, SupportsIndex], *, alike: bool
) -> bool:
    """Tell whether an instruction should be in the loops of a reduction, and is not."""
    plain = kernel.expanded
    one, two = plain.instruction(first), plain.instruction(other)
    if not one.reductions or _share_loops(one, two):
        return False
    work = _work(plain, one, sizes)
    if not two.read_names.isdisjoint(one.written_names):
        if work is None or work.results == 1:
            return False
        if len(two.within_inames) == len(one.within_inames) and not two.reductions:
            return True
        return work.along and (bool(two.reductions) or _goes_along(plain, one, two, sizes))
    if work is None or not two.reductions or not alike:
        return False
    theirs = _work(plain, two, sizes)
    return theirs is not None and _shape(work) == _shape(theirs)


def _goes_along(
    kernel: Kernel, one: Instruction, two: Instruction, sizes: Mapping[str, SupportsIndex]
) -> bool:
    """Tell whether an instruction does something for each result, or for each element of rows."""
    if len(two.within_inames) == len(one.within_inames):
        return True
    try:
        whole = points(kernel, one.within_inames | one.reduction_inames, sizes)
        if len(one.reduction_inames) != 1 or points(kernel, two.within_inames, sizes) != whole:
            return False
    except NotCountable:
        return True
    used = [use for use in references(two) if use.name in one.written_names]
    along = two.within_inames.difference(*(walk.free_variables(i) for u in used for i in u.index))
    return whole <= _FEW or not used or any(writes_along(kernel, two, i) for i in along)


def _share_loops(one: Instruction, two: Instruction) -> bool:
    if one.within_inames:
        return one.within_inames <= two.within_inames
    return one.reduction_inames == two.reduction_inames


def _work(kernel: Kernel, insn: Instruction, sizes: Mapping[str, SupportsIndex]) -> Work | None:
    """Return what there is to do; None if data decides."""
    try:
        return work_of(kernel, [insn], reduced_by(insn), sizes)
    except NotCountable:
        return None


def _shape(work: Work) -> tuple[object, ...]:
    return work.results, work.length, work.along


def _fused(kernel: Kernel, first: str, other: str) -> Kernel:
    """Return the kernel with two instructions in one launch; as it is, if that cannot be."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", SeveralLaunches)
        try:
            return fuse_reductions(kernel, [f"id:{first}", f"id:{other}"])
        except (UserError, SeveralLaunches):
            return kernel
