"""`Count`: how often something happens in a kernel, for any sizes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Set
from dataclasses import dataclass
from math import prod
from typing import SupportsIndex, TypeVar

import islpy as isl

from polygen.analysis.counting.point_counts import formula, is_finite, number
from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.integers.isl_affine import to_val
from polygen.errors import (
    InvalidArgument,
    MissingArgument,
    NotCountable,
)
from polygen.inspection.counts.given_sizes import check_assumed
from polygen.ir import walk
from polygen.ir.cached import cached_property
from polygen.ir.domain import flat_names, project_out, universe
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel
from polygen.ir.sizes import products
from polygen.source import caller_location

_PARAM = isl.dim_type.param


@dataclass(frozen=True)
class Points:
    """The values of some names in a flat set.

    Attributes:
        text: the set, in isl's notation.
        names: what is counted.  Other names are parameters, or inames of which some value will do.
        where: what has to hold beside: conditions that are not affine.
    """

    text: str
    names: frozenset[str]
    where: tuple[Expression, ...] = ()

    @property
    def flat(self) -> isl.Set:
        """The set."""
        return isl.Set(self.text)


@dataclass(frozen=True, eq=False)
class Count:
    """An exact count, as a formula for all sizes that a kernel's assumptions allow.

    Counts of one kernel may be added, and multiplied by integers.

    Attributes:
        kernel: whose sizes it depends on.
        parts: what is counted, and how often each point counts.
    """

    kernel: Kernel
    parts: tuple[tuple[Points, int], ...] = ()

    @cached_property
    def pwqpolynomial(self) -> isl.PwQPolynomial | None:
        """A formula: isl's piecewise quasi-polynomial in the kernel's sizes.

        It is right for all sizes that the kernel's assumptions allow.  None if there is none of a
        reasonable length: then `eval_with_dict` counts for given sizes.
        """
        found = [_formula(self.kernel, points) for points, _ in self.parts]
        total = isl.PwQPolynomial("{ 0 }")
        for one, (_, times) in zip(found, self.parts, strict=True):
            if one is None:
                return None
            total = total.add(one.scale_val(to_val(times)))
        return total.coalesce()

    def eval_with_dict(self, params: Mapping[str, SupportsIndex]) -> int:
        """Return the number for given sizes.

        Parameters:
            params: the value of each size that it depends on; others may be among them.  A size
                need not be, on which it does not depend for these values of others.

        Raises:
            MissingArgument: if the value of a size is not given.
            InvalidArgument: if it is no integer.
            AssumptionViolated: if the kernel's assumptions exclude these sizes.
        """
        value = self._for_some(params)
        if value is not None:
            return value
        sizes = self._sizes(params)
        polynomial = self.pwqpolynomial
        if polynomial is None:
            return sum(times * _number(points, sizes) for points, times in self.parts)
        return _evaluated(polynomial, sizes)

    def at(self, params: Mapping[str, SupportsIndex]) -> int:
        """Return what `eval_with_dict` does, and find no formula first: for one use.

        Parameters and errors are those of `eval_with_dict`.
        """
        value = self._for_some(params)
        if value is not None:
            return value
        sizes = self._sizes(params)
        return sum(times * _number_at(points, sizes) for points, times in self.parts)

    def _for_some(self, params: Mapping[str, SupportsIndex]) -> int | None:
        """Return the number for sizes of which some are not given, if these do not matter."""
        given = self._given(params)
        lacking = self._names - given
        if not lacking or self.pwqpolynomial is None:
            return None
        sizes = known_sizes(self.kernel, given, params)
        known = self.kernel.assumptions.flat
        for name, value in sizes.items():
            known = known.intersect(isl.Set(f"[{name}] -> {{ : {name} = {value} }}"))
        return _only_value(self.pwqpolynomial, known)

    def _sizes(self, params: Mapping[str, SupportsIndex]) -> dict[str, int]:
        """Return the sizes that are given, derived ones too, checked."""
        return known_sizes(self.kernel, self._names | self._given(params), params)

    @cached_property
    def _names(self) -> frozenset[str]:
        """The sizes that are in what is counted."""
        return NO_NAMES.union(*(self._parameters(points) for points, _ in self.parts))

    def _given(self, params: Mapping[str, SupportsIndex]) -> frozenset[str]:
        """Return the sizes of which values are given, derived ones too, if they matter at all."""
        derived = {size.name: size.names for size in products(self.kernel.derived_sizes)}
        names = self._names.union(flat_names(self.kernel.assumptions.flat) if self.parts else ())
        return frozenset([n for n in names if derived.get(n, {n}) <= params.keys()])

    def _parameters(self, points: Points) -> frozenset[str]:
        names = frozenset(flat_names(points.flat)).union(*map(walk.free_variables, points.where))
        return names.intersection(self.kernel.parameters).difference(points.names)

    def __add__(self, other: Count | int) -> Count:
        if isinstance(other, int) and other == 0:  # where sum() starts
            return self
        if not isinstance(other, Count):
            return NotImplemented
        if other.kernel != self.kernel:
            raise InvalidArgument(
                f"counts of two kernels, '{self.kernel.name}' and '{other.kernel.name}', are added",
                where=caller_location(),
                remedy="add their values: eval_with_dict(...)",
            )
        times = dict(self.parts)
        for points, number_of in other.parts:
            times[points] = times.get(points, 0) + number_of
        return Count(self.kernel, tuple((p, n) for p, n in times.items() if n))

    __radd__ = __add__

    def __mul__(self, factor: int) -> Count:
        return Count(self.kernel, tuple((p, n * factor) for p, n in self.parts if factor))

    __rmul__ = __mul__

    @property
    def is_zero(self) -> bool:
        """Whether it is 0 for all sizes."""
        return self.pwqpolynomial is not None and bool(self.pwqpolynomial.is_zero())

    def __str__(self) -> str:
        if self.pwqpolynomial is None:
            return "no formula: eval_with_dict counts, for given sizes"
        return str(self.pwqpolynomial.to_str())

    def __repr__(self) -> str:
        return f"Count({self})"


def known_sizes(
    kernel: Kernel, wanted: Set[str], params: Mapping[str, SupportsIndex]
) -> dict[str, int]:
    """Return the sizes that are given, derived ones too, checked.

    Parameters:
        kernel: whose sizes these are.
        wanted: which are needed.
        params: the values that are given; others may be among them.

    Raises:
        MissingArgument: if the value of one is not given.
        InvalidArgument: if it is no integer.
        AssumptionViolated: if the kernel's assumptions exclude these sizes.
    """
    needed = set(wanted)
    derived = {size.name: size for size in products(kernel.derived_sizes)}
    for name in reversed(derived):
        if name in needed:
            needed |= derived[name].names
    sizes: dict[str, int] = {}
    for name in sorted(needed - derived.keys()):
        sizes[name] = _given(kernel, params, name)
    for name, size in derived.items():
        if name in needed:
            forms = [linear_form(factor) for factor in size.factors]
            sizes[name] = prod(max(0, f.evaluate(sizes)) for f in forms if f is not None)
    check_assumed(kernel, sizes, "count for other sizes, or make the kernel without the assumption")
    return sizes


def _given(kernel: Kernel, params: Mapping[str, SupportsIndex], name: str) -> int:
    if name not in params:
        raise MissingArgument(
            f"a count of kernel '{kernel.name}' needs a value of '{name}'",
            where=caller_location(),
            remedy=f"pass it with the other sizes: {{'{name}': ...}}",
        )
    value = params[name]
    try:
        return value.__index__()
    except (AttributeError, TypeError):
        raise InvalidArgument(
            f"the size '{name}' was given as {value!r}, which is no integer",
            where=caller_location(),
            remedy="pass whole numbers",
        ) from None


_Key = TypeVar("_Key", bound=Hashable)


def added_up(counts: Iterable[tuple[_Key, Count]]) -> dict[_Key, Count]:
    """Return the number for each key, which may come several times."""
    found: dict[_Key, Count] = {}
    for key, count in counts:
        found[key] = found[key] + count if key in found else count
    return found


def _evaluated(polynomial: isl.PwQPolynomial, sizes: Mapping[str, int]) -> int:
    """Return the value for given sizes, which may have more than 64 bits."""
    point = isl.Point.zero(polynomial.get_domain_space())
    for position, name in enumerate(polynomial.get_var_names(_PARAM)):
        point = point.set_coordinate_val(_PARAM, position, to_val(sizes[name or ""]))
    value: int = polynomial.eval(point).to_python()
    return value


def _only_value(polynomial: isl.PwQPolynomial, known: isl.Set) -> int | None:
    """Return the value that a formula has for all parameters in a set; None if it has several."""
    there = polynomial.intersect_params(known)  # with the parameters of both
    value = there.eval(known.align_params(there.get_domain_space()).sample_point())
    constant = isl.PwQPolynomial(f"{{ {value.to_str()} }}").intersect_params(known)
    others = there.sub(constant)
    return value.to_python() if others.is_zero() else None


def _number(points: Points, sizes: Mapping[str, int]) -> int:
    """Return how many points there are, for given sizes, without a formula in these."""
    return number(points.flat, points.names, sizes, points.where)


def _number_at(points: Points, sizes: Mapping[str, int]) -> int:
    """Return how many points there are, for given sizes, by a formula without these."""
    if points.where:
        return _number(points, sizes)
    flat = points.flat
    for position, name in enumerate(flat_names(flat)):
        if name in sizes:
            flat = flat.fix_val(_PARAM, position, to_val(sizes[name]))
    found = formula(project_out(flat, sizes), points.names, universe())
    if found is None:
        return _number(points, sizes)
    return _evaluated(found, {})


def _formula(kernel: Kernel, points: Points) -> isl.PwQPolynomial | None:
    return None if points.where else _formula_of_all(kernel, points)


@per_kernel
def _formula_of_all(kernel: Kernel, points: Points) -> isl.PwQPolynomial | None:
    """Return how many points there are; it is kept, for many things happen equally often."""
    return formula(points.flat, points.names, kernel.assumptions.flat)


def count_of(
    kernel: Kernel,
    flat: isl.Set,
    names: frozenset[str],
    what: str,
    where: tuple[Expression, ...] = (),
) -> Count:
    """Return how many values names have together in a flat set, where conditions hold.

    Raises:
        NotCountable: if there is no end of them.
    """
    points = Points(flat.to_str(), names, where)
    if not is_finite(flat, names):
        raise NotCountable(
            f"{what} of kernel '{kernel.name}' cannot be counted: there is no end of them",
            where=kernel.location,
            excerpt="\n".join(str(d) for d in kernel.domains),
            remedy="give all loops bounds",
        )
    return Count(kernel, ((points, 1),))
