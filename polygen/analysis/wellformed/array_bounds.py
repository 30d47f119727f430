"""Checks that every access is inside its array."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import NoReturn

import islpy as isl

from polygen.analysis.access.accesses import (
    Reference,
    known_names,
    reference_domain,
    references_by_name,
)
from polygen.analysis.access.domains import homes
from polygen.analysis.access.table_values import possible_values, values_in_tables
from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.integers.instance_wording import (
    shown_instance,
    shown_parameters,
    shown_places,
)
from polygen.analysis.integers.isl_affine import is_negative_somewhere, to_pw_aff
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.integers.quotients import quotient_facts, says_something
from polygen.analysis.integers.unknowns import Unknowns
from polygen.analysis.integers.wrapped_subscripts import unwrapped
from polygen.analysis.pairs.constant_distances import ends_of, extremes
from polygen.analysis.pairs.instance_pairs import element_witness, witness
from polygen.analysis.values.sound_accesses import NOTHING, Unchanged, where
from polygen.analysis.wellformed.obligations import (
    INSIDE,
    Obligation,
    shown_element,
    shown_reference,
)
from polygen.errors import OutOfBounds
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import GlobalArg, TemporaryVariable, ValueArg
from polygen.ir.domain import project_out
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.show import show_tuple
from polygen.ir.show_expression import show_expression
from polygen.ir.verify import excerpt


def check_bounds(kernel: Kernel, known: Unchanged) -> Iterator[Obligation]:
    """Yield what has to hold for every access to be inside its array.

    Parameters:
        kernel: the kernel.
        known: what need not be looked at.

    Raises:
        OutOfBounds: if one is not.
    """
    for reference, axis, extent in _in_doubt(kernel, known):
        yield from _check(kernel, reference, axis, extent)


def are_inside(kernel: Kernel) -> bool:
    """Tell whether it is plain that every access is inside its array."""
    return not any(True for _ in _in_doubt(kernel, NOTHING))


def _in_doubt(kernel: Kernel, known: Unchanged) -> Iterator[tuple[Reference, int, Expression]]:
    """Yield accesses, with an axis and its extent, that may be outside, for all that is plain."""
    for name, references in references_by_name(kernel).items():
        variable = kernel.variables.get(name)
        if not isinstance(variable, GlobalArg | TemporaryVariable):
            continue
        seen = {where(r): r for r in references}
        for reference in [r for place, r in seen.items() if place not in known.references]:
            if reference.vague and not reference.index:
                continue  # verbatim C is trusted
            for axis, extent in enumerate(variable.shape or ()):
                if not _is_affinely_inside(kernel, reference, axis, extent):
                    yield reference, axis, extent


def _is_affinely_inside(
    kernel: Kernel, reference: Reference, axis: int, extent: Expression
) -> bool:
    """Tell, with one linear program for each end at most, whether a subscript is inside.

    Of an extent that is the greatest of several, one may suffice.
    """
    subscript = linear_form(reference.index[axis], known_names(kernel, reference))
    extents = extent.children if isinstance(extent, ex.Max) else (extent,)
    lengths = [linear_form(each, kernel.parameters) for each in extents]
    known = [length for length in lengths if length is not None]
    if subscript is None or not known:
        return False
    least = max([length.constant for length in known if length.is_constant], default=0)
    if least > 0:
        ends = extremes(subscript, ends_of(kernel, subscript.names()))
        if ends is not None and ends[0] >= 0 and ends[1] < least:
            return True
    possible = _possible(kernel, reference)
    if is_negative_somewhere(possible, subscript):
        return False
    sizes = NO_NAMES.union(*[d.parameters for d in homes(kernel, reference.inames)])
    likely = sorted(known, key=lambda length: sizes.isdisjoint(length.names()))
    return not all(is_negative_somewhere(possible, length - 1 - subscript) for length in likely)


def _possible(kernel: Kernel, reference: Reference) -> isl.Set:
    """Return the values of inames and parameters for which a reference may be reached."""
    parts = (reference.inames, reference.conditions)
    known: dict[object, isl.Set] = kernel.memo.setdefault(_possible, {})
    if parts not in known:
        domain, _ = reference_domain(kernel, reference)
        known[parts] = domain.intersect(known_parameters(kernel))
    return known[parts]


def _check(
    kernel: Kernel, reference: Reference, axis: int, extent: Expression
) -> Iterator[Obligation]:
    unknowns = Unknowns(known_names(kernel, reference))
    subscript = unknowns.function(reference.index[axis])
    length = to_pw_aff(extent, frozenset(kernel.parameters)) or unknowns.function(extent)
    outside: list[isl.Set] = []
    if subscript is not None:
        outside.append(_negative(subscript))
        if length is not None:
            outside.append(subscript.ge_set(length))
    found, exact = _reached(kernel, reference, unknowns, outside)
    if found and exact:
        _refuse(kernel, reference, unknowns, found[0])
    if found or subscript is None or length is None:
        yield _obligation(reference, axis, extent)


@dataclass(frozen=True)
class Below:
    """A subscript that may be negative.

    Attributes:
        point: values of inames and parameters for which it is, if it is somewhere whatever the
            sizes and the data are; else None.
    """

    point: Mapping[str, int] | None


def negative_instance(kernel: Kernel, reference: Reference, axis: int = 0) -> Below | None:
    """Return where a subscript is less than 0; None if it never is."""
    known = known_names(kernel, reference)
    form = linear_form(reference.index[axis], known)
    if form is not None and not is_negative_somewhere(_possible(kernel, reference), form):
        return None
    unknowns = Unknowns(known)
    subscript = unknowns.function(reference.index[axis])
    if subscript is None:
        return Below(None)
    found, exact = _reached(kernel, reference, unknowns, [_negative(subscript)])
    if not found:
        return None
    changing = [*reference.inames, *unknowns.names.values()]
    reached = project_out(_possible(kernel, reference), changing)
    always = exact and reached.is_subset(project_out(found[0], changing))
    return Below(witness(found[0]) if always else None)


def _negative(subscript: isl.PwAff) -> isl.Set:
    return subscript.lt_set(subscript.scale_val(isl.Val(0)))


def _reached(
    kernel: Kernel, reference: Reference, unknowns: Unknowns, outside: list[isl.Set]
) -> tuple[list[isl.Set], bool]:
    """Return the parts of sets that a reference may reach, if any, and whether it does.

    Parameters:
        kernel: the kernel.
        reference: what is reached.
        unknowns: those that the sets mention.
        outside: the sets, of inames, parameters and unknowns.
    """
    known, exact = _possible(kernel, reference), reference_domain(kernel, reference)[1]
    found = [bad for bad in (part.intersect(known) for part in outside) if not bad.is_empty()]
    if found and (unknowns.names or not exact):
        values, is_all = values_in_tables(kernel, unknowns)
        known, exact = possible_values(kernel, reference).intersect(values), exact and is_all
        if says_something(kernel, unknowns):
            known = known.intersect(quotient_facts(kernel, unknowns, known))
        found = [bad for bad in (part.intersect(known) for part in found) if not bad.is_empty()]
    return found, exact


def _obligation(reference: Reference, axis: int, extent: Expression) -> Obligation:
    subscript, least = reference.index[axis], "0"
    if (counted := unwrapped(subscript, extent)) is not None:  # from the end, if it is negative
        subscript, least = counted, show_expression(ex.product_of(-1, extent))
    shown = f"{least} <= {show_expression(subscript)} < {show_expression(extent)}"
    what = f"{shown_reference(reference)} is inside of '{reference.name}': {shown}"
    return Obligation(INSIDE, (reference.insn.id,), reference.name, what, (reference,), axis=axis)


def _refuse(kernel: Kernel, reference: Reference, unknowns: Unknowns, outside: isl.Set) -> NoReturn:
    """Raise the error that names an instance.

    Parameters:
        kernel: the kernel.
        reference: what is outside of its array.
        unknowns: those that `outside` mentions; others are added.
        outside: where it is.
    """
    axes = [isl.Set.from_pw_aff(f) for f in map(unknowns.function, reference.index) if f]
    values, _ = values_in_tables(kernel, unknowns)
    relation = reduce(isl.Set.flat_product, axes).intersect_params(values)
    point, index = element_witness(relation.intersect_params(outside))
    insn_id, name = reference.insn.id, reference.name
    here = shown_instance(kernel, insn_id, point, "", reference.inames)
    does = "writes" if reference.is_write else "reads"
    shape = show_tuple(kernel.array(name).shape or ())
    raise OutOfBounds(
        f"in kernel '{kernel.name}', {shown_parameters(kernel, point)}{here} {does} "
        f"{shown_element(name, index)}, which is outside of '{name}': its shape is {shape}",
        where=shown_places(kernel, insn_id),
        excerpt=excerpt(kernel, insn_id),
        remedy=_no_iname(kernel, reference)
        or "change the bounds of the loop, the subscript or the shape; or say what is known "
        "of the sizes: make_kernel(..., assumptions=...)",
    )


def _no_iname(kernel: Kernel, reference: Reference) -> str:
    """Return what to do about a name in a subscript that was perhaps meant to be an iname."""
    known = {p for domain in (*kernel.domains, kernel.assumptions) for p in domain.parameters}
    for name in sorted(NO_NAMES.union(*map(walk.free_variables, reference.index)) - known):
        if isinstance(kernel.variables.get(name), ValueArg):
            return (
                f"'{name}' is no iname, but a scalar argument: if it is meant to be a loop, give "
                f"it a domain, '{{ [{name}]: 0 <= {name} < ... }}' (the inames are "
                f"{', '.join(kernel.inames) or 'none'}); if not, say what is known of it: "
                f"make_kernel(..., assumptions='{name} >= 0')"
            )
    return ""
