"""Infers the extents of an array from its accesses, and whether all of it is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import islpy as isl

from polygen.analysis.access.accesses import (
    Reference,
    access_of,
    known_names,
    loop_domain,
    reference_domain,
    references_by_name,
)
from polygen.analysis.access.digit_extents import counted, digit_extent, row_extent
from polygen.analysis.access.symbolic_footprint import reached_elements
from polygen.analysis.access.table_values import values_in_tables
from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.analysis.integers.isl_affine import (
    form_of_aff,
    is_bounded,
    pieces,
    pw_aff_expression,
    to_aff,
    to_pw_aff,
)
from polygen.analysis.integers.unknowns import Unknowns
from polygen.errors import ShapeNotFound
from polygen.ir import expression as ex
from polygen.ir.domain import project_out
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel
from polygen.ir.verify import excerpt

_PARAM = isl.dim_type.param
_SET = isl.dim_type.set

# --- guessing shapes


@dataclass(frozen=True, slots=True)
class GuessedShape:
    """The result of `guess_shape`.

    Attributes:
        shape: the extent of each axis.  Its value may be negative for parameters for which no
            element is touched: the array is empty then.
        new_parameters: names in `shape` that the kernel does not have yet: extents that its text
            does not determine.  They have to become scalar arguments, found from the array that
            is passed.
    """

    shape: tuple[Expression, ...]
    new_parameters: tuple[str, ...] = ()


def guess_shape(kernel: Kernel, name: str) -> GuessedShape:
    """Return the smallest shape that holds what the affine subscripts of an array touch.

    The extent of an axis is the largest subscript plus 1, for all parameters that the
    assumptions allow, in loops that are not empty; conditions on remainders do not count.  A
    subscript that is data, as in ``x[col[j]]``, or that only data bounds, as in ``val[j]`` for
    ``row_start <= j < row_end``,
    tells nothing.  If there is no other on the first axis, the array itself has to say how long
    it is: the extent is a new parameter.

    Call it for all arrays on one and the same kernel object (arrays without a shape are fine in
    it): the references are looked up once for each object.

    Parameters:
        kernel: its domains, scalar arguments, temporaries and instructions are looked at.
        name: an array.

    Raises:
        ShapeNotFound: if nothing determines the extent of an axis, if the subscripts differ in
            number, or if nothing mentions the array.
    """
    found = references_by_name(kernel).get(name, ())
    found = tuple([r for r in found if r.index or not r.vague])  # verbatim C tells nothing
    if not found:
        declared = kernel.variables.get(name)
        where = None if declared is None else declared.location
        raise ShapeNotFound(
            f"no instruction mentions '{name}', so nothing tells its shape",
            where=where or kernel.location,
            remedy=f"declare it: GlobalArg('{name}', shape=...), or leave it out",
        )
    rank = len(found[0].index)
    for reference in found:
        if len(reference.index) != rank:
            counts = f"{rank} subscripts in '{found[0].insn.id}' and {len(reference.index)}"
            raise _not_found(kernel, reference, f"it has {counts} here")
    shape: list[Expression] = []
    new: list[str] = []
    for axis in range(rank):
        extent = _guess_extent(kernel, found, axis)
        if extent is None:
            new.append(kernel.new_name(f"{name}_len"))
            extent = ex.Variable(new[-1])
        shape.append(extent)
    return GuessedShape(tuple(shape), tuple(new))


def _not_found(kernel: Kernel, reference: Reference, why: str) -> ShapeNotFound:
    return ShapeNotFound(
        f"the shape of '{reference.name}' cannot be guessed: {why}",
        where=reference.insn.location,
        excerpt=excerpt(kernel, reference.insn.id),
        remedy=f"declare it: GlobalArg('{reference.name}', shape=...)",
    )


def _guess_extent(kernel: Kernel, found: Sequence[Reference], axis: int) -> Expression | None:
    """Return the extent of an axis, or None if only the array that is passed can tell."""
    # Of largest subscripts that differ in their constants only, one counts.
    forms: dict[frozenset[object], LinearForm] = {}
    functions: list[isl.PwAff] = []
    data: Reference | None = None
    follows_a_loop = False
    for reference in found:
        largest = _largest(kernel, reference, axis) or _last_digit(kernel, reference, axis)
        if largest is None:
            data = reference
            continue
        follows_a_loop = follows_a_loop or _mentions_iname(reference, axis)
        if isinstance(largest, isl.PwAff):
            functions.append(largest)
            continue
        key = frozenset(largest.terms.items())
        if key not in forms or forms[key].constant < largest.constant:
            forms[key] = largest
    if data is not None:
        rows = {_row_extent(kernel, reference, axis) for reference in found}
        if len(rows) == 1 and None not in rows:
            return rows.pop()
    if data is not None and not follows_a_loop:
        # Beside data, a constant subscript such as val[0] says nothing of the extent.
        if axis == 0 and not forms:
            return None
        raise _not_found(kernel, data, f"subscript {axis + 1} is, or is bounded by, data")
    return _join_extents(kernel, list(forms.values()), functions)


def _last_digit(kernel: Kernel, reference: Reference, axis: int) -> LinearForm | None:
    """Return the largest value of a subscript such as ``i % m``, a digit of a loop, or None."""
    iname = counted(kernel, reference.index[axis])
    if iname is None or iname not in reference.inames or reference.conditions:
        return None
    last = last_iteration(kernel, reference.inames, iname)
    extent = None if last is None else digit_extent(kernel, reference.index[axis], last + 1)
    form = None if extent is None else linear_form(extent)
    return None if form is None else form + -1


def _row_extent(kernel: Kernel, reference: Reference, axis: int) -> Expression | None:
    """Return the extent of an axis along which rows follow each other, ``i*m + j``, or None."""
    if reference.conditions:
        return None

    def count(iname: str) -> Expression | None:
        last = last_iteration(kernel, reference.inames, iname)
        return None if last is None else (last + 1).expression()

    return row_extent(kernel, reference.index[axis], count)


def _mentions_iname(reference: Reference, axis: int) -> bool:
    form = linear_form(reference.index[axis])
    return form is None or not reference.inames.isdisjoint(form.names())


def _join_extents(
    kernel: Kernel, forms: list[LinearForm], functions: list[isl.PwAff]
) -> Expression:
    """Return 1 plus the largest of the forms and functions."""
    if len(forms) == 1 and not functions:
        return (forms[0] + 1).expression()
    functions = functions + [isl.PwAff.from_aff(to_aff(form)) for form in forms]
    functions = [function for function in functions if not function.is_empty()]
    if not functions:
        return 0
    largest = reduce(isl.PwAff.union_max, functions)
    one = isl.PwAff.from_aff(to_aff(LinearForm(1)))
    return pw_aff_expression(largest.add(one), kernel.assumptions.flat)


# --- the largest value of a subscript


def _largest(kernel: Kernel, reference: Reference, axis: int) -> LinearForm | isl.PwAff | None:
    """Return the largest value of a subscript in terms of parameters; None if it is data."""
    names = known_names(kernel, reference)
    form = linear_form(reference.index[axis], names)
    if form is not None and not reference.conditions:
        simple = _largest_simple(kernel, reference, form)
        if simple is not None:
            return simple
    unknowns = Unknowns(names)
    function = unknowns.function(reference.index[axis])
    if function is None:
        return None
    domain, _ = reference_domain(kernel, reference)
    if form is not None and reference.conditions and all(isinstance(t, str) for t in form.terms):
        domain = _without_strides(kernel, reference, domain)
    known = domain.intersect(kernel.assumptions.flat)
    if unknowns.names:  # it is data, but perhaps in a table of constants
        known = known.intersect(values_in_tables(kernel, unknowns)[0])
    values = isl.Set.from_pw_aff(function).intersect_params(known)
    return _largest_value(project_out(values, (*reference.inames, *unknowns.names.values())))


def _without_strides(kernel: Kernel, reference: Reference, domain: isl.Set) -> isl.Set:
    """Return a domain without what its conditions say of remainders.

    Where every other element is written, the array has the others, too.
    """
    loops, _ = loop_domain(kernel, reference.inames)
    conditions = domain.gist(loops)
    if not conditions.involves_locals():
        return domain
    return loops.intersect(conditions.remove_divs())


def _largest_simple(kernel: Kernel, reference: Reference, form: LinearForm) -> LinearForm | None:
    """Return the largest value where that takes next to no isl: ``i + 2``, ``n``; else None."""
    inames = form.names() & reference.inames
    if not inames:
        return form
    if len(inames) > 1:
        return None
    (iname,) = inames
    factor = form.terms.get(iname, 0)
    if factor <= 0 or any(not isinstance(term, str) for term in form.terms):
        return None
    last = last_iteration(kernel, reference.inames, iname)
    return None if last is None else form + (last - LinearForm.of_name(iname)) * factor


@per_kernel
def last_iteration(kernel: Kernel, inames: frozenset[str], iname: str) -> LinearForm | None:
    """Return the largest value of `iname` in the loops over `inames`, if a single form is it."""
    domain, _ = loop_domain(kernel, inames)
    domain = project_out(domain, inames - {iname})
    # Assumptions only where they are needed: with ``n mod 4 = 0``, n reads 4*(n//4).
    last = _largest_form(domain, iname)
    return last or _largest_form(domain.intersect(kernel.assumptions.flat), iname)


def _largest_form(domain: isl.Set, iname: str) -> LinearForm | None:
    values = _values(domain, iname)
    largest = None if values is None else _largest_value(values)
    return None if largest is None else _single_form(largest)


def _values(domain: isl.Set, iname: str) -> isl.Set | None:
    position = domain.find_dim_by_name(_PARAM, iname)
    if position < 0:
        return None
    return isl.Set.from_params(domain).move_dims(_SET, 0, _PARAM, position, 1)


def _single_form(function: isl.PwAff) -> LinearForm | None:
    found = {form_of_aff(aff) for _, aff in pieces(function)}
    return found.pop() if len(found) == 1 else None


def _largest_value(values: isl.Set) -> isl.PwAff | None:
    """Return the largest value of a set's one dimension; None if there is none."""
    if not is_bounded(values, above=True):
        return None
    return values.dim_max(0)


# --- coverage


@per_kernel
def fully_written(kernel: Kernel, name: str) -> bool:
    """Tell whether every element of an array is written, for all that the assumptions allow.

    Only writes that certainly happen count.  False says that it is not so or cannot be shown.

    Parameters:
        kernel: the kernel; the array's shape is known in it.
        name: an array argument or temporary.
    """
    shape = kernel.array(name).shape
    if shape is None:
        return False
    wanted = _all_elements(kernel, shape)
    if wanted is None:
        return False
    written = isl.Set.empty(wanted.get_space())
    for reference in references_by_name(kernel).get(name, ()):
        if not reference.is_write:
            continue
        access = access_of(kernel, reference)
        elements = None
        if access.exact:
            elements = project_out(access.relation, access.inames)
        elif kernel.derived_sizes:
            elements = reached_elements(kernel, reference)
        if elements is not None:
            written = written.union(elements)
            if wanted.is_subset(written):
                return True
    return bool(wanted.is_subset(written))


def _all_elements(kernel: Kernel, shape: tuple[Expression, ...]) -> isl.Set | None:
    """Return the subscripts that are inside an array, or None if its shape is not affine."""
    axes: list[isl.Set] = [isl.Set.from_params(kernel.assumptions.flat)]
    for extent in shape:
        function = to_pw_aff(extent, frozenset(kernel.parameters))
        if function is None:
            return None
        subscript = isl.Set.from_pw_aff(function).get_space()
        inside = isl.Map.lex_lt(subscript).intersect_range(isl.Set.from_pw_aff(function)).domain()
        axes.append(inside.lower_bound_val(_SET, 0, isl.Val(0)))
    return reduce(isl.Set.flat_product, axes)
