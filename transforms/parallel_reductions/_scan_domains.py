"""Domains of the inames of a scan in parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import islpy as isl

from polygen.analysis.access.domains import domain_of
from polygen.analysis.integers.isl_affine import condition_set
from polygen.ir import expression as ex
from polygen.ir.domain import Domain, project_out, rename_dimension, unflatten
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel


@dataclass(frozen=True)
class PartLoops:
    """The inames of a scan in parts, and their values.

    Attributes:
        part: of the totals: the parts.
        place: of the totals: what is in a part.
        before: of what comes before each part: the parts.
        earlier: what that reduces over: the parts before.
        inner: what the scan of a part reduces over.
        domains: those of these inames.
        totals: which parts have a total, for the loops around, in terms of `part`.
        befores: which have something before them, in terms of the outer loop.
    """

    part: str
    place: str
    before: str
    earlier: str
    inner: str
    domains: tuple[Domain, ...]
    totals: isl.Set
    befores: isl.Set


@dataclass(frozen=True)
class SplitLoop:
    """A loop that was split: ``iname = length*outer + place``.

    Attributes:
        kernel: the kernel in which it is.
        iname: what it was called.
        outer: the parts.
        place: the places in a part.
        length: how many places a part has.
    """

    kernel: Kernel
    iname: str
    outer: str
    place: str
    length: int

    def at(self, part: str, place: str) -> Expression:
        """Return what was at a place of a part."""
        start = ex.product_of(self.length, ex.Variable(part))
        return ex.sum_of(start, ex.Variable(place))

    def part_loops(
        self, around: frozenset[str], scanned: str, new_name: Callable[[str], str]
    ) -> PartLoops | None:
        """Return the loops of a scan in parts.

        None if what is taken up to the beginning of a part is not the same in all iterations.

        Parameters:
            around: the inames of the instruction that scans.
            scanned: the iname that it reduces over.
            new_name: makes names.
        """
        part, place = new_name(f"{self.iname}_total"), new_name(f"{scanned}_total")
        before, earlier = new_name(f"{self.iname}_before"), new_name(f"{scanned}_before")
        inner = new_name(f"{scanned}_inner")
        known = self.kernel.assumptions.flat
        taken = domain_of(self.kernel, around | {scanned}).intersect(known)
        instances = domain_of(self.kernel, around).intersect(known)
        outside = domain_of(self.kernel, around - {self.outer, self.place})
        start = ex.product_of(self.length, ex.Variable(self.outer))
        here = _where(ex.Variable(scanned), ">=", start)
        # What comes before a part, by its own part, and its place there.
        same = _where(ex.Variable(scanned), "==", self.at(part, place))
        box = _where(0, "<=", ex.Variable(place)).intersect(
            _where(ex.Variable(place), "<", self.length)
        )
        first = project_out(taken.subtract(here).intersect(same).intersect(box), [scanned])
        parts = project_out(first, [self.outer, self.place]).coalesce()
        less = _where(ex.Variable(part), "<", ex.Variable(self.outer))
        if not parts.intersect(instances).intersect(less).is_equal(first):
            return None
        totals = project_out(parts, [place]).coalesce()
        befores = project_out(instances, [self.place]).coalesce()
        preceding = rename_dimension(totals, part, earlier).intersect(
            _where(ex.Variable(earlier), "<", ex.Variable(before))
        )
        same = _where(ex.Variable(scanned), "==", self.at(self.outer, inner))
        rest = project_out(taken.intersect(here).intersect(same), [scanned]).coalesce()
        domains = (
            _domain(parts.gist(outside), part, place),
            _domain(rename_dimension(befores.gist(outside), self.outer, before), before),
            _domain(preceding.gist(outside), earlier),
            _domain(rest.gist(instances), inner),
        )
        return PartLoops(part, place, before, earlier, inner, domains, totals, befores)


def _where(left: Expression, operator: str, right: Expression) -> isl.Set:
    found = condition_set(ex.Comparison(left, operator, right))
    assert found is not None
    return found


def _domain(values: isl.Set, *inames: str) -> Domain:
    return Domain(unflatten(values.remove_redundancies().drop_unused_params(), inames))
