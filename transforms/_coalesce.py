"""Loops whose extents are sizes as one: how many iterations it has, and what the old inames are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import islpy as isl

from polygen.analysis.affine import LinearForm, linear_form
from polygen.analysis.constraint_forms import ConstraintForm, constraint_forms
from polygen.analysis.instance_map import instruction_at
from polygen.analysis.instances import iname_groups
from polygen.analysis.isl_affine import condition_set
from polygen.analysis.recombine import recombined
from polygen.analysis.unknowns import Unknowns
from polygen.errors import ExtentNotConstant, InvalidArgument, MapMixesInames, TagConflict
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import Domain, unflatten, universe
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.sizes import DerivedSize
from polygen.ir.verify import excerpt
from polygen.language.priorities import circle
from polygen.proof import Rearranged
from polygen.source import caller_location


def coalesced(kernel: Kernel, olds: Sequence[str], name: str) -> Rearranged:
    """Return a kernel in which independent loops are one, whatever their extents are.

    By construction, it computes what the kernel does in which they are nested, with nothing between
    them: that is what has to be proved.

    Parameters:
        kernel: the kernel.
        olds: the inames, the fastest one last; not tagged.
        name: that of the new iname.

    Raises:
        ExtentNotConstant: if the extent of one depends on another, or on data.
        MapMixesInames: if an instruction, or a reduction, is within some only.
        InvalidArgument: if priorities put another loop between.
    """
    _check_tags(kernel, olds)
    box = _box(kernel, olds)
    _check_groups(kernel, olds)
    _check_elsewhere(kernel, olds)
    joined = _Joined(kernel, name)
    count, values = joined.values(box, olds)
    inames = [name if i == olds[0] else i for i in kernel.inames if i not in olds[1:]]
    inames = list(dict.fromkeys([*inames, name]))

    def moved(insn: Instruction) -> Instruction:
        if not any(group.intersection(olds) for group in iname_groups(insn)):
            return insn
        return instruction_at(insn, values, inames).map_expressions(_with_whole_subscripts)

    new = kernel.copy(
        domains=_domains(kernel, olds, box, name, count),
        instructions=tuple([moved(insn) for insn in kernel.instructions]),
        tags={i: t for i, t in kernel.tags.items() if i not in olds},
        priorities=_priorities(kernel, olds, name),
        separations=tuple(
            [c for c in kernel.separations if walk.free_variables(c).isdisjoint(olds)]
        ),
        derived_sizes=joined.sizes,
    )
    return Rearranged(new, values, computes_as=_nested(kernel, olds, new, name))


def _with_whole_subscripts(node: Expression) -> Expression:
    def rule(part: Expression) -> Expression:
        if not isinstance(part, ex.Subscript):
            return part
        index = tuple(map(_simple, map(recombined, ex.index_tuple(part))))
        return ex.Subscript(part.aggregate, index if isinstance(part.index, tuple) else index[0])

    return walk.rewrite(node, rule)


# --- which loops


@dataclass(frozen=True)
class _Range:
    """The values of an iname: from `least` on, `count` of them, if that is not negative."""

    least: LinearForm
    count: Expression


@dataclass(frozen=True)
class _Box:
    """The values of inames that do not depend on each other, and what else their domains say."""

    ranges: Sequence[_Range]
    rest: isl.Set


def _box(kernel: Kernel, olds: Sequence[str]) -> _Box:
    homes = list(dict.fromkeys(kernel.home_domains[i] for i in olds))
    others = sorted({i for d in homes for i in d.inames} - set(olds))
    if others:
        raise _not_of_their_own(olds, f"the domain of '{olds[0]}' is that of '{others[0]}', too")
    sizes = frozenset(kernel.parameters)
    for domain in homes:
        for parameter in domain.parameters:
            if parameter not in sizes:
                raise _not_of_their_own(olds, f"they depend on '{parameter}'")
    found: list[ConstraintForm] = []
    for domain in homes:
        pieces = domain.flat.get_basic_sets()
        if len(pieces) != 1 or pieces[0].dim(isl.dim_type.div):
            raise _not_of_their_own(olds, f"{domain} is no box")
        found += constraint_forms(pieces[0])
    ranges = tuple([_range(olds, iname, found) for iname in olds])
    rest = universe()
    for constraint in found:
        if constraint.form.names().isdisjoint(olds):
            rest = rest.intersect(_where(constraint))
    return _Box(ranges, rest)


def _range(olds: Sequence[str], iname: str, constraints: Sequence[ConstraintForm]) -> _Range:
    """Return the bounds of an iname, which depend on no other."""
    lowers: list[LinearForm] = []
    uppers: list[LinearForm] = []
    for constraint in constraints:
        form = constraint.form
        factor = form.terms.get(iname, 0)
        if not factor:
            continue
        if others := sorted(form.names().intersection(olds) - {iname}):
            raise _not_of_their_own(olds, f"the bounds of '{iname}' depend on '{others[0]}'")
        rest = form - LinearForm.of_name(iname) * factor
        if factor > 0 or constraint.is_equality:
            lowers.append(-(rest // factor))  # the least integer from -rest/factor on
        if factor < 0 or constraint.is_equality:
            uppers.append(rest // -factor)
    if len(lowers) != 1 or not uppers:
        raise _not_of_their_own(olds, f"'{iname}' has no lower bound that is affine")
    counts = tuple([(upper - lowers[0] + 1).expression() for upper in uppers])
    return _Range(lowers[0], counts[0] if len(counts) == 1 else ex.Min(counts))


def _where(constraint: ConstraintForm) -> isl.Set:
    operator = "==" if constraint.is_equality else ">="
    found = condition_set(ex.Comparison(constraint.form.expression(), operator, 0))
    assert found is not None
    return found


def _not_of_their_own(olds: Sequence[str], why: str) -> ExtentNotConstant:
    return ExtentNotConstant(
        f"{', '.join(olds)} cannot be joined: how many values each has depends on sizes, and {why}",
        where=caller_location(),
        remedy="loops whose extents are sizes are joined if each is bounded by these alone; "
        "fix_parameters, or split_iname first, makes an extent constant",
    )


def _check_tags(kernel: Kernel, olds: Sequence[str]) -> None:
    for iname in olds:
        tag = kernel.tags.get(iname)
        if tag is not None and str(tag) != "for":
            raise TagConflict(
                f"'{iname}' cannot be joined: it is tagged {tag}",
                where=caller_location(),
                remedy="join first, then tag the new iname",
            )


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


def _check_elsewhere(kernel: Kernel, olds: Sequence[str]) -> None:
    """Check that nothing that has to be affine mentions the inames."""
    for domain in kernel.domains:
        if bounds := sorted(set(domain.parameters).intersection(olds)):
            raise _not_of_their_own(olds, f"{domain} mentions '{bounds[0]}'")
    for insn in kernel.instructions:
        for relation in insn.happens_after:
            if not {*relation.inames, *relation.later_inames}.isdisjoint(olds):
                raise _not_of_their_own(olds, f"'{insn.id}' says which instances it comes after")


# --- the new kernel


class _Joined:
    """Makes sizes for the products that it needs.

    Attributes:
        sizes: those of the kernel, and new ones.
    """

    def __init__(self, kernel: Kernel, name: str) -> None:
        self.sizes: tuple[DerivedSize, ...] = kernel.derived_sizes
        self._kernel = kernel
        self._name = name

    def values(self, box: _Box, olds: Sequence[str]) -> tuple[Expression, dict[str, Expression]]:
        """Return how many values the new iname has, and what the old ones are for each."""
        first, *others = box.ranges
        count = first.count
        sizes: list[Expression] = []
        for each, iname in zip(others, olds[1:], strict=True):
            size = self._count(each.count, iname)
            count = self._product(count, size)
            sizes.append(1 if size == 0 else size)  # there is no iteration that divides by it
        left: Expression = ex.Variable(self._name)
        offsets: list[Expression] = []
        for size in reversed(sizes):
            offsets.append(_simple(ex.remainder_of(left, size)))
            left = _simple(ex.floor_quotient(left, size))
        values: dict[str, Expression] = {}
        for iname, each, offset in zip(olds, box.ranges, (left, *reversed(offsets)), strict=True):
            least = each.least.expression()
            values[iname] = offset if least == 0 else _simple(ex.sum_of(least, offset))
        return count, values

    def _count(self, count: Expression, iname: str) -> Expression:
        """Return a count that may be divided by; the least of several gets a name."""
        form = linear_form(count)
        if form is None:
            return self._size(f"{iname}_count", (count,))
        return max(form.constant, 0) if form.is_constant else form.expression()

    def _product(self, first: Expression, second: Expression) -> Expression:
        form, other = linear_form(first), linear_form(second)
        if form is not None and other is not None and other.is_constant:
            return (form * other.constant).expression()
        names = [f.name for f in (first, second) if isinstance(f, ex.Variable)]
        like = "_".join(names) if len(names) == 2 else f"{self._name}_count"
        return self._size(like, (first, second))

    def _size(self, like: str, factors: tuple[Expression, ...]) -> Expression:
        for size in self.sizes:
            if size.factors == factors:
                return ex.Variable(size.name)
        name = self._kernel.new_name(like, {self._name, *(size.name for size in self.sizes)})
        self.sizes = (*self.sizes, DerivedSize(name, None, factors))
        return ex.Variable(name)


def _simple(node: Expression) -> Expression:
    """Return an expression in its normal form, if it is affine in inames, sizes and divisions."""
    form = linear_form(node)
    if form is not None:
        return form.expression()
    unknowns = Unknowns(walk.free_variables(node))
    form = linear_form(unknowns.abstract(node))
    if form is None:
        return node
    parts = {name: part for part, name in unknowns.names.items()}
    return walk.substitute(form.expression(), parts)


def _domains(
    kernel: Kernel, olds: Sequence[str], box: _Box, name: str, count: Expression
) -> tuple[Domain, ...]:
    """Return the domains, with one for the new iname where the first of the old ones was."""
    iname = ex.Variable(name)
    ends = (ex.Comparison(0, "<=", iname), ex.Comparison(iname, "<", count))
    points = box.rest
    for end in ends:
        found = condition_set(end)
        assert found is not None
        points = points.intersect(found)
    new = Domain(unflatten(points, [name]).drop_unused_params())
    result: list[Domain] = []
    for domain in kernel.domains:
        if set(domain.inames).isdisjoint(olds):
            result.append(domain)
        elif new not in result:
            result.append(new)
    return tuple(result)


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
