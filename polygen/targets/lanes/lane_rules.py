"""Prints expressions that differ between lanes, where numbers are printed otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from polygen.analysis.integers.function_definitions import NAMES
from polygen.analysis.typing.functions import ResultType, lookup
from polygen.analysis.typing.kinds import Kind, letter
from polygen.ir import expression as ex
from polygen.ir.callables import user_function
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
from polygen.targets.expressions import arithmetic_rules, logic_rules
from polygen.targets.expressions.call_rules import print_call
from polygen.targets.expressions.common_rules import joined
from polygen.targets.expressions.integer_functions import FUNCTION_RULES
from polygen.targets.expressions.typed_terms import (
    ATOM,
    CHOICE,
    EQUALITY,
    OR,
    ORDER,
    UNARY,
    Lanes,
    Term,
    operand,
    promoted,
    usual,
)
from polygen.targets.lanes.lane_accesses import print_lanes
from polygen.targets.lanes.lane_helpers import truth_type
from polygen.targets.lanes.lane_printer import LanePrinter, LaneRule
from polygen.targets.languages.target import BOOL, FLOAT64

# --- numbers of lanes


def _print_number(p: LanePrinter, _node: ex.Variable, at: DType) -> Term:
    """Print the numbers of the lanes."""
    dtype = at if at.kind == "f" else p.dtype(int, at)
    wide = promoted(dtype)
    return Lanes(
        p.literal(wide, [p.number(lane, wide).text for lane in range(p.count)]), UNARY, dtype, wide
    )


# --- conditions


def _print_comparison(p: LanePrinter, node: ex.Comparison, at: DType) -> Term:
    kind = joined([p.kind(node.left), p.kind(node.right)])[-1]
    dtype = p.widest if kind is int else p.dtype(kind, FLOAT64)
    level = EQUALITY if node.operator in ("==", "!=") else ORDER
    if isinstance(node.left, ex.Remainder) and level == EQUALITY and p.constant(node.right) == 0:
        left: Term = arithmetic_rules.print_divisibility(p, node.left, dtype)
        right: Term = p.element(p.number(0, promoted(dtype)), left.c_type)
    else:
        left, right = p.exact(p.term(node.left, dtype)), p.exact(p.term(node.right, dtype))
        if dtype.kind != "f" and logic_rules.signs_differ(left, right):
            return p.one_by_one(node, at)
        if dtype.kind != "f":
            dtype = usual(left.c_type, right.c_type)
        if not p.has_vector(dtype):
            return p.one_by_one(node, at)
        left, right, _ = p.common(left, right, dtype, modular=False)
    text = f"{operand(left, UNARY)} {node.operator} {operand(right, UNARY)}"
    return Lanes(text, level, BOOL, truth_type(left.c_type))


def _print_not(p: LanePrinter, node: ex.LogicalNot, _at: DType) -> Term:
    term = p.spread(p.truth(p.term(node.child, BOOL)))
    return Lanes(f"~{term.within(UNARY)}", UNARY, BOOL, term.c_type)


def _print_if(p: LanePrinter, node: ex.If, at: DType) -> Term:
    dtype = p.dtype(p.kind(node), at)
    decided = p.constant(node.condition)
    if decided is not None:
        return p.convert(p.term(node.then if decided else node.else_, dtype), dtype)
    condition = p.truth(p.term(node.condition, BOOL))
    then, other = (_chosen(p, branch, dtype) for branch in (node.then, node.else_))
    if isinstance(condition, Lanes):
        return p.select(condition, then, other)
    parts = (condition.within(OR), then.within(OR), other.within(CHOICE))
    text = p.target.choose_lanes.format(*parts, p.vector(then.c_type))
    return Lanes(text, CHOICE, dtype, then.c_type)


def _chosen(p: LanePrinter, node: Expression, dtype: DType) -> Lanes:
    term = p.term(node, dtype)
    if dtype == BOOL:
        return p.truths(term, truth_type(BOOL))
    found = p.spread(p.element(p.convert(term, dtype), promoted(dtype)))
    return Lanes(found.text, found.level, dtype, found.c_type)


# --- minima, and bits


def _print_min(p: LanePrinter, node: ex.Min, at: DType) -> Term:
    return _extreme(p, "min", node.children, p.kind(node), at)


def _print_max(p: LanePrinter, node: ex.Max, at: DType) -> Term:
    return _extreme(p, "max", node.children, p.kind(node), at)


def _extreme(p: LanePrinter, name: str, nodes: Sequence[Expression], kind: Kind, at: DType) -> Term:
    terms = [p.exact(p.term(n, p.dtype(kind, at))) for n in nodes]
    dtype = p.meet(kind, at, *terms)
    if dtype == BOOL:
        return p.logical("&&" if name == "min" else "||", terms)
    wide = promoted(dtype)
    lanes: list[Term] = [p.spread(p.element(term, wide)) for term in terms]
    builtin = p.target.integer_extremes.get(name)

    def smaller(a: Term, b: Term) -> Term:
        if builtin is None or wide.kind == "f":
            return p.helper(name, wide, (a, b))
        return Lanes(f"{builtin}({a.text}, {b.text})", ATOM, wide, wide)

    return Lanes(reduce(smaller, lanes).text, ATOM, dtype, wide)


_LOGICAL: Mapping[type, str] = {ex.BitwiseAnd: "&&", ex.BitwiseOr: "||"}


def _print_bits(
    p: LanePrinter, node: ex.BitwiseAnd | ex.BitwiseOr | ex.BitwiseXor, at: DType
) -> Term:
    dtype = p.dtype(p.kind(node), at)
    if dtype == BOOL:
        operator = _LOGICAL.get(type(node))
        if operator is None:
            return p.one_by_one(node, at)
        return p.logical(operator, [p.term(c, BOOL) for c in node.children])
    operator, level = logic_rules.BITS[type(node)]
    total, *others = [p.term(child, dtype) for child in node.children]
    for child in others:
        left, right, c_type = p.common(total, child, dtype, modular=True)
        first = left.text if left.level == level else operand(left, UNARY)
        kind = Lanes if isinstance(left, Lanes) or isinstance(right, Lanes) else Term
        exact = left.exact and right.exact
        total = kind(f"{first} {operator} {operand(right, UNARY)}", level, dtype, c_type, exact)
    return total


# --- functions


def _print_call(p: LanePrinter, node: ex.Call, at: DType) -> Term:
    if user_function(node) is not None or letter(p.kind(node)) == "c":
        return p.one_by_one(node, at)
    name = ex.name_of(node.function)
    if name in NAMES:  # what it stands for
        return print_call(p, node, at)
    if name in ("min", "max"):
        return _extreme(p, name, node.parameters, p.kind(node), at)
    result = lookup(name).result
    if name in FUNCTION_RULES or result in _ONE_BY_ONE or _is_extreme(p, node, at):
        return p.one_by_one(node, at)
    return print_call(p, node, at)


_ONE_BY_ONE = (ResultType.TRUTH, ResultType.WHOLE, ResultType.RANDOM)


def _is_extreme(p: LanePrinter, node: ex.Call, at: DType) -> bool:
    of_integers = p.dtype(p.kind(node), at).kind in "biu"
    return of_integers and ex.name_of(node.function) in ("fmin", "fmax")


LANE_RULES: Mapping[type, LaneRule] = {
    ex.Variable: _print_number,
    ex.Subscript: print_lanes,
    ex.Call: _print_call,
    ex.Sum: arithmetic_rules.print_sum,
    ex.Product: arithmetic_rules.print_product,
    ex.Quotient: arithmetic_rules.print_quotient,
    ex.FloorDiv: arithmetic_rules.print_floor_div,
    ex.Remainder: arithmetic_rules.print_remainder,
    ex.Power: arithmetic_rules.print_power,
    ex.Min: _print_min,
    ex.Max: _print_max,
    ex.Comparison: _print_comparison,
    ex.LogicalAnd: logic_rules.print_and,
    ex.LogicalOr: logic_rules.print_or,
    ex.LogicalNot: _print_not,
    ex.If: _print_if,
    ex.BitwiseAnd: _print_bits,
    ex.BitwiseOr: _print_bits,
    ex.BitwiseXor: _print_bits,
    ex.BitwiseNot: logic_rules.print_bitwise_not,
    ex.LeftShift: logic_rules.print_left_shift,
    ex.RightShift: logic_rules.print_right_shift,
}
