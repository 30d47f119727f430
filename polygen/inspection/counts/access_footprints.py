"""`polygen.gather_access_footprints`: which elements of which arrays a kernel touches at all."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

import islpy as isl

from polygen.analysis.access.accesses import Access, Reference, access_of, references_by_name
from polygen.analysis.access.symbolic_footprint import reached_elements
from polygen.analysis.typing.index_type import index_type
from polygen.analysis.typing.inference import infer_types
from polygen.errors import NotCountable
from polygen.inspection.counts.count import Count, count_of
from polygen.inspection.counts.trips import Trips, said_of_trips, with_trips
from polygen.ir.array import AddressSpace, GlobalArg, TemporaryVariable
from polygen.ir.domain import flatten, project_out
from polygen.ir.empty import NO_NAMES
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.ir.verify import excerpt

_SET = isl.dim_type.set


@public
def gather_access_footprints(
    kernel: Kernel, ignore_uncountable: bool = False, trips: Trips | None = None
) -> dict[tuple[str, str], Any]:
    """Return which elements of each array in global memory are read, and which are written.

    Parameters:
        kernel: the kernel.
        ignore_uncountable: leave out accesses of which data decides what they touch, rather than
            to refuse them.
        trips: as for `get_op_map`.

    Returns:
        For ``(name, "read")`` and ``(name, "write")``, isl's set of the subscripts, in terms of the
        sizes: those that the kernel's assumptions allow.

    Raises:
        NotCountable: if data decides which elements are touched.
        InvalidArgument: if `trips` is of no loop that a condition ends.

    >>> import polygen as pg
    >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = a[2*i] + a[2*i + 1]")
    >>> for (name, direction), elements in pg.gather_access_footprints(knl).items():
    ...     print(name, direction, elements)
    a read [n] -> { [i0] : 0 <= i0 < 2n }
    b write [n] -> { [i0] : 0 <= i0 < n }

    Source: Loo.py's function of this name.
    """
    found: dict[tuple[str, str], Any] = {}
    plain = with_trips(kernel.expanded, trips)
    for name, references in sorted(references_by_name(plain).items()):
        if not _is_global(plain, name):
            continue
        for direction in ("read", "write"):
            alike = [r for r in references if r.is_write == (direction == "write")]
            elements = _elements(plain, alike, ignore_uncountable=ignore_uncountable)
            if elements is not None:
                found[name, direction] = elements
    return found


def footprint_bytes_in(kernel: Kernel, insns: Set[str], around: frozenset[str]) -> Count:
    """Return how many bytes of global memory some instructions touch, as they are repeated.

    An element counts once for reading, and once for writing, in each repetition.

    Parameters:
        kernel: its types are known; without rules and calls.
        insns: the instructions.
        around: the inames of the loops that repeat them.

    Raises:
        NotCountable: if data decides which elements are touched.
    """
    total = Count(kernel)
    for name, references in references_by_name(kernel).items():
        if not _is_global(kernel, name):
            continue
        dtype = kernel.array(name).dtype
        assert dtype is not None
        for is_write in (False, True):
            alike = [r for r in references if r.is_write == is_write and r.insn.id in insns]
            elements = _elements(kernel, alike, ignore_uncountable=False, around=around)
            if elements is not None:
                total += _number(kernel, elements, around) * int(dtype.itemsize)
    return total


def _elements(
    kernel: Kernel,
    references: Sequence[Reference],
    *,
    ignore_uncountable: bool,
    around: frozenset[str] = NO_NAMES,
) -> isl.Set | None:
    """Return the elements that some references touch together; None if that is left out.

    Inames of loops around stay, as parameters.

    Raises:
        NotCountable: if data decides, and that is not to be ignored.
    """
    sure: isl.Set | None = None
    unsure: list[Reference] = []
    for reference in references:
        elements = _of_reference(kernel, reference, around)
        if elements is None:
            unsure.append(reference)
        else:
            sure = elements if sure is None else sure.union(elements)
    for reference in unsure if not ignore_uncountable else ():
        # What may be touched is no matter where it is touched anyway.
        may_be = _of_access(kernel, access_of(kernel, reference), around)
        if sure is None or not may_be.is_subset(sure):
            raise _data_decides(kernel, reference)
    return None if sure is None else sure.coalesce()


def _of_reference(kernel: Kernel, reference: Reference, around: frozenset[str]) -> isl.Set | None:
    """Return the elements that a reference touches; None if that is not known exactly."""
    access = access_of(kernel, reference)
    if access.exact:
        return _of_access(kernel, access, around)
    # Subscripts that are quotients by sizes are not affine, and yet it may be plain what they do.
    known = kernel.derived_sizes and not around
    found = reached_elements(kernel, reference) if known else None
    return None if found is None else found.intersect_params(kernel.assumptions.flat)


def _of_access(kernel: Kernel, access: Access, around: frozenset[str]) -> isl.Set:
    elements = project_out(access.relation, [i for i in access.inames if i not in around])
    return elements.intersect_params(kernel.assumptions.flat)


def _is_global(kernel: Kernel, name: str) -> bool:
    if not isinstance(kernel.variables.get(name), GlobalArg | TemporaryVariable):
        return False
    return kernel.address_space(name) is AddressSpace.GLOBAL


def _data_decides(kernel: Kernel, reference: Reference) -> NotCountable:
    verb = "writes" if reference.is_write else "reads"
    return NotCountable(
        f"which elements of '{reference.name}' instruction '{reference.insn.id}' {verb} does not "
        "follow from the sizes: data, or a subscript that is not affine, decides",
        where=reference.insn.location,
        excerpt=excerpt(kernel, reference.insn.id),
        remedy="pass ignore_uncountable=True to leave out such accesses"
        + said_of_trips(kernel, reference.insn),
    )


@public
def gather_access_footprint_elements(
    kernel: Kernel, ignore_uncountable: bool = False, trips: Trips | None = None
) -> dict[tuple[str, str], Count]:
    """Return how many elements of each array in global memory are read, and how many written.

    Each element counts once, however often it is touched.  Parameters, keys and errors are those of
    `gather_access_footprints`.

    >>> import polygen as pg
    >>> knl = pg.make_kernel("{ [i,j]: 0<=i,j<n }", "b[i,j] = x[i] + x[j]")
    >>> print(pg.gather_access_footprint_elements(knl)["x", "read"])
    [n] -> { n : n > 0 }
    """
    return {
        key: _number(kernel, elements)
        for key, elements in gather_access_footprints(kernel, ignore_uncountable, trips).items()
    }


def _number(kernel: Kernel, elements: isl.Set, around: frozenset[str] = NO_NAMES) -> Count:
    names = [f"element_{axis}" for axis in range(elements.dim(_SET))]
    names = [kernel.new_name(name) for name in names]
    for axis, name in enumerate(names):
        elements = elements.set_dim_name(_SET, axis, name)
    return count_of(kernel, flatten(elements), around.union(names), "elements of arrays")


@public
def gather_access_footprint_bytes(
    kernel: Kernel, ignore_uncountable: bool = False, trips: Trips | None = None
) -> dict[tuple[str, str], Count]:
    """Return how many bytes of each array in global memory are read, and how many written.

    Each element counts once, however often it is touched: what would move if caches had no limit.
    Parameters and keys are those of `gather_access_footprints`.

    Raises:
        NotCountable: if data decides which elements are touched.
        TypeNotFound: if the type of an array is not known.

    >>> import polygen as pg
    >>> knl = pg.make_kernel("{ [i,j]: 0<=i,j<n }", "b[i,j] = x[i] + x[j]")
    >>> print(pg.gather_access_footprint_bytes(pg.add_dtypes(knl, {"x": "float32"}))["x", "read"])
    [n] -> { 4 * n : n > 0 }

    Source: Loo.py's function of this name.
    """
    typed = infer_types(kernel, index_type(kernel)).expanded
    elements = gather_access_footprint_elements(kernel, ignore_uncountable, trips)
    found: dict[tuple[str, str], Count] = {}
    for (name, direction), count in elements.items():
        dtype = typed.array(name).dtype
        assert dtype is not None  # types were inferred
        found[name, direction] = count * int(dtype.itemsize)
    return found
