"""Derivatives of expressions: along a direction, and by each element that is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from polygen.analysis.access.instance_map import at_new_instance
from polygen.analysis.typing.derivatives import cases_of, partials, times
from polygen.errors import NotDifferentiable
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.operation import Operation, Special
from polygen.ir.reduction import name_of
from polygen.ir.show_expression import show_expression

TangentOf: TypeAlias = Callable[[Expression], Expression | None]
ZERO = 0.0


class Context:
    """Makes inames: here, as if there were as many as needed.

    Attributes:
        choices: for minima and maxima, temporaries that say which operand is taken.
    """

    choices: Mapping[Expression, str] = {}

    def copies(self, inames: Iterable[str]) -> dict[str, str]:
        """Return new inames with the values of others."""
        return {iname: f"{iname}_copy" for iname in inames}

    def runs_over(self, _iname: str, _other: str) -> bool:
        """Tell whether an iname is certain to have all values of another one."""
        return False


# --- along a direction


def tangent(node: Expression, of: TangentOf, context: Context) -> Expression | None:
    """Return the derivative of an expression along a direction; None if it is 0 everywhere.

    Parameters:
        node: the expression.
        of: returns the derivative of what is read; None if it is 0.
        context: makes new inames.

    Raises:
        NotDifferentiable: if it is not known.
    """
    if isinstance(node, ex.Variable | ex.Subscript):
        return of(node)
    if isinstance(node, ex.Reduction) or is_component_of_reduction(node):
        return _of_reduced(node, of, context)
    cases = cases_of(node)
    if cases is not None:
        return _by_cases([(c, tangent(e, of, context)) for c, e in cases])
    terms: list[Expression] = []
    for part, partial in partials(node):
        inner = tangent(part, of, context)
        factor = partial() if inner is not None else 0
        if inner is not None and factor != 0:
            terms.append(scaled(factor, inner))
    return total(terms)


def scaled(factor: Expression, node: Expression) -> Expression:
    """Return a product; of what is 0 in other cases, with the factor inside."""
    case = _only_case(node)
    if case is not None:
        return ex.If(case[0], scaled(factor, case[1]), ZERO)
    if isinstance(node, float) and node == 1.0:
        return 1.0 * factor if isinstance(factor, int | float) else factor
    return times(factor, node)


def total(terms: Sequence[Expression]) -> Expression | None:
    """Return a sum, with one case of those that have one condition; None of nothing."""
    groups: dict[Expression | None, list[Expression]] = {}
    for term in terms:
        case = _only_case(term)
        groups.setdefault(case and case[0], []).append(term if case is None else case[1])
    found = _counted(groups.pop(None, ()))
    for condition, values in groups.items():
        assert condition is not None
        value = _counted(values)
        found.append(ex.If(condition, value[0] if len(value) == 1 else ex.sum_of(*value), ZERO))
    if not found:
        return None
    return found[0] if len(found) == 1 else ex.sum_of(*found)


def _counted(terms: Sequence[Expression]) -> list[Expression]:
    """Return the terms of a sum, each of them once: ``2*x`` for ``x + x``."""
    numbers = Counter(terms)
    return [term if n == 1 else times(n, term) for term, n in numbers.items()]


def _only_case(node: Expression) -> tuple[Expression, Expression] | None:
    """Return the condition under which an expression is not 0, and its value then."""
    if isinstance(node, ex.If) and isinstance(node.else_, float) and node.else_ == ZERO:
        return node.condition, node.then
    return None


def _by_cases(cases: Sequence[tuple[Expression | None, Expression | None]]) -> Expression | None:
    if all(value is None for _, value in cases):
        return None
    *others, (_, last) = cases
    found = ZERO if last is None else last
    for condition, value in reversed(others):
        assert condition is not None
        found = ex.If(condition, ZERO if value is None else value, found)
    return found


# --- reductions


def is_component_of_reduction(node: Expression) -> bool:
    """Tell whether an expression is one of the results of a reduction."""
    return isinstance(node, ex.Component) and isinstance(node.aggregate, ex.Reduction)


def _of_reduced(node: Expression, of: TangentOf, context: Context) -> Expression | None:
    """Return the tangent of a reduction, or of one of the results of one."""
    reduction = node.aggregate if isinstance(node, ex.Component) else node
    assert isinstance(reduction, ex.Reduction)
    operand, position = reduction.operand, 0
    if isinstance(node, ex.Component):
        position = node.position
        operand = operand.children[0] if isinstance(operand, ex.Several) else operand
    inner = tangent(operand, of, context)
    factor = factor_of(node, reduction, position, context) if inner is not None else None
    if inner is None or factor is None:
        return None
    return _summed(reduction.inames, weighted(factor, inner), context)


def _summed(inames: tuple[str, ...], value: Expression, context: Context) -> Expression:
    """Return a sum, without those of its inames that have one value where it is not 0."""
    case = _only_case(value)
    conditions = [] if case is None else list(walk.conjuncts(case[0]))
    for condition in conditions:
        same = condition if isinstance(condition, ex.Comparison) else None
        if case is None or same is None or same.operator != "==":
            continue
        if not (isinstance(same.left, ex.Variable) and isinstance(same.right, ex.Variable)):
            continue
        iname, other = same.left.name, same.right.name
        if iname not in inames or not context.runs_over(iname, other):
            continue
        there = {iname: same.right}
        left = tuple([walk.substitute(c, there) for c in conditions if c is not condition])
        found = walk.substitute(case[1], there)
        if left:
            found = ex.If(left[0] if len(left) == 1 else ex.LogicalAnd(left), found, ZERO)
        rest = tuple([i for i in inames if i != iname])
        return _summed(rest, found, context) if rest else found
    return ex.Reduction("sum", inames, value)


def weighted(factor: Factor, inner: Expression) -> Expression:
    """Return a contribution to a reduction's derivative, times what it counts."""
    value = scaled(factor.value, inner)
    if factor.condition is None:
        return value
    case = _only_case(value)
    if case is None:
        return ex.If(factor.condition, value, ZERO)
    conditions = (*walk.conjuncts(factor.condition), *walk.conjuncts(case[0]))
    return ex.If(ex.LogicalAnd(conditions), case[1], ZERO)


@dataclass(frozen=True)
class Factor:
    """The factor of an operand's derivative in that of its reduction.

    Attributes:
        value: what it is multiplied by.
        condition: where it counts; None for everywhere.
    """

    value: Expression
    condition: Expression | None = None


def factor_of(
    node: Expression,
    reduction: ex.Reduction,
    position: int,
    context: Context,
) -> Factor | None:
    """Return how an operand's derivative counts; None if not at all.

    Raises:
        NotDifferentiable: if the operation has no derivative.
    """
    name = name_of(reduction.operation)
    own = _is_own(reduction.operation)
    if name in ("any", "all") or (position == 1 and name in ("argmin", "argmax")):
        return None
    if name == "sum" and not own:
        return Factor(1)
    if name == "product" and not own:
        return Factor(_others(reduction, context))
    if name in _EXTREMAL and not own:
        return _chosen(reduction, context)
    raise NotDifferentiable(
        f"the derivative of '{show_expression(node)}' is not known: '{name}' is "
        + ("an operation of your own" if own else "in no table of derivatives"),
        remedy="write it in terms of sums, products, minima and maxima",
    )


_EXTREMAL = {"min": "argmin", "max": "argmax", "argmin": "argmin", "argmax": "argmax"}


def _others(reduction: ex.Reduction, context: Context) -> Expression:
    """Return the product of all factors but that of the iteration that it stands in."""
    own, copy = _copied(reduction.operand, reduction.inames, context)
    other = tuple([ex.Comparison(ex.Variable(own[i]), "!=", ex.Variable(i)) for i in own])
    differs = other[0] if len(other) == 1 else ex.LogicalOr(other)
    inames = tuple([own[i] for i in reduction.inames])
    return ex.Reduction(reduction.operation, inames, ex.If(differs, copy, 1))


def _chosen(reduction: ex.Reduction, context: Context) -> Factor:
    """Return that the operand of one iteration counts: the first that is the best."""
    if len(reduction.inames) > 1:
        raise NotDifferentiable(
            f"'{show_expression(reduction)}' takes one of several operands, and over several "
            "inames there is no number of it",
            remedy="reduce over one iname inside of the other: max(i, max(j, a[i, j]))",
        )
    known = context.choices.get(reduction)
    taken = choice(reduction, context) if known is None else ex.Variable(known)
    (iname,) = map(ex.Variable, reduction.inames)
    return Factor(1, ex.Comparison(iname, "==", taken))


def chooses(reduction: ex.Reduction) -> bool:
    """Tell whether a reduction takes one of its operands, of which the iname says which."""
    known = name_of(reduction.operation) in _EXTREMAL
    return known and not _is_own(reduction.operation) and len(reduction.inames) == 1


def _is_own(operation: Operation) -> bool:
    return isinstance(operation, Special) and operation.definition is not None


def choice(reduction: ex.Reduction, context: Context) -> Expression:
    """Return the value that the iname of a minimum or maximum has for the operand it takes."""
    operand = reduction.operand
    if isinstance(operand, ex.Several):
        operand = operand.children[0]
    own, copy = _copied(operand, reduction.inames, context)
    (iname,) = own.values()
    name = _EXTREMAL[name_of(reduction.operation)]
    values = ex.Several((copy, ex.Variable(iname)))
    return ex.Component(ex.Reduction(name, (iname,), values), 1)


def with_own_loops(node: Expression, context: Context) -> Expression:
    """Return an expression whose reductions run over new inames."""
    reductions = walk.reductions(node)
    own = context.copies(sorted(walk.reduction_inames(node)))
    values = {old: ex.Variable(new) for old, new in own.items()}

    def moved(part: Expression) -> Expression:
        return at_new_instance(part, frozenset(), values, [*own.values()])

    more = {moved(r): context.choices[r] for r in reductions if r in context.choices}
    context.choices = {**context.choices, **more}
    return moved(node)


def _copied(
    operand: Expression, inames: Sequence[str], context: Context
) -> tuple[Mapping[str, str], Expression]:
    """Return new inames, and what is reduced in terms of these, with reductions of its own."""
    inner = sorted(walk.reduction_inames(operand))
    own = context.copies([*inames, *inner])
    values = {old: ex.Variable(new) for old, new in own.items()}
    copy = at_new_instance(operand, frozenset(inames), values, [*own.values()])
    return {i: own[i] for i in inames}, copy
