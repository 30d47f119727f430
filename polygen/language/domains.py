"""Loop domains, from text or from isl sets."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import cast

import islpy as isl

from polygen.errors import InvalidArgument, NameTaken, UnboundedDomain
from polygen.ir.domain import Domain, flatten, intersection, unflatten
from polygen.ir.names import check_name
from polygen.ir.public import is_a
from polygen.ir.sizes import OpenEnd
from polygen.language.isl_text import as_set, malformed, read_set
from polygen.source import caller_location

_SET = isl.dim_type.set


def parse_domains(domains: object, ended: Collection[str] = ()) -> tuple[Domain, ...]:
    """Return the loop domains that `domains` stands for.

    A domain that is a product is returned as its factors: then an instruction or reduction that
    has no use for one of them is not affected when that one is empty.

    Parameters:
        domains: a text or an isl set, or several of them; none for a kernel without loops.
        ended: inames of loops that conditions end: they need no upper bound.

    Raises:
        MalformedDomain: if one is not in isl's notation, or cannot be a loop domain.
        UnboundedDomain: if an iname has no lower or no upper bound.
        NameTaken: if two domains have an iname in common.
    """
    found = tuple([part for d in _each(domains) for part in _loop_domains(d, ended)])
    seen: set[str] = set()
    for domain in found:
        for iname in domain.inames:
            if iname in seen:
                raise NameTaken(
                    f"two domains have an iname '{iname}'",
                    where=caller_location(),
                    excerpt="\n".join(d.text for d in found if iname in d.inames),
                    remedy="each iname is in one domain: use another name in one of them",
                )
            seen.add(iname)
    return found


def _each(domains: object) -> Iterator[object]:
    if isinstance(domains, str | isl.BasicSet | isl.Set | Domain):
        yield domains
    elif is_a(domains, (Iterable,)):
        yield from cast("Iterable[object]", domains)
    else:
        raise InvalidArgument(
            f"{domains!r} is no loop domain",
            where=caller_location(),
            remedy='pass a text such as "{ [i]: 0 <= i < n }", or a list of them',
        )


def _loop_domains(given: object, ended: Collection[str]) -> list[Domain]:
    if isinstance(given, Domain):
        return [given]
    if isinstance(given, str):
        text = _in_braces(given) if given.strip() else "{ : }"
        isl_set = read_set(text)
    elif isinstance(given, isl.BasicSet | isl.Set):
        text, isl_set = str(given), as_set(given)
    else:
        raise InvalidArgument(
            f"{given!r} is no loop domain",
            where=caller_location(),
            remedy='pass a text such as "{ [i]: 0 <= i < n }", or an isl set',
        )
    if not isl_set.dim(_SET):
        return _without_inames(isl_set, text)
    check_loops(isl_set, text, ended)
    return [Domain(part.drop_unused_params()) for part in _factors(isl_set)]


def _in_braces(text: str) -> str:
    """Return a text such as ``[i, j]: 0 <= i, j < n`` as a set."""
    match = _BARE.fullmatch(text)
    return f"{match[1] or ''}{{ {match[2]} }}" if match else text


_BARE = re.compile(r"\s*(\[[^\]{]*\]\s*->\s*)?(\[[^\]{]*\]\s*:[^{}]*)")


def _without_inames(isl_set: isl.Set, text: str) -> list[Domain]:
    if not isl_set.plain_is_universe():
        raise malformed(
            "this domain has conditions, but no inames", text, "pass them as assumptions="
        )
    return []


# --- checking


def check_loops(isl_set: isl.Set, text: str, ended: Collection[str] = ()) -> None:
    """Check that a set can be a loop domain: that loops over it end.

    Parameters:
        isl_set: the set.
        text: how it was written.
        ended: inames that need no upper bound.

    Raises:
        MalformedDomain: if it, or one of its dimensions, is not named as those are.
        UnboundedDomain: if an iname has no lower or no upper bound.
    """
    _check_dimensions(isl_set, text)
    _check_bounded(isl_set, text, ended)


def _check_dimensions(isl_set: isl.Set, text: str) -> None:
    if isl_set.has_tuple_name():
        raise malformed(
            f"a loop domain has no name, but this is '{isl_set.get_tuple_name()}[...]'",
            text,
            "leave the name out",
        )
    for position in range(isl_set.dim(_SET)):
        name = isl_set.get_dim_name(_SET, position)
        if name is None:
            raise malformed("a dimension of this set has no name", text, "name each iname")
        check_name(name)


def _check_bounded(isl_set: isl.Set, text: str, ended: Collection[str]) -> None:
    if isl_set.is_bounded():
        return
    for position in range(isl_set.dim(_SET)):
        name = isl_set.get_dim_name(_SET, position) or ""
        for side, bounded in (
            ("lower", isl_set.dim_has_lower_bound(_SET, position)),
            ("upper", _has_end(isl_set, position)),
        ):
            if not bounded and side == "upper" and name in ended:
                isl_set = _ended(isl_set, name, f"{name}_end")
            elif not bounded:
                example = f"0 <= {name}" if side == "lower" else f"{name} < n"
                raise UnboundedDomain(
                    f"the iname '{name}' has no {side} bound",
                    where=caller_location(),
                    excerpt=text.strip(),
                    remedy=f"write one, such as {example}",
                )
    if isl_set.is_bounded():
        return
    raise UnboundedDomain(
        "these inames are bounded by each other only",
        where=caller_location(),
        excerpt=text.strip(),
        remedy="bound one of them by numbers or parameters",
    )


def _has_end(isl_set: isl.Set, position: int) -> bool:
    """Tell whether a dimension is bounded above, by others perhaps."""
    # That isl knows a bound of something that exists is no bound.
    return bool(isl_set.remove_divs().dim_has_upper_bound(_SET, position))


def _ended(isl_set: isl.Set, iname: str, end: str) -> isl.Set:
    """Return a set of values of inames, one of them below a parameter."""
    inames = [isl_set.get_dim_name(_SET, at) or "" for at in range(isl_set.dim(_SET))]
    below = isl.Set(f"[{end}, {iname}] -> {{ : {iname} < {end} }}")
    return unflatten(intersection(flatten(isl_set), below), inames)


def with_ends(
    domains: Iterable[Domain], taken: Iterable[str]
) -> tuple[tuple[Domain, ...], tuple[OpenEnd, ...]]:
    """Return domains with a parameter where an iname has no upper bound, and these parameters.

    Parameters:
        domains: some domains.
        taken: names that the parameters must not have.
    """
    found: list[Domain] = []
    ends: list[OpenEnd] = []
    names = {*taken}.union(*[(*d.inames, *d.parameters) for d in domains])
    for domain in domains:
        bounded = domain
        for position, iname in enumerate(domain.inames):
            if not _has_end(domain.set, position):
                end = _free_name(f"{iname}_end", names)
                bounded = Domain(_ended(bounded.set, iname, end))
                ends.append(OpenEnd(end))
        found.append(bounded)
    return tuple(found), tuple(ends)


def _free_name(like: str, taken: set[str]) -> str:
    name, count = like, 0
    while name in taken:
        name, count = f"{like}_{count}", count + 1
    taken.add(name)
    return name


# --- products


def _factors(isl_set: isl.Set) -> list[isl.Set]:
    """Return the sets of fewer dimensions whose product `isl_set` is, or `isl_set` alone."""
    if isl_set.dim(_SET) < 2 or isl_set.n_basic_set() != 1:
        return [isl_set]
    groups = _independent(isl_set)
    if len(groups) < 2:
        return [isl_set]
    parts = [_restricted(isl_set, group) for group in groups]
    return parts if _product(isl_set, parts).is_equal(isl_set) else [isl_set]


def _independent(isl_set: isl.Set) -> list[list[int]]:
    """Return the dimensions in groups that share no constraint, in order of their firsts."""
    count = isl_set.dim(_SET)
    (basic_set,) = isl_set.get_basic_sets()
    kinds = ((_SET, count), (isl.dim_type.div, basic_set.dim(isl.dim_type.div)))
    group = {(kind, p): {(kind, p)} for kind, number in kinds for p in range(number)}
    for constraint in basic_set.get_constraints():
        linked = [key for key in group if constraint.involves_dims(key[0], key[1], 1)]
        for other in linked[1:]:
            if group[other] is not group[linked[0]]:
                group[linked[0]] |= group[other]
                for key in group[other]:
                    group[key] = group[linked[0]]
    found: list[list[int]] = []
    for position in range(count):
        members = sorted(p for kind, p in group[_SET, position] if kind == _SET)
        if members[0] == position:
            found.append(members)
    return found


def _restricted(isl_set: isl.Set, kept: list[int]) -> isl.Set:
    """Return the set of the `kept` dimensions, without what the others demand of parameters."""
    others = [p for p in range(isl_set.dim(_SET)) if p not in kept]
    for position in reversed(others):
        isl_set = isl_set.drop_constraints_involving_dims(_SET, position, 1)
        isl_set = isl_set.project_out(_SET, position, 1)
    return isl_set


def _product(like: isl.Set, parts: Iterable[isl.Set]) -> isl.Set:
    result = isl.Set.universe(like.get_space())
    for part in parts:
        # Insert the other dimensions where `like` has them; they are not constrained.
        for position in range(like.dim(_SET)):
            name = like.get_dim_name(_SET, position) or ""
            if part.find_dim_by_name(_SET, name) < 0:
                part = part.insert_dims(_SET, position, 1)  # noqa: PLW2901
                part = part.set_dim_name(_SET, position, name)  # noqa: PLW2901
        result = result.intersect(part)
    return result
