"""Which instance wrote what is read, where subscripts say it.

A copy such as ``tile[x, y] = a[16*i_outer + x, y]`` writes each element at one instance: for
``tile[i_inner + 1, j]`` at x = i_inner + 1 and y = j, in the same iteration of the loops around
both.  It remains to see that there is this instance for every one of the reader's: each constraint
on the writer's inames has to follow.  Most often it does from one on the reader's, or from the ends
of their loops; otherwise isl says.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import reduce
from typing import TypeAlias

import islpy as isl

from polygen.analysis.access.accesses import Access, Reference, loop_domain, reference_domain
from polygen.analysis.access.domains import domain_of, homes
from polygen.analysis.integers.affine_forms import LinearForm, Term, combine
from polygen.analysis.integers.constraint_forms import constraint_forms
from polygen.analysis.integers.isl_affine import to_aff
from polygen.analysis.integers.second_instance import OTHER
from polygen.analysis.pairs.constant_distances import ends_of, extremes, subscripts
from polygen.analysis.pairs.instance_pairs import equal, renamed
from polygen.ir import expression as ex
from polygen.ir.domain import intersection
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import by_parts


def plainly_written(
    kernel: Kernel,
    read: tuple[Access, Reference],
    written: tuple[Access, Instruction],
    same: Set[str],
) -> tuple[isl.Set, dict[str, Expression]] | None:
    """Return the pairs of readers and the instances that write what they read.

    Parameters:
        kernel: the kernel.
        read: what is read.
        written: what is written, by an instruction that does so in all of its instances.
        same: inames that readers and writers are to agree in.

    Returns:
        A flat set over the reader's inames and, with a suffix, the writer's; and what these are in
        terms of the reader's.  None if some instance finds nothing, or if that does not show.
    """
    writer = written[1]
    if writer.predicates or (written[0].reference or read[1]).vague or read[1].vague:
        return None
    values = _instance(kernel, read[0], written[0], writer.within_inames - same)
    if values is None:
        return None
    points, exact = reference_domain(kernel, read[1])
    domain, all_known = loop_domain(kernel, writer.within_inames)
    if not (exact and all_known):
        return None
    pairs = intersection(points, kernel.assumptions.flat)
    for iname, value in sorted(values.items()):
        link = value - LinearForm.of_name(iname + OTHER)
        pairs = intersection(pairs, to_aff(link).zero_basic_set().to_set())
    inside = _follow(kernel, read[1].inames, writer.within_inames, values)
    if not (inside or pairs.is_subset(renamed(domain, values))):
        return None
    agreeing = sorted(writer.within_inames & same)
    found = {iname: value.expression() for iname, value in values.items()}
    found |= {iname: ex.Variable(iname) for iname in agreeing}
    return reduce(intersection, map(equal, agreeing), pairs), found


def _follow(
    kernel: Kernel,
    reading: frozenset[str],
    writing: frozenset[str],
    values: Mapping[str, LinearForm],
) -> bool:
    """Tell whether each constraint on a writer's inames plainly follows from those on a reader's.

    Parameters:
        kernel: the kernel.
        reading: the reader's inames.
        writing: the writer's.
        values: what those of the writer that are not the reader's, too, are in its terms.
    """
    given, wanted = (_constraints(kernel, inames) for inames in (reading, writing))
    if given is None or wanted is None:
        return False
    ends = ends_of(kernel, reading)
    known: dict[_Open, list[LinearForm]] = {frozenset(): [LinearForm()]}
    for form in given:
        known.setdefault(_open(form, ends), []).append(form)
    for form in wanted:
        found = _replaced(form, values, "")
        if found is None:
            return False
        lowest = (extremes(found - each, ends) for each in known.get(_open(found, ends), ()))
        if not any(least and least[0] >= 0 for least in lowest):
            return False
    return True


_Open: TypeAlias = frozenset[tuple[Term, int]]


def _open(form: LinearForm, ends: Mapping[str, tuple[int, int]]) -> _Open:
    """Return the terms of a form of which there is no telling how large they are."""
    return frozenset([(term, factor) for term, factor in form.terms.items() if term not in ends])


def _constraints(kernel: Kernel, inames: frozenset[str]) -> frozenset[LinearForm] | None:
    """Return what is not negative for the values of inames; None if that is no conjunction."""

    def find() -> frozenset[LinearForm] | None:
        flat = domain_of(kernel, inames).compute_divs()  # constraints may mention such numbers
        if flat.n_basic_set() != 1:
            return None
        (piece,) = flat.get_basic_sets()
        found = constraint_forms(piece)
        # In no order: equal sets may list their constraints in different ones.
        forms = [c.form for c in found] + [-c.form for c in found if c.is_equality]
        return frozenset(forms)

    return by_parts(kernel, (_constraints, homes(kernel, inames), inames), find)


def _instance(
    kernel: Kernel, read: Access, written: Access, open_inames: Set[str]
) -> dict[str, LinearForm] | None:
    """Return what inames of a writer are where it writes what is read, in the reader's terms.

    None if subscripts do not say it.
    """
    values: dict[str, LinearForm] = {}
    left = list(zip(subscripts(kernel, written), subscripts(kernel, read), strict=True))
    while left:
        later: list[tuple[LinearForm | None, LinearForm | None]] = []
        for there, here in left:
            if there is None or here is None:
                return None
            unknown = there.names() & open_inames - values.keys()
            if len(unknown) > 1:
                later.append((there, here))
                continue
            (iname,) = unknown or ("",)
            rest = _replaced(there, values, iname)
            factor = there.terms.get(iname, 0)
            if rest is None or factor not in ((1, -1) if iname else (0,)):
                return None
            if iname:
                values[iname] = (here - rest) * factor
            elif rest != here:
                return None
        if len(later) == len(left):
            return None
        left = later
    return values if values.keys() >= open_inames else None


def _replaced(
    form: LinearForm, values: Mapping[str, LinearForm], left_out: str
) -> LinearForm | None:
    """Return a form with values in place of names, without one name; None if floors have these."""
    parts: list[tuple[LinearForm, int]] = [(LinearForm(form.constant), 1)]
    for term, factor in form.terms.items():
        if isinstance(term, str):
            if term != left_out:
                parts.append((values.get(term, LinearForm.of_name(term)), factor))
        elif left_out in term.numerator.names() or not values.keys().isdisjoint(
            term.numerator.names()
        ):
            return None
        else:
            terms: dict[Term, int] = {term: factor}
            parts.append((LinearForm(0, terms), 1))
    return combine(parts)
