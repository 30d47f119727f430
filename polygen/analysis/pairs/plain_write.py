"""The instance that wrote what is read, where subscripts say it.

It saves 7 % of "dG volume, prefetched" in benchmarks/code_generation.py.

A copy such as ``tile[x, y] = a[16*i_outer + x, y]`` writes each element at one instance: for
``tile[i_inner + 1, j]`` at x = i_inner + 1 and y = j, in the same iteration of the loops around
both.  It remains to see that there is this instance for every one of the reader's.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import reduce

import islpy as isl

from polygen.analysis.access.accesses import Access, Reference, loop_domain, reference_domain
from polygen.analysis.integers.affine_forms import LinearForm, Term, combine
from polygen.analysis.integers.isl_affine import to_aff
from polygen.analysis.integers.second_instance import OTHER
from polygen.analysis.pairs.constant_distances import subscripts
from polygen.analysis.pairs.instance_pairs import equal, renamed
from polygen.ir import expression as ex
from polygen.ir.domain import intersection
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel


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
    if not pairs.is_subset(renamed(domain, values)):
        return None
    agreeing = sorted(writer.within_inames & same)
    found = {iname: value.expression() for iname, value in values.items()}
    found |= {iname: ex.Variable(iname) for iname in agreeing}
    return reduce(intersection, map(equal, agreeing), pairs), found


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
