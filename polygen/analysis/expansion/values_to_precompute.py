"""Finds the values of a rule that have to be computed ahead of its uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import islpy as isl

from polygen.analysis.access.accesses import (
    Reference,
    access_of,
    is_affine,
    reference_domain,
    references,
)
from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.expansion.rule_uses import Use
from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.integers.integer_parameters import integer_parameters
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.integers.moving_box import (
    TileAxis,
    along_axis,
    independent_of,
    sized_axis,
    tile_axis,
)
from polygen.analysis.typing.functions import conversion_type
from polygen.errors import (
    FootprintNotAffine,
    FootprintNotConstant,
    NothingMatches,
    NotSwept,
    OutsideFootprint,
    UnknownName,
    UserError,
    did_you_mean,
)
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import ValueArg
from polygen.ir.cached import cached_property
from polygen.ir.domain import intersection, project_out, restricted, unflatten, universe
from polygen.ir.dtype import is_integer
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment, KernelCall
from polygen.ir.kernel import Kernel
from polygen.ir.moved_inames import moved_inames
from polygen.ir.show_expression import show_expression
from polygen.ir.substitution import SubstitutionRule, expand
from polygen.ir.verify import excerpt
from polygen.source import caller_location

_SET = isl.dim_type.set
_PARAM = isl.dim_type.param

# A subscript of each axis; None for all that an array has along it.
Subscripts: TypeAlias = tuple[Expression | None, ...]


@dataclass(frozen=True)
class Footprint:
    """The values of a rule that uses need.

    Attributes:
        elements: a set with a dimension for each name that an invocation gives a value to; its
            parameters are those of the kernel, and `needed`.
        axes: along each dimension, where a box with all elements begins, and how long it is.
        needed: the inames that decide which elements there are.
    """

    elements: isl.Set
    axes: tuple[TileAxis, ...]
    needed: frozenset[str]


@dataclass(frozen=True)
class Gathering:
    """Uses of a rule, the values of which are to be computed ahead of them.

    Attributes:
        kernel: in which the uses are.
        rule: which they invoke.
        uses: one or several.
        swept: the inames over which values are gathered.
    """

    kernel: Kernel
    rule: SubstitutionRule
    uses: Sequence[Use]
    swept: frozenset[str]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names that an invocation gives values to."""
        return (*self.rule.arguments, *self.rule.inames)

    @cached_property
    def common(self) -> frozenset[str]:
        """The inames around all uses that are not swept."""
        first, *others = [use.inames for use in self.uses]
        return first.intersection(*others) - self.swept

    def refusal(self, kind: type[UserError], what: str, remedy: str) -> UserError:
        """Return the error that shows the uses."""
        marked = excerpt(self.kernel, *(use.insn.id for use in self.uses))
        return kind(what, where=caller_location(), excerpt=marked, remedy=remedy)


def footprint(
    of: Gathering,
    given: Sequence[Subscripts] = (),
    extents: Sequence[Expression] = (),
    *,
    sized: bool = False,
) -> Footprint:
    """Return which values of a rule are needed.

    Parameters:
        of: the uses.
        given: what to take for what they need; if there is nothing, they tell.
        extents: of the axes of the array that the rule reads, for what is given as None.
        sized: whether the box may be as large as sizes say.

    Raises:
        FootprintNotAffine: if data decides.
        NotSwept: if it depends on an iname that is neither swept nor around all uses.
        FootprintNotConstant: if there is no such box that holds them.
        OutsideFootprint: if uses need more than what is given.
        NothingMatches: if nothing is.
    """
    if given:
        elements = _union([_given(of, values, extents) for values in given])
        for use in of.uses:
            _check_covered(of, use, elements)
    else:
        elements = _union([_used(of, use) for use in of.uses])
    tried = [i for i in reversed(of.kernel.inames) if i in of.common]
    elements = independent_of(elements, tried).coalesce()
    elements = _without_needless(of, elements)
    known = restricted(elements, known_parameters(of.kernel))
    if known.is_empty():
        raise of.refusal(
            NothingMatches,
            f"no use of '{of.rule.name}' is ever executed",
            "see whether its loops, and the conditions that it stands under, are what is meant",
        )
    axes = tuple([_axis(of, known, position, sized) for position in range(len(of.names))])
    needed = {i for i in of.common if _involves(elements, i)}
    return Footprint(elements, axes, frozenset(needed))


def _without_needless(of: Gathering, elements: isl.Set) -> isl.Set:
    """Return elements whether or not loops that decide none of them are empty.

    To compute a value that nobody needs does no harm, if arrays have what is read and no operation
    is undefined.
    """
    defined = _defined(of)
    if defined is None or not _is_total(expand(of.rule.expression, of.kernel.rules)):
        return elements
    inames = with_surrounding(of.kernel, [i for i in of.common if _involves(elements, i)])
    around = domain_of(of.kernel, inames)
    known = intersection(around, known_parameters(of.kernel))
    return independent_of(
        elements,
        of.kernel.parameters,
        lambda anywhere: restricted(anywhere, known).is_subset(defined),
    )


def _is_total(node: Expression) -> bool:
    """Tell whether an expression has a value for all values of what it mentions."""
    for part in walk.subexpressions(node):
        if isinstance(part, ex.FloorDiv | ex.Remainder | ex.LeftShift | ex.RightShift):
            return False
        if isinstance(part, ex.Call):
            converted = conversion_type(ex.name_of(part.function))
            if converted is not None and is_integer(converted):
                return False
    return True


def _union(parts: Sequence[isl.Set]) -> isl.Set:
    return reduce(isl.Set.union, parts).coalesce()


def _involves(elements: isl.Set, name: str) -> bool:
    position = elements.find_dim_by_name(_PARAM, name)
    return position >= 0 and bool(elements.involves_dims(_PARAM, position, 1))


def _axis(of: Gathering, elements: isl.Set, position: int, sized: bool) -> TileAxis:
    values = along_axis(elements, position)
    axis = tile_axis(values)
    if axis is None and sized:
        outside = with_surrounding(of.kernel, [i for i in of.common if _involves(values, i)])
        values = values.intersect_params(domain_of(of.kernel, outside))
        axis = sized_axis(values, of.kernel.parameters, known_parameters(of.kernel))
    if axis is None:
        raise of.refusal(
            FootprintNotConstant,
            f"the values of '{of.names[position]}' in '{of.rule.name}' that are needed do not "
            "fit into a box of constant size",
            "sweep over fewer inames, or over ones with a constant number of values: split_iname "
            "makes such, fix_parameters too"
            + ("" if sized else "; or store the values in global memory: temporary_address_space"),
        )
    return axis


# --- what uses need


def _used(of: Gathering, use: Use) -> isl.Set:
    """Return the values that a use needs, in terms of the inames around all of them."""
    if not is_affine(of.kernel, use.reference):
        raise _not_affine(of, use)
    for value in use.values:
        _check_swept(of, value)
    return project_from(_reached(of, use), use.inames - of.common)


def _not_affine(of: Gathering, use: Use) -> UserError:
    text = show_expression(use.node)
    names = NO_NAMES.union(*map(walk.free_variables, use.values))
    if isinstance(use.insn, KernelCall) and names & use.insn.axis_names:
        called = use.insn.function
        return of.refusal(
            FootprintNotAffine,
            f"which values of '{of.rule.name}' the part '{text}' needs is up to kernel '{called}', "
            "which it is given to",
            f"call inline_callable_kernel(kernel, '{called}') before, or say what is needed at "
            "most: footprint_subscripts of add_prefetch",
        )
    return of.refusal(
        FootprintNotAffine,
        f"which values of '{of.rule.name}' the use '{text}' needs depends on data",
        "say what is needed at most: footprint_subscripts of add_prefetch, or invocations of "
        "the rule in place of its name",
    )


def _reached(of: Gathering, use: Use) -> isl.Set:
    """Return the values that a use needs, in terms of the inames around it."""
    elements = access_of(of.kernel, use.reference).relation
    _, exact = reference_domain(of.kernel, use.reference)
    if exact:
        return elements
    # Data decides whether it is evaluated.  What has no value is not needed, at any rate.
    return elements.intersect(_surely_defined(of))


def project_from(elements: isl.Set, names: frozenset[str]) -> isl.Set:
    """Return a set for any value of some of its parameters."""
    for name in sorted(names):
        position = elements.find_dim_by_name(_PARAM, name)
        if position >= 0:
            elements = elements.project_out(_PARAM, position, 1)
    return elements


def _check_swept(of: Gathering, value: Expression) -> None:
    inames = walk.free_variables(value).intersection(of.kernel.inames)
    for iname in sorted(inames - of.common - of.swept):
        raise of.refusal(
            NotSwept,
            f"a use of '{of.rule.name}' needs '{show_expression(value)}', but '{iname}' is not "
            "swept, and not around all uses",
            f"sweep over '{iname}' too, or choose uses with within=",
        )


def _given(of: Gathering, values: Subscripts, extents: Sequence[Expression]) -> isl.Set:
    """Return what is said to be needed, also in terms of inames that steps replaced."""
    moved = moved_inames(of.kernel.history)
    gone = {n: v for n, v in moved.items() if n not in of.kernel.names}
    values = tuple([None if v is None else walk.substitute(v, gone) for v in values])
    mentioned = NO_NAMES.union(*(walk.free_variables(v) for v in values if v is not None))
    known_names = {*of.kernel.inames, *of.kernel.variables}
    for name in sorted(mentioned - known_names):
        raise of.refusal(
            UnknownName,
            f"the footprint mentions '{name}', which is no iname and no variable",
            did_you_mean(name, known_names),
        )
    inames = with_surrounding(of.kernel, mentioned.intersection(of.kernel.inames))
    known = tuple(0 if value is None else value for value in values)
    reference = Reference(of.uses[0].insn, of.rule.name, known, False, inames, ())
    if not is_affine(of.kernel, reference):
        shown = ", ".join(show_expression(v) for v in known)
        raise of.refusal(
            FootprintNotAffine,
            f"the footprint [{shown}] depends on data",
            "write affine subscripts",
        )
    for value in known:
        _check_swept(of, value)
    elements = access_of(of.kernel, reference).relation
    for position, subscript in enumerate(values):
        if subscript is None:
            elements = elements.eliminate(_SET, position, 1).intersect(
                _all_of_axis(of, position, extents[position])
            )
    return project_from(elements, inames - of.common)


def _all_of_axis(of: Gathering, position: int, extent: Expression) -> isl.Set:
    inside = _inside(ex.Variable(_name(position)), extent)
    if inside is None:
        raise of.refusal(
            FootprintNotConstant,
            f"the extent {show_expression(extent)} of an axis is not affine",
            "say which part of the axis is needed",
        )
    return unflatten(inside, [_name(p) for p in range(len(of.names))])


def _check_covered(of: Gathering, use: Use, elements: isl.Set) -> None:
    reached = access_of(of.kernel, use.reference).relation.intersect(_surely_defined(of))
    if not reached.is_subset(elements):
        raise of.refusal(
            OutsideFootprint,
            f"the use '{show_expression(use.node)}' needs what is not in the footprint that is "
            "given",
            "give all of what is needed, or leave it out: the uses tell",
        )


# --- where a rule has a value


def _name(position: int) -> str:
    return f"__value{position}"


def _inside(subscript: Expression, extent: Expression) -> isl.Set | None:
    """Return the flat set in which ``0 <= subscript < extent``, or None if it is not affine."""
    return condition_set(
        ex.LogicalAnd((ex.Comparison(0, "<=", subscript), ex.Comparison(subscript, "<", extent)))
    )


def _surely_defined(of: Gathering) -> isl.Set:
    defined = _defined(of)
    if defined is None:
        raise of.refusal(
            FootprintNotAffine,
            f"data decides whether '{of.rule.name}' is needed, and which elements of arrays it "
            "reads: it may be that they are not there",
            "leave uses under such conditions out, with within=",
        )
    return defined


def _defined(of: Gathering) -> isl.Set | None:
    """Return where all arrays that a rule reads have the elements that it reads.

    None if data decides which elements these are.
    """
    values = {name: ex.Variable(_name(p)) for p, name in enumerate(of.names)}
    body = walk.substitute(expand(of.rule.expression, of.kernel.rules), values)
    names = frozenset(_name(p) for p in range(len(of.names)))
    insn = Assignment("_", ex.Variable("_"), body, names)
    result = universe()
    for reference in references(insn)[:-1]:
        inside = _inside_array(of, reference)
        if inside is None:
            return None
        result = intersection(result, inside)
    return unflatten(result, [_name(p) for p in range(len(of.names))])


def _inside_array(of: Gathering, reference: Reference) -> isl.Set | None:
    variable = of.kernel.variables[reference.name]
    shape = () if isinstance(variable, ValueArg) else variable.shape or ()
    known = reference.inames | integer_parameters(of.kernel)
    inside = universe()
    for subscript, extent in zip(reference.index, shape, strict=True):
        here = _inside(subscript, extent)
        if here is None or linear_form(subscript, known) is None:
            return None
        inside = intersection(inside, here)
    for condition in reference.conditions:
        holds = condition_set(condition, known)
        inside = inside if holds is None else inside.union(holds.complement())
    inner = reference.inames.difference(_name(p) for p in range(len(of.names)))
    if not inner:
        return inside
    # In all iterations of a reduction: there is none outside.
    outside = domain_of(of.kernel, inner).subtract(inside)
    return project_out(outside, sorted(inner)).complement()
