"""Guards: what must be asked before a statement is executed, as conditions that can be shared."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field

import islpy as isl

from polygen.analysis.access.domains import domain_of
from polygen.analysis.integers.affine_forms import FloorTerm, LinearForm, linear_form
from polygen.analysis.integers.constraint_forms import constraint_forms
from polygen.analysis.integers.integer_parameters import integer_parameters
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.known_facts import known_parameters
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.cached import cached_property
from polygen.ir.domain import flat_names, project_out, universe
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.lower.address import simplify


@dataclass(frozen=True)
class Condition:
    """A condition that a group of statements has in common.

    Attributes:
        reads: the elements of arrays that it reads, as the kernel says them.
        after: conditions that are asked before it: they may be what keeps it inside of the
            arrays, and say where the variables that it depends on have values.
    """

    expression: Expression
    reads: tuple[ex.Subscript, ...] = field(default=(), compare=False)
    after: tuple[Condition, ...] = field(default=(), compare=False)

    @cached_property
    def names(self) -> frozenset[str]:
        """The variables, arrays included, whose values it depends on."""
        return walk.free_variables(self.expression)


def guards(needed: isl.Set, known: isl.Set, computed: Container[str]) -> tuple[Condition, ...]:
    """Return the conditions for `needed` where `known` holds; none if that is always so.

    Parameters:
        needed: a flat set.
        known: another.
        computed: names of variables that may have no value where they are not needed: conditions
            on them come last.
    """
    left = needed if known.plain_is_universe() else needed.gist(known)
    if left.plain_is_universe():
        return ()
    pieces = left.compute_divs().get_basic_sets()
    if not pieces:
        return (Condition(False),)
    apart = [_comparisons(piece, computed) for piece in pieces]
    if len(apart) == 1:
        ((first, last),) = apart
        before = tuple(Condition(c) for c in first)
        return (*before, *(Condition(c, after=before) for c in last))
    alternatives = tuple(conjunction([*first, *last]) for first, last in apart)
    return (Condition(ex.LogicalOr(alternatives)),)


def conjunction(conditions: list[Expression]) -> Expression:
    """Return one condition that says all of them."""
    return conditions[0] if len(conditions) == 1 else ex.LogicalAnd(tuple(conditions))


def _comparisons(
    piece: isl.BasicSet, computed: Container[str]
) -> tuple[list[Expression], list[Expression]]:
    """Return the conditions of a piece, those on what is computed apart."""
    apart: tuple[list[Expression], list[Expression]] = [], []
    for constraint in constraint_forms(piece):
        form = constraint.form
        if not constraint.is_equality and _always(form):
            continue
        found = comparison(form, "==" if constraint.is_equality else ">=")
        apart[any(name in computed for name in form.names())].append(found)
    return apart if any(apart) else ([True], [])


def comparison(form: LinearForm, operator: str) -> Expression:
    """Return ``form >= 0`` or ``form == 0`` as one would write it: ``16*io + ii < n``."""
    positive = LinearForm(0, {t: c for t, c in form.terms.items() if c > 0})
    negative = LinearForm(0, {t: -c for t, c in form.terms.items() if c < 0})
    constant = form.constant
    if operator == "==":
        if found := _divisibility(form):
            return found
        sides = (
            (positive, negative - constant) if positive.terms else (negative, positive + constant)
        )
        return ex.Comparison(sides[0].expression(), "==", sides[1].expression())
    if not negative.terms:
        return ex.Comparison(positive.expression(), ">=", -constant)
    if constant < 0:
        # negative <= positive + constant, without the subtraction
        return ex.Comparison((negative + (-constant - 1)).expression(), "<", positive.expression())
    return ex.Comparison(negative.expression(), "<=", (positive + constant).expression())


def _divisibility(form: LinearForm) -> Expression | None:
    """Return ``form == 0`` as ``x % d == r``, if that is what it says."""
    found = _of_remainder(form)
    if found is None:
        return None
    factor, dividend, divisor, rest = found
    if factor == 0 or rest % factor or not 0 <= -rest // factor < divisor:
        return None
    value, of = -rest // factor - dividend.constant, dividend - dividend.constant
    if all(coefficient < 0 for coefficient in of.terms.values()):
        value, of = -value, -of
    remainder = ex.Remainder(of.expression(), divisor)  # type: ignore[arg-type]
    return ex.Comparison(remainder, "==", value % divisor)


def _always(form: LinearForm) -> bool:
    """Tell whether ``form >= 0`` is but what a remainder always is: 0 <= x % d < d."""
    found = _of_remainder(form)
    if found is None:
        return False
    factor, _, divisor, rest = found
    return rest >= max(0, -factor * (divisor - 1))


def _of_remainder(form: LinearForm) -> tuple[int, LinearForm, int, int] | None:
    """Return f, x, d and c if a form is ``f*(x % d) + c``, else None."""
    floors = [term for term in form.terms if isinstance(term, FloorTerm)]
    if len(floors) != 1 or form.terms[floors[0]] % floors[0].divisor:
        return None
    (floor,) = floors
    factor = -form.terms[floor] // floor.divisor
    rest = form - LinearForm(0, {floor: 1}) * form.terms[floor] - floor.numerator * factor
    return (factor, floor.numerator, floor.divisor, rest.constant) if rest.is_constant else None


def folded(condition: Condition, values: Mapping[str, Expression]) -> Condition:
    """Return the condition for these values of some names, a truth value if it is decided."""
    after = tuple([folded(other, values) for other in condition.after])
    return Condition(_folded(condition.expression, values), condition.reads, after)


def _folded(node: Expression, values: Mapping[str, Expression]) -> Expression:
    node = walk.substitute(node, values)
    if not isinstance(node, ex.Comparison):
        return node
    left, right = simplify(node.left), simplify(node.right)
    if isinstance(left, int) and isinstance(right, int):
        return _COMPARE[str(node.operator)](left, right)
    form = linear_form(left)
    if form is not None and form.constant and isinstance(right, int) and node.operator == ">=":
        return comparison(form + -right, ">=")  # n >= 2, not n - 1 >= 1
    return ex.Comparison(left, node.operator, right)


_COMPARE = {
    "<": int.__lt__,
    "<=": int.__le__,
    "==": int.__eq__,
    ">=": int.__ge__,
}


def reads_inside(
    kernel: Kernel, condition: Condition, before: Iterable[Condition], known: isl.Set
) -> bool:
    """Tell whether a condition reads inside of arrays wherever it may come to be asked.

    Before a loop, it is asked even if the loop has no iteration.

    Parameters:
        kernel: the kernel.
        condition: the condition.
        before: conditions that are asked before it.
        known: what holds where it may be asked, a flat set.
    """
    if not condition.reads:
        return True
    known = _known(kernel, before, known)
    for node in condition.reads:
        shape = kernel.array(ex.name_of(node)).shape or ()
        for subscript, extent in zip(ex.index_tuple(node), shape, strict=True):
            low = ex.Comparison(subscript, ">=", 0)
            inside = condition_set(ex.LogicalAnd((low, ex.Comparison(subscript, "<", extent))))
            if inside is None or not known.is_subset(inside):
                return False
    return True


def has_values(
    kernel: Kernel, condition: Condition, before: Iterable[Condition], known: isl.Set
) -> bool:
    """Tell whether the scalars that a condition reads have values wherever it may come to be asked.

    Parameters:
        kernel: the kernel.
        condition: the condition.
        before: conditions that are asked before it.
        known: what holds where it may be asked, a flat set.
    """
    scalars = [t.name for t in kernel.temporaries if not t.shape and t.name in condition.names]
    if not scalars:
        return True
    known = _known(kernel, before, known)
    return all(known.is_subset(_written(kernel, name, flat_names(known))) for name in scalars)


def _written(kernel: Kernel, name: str, kept: Container[str]) -> isl.Set:
    """Return where a scalar is written for certain, as a set over those inames that are kept."""
    integers = integer_parameters(kernel).union(kernel.inames)
    found = universe().complement()
    for insn in kernel.writers.get(name, ()):
        here: isl.Set | None = domain_of(kernel, insn.within_inames)
        for predicate in insn.predicates:
            holds = condition_set(predicate, integers)
            here = None if here is None or holds is None else here.intersect(holds)
        found = found if here is None else found.union(here)
    inner = [i for i in flat_names(found) if i in kernel.inames and i not in kept]
    return project_out(found, inner)


def _known(kernel: Kernel, before: Iterable[Condition], known: isl.Set) -> isl.Set:
    """Return what is known where a condition is asked after others."""
    known = known.intersect(known_parameters(kernel))
    integers = integer_parameters(kernel).union(kernel.inames)
    for other in before:
        holds = condition_set(other.expression, integers)
        known = known if holds is None else known.intersect(holds)
    return known
