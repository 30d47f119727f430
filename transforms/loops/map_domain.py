"""`polygen.map_domain`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Annotated

import islpy as isl

from polygen.analysis.access.domains import domain_of
from polygen.analysis.access.instance_map import instruction_at, mentioned
from polygen.analysis.pairs.instance_pairs import witness
from polygen.analysis.rearrangement.iname_bijection import InameMap, in_new_terms
from polygen.analysis.rearrangement.same_instances import iname_groups
from polygen.errors import (
    MapLosesInstances,
    MapMixesInames,
    MapNotAffine,
    MapNotInjective,
    MapNotTotal,
    TagConflict,
)
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import Domain, project_out, unflatten
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.verify import excerpt
from polygen.language.maps import dim_names, read_map
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import Kind, is_new_name, transformation

AnyMap = Annotated[
    str | isl.BasicMap | isl.Map,
    Kind("a map, as text or isl's", lambda _, v: isinstance(v, str | isl.BasicMap | isl.Map)),
]


@transformation
def map_domain(kernel: Kernel, transform_map: AnyMap) -> Rearranged:
    """Give the points of a loop domain new coordinates, by any affine map that is one to one.

    Skewing, reversal, shifting, unimodular maps, and, with ``//`` and ``%`` by constants, strip
    mining and its inverse.  The new loops run upward, nested as the map lists them where nothing
    else decides that.

    Kind: order and storage.

    Requires:
        1. The inputs of the map are inames, and what else it mentions are scalar arguments.
        2. Its outputs have names that are not used yet, or those of inputs.
        3. It maps each point to one point, and no two to the same.
        4. Its inverse is affine, ``//`` and ``%`` by constants included.
        5. The inames that change are not tagged, or tagged ``for``.
        6. Each instruction is within all inames, or none, of those that the map makes one new
           iname of; and so is each reduction, together with what is around it.  A reduction keeps
           an iname.
        7. Of inames in several domains that the map mixes, no domain is empty where an instruction
           in another one is executed.

    Parameters:
        transform_map: a map from inames to new ones, in isl's notation or as an isl object.  In a
            text, ``i'`` is another ``i``.  Domains of inputs that it mixes become one.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i]", name="twice")
        >>> knl = pg.add_dtypes(knl, {"a": "float32"})
        >>> knl = pg.map_domain(knl, "{ [i] -> [r] : r = n - 1 - i }")
        >>> print(pg.generate_code(knl, "c"))
        void twice(float const *restrict a, float *restrict b, int const n)
        {
            for (int r = 0; r < n; ++r)
                b[n - 1 - r] = 2.0f * a[n - 1 - r];
        }

    Raises:
        MalformedMap: if it is no map in isl's notation, or leaves out a name.
        UnknownIname, UnknownName: if 1 does not hold.
        NameTaken, ReservedName: if 2 does not hold.
        MapNotTotal, MapNotInjective: if 3 does not hold: with a point.
        MapNotAffine: if 4 does not hold.
        TagConflict: if 5 does not hold.
        MapMixesInames: if 6 does not hold.
        MapLosesInstances: if 7 does not hold.

    Source: Wolf, Lam, A loop transformation theory and an algorithm to maximize parallelism, 1991.
    """
    return mapped(kernel, transform_map)


def mapped(kernel: Kernel, transform_map: str | isl.BasicMap | isl.Map) -> Rearranged:
    """Return what `map_domain` makes of a kernel, not proved yet: for steps that are a map."""
    transform = read_map(kernel, transform_map)
    olds, news = dim_names(transform, isl.dim_type.in_), dim_names(transform, isl.dim_type.out)
    for name in news:
        if name not in olds:
            is_new_name(kernel, name)
    points = domain_of(kernel, frozenset(olds)).intersect(kernel.assumptions.flat)
    moved = InameMap(points, transform, olds, news)
    _check_one_to_one(moved)
    values = _values(moved)
    _check_tags(kernel, values)
    domains = _domains(kernel, moved, values)
    inames = [i for d in domains for i in d.inames]
    _check_groups(kernel, moved, values, inames)
    _check_reductions(kernel, moved, values, inames)
    new = kernel.copy(
        domains=domains,
        instructions=tuple([instruction_at(i, values, inames) for i in kernel.instructions]),
        tags={i: t for i, t in kernel.tags.items() if i not in values},
        priorities=tuple([_priority(p, moved, values) for p in kernel.priorities]),
    )
    return Rearranged(new, values)


# --- checks


def _check_one_to_one(moved: InameMap) -> None:
    point = moved.missing()
    if point is not None:
        raise MapNotTotal(
            f"the map leaves out a point of the domain: {_shown(point)}",
            where=caller_location(),
            remedy="leave out conditions that do not hold everywhere in the domain",
        )
    for clash, what, remedy in (
        (moved.several(), "two points of one", "say what each output is: p = ..."),
        (moved.merged(), "one point of two", "keep what tells them apart as an output"),
    ):
        if clash is not None:
            shared, *both = clash
            points = " and ".join(f"({_shown(p)})" for p in both)
            raise MapNotInjective(
                f"the map makes {what}: for {_shown(shared)}, {points}",
                where=caller_location(),
                remedy=remedy,
            )


def _shown(point: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={value}" for name, value in point.items())


def _values(moved: InameMap) -> dict[str, Expression]:
    """Return what the old inames are, those left out that are what they were."""
    found: dict[str, Expression] = {}
    for iname, value in moved.values.items():
        if value is None:
            raise MapNotAffine(
                f"'{iname}' is no affine function of {', '.join(moved.news)}",
                where=caller_location(),
                remedy="the inverse may have + and -, products with integers, // and % by positive "
                "integers; make a map of several pieces several domains",
            )
        if value != ex.Variable(iname):
            found[iname] = value
    return found


def _check_tags(kernel: Kernel, values: Mapping[str, Expression]) -> None:
    for iname in values:
        tag = kernel.tags.get(iname)
        if tag is not None and str(tag) != "for":
            raise TagConflict(
                f"'{iname}' cannot be mapped: it is tagged {tag}",
                where=caller_location(),
                remedy="map first, then tag the new inames",
            )


def _check_groups(
    kernel: Kernel, moved: InameMap, values: Mapping[str, Expression], inames: Sequence[str]
) -> None:
    """Check that the inames around each instruction and each reduction become others alone."""
    for insn in kernel.expanded.instructions:
        for group in iname_groups(insn):
            for new in mentioned(group.intersection(moved.olds), values, inames):
                # Values may also mention what bounds the old inames, and stays what it is.
                lacking = moved.needs.get(new, frozenset((new,))) - group
                if lacking:
                    some = min(group.intersection(moved.olds))
                    raise MapMixesInames(
                        f"the map mixes '{some}' with '{min(lacking)}', and instruction "
                        f"'{insn.id}', or a reduction in it, is within '{some}' alone",
                        where=caller_location(),
                        excerpt=excerpt(kernel, insn.id),
                        remedy="give instructions that are to stay as they are inames of their own "
                        "(duplicate_inames)",
                    )


def _check_reductions(
    kernel: Kernel, moved: InameMap, values: Mapping[str, Expression], inames: Sequence[str]
) -> None:
    """Check that each reduction still runs over something: inames of one value may be gone."""
    for insn in kernel.expanded.instructions:
        for reduction in insn.reductions:
            own = frozenset(reduction.inames)
            if own.issubset(moved.olds) and not mentioned(own, values, inames):
                raise MapMixesInames(
                    f"the map leaves no iname for the reduction over '{min(own)}' in instruction "
                    f"'{insn.id}': it has one value",
                    where=caller_location(),
                    excerpt=excerpt(kernel, insn.id),
                    remedy=f"leave '{min(own)}' out of the map",
                )


# --- the new kernel


def _domains(
    kernel: Kernel, moved: InameMap, values: Mapping[str, Expression]
) -> tuple[Domain, ...]:
    """Return the domains with the new inames, where the first of their old domains was."""
    parts = _parts(kernel, moved, values)
    for part in parts:
        _check_nothing_lost(kernel, part)
    found: list[Domain] = []
    for domain in kernel.domains:
        part = next((p for p in parts if domain in p), [domain])
        if values.keys().isdisjoint(i for d in part for i in d.inames):
            found.append(_rewritten(domain, values))
        elif domain is part[0]:
            found.append(_joined(part, moved, values))
    return tuple(found)


def _parts(kernel: Kernel, moved: InameMap, values: Mapping[str, Expression]) -> list[list[Domain]]:
    """Return the domains that the map is about, those together that it makes one of.

    A domain that is outside of others already, and stays as it is, is left out.
    """
    homes = list(dict.fromkeys(kernel.home_domains[i] for i in moved.olds))
    bounds = {name for d in homes for name in d.parameters}
    homes = [
        d for d in homes if bounds.isdisjoint(d.inames) or not values.keys().isdisjoint(d.inames)
    ]
    parts = [[d] for d in homes]
    # Where an iname has one value for each of another, what it becomes may be said by that alone.
    back = [
        moved.needs[new] | {old}
        for old, value in values.items()
        for new in walk.free_variables(value) & moved.needs.keys()
    ]
    for needed in (*moved.needs.values(), *back):
        touched = [p for p in parts if any(not needed.isdisjoint(d.inames) for d in p)]
        parts = [p for p in parts if p not in touched]
        parts.append([d for d in homes if any(d in p for p in touched)])
    return parts


def _check_nothing_lost(kernel: Kernel, part: Sequence[Domain]) -> None:
    """Check that domains which become one are not empty where only one of them matters."""
    inames = [i for d in part for i in d.inames]
    joined = reduce(isl.Set.intersect, (d.flat for d in part), kernel.assumptions.flat)
    for insn in kernel.expanded.instructions:
        for group in iname_groups(insn):
            here = group.intersection(inames)
            if not here:
                continue
            left = project_out(joined, [i for i in inames if i not in here])
            lost = domain_of(kernel, here).intersect(kernel.assumptions.flat).subtract(left)
            if not lost.is_empty():
                raise MapLosesInstances(
                    f"the map makes one domain of several, and instruction '{insn.id}', which is "
                    f"in some of them only, would not be executed where another is empty: "
                    f"{_shown(witness(lost))}",
                    where=caller_location(),
                    excerpt=excerpt(kernel, insn.id),
                    remedy="if none is empty for the sizes that occur, say so first (assume)",
                )


def _joined(part: Sequence[Domain], moved: InameMap, values: Mapping[str, Expression]) -> Domain:
    """Return the one domain that some domains become."""
    olds = [i for d in part for i in d.inames]
    gone = [i for i in moved.olds if i in olds]
    come = [i for i in moved.news if not moved.needs[i].isdisjoint(gone)]
    bounds = {n for d in part for n in d.parameters}.difference(olds)
    # What bounds mention, and what stays what it is and says what others are.
    outside = mentioned([*gone, *(i for i in moved.olds if i in bounds)], values, moved.news)
    flat = moved.image(reduce(isl.Set.intersect, (d.flat for d in part)))
    flat = project_out(flat, set(moved.news).difference(come, outside))
    first = olds.index(gone[0])
    before = [i for i in olds[:first] if i not in gone]
    after = [i for i in olds[first:] if i not in gone]
    return Domain(unflatten(flat, [*before, *come, *after]).drop_unused_params())


def _rewritten(domain: Domain, values: Mapping[str, Expression]) -> Domain:
    """Return a domain whose bounds mention old inames in terms of the new ones."""
    mapped = [i for i in domain.parameters if i in values]
    if not mapped:
        return domain
    flat = in_new_terms(domain.flat, values, mapped)
    return Domain(unflatten(flat, domain.inames).drop_unused_params())


def _priority(
    names: tuple[str, ...], moved: InameMap, values: Mapping[str, Expression]
) -> tuple[str, ...]:
    """Return a priority with the new inames, as the map lists them, where the first old one was."""
    gone = {i for i in names if i in values}
    come = [i for i in moved.news if moved.needs[i] & gone and (i in values or i not in moved.olds)]
    found: list[str] = []
    for name in names:
        found += [n for n in (come if name in gone else [name]) if n not in found]
    return tuple(found)
