"""Loops whose bounds depend on sizes alone: how many values inames have, and where they begin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

import islpy as isl

from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.analysis.integers.constraint_forms import ConstraintForm, constraint_forms
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.unknowns import Unknowns
from polygen.errors import ExtentNotConstant, TagConflict
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import Domain, project_out, unflatten, universe
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.sizes import DerivedSize
from polygen.source import caller_location


@dataclass(frozen=True)
class Range:
    """The values of an iname: from `least` on, `count` of them, if that is not negative."""

    least: LinearForm
    count: Expression

    def value(self, offset: Expression) -> Expression:
        """Return the value that comes after so many others."""
        least = self.least.expression()
        return offset if least == 0 else simple(ex.sum_of(least, offset))


@dataclass(frozen=True)
class Box:
    """The values of inames that do not depend on each other, and what else their domains say."""

    ranges: Sequence[Range]
    rest: isl.Set


def box_of(kernel: Kernel, inames: Sequence[str]) -> Box:
    """Return the values of inames that are about to become others, which need not be affine.

    Raises:
        TagConflict: if one is tagged.
        ExtentNotConstant: if the bounds of one depend on others, or on data, or bound others.
    """
    _check_tags(kernel, inames)
    homes = list(dict.fromkeys(kernel.home_domains[i] for i in inames))
    for domain in homes:
        if others := sorted(set(domain.inames) - set(inames)):
            own = next(i for i in domain.inames if i in inames)
            raise _refused(inames, f"the domain of '{own}' is that of '{others[0]}', too")
    sizes = frozenset(kernel.parameters)
    for domain in homes:
        for parameter in domain.parameters:
            if parameter not in sizes:
                raise _refused(inames, f"they depend on '{parameter}'")
    found: list[ConstraintForm] = []
    for domain in homes:
        pieces = domain.flat.get_basic_sets()
        if len(pieces) != 1 or pieces[0].dim(isl.dim_type.div):
            raise _refused(inames, f"{domain} is no box")
        found += constraint_forms(pieces[0])
    ranges = tuple([_range(inames, iname, found) for iname in inames])
    rest = [_where(c) for c in found if c.form.names().isdisjoint(inames)]
    _check_elsewhere(kernel, inames)
    return Box(ranges, reduce(isl.Set.intersect, rest, universe()))


def apart(kernel: Kernel, inames: Iterable[str]) -> Kernel:
    """Return a kernel with domains of their own for inames whose values depend on no others.

    Of whole tiles, say: `i_outer` and `i_inner` are independent where `n mod 16 = 0` is assumed.
    """
    for iname in inames:
        domain = kernel.home_domains[iname]
        if len(domain.inames) > 1:
            domains = ((d,) if d != domain else _factors(kernel, d, iname) for d in kernel.domains)
            kernel = kernel.copy(domains=tuple([d for some in domains for d in some]))
    return kernel


def _factors(kernel: Kernel, domain: Domain, iname: str) -> tuple[Domain, ...]:
    """Return domains of an iname, and of the others; or the domain, if it is no product of them."""
    others = [i for i in domain.inames if i != iname]
    assumed = kernel.assumptions.flat
    points = domain.flat.intersect(assumed)
    parts = [project_out(points, others), project_out(points, [iname])]
    if not parts[0].intersect(parts[1]).is_subset(points):
        return (domain,)
    # That there are any values at all is said once.
    known = (assumed, assumed.intersect(project_out(points, domain.inames)))
    plain = [part.gist(context).coalesce() for part, context in zip(parts, known, strict=True)]
    if not plain[0].intersect(plain[1]).intersect(assumed).is_subset(points):
        return (domain,)
    both = zip(plain, ([iname], others), strict=True)
    return tuple([Domain(unflatten(part, names).drop_unused_params()) for part, names in both])


def _range(inames: Sequence[str], iname: str, constraints: Iterable[ConstraintForm]) -> Range:
    """Return the values of an iname, whose bounds depend on no other."""
    lowers: list[LinearForm] = []
    uppers: list[LinearForm] = []
    for constraint in constraints:
        form = constraint.form
        factor = form.terms.get(iname, 0)
        if not factor:
            continue
        if others := sorted(form.names().intersection(inames) - {iname}):
            raise _refused(inames, f"the bounds of '{iname}' depend on '{others[0]}'")
        rest = form - LinearForm.of_name(iname) * factor
        if factor > 0 or constraint.is_equality:
            lowers.append(-(rest // factor))  # the least integer from -rest/factor on
        if factor < 0 or constraint.is_equality:
            uppers.append(rest // -factor)
    if len(lowers) != 1 or not uppers:
        raise _refused(inames, f"'{iname}' has no lower bound that is affine")
    counts = tuple([(upper - lowers[0] + 1).expression() for upper in uppers])
    return Range(lowers[0], counts[0] if len(counts) == 1 else ex.Min(counts))


def _where(constraint: ConstraintForm) -> isl.Set:
    return holds(constraint.form.expression(), "==" if constraint.is_equality else ">=", 0)


def _check_tags(kernel: Kernel, inames: Iterable[str]) -> None:
    for iname in inames:
        tag = kernel.tags.get(iname)
        if tag is not None and str(tag) != "for":
            raise TagConflict(
                f"'{iname}' cannot become another one: it is tagged {tag}",
                where=caller_location(),
                remedy="tag what comes of it instead",
            )


def _check_elsewhere(kernel: Kernel, inames: Sequence[str]) -> None:
    """Check that nothing that has to be affine mentions the inames."""
    for domain in kernel.domains:
        if bounds := sorted(set(domain.parameters).intersection(inames)):
            raise _refused(inames, f"{domain} mentions '{bounds[0]}'")
    for insn in kernel.instructions:
        for relation in insn.happens_after:
            if not {*relation.inames, *relation.later_inames}.isdisjoint(inames):
                raise _refused(inames, f"'{insn.id}' says which instances it comes after")


def _refused(inames: Sequence[str], why: str) -> ExtentNotConstant:
    if len(inames) == 1:
        what = f"'{inames[0]}' cannot be divided into chunks: how many values it has depends on "
    else:
        what = f"{', '.join(inames)} cannot be joined: how many values each has depends on "
    return ExtentNotConstant(
        f"{what}sizes, and {why}",
        where=caller_location(),
        remedy="that needs loops each of which is bounded by sizes alone, as the parts of a split "
        "one are if all are whole (assume); fix_parameters, or split_iname first, makes an extent "
        "constant",
    )


# --- what becomes of them


class Sizes:
    """Makes derived sizes for a kernel.

    Parameters:
        kernel: the kernel.
        besides: new names in it.

    Attributes:
        all: those of the kernel, and new ones.
    """

    def __init__(self, kernel: Kernel, besides: Iterable[str]) -> None:
        self.all: tuple[DerivedSize, ...] = kernel.derived_sizes
        self._kernel = kernel
        self._besides = frozenset(besides)

    def named(self, like: str, factors: tuple[Expression, ...]) -> Expression:
        """Return the name of a product: that of one that is there, or a new one."""
        for size in self.all:
            if size.factors == factors:
                return ex.Variable(size.name)
        name = self._kernel.new_name(like, self._besides.union(size.name for size in self.all))
        self.all = (*self.all, DerivedSize(name, None, factors))
        return ex.Variable(name)

    def count(self, count: Expression, iname: str) -> LinearForm:
        """Return a count that is at least 0 if it is a number; the least of several is named."""
        form = linear_form(count)
        if form is None:
            form = linear_form(self.named(f"{iname}_count", (count,)))
        assert form is not None
        return LinearForm(max(form.constant, 0)) if form.is_constant else form


def domains_with(
    kernel: Kernel, olds: Sequence[str], news: Sequence[str], points: isl.Set
) -> tuple[Domain, ...]:
    """Return the domains, with one for new inames where the first of the old ones was."""
    new = Domain(unflatten(points, news).drop_unused_params())
    result: list[Domain] = []
    for domain in kernel.domains:
        if set(domain.inames).isdisjoint(olds):
            result.append(domain)
        elif new not in result:
            result.append(new)
    return tuple(result)


def holds(left: Expression, operator: str, right: Expression) -> isl.Set:
    """Return where an affine condition holds."""
    found = condition_set(ex.Comparison(left, operator, right))
    assert found is not None
    return found


def simple(node: Expression) -> Expression:
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
