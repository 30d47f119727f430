"""Handles: what stands for the variables and loops of a kernel while a `polygen.Builder` makes it.

Python's operators on handles make trees, in the order in which they are written; pymbolic's own
operators would flatten sums and fold numbers.

    x[i-1] + x[i+1]*2    is    Sum((x[i + -1], Product((x[i + 1], 2))))
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from types import TracebackType
from typing import Any, NoReturn, Protocol, Self, TypeAlias, cast

import numpy as np

from polygen.errors import InvalidArgument
from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.ir.reduction import facts_of
from polygen.ir.show_expression import is_negated, show_expression
from polygen.source import caller_location


class Handle:
    """Stands for a value that a kernel computes; Python's operators on it make others.

    ``==`` and ``<`` make conditions; ``&``, ``|`` and ``~`` join these, as they do NumPy's truth
    values, and work bit by bit on all else.  A handle is neither true nor false itself.
    A condition stays as it is written, but for ``1 < x``: Python turns it around, ``x > 1``, where
    the left operand is no handle.

    Attributes:
        expression: pymbolic's tree.
    """

    __slots__ = ("expression",)
    __array_ufunc__ = None  # NumPy's numbers leave operators to this class
    __iter__ = None  # its elements cannot be counted

    def __init__(self, expression: Expression) -> None:
        self.expression = expression

    def __repr__(self) -> str:
        return f"<{show_expression(readable_tree(self.expression))}>"

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise InvalidArgument(
            f"whether {self!r} holds is not known before the kernel runs",
            where=caller_location(),
            remedy="write 'with builder.when(...):', or builder.where(condition, x, y); join "
            "conditions by & and |, each in parentheses, and chains 'a < b < c' as two of them",
        )

    @property
    def is_condition(self) -> bool:
        """Whether it is a truth value, as far as that can be seen here."""
        return isinstance(self.expression, _CONDITIONS)

    @property
    def name(self) -> str:
        """The name that it has in the kernel.

        Raises:
            InvalidArgument: if it is no variable and no loop.
        """
        if isinstance(self.expression, ex.Variable):
            return self.expression.name
        raise InvalidArgument(
            f"{self!r} is an expression, which has no name",
            where=caller_location(),
            remedy="keep it in a temporary: builder.assign(builder.temporary(...), ...)",
        )

    def __getitem__(self, index: Any) -> Handle:
        node = self.expression
        if isinstance(node, ex.Variable):
            several = trees_of(index) if isinstance(index, tuple) else (tree_of(index),)
            return Computed(ex.element(node, tuple(map(_checked_index, several))))
        is_of_pairs = isinstance(node, ex.Reduction) and facts_of(node.operation).width > 1
        if type(index) is int and (is_of_pairs or isinstance(node, ex.Call)):
            return Computed(ex.Component(node, index))
        raise InvalidArgument(
            f"{self!r} has no elements",
            where=caller_location(),
            remedy="subscripts follow the name of an array: x[i, j]",
        )

    # --- operators

    def __neg__(self) -> Handle:
        return Computed(ex.negated(self.expression))

    def __pos__(self) -> Self:
        return self

    def __abs__(self) -> Handle:
        return Computed(ex.Call(ex.Variable("abs"), (self.expression,)))

    def __invert__(self) -> Handle:
        kind = ex.LogicalNot if self.is_condition else ex.BitwiseNot
        return Computed(kind(self.expression))

    def __add__(self, other: object) -> Handle:
        return _made(_sum, self, other)

    def __radd__(self, other: object) -> Handle:
        return _made(_sum, other, self)

    def __sub__(self, other: object) -> Handle:
        return _made(_difference, self, other)

    def __rsub__(self, other: object) -> Handle:
        return _made(_difference, other, self)

    def __mul__(self, other: object) -> Handle:
        return _made(_product, self, other)

    def __rmul__(self, other: object) -> Handle:
        return _made(_product, other, self)

    def __truediv__(self, other: object) -> Handle:
        return _made(ex.Quotient, self, other)

    def __rtruediv__(self, other: object) -> Handle:
        return _made(ex.Quotient, other, self)

    def __floordiv__(self, other: object) -> Handle:
        return _made(ex.FloorDiv, self, other)

    def __rfloordiv__(self, other: object) -> Handle:
        return _made(ex.FloorDiv, other, self)

    def __mod__(self, other: object) -> Handle:
        return _made(ex.Remainder, self, other)

    def __rmod__(self, other: object) -> Handle:
        return _made(ex.Remainder, other, self)

    def __pow__(self, other: object) -> Handle:
        return _made(ex.Power, self, other)

    def __rpow__(self, other: object) -> Handle:
        return _made(ex.Power, other, self)

    def __lshift__(self, other: object) -> Handle:
        return _made(ex.LeftShift, self, other)

    def __rlshift__(self, other: object) -> Handle:
        return _made(ex.LeftShift, other, self)

    def __rshift__(self, other: object) -> Handle:
        return _made(ex.RightShift, self, other)

    def __rrshift__(self, other: object) -> Handle:
        return _made(ex.RightShift, other, self)

    def __and__(self, other: object) -> Handle:
        return _joined(self, other, ex.LogicalAnd, ex.BitwiseAnd)

    def __rand__(self, other: object) -> Handle:
        return _joined(other, self, ex.LogicalAnd, ex.BitwiseAnd)

    def __or__(self, other: object) -> Handle:
        return _joined(self, other, ex.LogicalOr, ex.BitwiseOr)

    def __ror__(self, other: object) -> Handle:
        return _joined(other, self, ex.LogicalOr, ex.BitwiseOr)

    def __xor__(self, other: object) -> Handle:
        return _made(_xor, self, other)

    def __rxor__(self, other: object) -> Handle:
        return _made(_xor, other, self)

    def __lt__(self, other: object) -> Handle:
        return _compared(self, "<", other)

    def __le__(self, other: object) -> Handle:
        return _compared(self, "<=", other)

    def __gt__(self, other: object) -> Handle:
        return _compared(self, ">", other)

    def __ge__(self, other: object) -> Handle:
        return _compared(self, ">=", other)

    def __eq__(self, other: object) -> Any:
        return _compared(self, "==", other) if _is_value(other) else NotImplemented

    def __ne__(self, other: object) -> Any:
        return _compared(self, "!=", other) if _is_value(other) else NotImplemented


class Computed(Handle):
    """Stands for what is computed of variables and loops.

    No handle's class is derived from it: Python asks the right operand of ``a < b`` first if its
    class is derived from the left one's, and a condition would be turned around.
    """

    __slots__ = ("_is_truth",)

    def __init__(self, expression: Expression, *, is_truth: bool = False) -> None:
        super().__init__(expression)
        self._is_truth = is_truth

    @property
    def is_condition(self) -> bool:
        """Whether it is a truth value, as far as that can be seen here."""
        return self._is_truth or super().is_condition


Assign: TypeAlias = Callable[[Any, Any], object]


class VariableHandle(Handle):
    """Stands for an array, a temporary or a scalar; ``x[i] = value`` adds an instruction."""

    __slots__ = ("_assign", "_of_truths")

    def __init__(self, name: str, assign: Assign, *, of_truths: bool = False) -> None:
        super().__init__(ex.Variable(name))
        self._assign = assign
        self._of_truths = of_truths

    @property
    def is_condition(self) -> bool:
        """Whether it is declared as a truth value."""
        return self._of_truths

    def __getitem__(self, index: Any) -> Handle:
        return Computed(super().__getitem__(index).expression, is_truth=self._of_truths)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._assign(self[index], value)

    def _refuse(self, _other: object) -> NoReturn:
        """Refuse ``s += x``, which would let the name `s` of the user's program mean a sum."""
        raise InvalidArgument(
            f"'{self.name}' cannot be assigned to in this way: Python would give your name for it "
            "to an expression, and no instruction would come of it",
            where=caller_location(),
            remedy=f"write builder.assign({self.name}, {self.name} + ...); elements of arrays can "
            "be updated: x[i] += ...",
        )

    __iadd__ = __isub__ = __imul__ = __itruediv__ = __ifloordiv__ = __imod__ = _refuse
    __ipow__ = __ilshift__ = __irshift__ = __iand__ = __ior__ = __ixor__ = _refuse


class Blocks(Protocol):
    """The loops that are open, as far as one that is opened asks them."""

    def open_loop(self, iname: str) -> None:
        """Go into a loop."""

    def close(self) -> None:
        """Leave what was opened last."""


class Loop(Handle):
    """Stands for a loop, and for its values: ``with builder.loop("i", 0, n) as i:``.

    What is added within ``with`` is executed in each iteration, and loops opened there are inside.
    A loop that counts down has an iname that counts its iterations; its values follow from that.

    Attributes:
        iname: that of the kernel.
        expression: the value in an iteration: the iname, or what follows from it.
    """

    __slots__ = ("_blocks", "iname")

    def __init__(self, iname: str, expression: Expression, blocks: Blocks) -> None:
        super().__init__(expression)
        self.iname = iname
        self._blocks = blocks

    def __enter__(self) -> Self:
        self._blocks.open_loop(self.iname)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._blocks.close()


def tree_of(value: Any) -> Any:
    """Return the tree that a handle stands for; anything else as it is."""
    return value.expression if isinstance(value, Handle) else value


def trees_of(value: Any) -> Any:
    """Return the trees of handles in a tuple or a list; of anything else, `tree_of` it."""
    if isinstance(value, tuple | list):
        return tuple([tree_of(part) for part in cast("tuple[Any, ...]", value)])
    return tree_of(value)


def readable_tree(node: Any) -> Any:
    """Return a tree that can be shown: what is no node is shown as a name."""
    return node if isinstance(node, ex.ExpressionNode | int | float | complex) else repr(node)


def _checked_index(index: Any) -> Expression:
    if isinstance(index, slice) or index is ... or index is None:
        raise InvalidArgument(
            f"a subscript is {index!r}, and handles of arrays have single elements",
            where=caller_location(),
            remedy="open a loop over the elements: with builder.loop('i', 0, n) as i: x[i] = ...",
        )
    return cast("Expression", index)


def _made(kind: Callable[[Any, Any], Expression], left: object, right: object) -> Handle:
    return Computed(kind(tree_of(left), tree_of(right)))


def _compared(left: Handle, operator: str, right: object) -> Handle:
    return Computed(ex.Comparison(left.expression, operator, tree_of(right)))


def _is_value(other: object) -> bool:
    """Tell whether a kernel could compare with something; trees ask whether a tuple equals ()."""
    return isinstance(other, Handle | ex.ExpressionNode | Number | np.bool_)


def _sum(left: Expression, right: Expression) -> Expression:
    """Return ``left + right``; ``a + b + c`` is one sum, as in text."""
    return ex.sum_of(*(left.children if isinstance(left, ex.Sum) else (left,)), right)


def _difference(left: Expression, right: Expression) -> Expression:
    is_number = isinstance(right, int | float | complex) and not isinstance(right, bool)
    return _sum(left, cast("Expression", -cast("Any", right)) if is_number else ex.negated(right))


def _product(left: Any, right: Expression) -> Expression:
    """Return ``left*right``; ``a*b*c`` is one product, as in text; ``-a*b`` is not."""
    is_joined = isinstance(left, ex.Product) and not is_negated(left)
    return ex.product_of(*(left.children if is_joined else (left,)), right)


_CONDITIONS = (ex.Comparison, ex.LogicalAnd, ex.LogicalOr, ex.LogicalNot)


def _is_condition(value: object) -> bool:
    return value.is_condition if isinstance(value, Handle) else isinstance(value, _CONDITIONS)


def _joined(left: object, right: object, logical: type[Any], bitwise: type[Any]) -> Handle:
    """Return two conditions as one; or two values, joined bit by bit."""
    kind = logical if _is_condition(left) and _is_condition(right) else bitwise
    first, last = tree_of(left), tree_of(right)
    return Computed(kind((*(first.children if isinstance(first, kind) else (first,)), last)))


def _xor(left: Expression, right: Expression) -> Expression:
    parts = left.children if isinstance(left, ex.BitwiseXor) else (left,)
    return ex.BitwiseXor((*parts, right))
