"""Checks a call's arguments against the obligations and assumptions of its kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polygen.analysis.access.accesses import Access, Reference, touched
from polygen.analysis.access.storage_copies import axes
from polygen.analysis.integers.instance_wording import call_and_places, shown_instance, shown_values
from polygen.analysis.typing.inference import infer_types
from polygen.analysis.wellformed.check import obligations
from polygen.analysis.wellformed.integer_powers import has_powers, power_obligations
from polygen.analysis.wellformed.obligations import (
    INSIDE,
    NOT_NEGATIVE,
    ORDERED,
    Obligation,
    shown_element,
    shown_reference,
)
from polygen.errors import ClaimViolated, ObligationUnchecked, ObligationViolated, TooManyToCheck
from polygen.ir.array import GlobalArg
from polygen.ir.claims import Independent, Injective
from polygen.ir.dtype import DType
from polygen.ir.kernel import Kernel
from polygen.ir.public import in_users_names
from polygen.ir.show_expression import show_expression
from polygen.ir.verify import excerpt
from polygen.runtime.arrays.expression_values import value_of
from polygen.runtime.claims.instance_tables import Instances, TooMany
from polygen.runtime.claims.instance_values import Column, NotKnown, Outside, Rows, Values
from polygen.runtime.claims.touching_instances import Touched, clash, distinct_clash
from polygen.source import caller_location

_REMEDY = "pass other data, or mend the kernel: it would do something undefined with this"
_UNCHECKED = "call it without check_assumptions=True"


@dataclass(frozen=True)
class CallData:
    """The data of a call: its arguments and sizes.

    Attributes:
        sizes: the value of each size.
        scalars: the value of each other scalar argument.
        arrays: returns an array that is passed, as NumPy's; None for one that is not.
        addresses: returns where the elements of such an array begin, in bytes, if that is known.
    """

    sizes: Mapping[str, int]
    scalars: Mapping[str, Any]
    arrays: Callable[[str], Any]
    addresses: Callable[[str], int | None]


@in_users_names
def check_assumptions(
    kernel: Kernel, data: CallData, dtypes: Mapping[str, DType] | None = None
) -> None:
    """Check what a kernel takes for granted of data: its claims, and its obligations.

    What is not met is said first, then what cannot be checked.

    Parameters:
        kernel: the kernel.
        data: that of the call.
        dtypes: the types of the arguments that are passed; those of the kernel, if not given.

    Raises:
        ClaimViolated: if a claim is wrong.
        ObligationViolated: if an obligation is not met.
        ObligationUnchecked: if something depends on what the kernel computes.
        TooManyToCheck: if there are too many instances to look at.
        IllFormedKernel: if the kernel is not well formed, whatever it is called with.
    """
    check = _Check(kernel.expanded, data)
    wanted: list[tuple[object, Callable[[], None]]] = []
    for claim in kernel.claims:
        if isinstance(claim, Injective):
            check.injective(claim)
        elif isinstance(claim, Independent):
            wanted.append((claim, partial(check.independent, claim)))
    wanted += [(o, partial(check.obligation, o)) for o in obligations(kernel)]
    if has_powers(kernel):
        powers = power_obligations(_typed(kernel, dtypes or {}))
        wanted += [(o, partial(check.obligation, o)) for o in powers]
    unchecked: list[str] = []
    for what, look in wanted:
        try:
            look()
        except NotKnown as unknown:
            unchecked.append(f"{what} (not known before it runs: {unknown})")
        except TooMany as most:
            raise TooManyToCheck(
                f"kernel '{kernel.name}' was called with check_assumptions=True, and this cannot "
                f"be checked, for there are more than {most} instances: {what}",
                where=caller_location(),
                remedy=f"{_UNCHECKED} if you know that it holds",
            ) from None
    if unchecked:
        raise ObligationUnchecked(
            f"kernel '{kernel.name}' was called with check_assumptions=True, and this cannot be "
            f"checked, for it depends on what the kernel computes: {'; '.join(unchecked)}",
            where=caller_location(),
            remedy=f"let a kernel of its own compute that, and pass it to this one; or {_UNCHECKED}"
            " if you know that it holds",
        )


def _typed(kernel: Kernel, dtypes: Mapping[str, DType]) -> Kernel:
    arguments = tuple(
        [replace(a, dtype=dtypes[a.name]) if a.name in dtypes else a for a in kernel.arguments]
    )
    return infer_types(kernel.copy(arguments=arguments), complete=False)


class _Check:
    def __init__(self, kernel: Kernel, data: CallData) -> None:
        self._kernel = kernel
        self._data = data

    # --- obligations

    def obligation(self, obligation: Obligation) -> None:
        """Check an obligation."""
        if obligation.kind == INSIDE:
            self._inside(obligation)
        elif obligation.kind == ORDERED:
            self._ordered(obligation)
        elif obligation.kind == NOT_NEGATIVE:
            self._not_negative(obligation)
        else:
            self._written(obligation)

    def _inside(self, obligation: Obligation) -> None:
        (reference,) = obligation.references
        self._look_inside(reference)

    def _not_negative(self, obligation: Obligation) -> None:
        (reference,) = obligation.references
        instances, values = self._instances(reference)
        (exponent,) = reference.index
        try:
            for rows, _ in instances.deciding(reference.index):
                column = values.column(exponent, rows)
                wrong = np.flatnonzero(column < 0)
                if wrong.size:
                    at = rows.at(int(wrong[0]))
                    where = f"for {shown_values(at, at)}, " if at else ""
                    raise ObligationViolated(
                        f"kernel '{self._kernel.name}' was called with data for which an integer "
                        f"is raised to a negative power: {where}{show_expression(exponent)} in "
                        f"'{reference.insn.id}' is {column[wrong[0]]}",
                        where=caller_location(),
                        excerpt=excerpt(self._kernel, reference.insn.id),
                        remedy="pass other data, or raise a floating-point number: float64(x)",
                    )
        except Outside:  # that is said of the access that is outside
            raise NotKnown(show_expression(exponent)) from None

    def _written(self, obligation: Obligation) -> None:
        name = obligation.array
        unknown = NotKnown(f"the elements of '{name}' that it writes")
        if not obligation.references:
            raise unknown
        (reference,) = obligation.references
        users = {reference.insn.id, *[insn.id for insn in self._kernel.writers.get(name, ())]}
        if any(axes(self._kernel, insn_id, name) for insn_id in users):
            raise NotKnown(f"which copy of '{name}' it uses")
        try:
            instances, values = self._instances(reference)
            values.written(name, tuple(reference.index), instances.all_at_once())
        except (NotKnown, Outside):
            raise unknown from None

    def _ordered(self, obligation: Obligation) -> None:
        loose = obligation.loose
        if loose is None or len(obligation.references) < 2:
            raise NotKnown(f"'{obligation.array}'")
        if loose.ordered is not None:
            raise NotKnown("which instances a dependency on instances orders")
        first, second = obligation.references
        for here, there in self._touched(first, second):
            found = clash(here, there, loose)
            if found is not None:
                what = self._pair(first, second, here, there, found)
                raise ObligationViolated(
                    f"kernel '{self._kernel.name}' was called with data for which {what}, one "
                    f"writing it, and nothing says which comes first",
                    where=call_and_places(self._kernel, first.insn.id, second.insn.id),
                    excerpt=excerpt(self._kernel, first.insn.id, second.insn.id),
                    remedy=_REMEDY,
                )

    # --- claims

    def injective(self, claim: Injective) -> None:
        """Check that an array holds no value twice."""
        array = self._data.arrays(claim.array)
        flat = np.asarray(array).reshape(-1)
        order = np.argsort(flat, kind="stable")
        same = np.flatnonzero(flat[order][1:] == flat[order][:-1])
        if not same.size:
            return
        places = (np.unravel_index(order[n], array.shape) for n in (same[0], same[0] + 1))
        shown = [shown_element(claim.array, tuple(map(int, place))) for place in places]
        raise ClaimViolated(
            f"kernel '{self._kernel.name}' relies on {claim}, and {shown[0]} and {shown[1]} are "
            f"both {flat[order[same[0]]]}",
            where=caller_location(),
            remedy="pass an array without repeated values, or make the kernel without the claim",
        )

    def independent(self, claim: Independent) -> None:
        """Check that instances of two instructions touch nothing in common, one writing."""
        ids = (claim.first, claim.second)
        same = claim.first == claim.second
        inames = sorted(self._kernel.instruction(claim.first).within_inames) if same else ()
        for a, b in _conflicting(self._kernel, *ids):
            if a.reference is None or b.reference is None:
                raise NotKnown("the bounds of its loops")
            for here, there in self._touched(a.reference, b.reference):
                found = distinct_clash(here, there, tuple(inames))
                if found is not None:
                    what = self._pair(a.reference, b.reference, here, there, found)
                    raise ClaimViolated(
                        f"kernel '{self._kernel.name}' relies on {claim}, and {what}",
                        where=call_and_places(self._kernel, *ids),
                        excerpt=excerpt(self._kernel, *ids),
                        remedy="pass other data, or make the kernel without the claim",
                    )

    # --- what is touched

    def _elements(self, reference: Reference) -> tuple[Rows, list[Column]]:
        """Return the instances of a reference, and the subscripts in each.

        Raises:
            ObligationViolated: if an element does not exist.
            TooMany: if there are too many instances.
        """
        instances, values = self._instances(reference)
        try:
            rows = instances.all_at_once()
            return rows, self._subscripts(reference, values, rows)
        except Outside as outside:
            raise self._outside(reference, outside) from None

    def _look_inside(self, reference: Reference) -> None:
        """Check that all elements exist that a reference touches.

        Raises:
            ObligationViolated: if one does not.
            TooMany: if there are too many instances.
        """
        instances, values = self._instances(reference)
        try:
            for rows, ends in instances.deciding(reference.index):
                self._subscripts(reference, values, rows)
                self._check_magnitude(reference, values, rows, ends)
        except Outside as outside:
            raise self._outside(reference, outside) from None

    def _instances(self, reference: Reference) -> tuple[Instances, Values]:
        if reference.vague:
            raise NotKnown(f"what verbatim C does to {reference.name}")
        values = Values(self._kernel, self._scalars(), self._data.arrays, reference.insn)
        conditions = reference.conditions
        return Instances(self._kernel, reference.inames, conditions, values), values

    def _subscripts(self, reference: Reference, values: Values, rows: Rows) -> list[Column]:
        """Return the subscripts of a reference in some instances; `Outside` if one is outside."""
        index = [values.column(e, rows).astype(np.int64) for e in reference.index]
        shape = self._kernel.array(reference.name).shape or ()
        for column, extent in zip(index, shape, strict=True):
            wrong = np.flatnonzero((column < 0) | (column >= value_of(extent, self._data.sizes)))
            if wrong.size:
                element = tuple(int(c[wrong[0]]) for c in index)
                raise Outside(reference.name, element, rows.at(int(wrong[0])))
        return index

    def _check_magnitude(
        self, reference: Reference, values: Values, rows: Rows, ends: frozenset[str]
    ) -> None:
        """Raise `Outside` for subscripts that wrap around, where bounds of loops are garbage."""
        if not ends:
            return
        columns = {i: c.astype(np.float64) if i in ends else c for i, c in rows.columns.items()}
        for node in reference.index:
            wrong = np.flatnonzero(np.abs(values.column(node, Rows(rows.count, columns))) > 2**62)
            if wrong.size:
                point = rows.at(int(wrong[0]))
                exact = Rows(1, {i: np.array([value], object) for i, value in point.items()})
                index = tuple(int(values.column(e, exact)[0]) for e in reference.index)
                raise Outside(reference.name, index, point)

    def _scalars(self) -> dict[str, Any]:
        return {**self._data.scalars, **self._data.sizes}

    def _outside(self, reference: Reference, outside: Outside) -> ObligationViolated:
        shape = tuple(
            value_of(extent, self._data.sizes)
            for extent in self._kernel.array(outside.name).shape or ()
        )
        where = f"for {shown_values(outside.at, outside.at)}, " if outside.at else ""
        return ObligationViolated(
            f"kernel '{self._kernel.name}' was called with data for which an access is outside of "
            f"its array: {where}{shown_reference(reference)} in '{reference.insn.id}' needs "
            f"{shown_element(outside.name, outside.index)}, and '{outside.name}' has the shape "
            f"{shape}",
            where=call_and_places(self._kernel, reference.insn.id),
            excerpt=excerpt(self._kernel, reference.insn.id),
            remedy=_REMEDY,
        )

    def _touched(self, first: Reference, second: Reference) -> Iterator[tuple[Touched, Touched]]:
        """Yield what two references touch, so that equal places are one element."""
        if first.name == second.name:
            for reference in (first, second):
                if axes(self._kernel, reference.insn.id, reference.name):
                    raise NotKnown(f"which copy of '{reference.name}' it uses")
            yield Touched(*self._elements(first)), Touched(*self._elements(second))
            return
        here, there = self._bytes(first), self._bytes(second)
        if here is not None and there is not None:
            yield here, there

    def _bytes(self, reference: Reference) -> Touched | None:
        """Return what a reference touches, byte by byte; None if the array is not passed."""
        array: NDArray[Any] | None = self._data.arrays(reference.name)
        if array is None:
            return None
        size: int = array.itemsize
        address = self._data.addresses(reference.name)
        if address is None:
            raise NotKnown(f"where '{reference.name}' lies in memory")
        rows, index = self._elements(reference)
        place = np.full(rows.count, address, np.int64)
        for column, stride in zip(index, array.strides, strict=True):
            place += column * stride
        byte: Column = np.arange(rows.count * size)
        every: Column = byte // size
        return Touched(rows.take(every), [place[every] + byte % size])

    def _pair(
        self,
        first: Reference,
        second: Reference,
        here: Touched,
        there: Touched,
        found: tuple[int, int],
    ) -> str:
        at = (here.rows.at(found[0]), there.rows.at(found[1]))
        one, other = (
            shown_instance(self._kernel, r.insn.id, point, "", r.inames)
            for r, point in zip((first, second), at, strict=True)
        )
        if first.name != second.name:
            return f"{one} and {other} touch the same memory, in '{first.name}' and '{second.name}'"
        index = tuple(int(place[found[0]]) for place in here.places)
        return f"{one} and {other} both touch {shown_element(first.name, index)}"


def _conflicting(kernel: Kernel, first: str, second: str) -> Iterator[tuple[Access, Access]]:
    """Yield pairs of accesses of two instructions that may touch one element, one writing."""
    for name, accesses in touched(kernel, first).items():
        for other_name, others in touched(kernel, second).items():
            if name == other_name or _may_overlap(kernel, name, other_name):
                yield from (
                    (a, b) for a, b in product(accesses, others) if a.is_write or b.is_write
                )


def _may_overlap(kernel: Kernel, *names: str) -> bool:
    arrays = [a for a in kernel.arguments if isinstance(a, GlobalArg) and a.name in names]
    return len(arrays) == 2 and any(a.may_alias for a in arrays)
