"""Checks arguments of calls against the requirements of the called kernels.

A kernel that is called was looked at by itself, and its arrays were taken to be apart, and its
parameters to be as it assumes.  Both has to hold at each call: then its instructions mean the same
in the caller's place, whether they are inlined or a function of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce

import islpy as isl

from polygen.analysis.access.accesses import access_of, loop_domain, references_by_name
from polygen.analysis.expansion.inlining import as_units
from polygen.analysis.integers.instance_wording import shown_values
from polygen.analysis.integers.integer_parameters import integer_parameters
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.pairs.instance_pairs import witness
from polygen.analysis.typing.call_arguments import Given, given_by, outputs
from polygen.analysis.values.sound_accesses import NOTHING
from polygen.analysis.wellformed.access_order import check_pairs
from polygen.errors import (
    CallAssumption,
    NestingDecides,
    OutOfBounds,
    OverlappingParts,
    UnorderedAccess,
)
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import GlobalArg, TemporaryVariable
from polygen.ir.domain import flat_names, flatten, project_out, rename_dimension
from polygen.ir.empty import NO_NAMES
from polygen.ir.instruction import KernelCall
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from polygen.ir.tags import is_parallel
from polygen.ir.verify import excerpt

_GIVEN = "__given_"  # names of users do not begin so
_FIRST, _SECOND = "__x", "__y"


def check_calls_of_kernels(kernel: Kernel) -> None:
    """Check all calls of kernels in a kernel.

    Raises:
        CallAssumption: if a kernel is given numbers that it does not assume.
        OutOfBounds: if it uses more than it is given, where it is said how long parts are.
        OverlappingParts: if two parts of arrays overlap, one of them written, or elements of one
            that is written do.
        UnorderedAccess: if only the loops in a kernel that is called would order what calls in
            different work items touch.
    """
    kernel = kernel.without_rules
    known = [call for call in kernel.calls if call.callee is not None]
    for call in known:
        _Check(kernel, call, call.callee).run()
    if len(known) == len(kernel.calls) and any(map(partial(_is_parallel, kernel), known)):
        _check_units(kernel)


def _is_parallel(kernel: Kernel, call: KernelCall) -> bool:
    return any(is_parallel(kernel.tags.get(iname)) for iname in call.within_inames)


def _check_units(kernel: Kernel) -> None:
    """Check that calls may be executed as a whole, by work items that are in no order.

    The loops in what is called would be shared by all work items if it were inlined.
    """
    try:
        left = list(check_pairs(as_units(kernel), NOTHING))
    except (UnorderedAccess, NestingDecides) as error:
        raise _not_as_a_whole(kernel, error.what, error.excerpt) from None
    if left and not any(True for _ in check_pairs(kernel.expanded, NOTHING)):
        raise _not_as_a_whole(kernel, f"it is not known that {left[0]}", None)


def _not_as_a_whole(kernel: Kernel, what: str, shown: str | None) -> UnorderedAccess:
    return UnorderedAccess(
        f"a call is executed as a whole, so its loops order nothing in other work items: {what}",
        where=kernel.location,
        excerpt=shown,
        remedy="inline it first: inline_callable_kernel",
    )


@dataclass
class _Check:
    kernel: Kernel
    call: KernelCall
    callee: Kernel

    def __post_init__(self) -> None:
        self._given: Given = given_by(self.call)
        self._names = self.call.within_inames | integer_parameters(self.kernel)
        self._place = self._domain()

    def _domain(self) -> isl.Set:
        """Return where the call is executed, and what the callee's parameters are there."""
        domain, _ = loop_domain(self.kernel, self.call.within_inames)
        domain = domain.intersect(known_parameters(self.kernel))
        conditions = [part for p in self.call.predicates for part in walk.conjuncts(p)]
        for name, value in self._given.scalars.items():
            conditions.append(ex.Comparison(ex.Variable(_GIVEN + name), "==", value))
        numbers = {_GIVEN + name for name in self._given.scalars}
        sets = (condition_set(c, self._names | numbers) for c in conditions)
        return reduce(isl.Set.intersect, [s for s in sets if s is not None], domain)

    def run(self) -> None:
        self._check_assumptions()
        for name, part in self._given.arrays.items():
            for axis, extent in part.extents:
                self._check_extent(name, part, part.swept_inames.index(axis), extent)
        written = {a.name for a in outputs(self.callee)}
        arrays = [a for a in self.callee.arguments if isinstance(a, GlobalArg)]
        for at, first in enumerate(arrays):
            if first.name in written:
                self._check_apart(first.name)
            for second in arrays[at + 1 :]:
                if not written.isdisjoint((first.name, second.name)):
                    self._check_pair(first, second)

    def _check_assumptions(self) -> None:
        assumed = self.callee.assumptions.flat
        known = _given_names(assumed, self.callee.parameters)
        broken = self._place.subtract(known)
        if broken.is_empty():
            return
        point = witness(broken)
        names = self._shown(point)
        numbers = {n: point[_GIVEN + n] for n in self.callee.parameters if _GIVEN + n in point}
        raise CallAssumption(
            f"the call '{self.call.id}' gives kernel '{self.callee.name}' "
            f"{shown_values(numbers, numbers)}"
            + (f" (where {names})" if names else "")
            + f", and that is made for {_text(assumed)}",
            where=self.call.location,
            excerpt=excerpt(self.kernel, self.call.id),
            remedy="put a condition on the call, or assume more of this kernel's parameters",
        )

    def _shown(self, point: Mapping[str, int]) -> str:
        return shown_values(point, (*self.kernel.inames, *self.kernel.parameters))

    # --- parts of arrays

    def _check_extent(
        self, name: str, part: ex.SubArrayRef, axis: int, extent: ex.Expression
    ) -> None:
        """Check that a part of which it is said how long it is has all that is used of it."""
        if name not in references_by_name(self.callee.expanded):
            return
        used = f"{_FIRST}{axis}"
        beyond = ex.Comparison(ex.Variable(used), ">=", extent)
        outside = condition_set(beyond, self._names | walk.free_variables(beyond))
        assert outside is not None, "the language takes affine extents alone"
        found = self._place.intersect(self._used(name, _FIRST)).intersect(outside)
        if found.is_empty():
            return
        point = witness(found)
        place = self._shown(point)
        size = show_expression(extent)
        raise OutOfBounds(
            f"the call '{self.call.id}' gives kernel '{self.callee.name}' "
            f"'{show_expression(part)}', of {size} elements along axis {axis}, and that uses "
            f"'{name}' with the subscript {point.get(used, 0)} there"
            + (f" (where {place})" if place else ""),
            where=self.call.location,
            excerpt=excerpt(self.kernel, self.call.id),
            remedy="give it a longer part, or make a kernel that needs less",
        )

    def _check_pair(self, first: GlobalArg, second: GlobalArg) -> None:
        if first.may_alias and second.may_alias:
            return
        one, two = (self._given.arrays.get(a.name) for a in (first, second))
        if one is None or two is None:
            return
        names = ex.name_of(one), ex.name_of(two)
        if names[0] != names[1]:
            if any(getattr(self.kernel.variables.get(n), "may_alias", False) for n in names):
                raise self._refused(one, two, "may overlap, as these arrays may")
            return
        pairs = self._same_element(first.name, second.name)
        if not pairs.is_empty():
            point = witness(pairs)
            raise self._refused(one, two, f"overlap: {self._element(one, point)} is in both", point)

    def _check_apart(self, name: str) -> None:
        """Check that a part that is written has no element twice."""
        part = self._given.arrays.get(name)
        if part is None or not part.swept_inames:
            return
        pairs = self._same_element(name, name)
        axes = range(len(part.swept_inames))
        first, second = ([ex.Variable(f"{x}{a}") for a in axes] for x in (_FIRST, _SECOND))
        differ = [
            condition_set(ex.Comparison(one, "!=", other))
            for one, other in zip(first, second, strict=True)
        ]
        pairs = pairs.intersect(reduce(isl.Set.union, [d for d in differ if d is not None]))
        if not pairs.is_empty():
            point = witness(pairs)
            twice = f"has {self._element(part, point)} twice"
            raise self._refused(part, None, twice, point)

    def _refused(
        self,
        one: ex.SubArrayRef,
        two: ex.SubArrayRef | None,
        why: str,
        point: Mapping[str, int] | None = None,
    ) -> OverlappingParts:
        both = f"'{show_expression(one)}'"
        both += "" if two is None else f" and '{show_expression(two)}'"
        place = self._shown(point or {})
        return OverlappingParts(
            f"the call '{self.call.id}' gives kernel '{self.callee.name}' {both}, which {why}"
            + (f" (where {place})" if place else ""),
            where=self.call.location,
            excerpt=excerpt(self.kernel, self.call.id),
            remedy="a kernel takes its arrays to be apart: pass other parts, or another array; or "
            "declare them with may_alias=True where it is made",
        )

    def _element(self, part: ex.SubArrayRef, point: Mapping[str, int]) -> str:
        """Return an element that two subscripts of parts stand for, as far as it is known."""
        values = {n: point.get(f"{_FIRST}{a}", 0) for a, n in enumerate(part.swept_inames)}
        known = {n: v for n, v in point.items() if not n.startswith("__")} | values
        return f"'{show_expression(walk.substitute(part.subscript, known))}'"

    def _same_element(self, first: str, second: str) -> isl.Set:
        """Return pairs of subscripts of two arguments that stand for one element, and are used."""
        found = self._place
        for name, axis in ((first, _FIRST), (second, _SECOND)):
            found = found.intersect(self._used(name, axis))
        parts = self._given.arrays[first], self._given.arrays[second]
        indices = [_index(part, axis) for part, axis in zip(parts, (_FIRST, _SECOND), strict=True)]
        axes = {n for n in flat_names(found) if n.startswith((_FIRST, _SECOND))}
        axes |= {f"{x}{a}" for x in (_FIRST, _SECOND) for a in range(len(indices[0]))}
        axes |= self._scalars(indices)
        for one, other in zip(*indices, strict=True):
            same = condition_set(ex.Comparison(one, "==", other), self._names | axes)
            if same is not None:
                found = found.intersect(same)
        return found

    def _scalars(self, indices: Iterable[Sequence[ex.Expression]]) -> frozenset[str]:
        """Return the scalars in subscripts: a call has one value of each for all of its parts."""
        nodes = (i for index in indices for i in index)
        found = NO_NAMES.union(*map(walk.free_variables, nodes))
        return frozenset([n for n in found if _is_scalar(self.kernel, n)])

    def _used(self, name: str, axis: str) -> isl.Set:
        """Return the subscripts with which the callee uses an argument, in terms of its numbers."""
        kernel = self.callee.expanded
        sets = list(_subscripts(kernel, name, axis))
        used = reduce(isl.Set.union, sets)
        used = project_out(used, [n for n in flat_names(used) if n in kernel.home_domains])
        return _given_names(used.intersect(kernel.assumptions.flat), kernel.parameters)


def _is_scalar(kernel: Kernel, name: str) -> bool:
    variable = kernel.variables.get(name)
    return isinstance(variable, TemporaryVariable) and variable.shape == ()


def _index(part: ex.SubArrayRef, axis: str) -> Sequence[ex.Expression]:
    names = {n: ex.Variable(f"{axis}{a}") for a, n in enumerate(part.swept_inames)}
    return [walk.substitute(i, names) for i in ex.index_of(part.subscript)]


def _subscripts(kernel: Kernel, name: str, axis: str) -> Iterator[isl.Set]:
    for reference in references_by_name(kernel)[name]:
        relation = access_of(kernel, reference).relation
        for position in range(relation.dim(isl.dim_type.set)):
            relation = relation.set_dim_name(isl.dim_type.set, position, f"{axis}{position}")
        yield flatten(relation)


def _given_names(flat: isl.Set, parameters: Sequence[str]) -> isl.Set:
    for name in parameters:
        flat = rename_dimension(flat, name, _GIVEN + name)
    return flat


def _text(flat: isl.Set) -> str:
    """Return what a set of parameters says."""
    text = str(flat)
    return text[text.index(":") + 1 : text.rindex("}")].strip()
