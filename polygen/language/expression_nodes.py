"""Makes expressions: a method for each rule of their grammar.

Nodes are constructed directly: pymbolic's operators would flatten and fold, and floating-point
arithmetic has to happen in the order that was written.
"""

# ruff: noqa: D102  (each method is named like the rule of grammar.lark that it is for)

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, TypeGuard

from polygen.analysis.typing.functions import FUNCTIONS
from polygen.errors import InvalidArgument, did_you_mean
from polygen.ir import expression as ex
from polygen.ir.dtype import DType, meant_type, to_dtype
from polygen.ir.expression import Expression
from polygen.ir.operation import OPERAND, Operation
from polygen.ir.reduction import facts_of, keeping, name_of, widens, with_dtype
from polygen.ir.show_expression import show_expression
from polygen.language.combinations import combination, compensated_total, is_combination
from polygen.language.operations import REDUCE, find_operation, operation_names
from polygen.language.option_nodes import OptionNodes
from polygen.language.refused import Refused
from polygen.language.slices import Slice, sliced

# A token is a string with a position; lark is imported only where the parser is built.
_Token: TypeAlias = Any
_Children: TypeAlias = list[Any]

_SELECTIONS: dict[str, Callable[[tuple[Expression, ...]], Expression]] = {
    "min": ex.Min,
    "max": ex.Max,
}
QUOTIENTS: dict[str, Callable[[Any, Any], Expression]] = {
    "/": ex.Quotient,
    "//": ex.FloorDiv,
    "%": ex.Remainder,
}


class Named(NamedTuple):
    """``i=value`` in an invocation of a rule."""

    name: _Token
    value: Expression


class _Type(NamedTuple):
    """``np.float32`` as an argument of ``cast``."""

    name: _Token


class BoundedAxis(NamedTuple):
    """``j < 7`` among the names of the axes of a part."""

    name: _Token
    extent: Expression


def check_unbounded(names: _Children) -> None:
    """Refuse ``i < 7`` in a list of inames."""
    if bounded := [n for n in names if isinstance(n, BoundedAxis)]:
        raise Refused(
            "which values an iname has, its domain says",
            bounded[0].name.start_pos,
            "write names alone here: [i, j]",
        )


class _Several(tuple[str, ...]):
    """``(i, j)`` as the first argument of a reduction."""


def is_tuple(node: Expression) -> TypeGuard[ex.Call]:
    """Tell whether `node` is ``make_tuple(a, b)``: several values."""
    return isinstance(node, ex.Call) and ex.name_of(node.function) == "make_tuple"


def is_number(node: object) -> bool:
    """Tell whether `node` is a number of Python's (booleans are not)."""
    return isinstance(node, int | float | complex) and not isinstance(node, bool)


def negated(node: Expression) -> Expression:
    """Return ``-node`` in the form that polygen uses."""
    if is_number(node):
        value: Any = node
        opposite: Expression = -value
        return opposite
    return ex.negated(node)


def _joined(
    kind: Callable[[tuple[Expression, ...]], Expression],
) -> Callable[[object, _Children], Expression]:
    def build(_nodes: object, children: _Children) -> Expression:
        return kind(tuple(children))

    return build


class ExpressionNodes(OptionNodes):
    """Builds expressions: one method for each rule of the grammar."""

    # --- leaves

    def integer(self, children: _Children) -> Expression:
        return int(children[0], 0 if children[0][:2] in ("0x", "0X") else 10)

    def real(self, children: _Children) -> Expression:
        return _finite(children[0], str(children[0]))

    def single(self, children: _Children) -> Expression:
        return ex.converted("float32", _finite(children[0], children[0][:-1]))

    def double(self, children: _Children) -> Expression:
        return ex.converted("float64", _finite(children[0], children[0][:-1]))

    def single_imaginary(self, children: _Children) -> Expression:
        return ex.converted("complex64", complex(0, _finite(children[0], children[0][:-2])))

    def imaginary(self, children: _Children) -> Expression:
        return complex(0, _finite(children[0], children[0][:-1]))

    def true(self, _children: _Children) -> Expression:
        return True

    def false(self, _children: _Children) -> Expression:
        return False

    def name(self, children: _Children) -> Expression:
        return ex.Variable(children[0].value)

    def begin(self, children: _Children) -> tuple[str, Expression]:
        return "begin", children[0]

    def end(self, children: _Children) -> tuple[str, Expression]:
        return "end", children[0]

    def step(self, children: _Children) -> tuple[str, Expression]:
        return "step", children[0]

    def slice(self, children: _Children) -> Slice:
        return Slice(**dict(children))

    def subscript(self, children: _Children) -> Expression:
        if any(isinstance(child, Slice) for child in children):
            return sliced(children[0], children[1:])
        index: Any = children[1] if len(children) == 2 else tuple(children[1:])
        return ex.Subscript(ex.Variable(children[0].value), index)

    def linear_subscript(self, children: _Children) -> Expression:
        return ex.LinearSubscript(ex.Variable(children[0].value), children[1])

    # --- operators

    disjunction = _joined(ex.LogicalOr)
    conjunction = _joined(ex.LogicalAnd)
    bit_or = _joined(ex.BitwiseOr)
    bit_xor = _joined(ex.BitwiseXor)
    bit_and = _joined(ex.BitwiseAnd)

    def logical_not(self, children: _Children) -> Expression:
        return ex.LogicalNot(children[0])

    def bit_not(self, children: _Children) -> Expression:
        return ex.BitwiseNot(children[0])

    def comparison(self, children: _Children) -> Expression:
        if len(children) > 3:
            raise Refused(
                "comparisons cannot be chained",
                children[3].start_pos,
                "write 'a < b and b < c' for 'a < b < c'",
            )
        left, operator, right = children
        return ex.Comparison(left, operator.value, right)

    def shift(self, children: _Children) -> Expression:
        result: Expression = children[0]
        for operator, by in zip(children[1::2], children[2::2], strict=True):
            result = (ex.LeftShift if operator == "<<" else ex.RightShift)(result, by)
        return result

    def sum(self, children: _Children) -> Expression:
        terms: list[Expression] = [children[0]]
        for operator, term in zip(children[1::2], children[2::2], strict=True):
            terms.append(term if operator == "+" else negated(term))
        return ex.sum_of(*terms)

    def product(self, children: _Children) -> Expression:
        factors: list[Expression] = [children[0]]
        for operator, factor in zip(children[1::2], children[2::2], strict=True):
            if operator == "*":
                factors.append(factor)
            else:
                factors = [QUOTIENTS[operator](_product(factors), factor)]
        return _product(factors)

    def minus(self, children: _Children) -> Expression:
        return negated(children[0])

    def plus(self, children: _Children) -> Expression:
        operand: Expression = children[0]
        return operand

    def to_the_power(self, children: _Children) -> Expression:
        return ex.Power(children[0], children[1])

    # --- choices, calls, reductions

    def conditional(self, children: _Children) -> Expression:
        then, condition, else_ = children
        return ex.If(condition, then, else_)

    def choice(self, children: _Children) -> Expression:
        return ex.If(*children)

    def bounded_axis(self, children: _Children) -> BoundedAxis:
        return BoundedAxis(*children)

    def several(self, children: _Children) -> _Several:
        check_unbounded(children)
        return _Several(token.value for token in children)

    def named(self, children: _Children) -> Named:
        return Named(*children)

    def tagged_call(self, children: _Children) -> Expression:
        name, tag, *args = children
        return _invocation(name, tag.value, args)

    def numpy_type(self, children: _Children) -> _Type:
        return _Type(children[0])

    def conversion(self, children: _Children) -> Expression:
        return _converted(*children)

    def call(self, children: _Children) -> Expression:
        name, *args = children
        if name == "cast":
            return _cast(name, args)
        for wrong in args:
            if isinstance(wrong, _Type):
                raise Refused(
                    f"'{wrong.name}' is a type, which {name}() does not take",
                    wrong.name.start_pos,
                    f"convert a number with {wrong.name}(x)",
                )
        if any(isinstance(a, Named) for a in args):
            return _invocation(name, None, args)
        tuples = [a for a in args if isinstance(a, _Several)]
        if name in REDUCE:
            return _reduction(name, args[1:], _named_operation(name, args[:1]))
        operation = find_operation(name.value)
        if operation is not None and (name not in _SELECTIONS or tuples):
            return _reduction(name, args, operation)
        if tuples:
            raise Refused(
                f"{name}() takes no tuple",
                name.start_pos,
                "only reductions do: sum((i, j), ...); operands of other calls need no parentheses",
            )
        if name in _SELECTIONS:
            if len(args) < 2:
                raise Refused(
                    f"{name}() takes two or more operands",
                    name.start_pos,
                    f"write {name}(a, b), or {name}(k, a[k]) to reduce over the iname k",
                )
            return _SELECTIONS[name](tuple(args))
        return ex.Call(ex.Variable(name.value), tuple(args))

    def of_pairs(self, children: _Children) -> Expression:
        """Return a segmented reduction, or the sum that a compensated one stands for."""
        head, inner, *args = children
        operation = find_operation(f"{head}({inner})")
        if operation is None:
            raise Refused(
                f"there is no {head} '{inner}'",
                inner.start_pos,
                f"there is {_OF_PAIRS[head.value]}",
            )
        if args and getattr(args[0], "type", None) == "NAME":
            operation = _typed(operation, args.pop(0))
        inside = args[1] if len(args) == 2 else None
        of_pairs = isinstance(inside, ex.Reduction) and facts_of(inside.operation).width > 1
        if len(args) != 2 or head != "compensated" or of_pairs:
            return _reduction(head, args, operation)
        pairs: Any = _reduction(head, [*args, 0.0], operation)
        return compensated_total(pairs)

    def of_pairs_component(self, children: _Children) -> Expression:
        *call, position = children
        return ex.Component(self.of_pairs(call), int(position, 0))

    def component(self, children: _Children) -> Expression:
        *call, position = children
        return ex.Component(self.call(call), int(position, 0))

    def part(self, children: _Children) -> Expression:
        name, part = children
        position = "xyzw".find(part[1:])
        if position < 0:
            position = int(part[2:], 16)
        return ex.Component(ex.Variable(name.value), position)

    def typed_call(self, children: _Children) -> Expression:
        name, dtype, *args = children
        operation = find_operation(name.value)
        if operation is None:
            raise Refused(
                "comparisons cannot be chained",
                dtype.end_pos,
                "write 'a < b and b > c' for 'a < b > c'; only reductions have a type in <>: "
                "sum<float64>(k, a[k])",
            )
        return _reduction(name, args, _typed(operation, dtype))


_OF_PAIRS = {
    "segmented": "segmented(sum)(k, a[k], starts[k])",
    "compensated": "compensated(sum)(k, a[k])",
    "rescaled": "rescaled(max)(k, a[k], w[k])",
}


def _finite(token: _Token, digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise Refused(
            f"{token} is larger than any floating-point number",
            token.start_pos,
            "the largest is about 1.8e308",
        )
    return value


def _converted(token: _Token, node: Expression) -> Expression:
    """Return ``np.float32(x)``, which is ``float32(x)``."""
    name = token.removeprefix("np.")
    if name in FUNCTIONS and FUNCTIONS[name].dtype is None:
        raise Refused(f"'{token}' is no type", token.start_pos, f"write {name}(...) without np.")
    return ex.converted(_checked_type(token).name, node)


def _cast(name: _Token, args: list[Any]) -> Expression:
    """Return ``cast(np.float32, x)``, which is ``float32(x)``."""
    if len(args) == 2 and isinstance(args[0], _Type):
        return _converted(args[0].name, args[1])
    if len(args) == 2 and isinstance(args[0], ex.Variable):
        token = name.update(value=args[0].name)
        return ex.converted(_checked_type(token).name, args[1])
    raise Refused("cast() takes a type and a number", name.start_pos, "write cast(np.float32, x)")


def _checked_type(token: _Token) -> DType:
    return element_type(token.update(value=token.removeprefix("np.")), "")


def _invocation(name: _Token, tag: str | None, args: list[Any]) -> Expression:
    """Return ``f$tag(x, i=0)``; what it does not say is filled in when the rules are known."""
    by_name = [a for a in args if isinstance(a, Named)]
    if args[len(args) - len(by_name) :] != by_name or any(isinstance(a, _Several) for a in args):
        raise Refused(
            f"{name}() is given something that no rule takes",
            name.start_pos,
            "write the arguments of a substitution rule first, then what its inames are: f(x, i=0)",
        )
    given = {a.name.value: a.value for a in by_name}
    if len(given) < len(by_name):
        raise Refused(f"{name}() is given an iname twice", name.start_pos, "leave one out")
    arguments = tuple(args[: len(args) - len(by_name)])
    return ex.Invocation(name.value, tag, arguments, tuple(given), tuple(given.values()))


def _product(factors: list[Expression]) -> Expression:
    return factors[0] if len(factors) == 1 else ex.product_of(*factors)


def _named_operation(head: _Token, args: list[Any]) -> Operation:
    """Return the operation that the first argument of ``reduce`` names."""
    name = show_expression(args[0]) if args and isinstance(args[0], ex.ExpressionNode) else ""
    operation = find_operation(name)
    if operation is None:
        raise Refused(
            f"{head}() is not told what to reduce with",
            head.start_pos,
            f"write {head}(sum, k, a[k]): {did_you_mean(name, operation_names())}",
        )
    return operation


def _typed(operation: Operation, dtype: _Token) -> Operation:
    """Return an operation as one that is computed in the type that a token names."""
    if dtype.value != OPERAND:
        return with_dtype(operation, element_type(dtype))
    if not widens(operation):
        raise Refused(
            f"{operation}() is never wider than its operand",
            dtype.start_pos,
            f"leave out <{OPERAND}>",
        )
    return keeping(operation)


def _reduction(head: _Token, args: list[Any], operation: Operation) -> Expression:
    name, width = name_of(operation), facts_of(operation).width
    if len(args) == 2 and is_tuple(args[1]):
        args = [args[0], *args[1].parameters]
    if len(args) == 1 + width == 2 and _is_nothing(args[0]):
        operand: Expression = args[1]  # over no iname: the only value
        return operand
    remedy = f"write {name}(k, a[k]) with an iname k, or {name}((i, j), a[i, j])"
    operands = "an operand"
    if width > 1:
        remedy = f"write x, y = {name}(k, a[k], b[k]), with an iname k"
        operands = f"{width} operands"
    if is_combination(args, operation):
        return combination(operation, args[0], args[1])
    inner = args[1] if len(args) == 2 else None
    is_inside = isinstance(inner, ex.Reduction) and facts_of(inner.operation).width == width
    if len(args) != 1 + width and not is_inside:
        raise Refused(
            f"{name}() takes an iname and {operands}, not {len(args)} arguments",
            head.start_pos,
            remedy,
        )
    over, *values = args
    operand = values[0] if len(values) == 1 else ex.Several(tuple(values))
    if (
        not over
        or any(isinstance(v, _Several) for v in values)
        or not isinstance(over, _Several | ex.Variable)
    ):
        raise Refused(f"{name}() takes an iname first, then an operand", head.start_pos, remedy)
    inames = tuple(over) if isinstance(over, _Several) else (over.name,)
    if len(set(inames)) < len(inames):
        raise Refused(f"{name}() is given an iname twice", head.start_pos, "leave one out")
    return ex.Reduction(operation, inames, operand)


def _is_nothing(first: object) -> bool:
    return isinstance(first, _Several) and not first


def element_type(token: _Token, otherwise: str = ", or leave it out: <>") -> DType:
    """Return the type that a token names; `otherwise` is what to do but name another one."""
    try:
        return to_dtype(token.value)
    except InvalidArgument:
        remedy = (
            f"{meant_type(token.value)}write the name of a NumPy type, such as float32{otherwise}"
        )
        raise Refused(f"'{token}' is no element type", token.start_pos, remedy) from None
