"""Evaluates the expressions of a function while it is traced."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, ClassVar, cast

import numpy as np

from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.python.affine import Affine, number
from polygen.python.array_libraries import library_of
from polygen.python.constant_tables import element_of_table
from polygen.python.either_type import chosen_value, operated_on_either, with_each
from polygen.python.operators import (
    INVERTED,
    NEGATIVE,
    OPERATORS,
    POSITIVE,
    Rule,
    applied,
    arithmetic,
    operand_tree,
    out_of_range,
    truth_of,
    types_of,
)
from polygen.python.powers import power
from polygen.python.python_integers import (
    check_product,
    integer_power,
    shifted_left,
    shifted_right,
)
from polygen.python.refused import Refused, refused_construct
from polygen.python.subscripts import ELLIPSIS, Slice, subscripted
from polygen.python.trace import Trace
from polygen.python.values import (
    BOOL,
    INT64,
    ArrayCell,
    Arrayed,
    Cell,
    Constant,
    Either,
    Indices,
    Lazy,
    Masked,
    Number,
    Pending,
    Several,
    Strip,
    Unbound,
    Value,
    View,
    affine_number,
    constant_number,
    literal,
    strip,
)

_SIGNED: dict[type[ast.unaryop], Rule] = {
    ast.USub: NEGATIVE,
    ast.UAdd: POSITIVE,
    ast.Invert: INVERTED,
}
SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|",
    ast.BitXor: "^", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==",
    ast.NotEq: "!=",
}  # fmt: skip


# Of which operations the last bits are those of the operands' last bits.
_OF_LAST_BITS = (ast.Add, ast.Sub, ast.Mult, ast.LShift, ast.BitAnd, ast.BitOr, ast.BitXor)


class Expressions(Trace):
    """The part of a tracer that evaluates expressions.

    Attributes:
        names: what names stand for.
        outer: the globals and closure variables of the function.
        keeps_last_bits: whether of an integer of Python's the last bits alone are asked for.
    """

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[str, Any] = {}
        self.outer: dict[str, Any] = {}
        self.keeps_last_bits: bool = False

    def value(self, node: ast.expr) -> Value:
        """Return what an expression stands for.

        Raises:
            Refused: if kernels have no such thing.
        """
        rule = self._of_expressions.get(type(node))
        if rule is None:
            raise refused_construct(node)
        outer, self.node = self.node, node if isinstance(node, ast.Call) else self.node
        kept = self.keeps_last_bits
        if not isinstance(node, ast.BinOp | ast.UnaryOp):
            self.keeps_last_bits = False
        try:
            found: Value = rule(self, node)
        except Refused as error:
            error.node = error.node or node
            raise
        finally:
            self.node = outer
            self.keeps_last_bits = kept
        return found

    def number(self, node: ast.expr) -> Number:
        """Return the scalar that an expression is."""
        return self._as_number(self.value(node), node)

    def _as_number(self, found: Value, node: ast.expr) -> Number:
        if isinstance(found, Number):
            return found
        raise Refused("an array or another value stands where a number has to be", node=node)

    # --- names and constants

    def _name(self, node: ast.Name) -> Value:
        if node.id in self.names:
            return self._read(node.id, self.names[node.id])
        if node.id in self.outer:
            return self.outside(self.from_outside(node.id))
        known = vars(builtins)
        if node.id in known:
            return Constant(known[node.id])
        raise Refused(f"'{node.id}' has no value here")

    def _read(self, name: str, found: Any) -> Value:
        if isinstance(found, Unbound):
            raise Refused(f"'{name}' may have no value here: {found.why}")
        if isinstance(found, Pending) or (isinstance(found, Cell) and found.is_unset):
            raise Refused(f"'{name}' has no value in the first iteration")
        if isinstance(found, ArrayCell):
            return found.view
        if isinstance(found, Cell):
            return Number(found.dtype, found.weak, ex.Variable(found.name), cell=found.name)
        result: Value = found
        return result

    def from_outside(self, name: str) -> Any:
        """Return a global or closure variable."""
        return self.outer[name]

    def outside(self, value: Any) -> Value:
        """Return a value of Python's, from outside of the function."""
        if isinstance(value, bool | int | float | complex | np.generic):
            return constant_number(value)
        if isinstance(value, tuple | list):
            parts = map(self.outside, cast("Sequence[Any]", value))
            return Several(tuple(parts), is_list=isinstance(value, list))
        if library_of(value) is not None:
            return self.outer_array(value)
        return Constant(value)

    def outer_array(self, array: Any) -> Value:
        """Return a global array."""
        del array
        raise Refused("an array from outside of the function", "pass it as an argument")

    def _constant(self, node: ast.Constant) -> Value:
        if isinstance(node.value, bool | int | float | complex):
            return constant_number(node.value)
        return Constant(node.value)

    # --- operators

    def _binary(self, node: ast.BinOp) -> Value:
        if isinstance(node.op, ast.MatMult):
            return self.matrix_product(self.value(node.left), self.value(node.right))
        kept = self.keeps_last_bits
        self.keeps_last_bits = self._needs_last_bits(node) or (
            kept and isinstance(node.op, _OF_LAST_BITS)
        )
        left = self.value(node.left)
        self.keeps_last_bits = kept and isinstance(node.op, _OF_LAST_BITS)
        if isinstance(node.op, ast.LShift):
            self.keeps_last_bits = False
        right = self.value(node.right)
        self.keeps_last_bits = kept
        return self.operated(SIGNS[type(node.op)], left, right)

    def _needs_last_bits(self, node: ast.BinOp) -> bool:
        """Tell whether an operation asks for bits of its left side that all 64-bit numbers have."""
        if not isinstance(node.op, ast.BitAnd | ast.Mod):
            return False
        mask = self._written_constant(node.right)
        if mask is None or not 0 < mask < 2**63:
            return False
        return isinstance(node.op, ast.BitAnd) or mask & (mask - 1) == 0

    def _written_constant(self, node: ast.expr) -> int | None:
        """Return the integer that an expression without variables is."""
        if any(isinstance(part, ast.Call | ast.Subscript) for part in ast.walk(node)):
            return None
        names = [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]
        if any(isinstance(self.names.get(name), Cell | Pending | Unbound) for name in names):
            return None
        found = self.value(node)
        is_integer = isinstance(found, Number) and found.is_constant and found.dtype == INT64
        return int(found.value) if is_integer and isinstance(found, Number) else None

    def operated(self, sign: str, left: Value, right: Value) -> Value:
        """Return what an operator makes of two values."""
        if isinstance(left, Either) or isinstance(right, Either):
            return operated_on_either(self, sign, left, right)
        if isinstance(left, Several) or isinstance(right, Several):
            return self._operated_tuples(sign, left, right)
        if isinstance(left, Masked) or isinstance(right, Masked):
            return self._operated_masked(sign, left, right)
        moved = _moved_strip(sign, left, right)
        if moved is not None:
            return moved
        one, other = self.operand(left), self.operand(right)
        if isinstance(one, Number) and isinstance(other, Number) and one.weak and other.weak:
            return self._operated_python(sign, arithmetic(one), arithmetic(other))
        if sign == "**":
            return power(self, one, other)
        return self.elementwise(OPERATORS[sign], [one, other])

    def operand(self, value: Value) -> Number | Arrayed:
        """Return a value as one that operators take."""
        if isinstance(value, Number | Lazy | View):
            return value
        raise Refused("an operator is given something that is no number and no array")

    def _operated_tuples(self, sign: str, left: Value, right: Value) -> Value:
        if sign == "+" and isinstance(left, Several) and isinstance(right, Several):
            return Several((*left.parts, *right.parts), left.is_list)
        for one, other in ((left, right), (right, left)):
            is_repeated = sign == "*" and isinstance(one, Several) and isinstance(other, Number)
            if is_repeated and isinstance(other, Number) and other.is_constant:
                assert isinstance(one, Several)
                return Several(one.parts * int(other.value), one.is_list)
        raise Refused("an operator is given a tuple or a list")

    def _operated_masked(self, sign: str, left: Value, right: Value) -> Value:
        masks = [v.mask for v in (left, right) if isinstance(v, Masked)]
        if any(mask is not masks[0] for mask in masks):
            raise Refused("two masks choose different elements", "use one mask, with one name")
        parts = [v.data if isinstance(v, Masked) else v for v in (left, right)]
        for part, given in zip(parts, (left, right), strict=True):
            if part is given and not isinstance(given, Number):
                raise Refused("elements that a mask chooses meet an array", "use the mask on both")
        found = self.operated(sign, parts[0], parts[1])
        assert isinstance(found, Lazy | View)
        (first, *_) = [v for v in (left, right) if isinstance(v, Masked)]
        return replace(first, data=found)

    def _operated_python(self, sign: str, one: Number, other: Number) -> Value:
        """Return an operation on two numbers of Python's."""
        if one.is_constant and other.is_constant:
            return applied(OPERATORS[sign], [one, other])
        if one.affine is not None and other.affine is not None:
            found = self._operated_affine(sign, one.affine, other.affine)
            if found is not None:
                return found
        if sign in ("/", "//", "%"):
            self._check_divisor(other)
        if sign == "**":
            is_integer = one.dtype == INT64 and other.dtype == INT64 and not other.is_constant
            return integer_power(self, one, other) if is_integer else power(self, one, other)
        if sign in ("<<", ">>"):
            return self._shifted(sign, one, other)
        if sign == "*":
            check_product(self, one, other)
        if sign in _COMPARISONS and one.affine is not None and other.affine is not None:
            tree = ex.Comparison(one.affine.tree(), sign, other.affine.tree())
            return Number(BOOL, weak=True, tree=tree)
        return applied(OPERATORS[sign], [one, other])

    def _operated_affine(self, sign: str, one: Affine, other: Affine) -> Number | None:
        if sign == "+":
            return affine_number(one.plus(other))
        if sign == "-":
            return affine_number(one.minus(other))
        if sign == "*" and (one.is_constant or other.is_constant):
            form, factor = (other, one) if one.is_constant else (one, other)
            return affine_number(form.times(factor.constant))
        if sign in ("//", "%") and other.is_constant and other.constant > 0:
            quotient = one.floor(other.constant)
            if sign == "//":
                return affine_number(quotient)
            return affine_number(one.minus(quotient.times(other.constant)))
        if sign == "*" or (sign == "**" and self.facts.is_never_negative(other)):
            return self.size_of_call(sign, one, other)
        if sign in _COMPARISONS:
            return self._compared_forms(sign, one.minus(other))
        return None

    def size_of_call(self, sign: str, one: Affine, other: Affine) -> Number | None:
        """Return a product or power of sizes as a size that the call passes; None of other forms.

        Parameters:
            sign: the operator.
            one: its left side.
            other: its right side.
        """
        del sign, one, other
        return None

    def _compared_forms(self, sign: str, difference: Affine) -> Number | None:
        """Return a comparison of two forms: ``difference sign 0``."""
        forms = {
            ">=": [difference],
            ">": [difference.minus(1)],
            "<=": [difference.times(-1)],
            "<": [difference.times(-1).minus(1)],
            "==": [difference, difference.times(-1)],
        }.get(sign)
        if all(s in self.facts.values for s in difference.symbols()):
            if sign in ("==", "!="):
                is_equal = self.facts.equal(difference, number(0))
                return constant_number(is_equal is (sign == "=="))
            assert forms is not None
            return constant_number(bool(self.facts.holds(forms[0])))
        left, right = _two_sides(difference)
        tree = ex.Comparison(left, sign, right)
        return Number(
            BOOL, weak=True, tree=tree, forms=tuple(forms or ()), is_affine=forms is not None
        )

    def _check_divisor(self, other: Number) -> None:
        if other.is_constant:
            if not other.value:
                raise Refused("a division by zero is an error in Python")
            return
        form = other.affine
        if form is not None:
            facts = self.facts
            if facts.is_never_negative(form.minus(1)) or facts.is_always_negative(form):
                return
        zero = literal(0, other.dtype)
        self.fault(ex.Comparison(other.element(), "==", zero), ZeroDivisionError)

    def _shifted(self, sign: str, one: Number, other: Number) -> Number:
        """Return an integer of Python's, shifted."""
        if not other.is_constant:
            self._check_bits(one, other)
            return (shifted_left if sign == "<<" else shifted_right)(self, one, other)
        self._check_shift(other)
        if sign == "<<":
            check_product(self, one, constant_number(1 << other.value))
        return applied(OPERATORS[sign], [one, other])

    def _check_shift(self, other: Number) -> None:
        if not 0 <= other.value < 63:
            raise Refused("an integer of Python's is shifted by a negative number, or by 63 bits")

    def _check_bits(self, one: Number, other: Number) -> None:
        if one.dtype != INT64 or other.dtype != INT64:
            raise Refused("numbers of Python's that are no integers are shifted")

    def elementwise(self, rule: Rule, operands: Sequence[Number | Arrayed]) -> Number | Lazy:
        """Return an operation on all elements."""
        if any(one.weak for one in operands) and not all(one.weak for one in operands):
            for one, target in zip(operands, types_of(rule, operands)[0], strict=True):
                self.check_range(one, target)
        if all(isinstance(one, Number) for one in operands):
            return applied(rule, [one for one in operands if isinstance(one, Number)])
        given, result = types_of(rule, operands)
        shape = self.broadcast([one.shape for one in operands])

        def element(index: Indices) -> Expression:
            trees = [
                operand_tree(one, self.element_of(one, len(shape), index), target)
                for one, target in zip(operands, given, strict=True)
            ]
            return rule.tree(trees, given[0])

        is_costly = any(isinstance(one, Lazy) and one.is_costly for one in operands)
        made = Lazy(result, shape, element, is_costly)
        return made if shape else Number(result, tree=element(()))

    def check_range(self, one: Number | Arrayed, target: np.dtype) -> None:
        """Let the call raise NumPy's error if an integer of Python's is none of a type."""
        is_wrong = out_of_range(one, target)
        if is_wrong is not None:
            text = "a Python integer is out of bounds for the type of an array"
            self.fault(is_wrong, OverflowError, text)

    def _unary(self, node: ast.UnaryOp) -> Value:
        found = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return self.denied(self.truth(found))
        return self._with_sign(node.op, found)

    def _with_sign(self, sign: ast.unaryop, found: Value) -> Value:
        if isinstance(found, Either):
            return with_each(self, found, lambda one: self._with_sign(sign, one))
        if isinstance(found, Masked):
            inner = self._signed(sign, found.data)
            assert isinstance(inner, Lazy | View)
            return replace(found, data=inner)
        return self._signed(sign, self.operand(found))

    def _signed(self, sign: ast.unaryop, one: Number | Arrayed) -> Number | Lazy:
        if isinstance(one, Number) and one.weak:
            one = arithmetic(one)
            if isinstance(sign, ast.USub) and one.affine is not None:
                return affine_number(one.affine.times(-1))
        return self.elementwise(_SIGNED[type(sign)], [one])

    # --- conditions

    def truth(self, value: Value) -> Number:
        """Return whether a value holds, as ``bool(value)`` says."""
        if isinstance(value, Constant):
            return constant_number(bool(value.value))
        if isinstance(value, Several):
            return constant_number(bool(value.parts))
        if isinstance(value, Either):
            found_truth = with_each(self, value, self.truth)
            assert isinstance(found_truth, Number)
            return found_truth
        if not isinstance(value, Number):
            raise Refused("whether an array holds is asked", "use np.any() or np.all()")
        if value.dtype == BOOL:
            return value
        if value.is_constant:
            return constant_number(bool(value.value))
        if value.affine is not None:
            found = self._compared_forms("!=", value.affine)
            if found is not None:
                return found
        return Number(BOOL, weak=True, tree=truth_of(value.dtype, value.element()))

    def denied(self, one: Number) -> Number:
        """Return ``not x``."""
        if one.is_constant:
            return constant_number(not one.value)
        tree = ex.LogicalNot(one.element())
        if one.is_affine and len(one.forms) == 1:
            forms = (one.forms[0].times(-1).minus(1),)
            return Number(BOOL, weak=True, tree=tree, forms=forms, is_affine=True)
        return Number(BOOL, weak=True, tree=tree)

    def _joined_truths(self, node: ast.BoolOp) -> Value:
        """Return ``a and b``; values that are no conditions are refused, but for constants."""
        is_and = isinstance(node.op, ast.And)
        parts: list[Number] = []
        for operand in node.values:
            with ExitStack() as stack:
                for part in parts:
                    stack.enter_context(self.where(part if is_and else self.denied(part)))
                given = self.value(operand)
            if isinstance(given, Number) and given.dtype != BOOL and not given.is_constant:
                raise Refused("'and' and 'or' return a number", "compare it: x != 0", operand)
            one = self.truth(given)
            if one.is_constant:
                if bool(one.value) is not is_and:
                    if not parts:
                        return one
                    return self._conjunction([*parts, one], is_and=is_and)
                continue
            parts.append(one)
        if not parts:
            return constant_number(is_and)
        return self._conjunction(parts, is_and=is_and)

    def _conjunction(self, parts: list[Number], *, is_and: bool) -> Number:
        if len(parts) == 1:
            return parts[0]
        kind = ex.LogicalAnd if is_and else ex.LogicalOr
        tree = kind(tuple([part.element() for part in parts]))
        forms = tuple([form for part in parts for form in part.forms]) if is_and else ()
        is_affine = is_and and all(part.is_affine for part in parts)
        weak = all(part.weak for part in parts)
        return Number(BOOL, weak, tree, forms=forms, is_affine=is_affine)

    def _compared(self, node: ast.Compare) -> Value:
        if any(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in node.ops):
            return self._identity(node)
        values = [self.value(part) for part in (node.left, *node.comparators)]
        parts: list[Value] = []
        for op, left, right in zip(node.ops, values[:-1], values[1:], strict=True):
            parts.append(self._one_comparison(SIGNS[type(op)], left, right))
        if len(parts) == 1:
            return parts[0]
        numbers = [part for part in parts if isinstance(part, Number)]
        if len(numbers) < len(parts):
            raise Refused("a chain of comparisons of arrays", "join comparisons by '&'")
        if any(one.is_constant and not one.value for one in numbers):
            return constant_number(value=False)
        rest = [one for one in numbers if not one.is_constant]
        return self._conjunction(rest, is_and=True) if rest else constant_number(value=True)

    def _one_comparison(self, sign: str, left: Value, right: Value) -> Value:
        if isinstance(left, Constant) or isinstance(right, Constant):
            if isinstance(left, Constant) and isinstance(right, Constant) and sign in ("==", "!="):
                return constant_number((left.value == right.value) is (sign == "=="))
            raise Refused("something that is no number is compared")
        if isinstance(left, Several) and isinstance(right, Several):
            return self._compared_tuples(sign, left, right)
        return self.operated(sign, left, right)

    def _compared_tuples(self, sign: str, left: Several, right: Several) -> Number:
        if sign not in ("==", "!="):
            raise Refused("tuples are compared by their order")
        is_equal = len(left.parts) == len(right.parts)
        for one, other in zip(left.parts, right.parts, strict=False):
            found = self.truth(self._one_comparison("==", one, other))
            if not found.is_constant:
                raise Refused("tuples of values that the kernel computes are compared")
            is_equal = is_equal and bool(found.value)
        return constant_number(is_equal is (sign == "=="))

    def _identity(self, node: ast.Compare) -> Value:
        op, other = node.ops[0], node.comparators[0]
        if len(node.ops) > 1 or not isinstance(op, ast.Is | ast.IsNot):
            raise Refused("'in' looks into a container of Python's", "write the loop")
        left, right = self.value(node.left), self.value(other)
        if not (isinstance(left, Constant) or isinstance(right, Constant)):
            raise Refused("'is' compares objects of Python's", "write '=='")
        is_same = left == right if type(left) is type(right) else False
        return constant_number(is_same is isinstance(op, ast.Is))

    def _choice(self, node: ast.IfExp) -> Value:
        condition = self.truth(self.value(node.test))
        if condition.is_constant:
            return self.value(node.body if condition.value else node.orelse)
        with self.where(condition):
            one = self._scalar_of(node.body)
        with self.where(self.denied(condition)):
            other = self._scalar_of(node.orelse)
        return chosen_value(self, condition, one, other)

    def _scalar_of(self, node: ast.expr) -> Number | Either:
        found = self.value(node)
        return found if isinstance(found, Either) else self._as_number(found, node)

    @contextmanager
    def where(self, condition: Number) -> Generator[None]:
        """Let expressions be evaluated where a condition holds alone."""
        self.asked.append(condition.element())
        try:
            with self.facts.assuming(list(condition.forms)):
                yield
        finally:
            self.asked.pop()

    def chosen(self, condition: Number, one: Number, other: Number) -> Number:
        """Return one of two numbers."""
        if one.weak == other.weak and one.dtype == other.dtype:
            dtype, weak = one.dtype, one.weak
        else:
            dtype, weak = joined_type(one, other)
        trees = [operand_tree(v, v.element(), dtype) for v in (one, other)]
        return Number(dtype, weak, ex.If(condition.element(), *trees))

    # --- subscripts, attributes, calls, tuples

    def _subscript(self, node: ast.Subscript) -> Value:
        element = self._element_of_list(node)
        if element is not None:
            return element
        array = self.value(node.value)
        keys = self.keys(node.slice)
        if isinstance(array, Several):
            return self._part(array, keys)
        if isinstance(array, Lazy) and array.is_costly:
            array = self.stored(array)
        if isinstance(array, Lazy | View):
            found: Value = subscripted(self, array, keys)
            return found
        return self.subscripted_object(array, keys)

    def _element_of_list(self, node: ast.Subscript) -> Number | None:
        """Return ``name[i][j]`` of a list of constants, if a subscript is no constant."""
        nodes: list[ast.expr] = []
        root: ast.expr = node
        while isinstance(root, ast.Subscript):
            nodes.insert(0, root.slice)
            root = root.value
        if not isinstance(root, ast.Name) or any(
            isinstance(n, ast.Slice | ast.Tuple) for n in nodes
        ):
            return None
        value = self.value(root)
        if not isinstance(value, Several) or not value.parts:
            return None
        keys = [self.value(part) for part in nodes]
        numbers = [key for key in keys if isinstance(key, Number)]
        if len(numbers) < len(keys) or all(key.is_constant for key in numbers):
            return None
        while numbers and numbers[0].is_constant:
            key = numbers.pop(0)
            value = self._part(value, (key,))
            if not isinstance(value, Several):
                return None
        return element_of_table(self, value, numbers)

    def subscripted_object(self, value: Value, keys: tuple[Any, ...]) -> Value:
        """Return a subscript of what is no array, as ``np.mgrid``."""
        raise NotImplementedError

    def keys(self, node: ast.expr) -> tuple[Any, ...]:
        """Return subscripts."""
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        found: list[Any] = []
        for part in parts:
            key = self._key(part)
            found += key.parts if isinstance(key, Several) and not key.is_list else [key]
        return tuple(found)

    def _key(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Slice):
            ends = (node.lower, node.upper, node.step)
            values = [None if end is None else self.value(end) for end in ends]
            plain = [None if value == Constant(None) else value for value in values]
            return Slice(*plain)
        found = self.value(node)
        if isinstance(found, Constant) and found.value is ...:
            return ELLIPSIS
        if isinstance(found, Constant) and isinstance(found.value, slice):
            given: Any = cast("Any", found).value
            ends3: tuple[Any, ...] = (given.start, given.stop, given.step)
            return Slice(*[None if end is None else constant_number(end) for end in ends3])
        if isinstance(found, Number) and found.dtype == BOOL:
            raise Refused("a subscript is a truth value")
        return found

    def _part(self, value: Several, keys: tuple[Any, ...]) -> Value:
        (key,) = keys if len(keys) == 1 else (None,)
        if isinstance(key, Number) and key.is_constant:
            if -len(value.parts) <= key.value < len(value.parts):
                found: Value = value.parts[int(key.value)]
                return found
            raise Refused("a tuple has fewer parts")
        if isinstance(key, Slice):
            ends = [key.start, key.stop, key.step]
            if all(end is None or end.is_constant for end in ends):
                bounds = slice(*[None if end is None else end.value for end in ends])
                return Several(value.parts[bounds], value.is_list)
        raise Refused("the subscript of a tuple or a list is no constant")

    def _tuple(self, node: ast.Tuple | ast.List) -> Value:
        parts = tuple([self.value(part) for part in node.elts])
        return Several(parts, isinstance(node, ast.List))

    # Filled in by upper layers.

    def _attribute(self, node: ast.Attribute) -> Value:
        return self.attribute(self.value(node.value), node.attr)

    def attribute(self, value: Value, name: str) -> Value:
        """Return an attribute of a value."""
        raise NotImplementedError

    def _call(self, node: ast.Call) -> Value:
        return self.call(node)

    def _lambda(self, node: ast.Lambda) -> Value:
        return self.nested_function(node)

    def nested_function(self, node: ast.FunctionDef | ast.Lambda) -> Constant:
        """Return a function that is defined here."""
        raise NotImplementedError

    def call(self, node: ast.Call) -> Value:
        """Return what a call returns."""
        raise NotImplementedError

    def called(self, function: Any, arguments: Sequence[Any], **named: Any) -> Value:
        """Return what a function of NumPy's makes of values."""
        raise NotImplementedError

    def matrix_product(self, left: Value, right: Value) -> Value:
        """Return ``left @ right``."""
        raise NotImplementedError

    _of_expressions: ClassVar[dict[type[ast.AST], Callable[[Any, Any], Value]]] = {
        ast.Name: _name,
        ast.Constant: _constant,
        ast.BinOp: _binary,
        ast.UnaryOp: _unary,
        ast.BoolOp: _joined_truths,
        ast.Compare: _compared,
        ast.IfExp: _choice,
        ast.Subscript: _subscript,
        ast.Tuple: _tuple,
        ast.List: _tuple,
        ast.Attribute: _attribute,
        ast.Call: _call,
        ast.Lambda: _lambda,
    }


_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def _moved_strip(sign: str, left: Value, right: Value) -> Lazy | None:
    """Return the subscripts of a strip plus or minus a number of Python's, or minus a strip."""
    one, other = (right, left) if isinstance(right, Strip) else (left, right)
    if sign not in "+-" or not isinstance(one, Strip) or not isinstance(other, Number):
        return None
    if other.affine is None or not other.weak:
        return None
    if sign == "-" and one is right:
        return _strip_backwards(other.affine, one)
    by = other.affine if sign == "+" else other.affine.times(-1)
    return strip(one.first.plus(by), one.shape[0], one.end.plus(by))


def _strip_backwards(start: Affine, given: Strip) -> Lazy:
    """Return ``start - given``."""

    def form(index: Indices) -> Affine | None:
        at = index[0]
        return start.minus(given.first).minus(at) if isinstance(at, Affine) else None

    def element(index: Indices) -> Expression:
        at = form(index)
        if at is not None:
            return at.tree("int64")
        return ex.sum_of(start.tree("int64"), ex.product_of(-1, given.element(index)))

    return Lazy(INT64, given.shape, element, form=form)


def _two_sides(difference: Affine) -> tuple[Expression, Expression]:
    """Return a form as ``left - right``, whose terms are all positive."""
    left = Affine(
        tuple([(a, c) for a, c in difference.terms if c > 0]), max(difference.constant, 0)
    )
    right = Affine(
        tuple([(a, -c) for a, c in difference.terms if c < 0]), max(-difference.constant, 0)
    )
    return left.tree(), right.tree()


def joined_type(one: Number, other: Number) -> tuple[np.dtype, bool]:
    """Return the type of a variable that may be one of two numbers.

    Raises:
        Refused: if neither type holds both.
    """
    if one.dtype == other.dtype:
        return one.dtype, one.weak and other.weak
    if one.weak and other.weak:
        ranks = "biufc"
        pair = sorted((one.dtype, other.dtype), key=lambda d: ranks.index(d.kind))
        if pair[0] == BOOL:
            raise Refused("a name is a truth value in one case, a number in the other")
        if any(v.is_constant for v in (one, other)) or pair[0].kind == "f":
            return pair[1], True
        raise Refused("a name is an integer in one case, a float in the other")
    if one.weak or other.weak:
        weak, strong = (one, other) if one.weak else (other, one)
        order = "biufc"
        if order.index(weak.dtype.kind) <= order.index(strong.dtype.kind) and weak.dtype != BOOL:
            if weak.dtype == INT64 and not weak.is_constant:
                raise Refused("a name is an integer of Python's in one case, and none in the other")
            return strong.dtype, False
    raise Refused(
        f"a name is a {one.dtype} in one case, and a {other.dtype} in the other",
        "convert it, so that it is of one type",
    )
