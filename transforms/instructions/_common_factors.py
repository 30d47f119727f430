"""Factors of expressions, and what is left of these without them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.show_expression import show_expression

# How often each factor is there, by its text.  None: all of them, as often as one likes, for the
# expression is 0, or is made of what has them already.
Factors = Counter[str] | None


@dataclass
class NotLinearError(Exception):
    """The factors also occur otherwise than in a term of a sum."""

    where: Expression


class Factored:
    """Finds factors, and takes them out.

    Parameters:
        own: an element that has all factors already.
        factor: returns a factor as it is known elsewhere, or None if it cannot be taken out; takes
            an expression, and the inames of the reductions around it.

    Attributes:
        known: the factors by their texts.
    """

    def __init__(
        self,
        own: Expression,
        factor: Callable[[Expression, frozenset[str]], Expression | None],
    ) -> None:
        self._own = own
        self._name = ex.name_of(own)
        self._factor = factor
        self.known: dict[str, Expression] = {}

    def of(self, node: Expression, reduced: frozenset[str] = frozenset()) -> Factors:
        """Return the factors of an expression.

        Raises:
            NotLinearError: if it uses the element otherwise than as a term.
        """
        if node == self._own or _is_zero(node):
            return None
        if isinstance(node, ex.Sum):
            return reduce(_common, [self.of(term, reduced) for term in node.children])
        if isinstance(node, ex.If):
            self._check_without(node.condition)
            return _common(self.of(node.then, reduced), self.of(node.else_, reduced))
        if isinstance(node, ex.Reduction) and node.operation == "sum":
            self._check_without(node.operand)
            return self.of(node.operand, reduced.union(node.inames))
        self._check_without(node)
        if isinstance(node, ex.Product):
            parts = [self.of(part, reduced) for part in node.children]
            found = [part for part in parts if part is not None]
            return sum(found, Counter[str]()) if len(found) == len(parts) else None
        if isinstance(node, ex.Quotient):
            return self.of(node.numerator, reduced)
        factor = self._factor(node, reduced)
        if factor is None:
            return Counter()
        text = show_expression(factor)
        self.known[text] = factor
        return Counter([text])

    def _check_without(self, node: Expression) -> None:
        if self._name in walk.free_variables(node):
            raise NotLinearError(node)

    def without(
        self, node: Expression, factors: Counter[str], reduced: frozenset[str] = frozenset()
    ) -> Expression:
        """Return an expression without some of its factors."""
        if not factors or node == self._own or _is_zero(node):
            return node
        if isinstance(node, ex.Sum):
            return ex.sum_of(*(self.without(term, factors, reduced) for term in node.children))
        if isinstance(node, ex.If):
            then, else_ = (self.without(n, factors, reduced) for n in (node.then, node.else_))
            return ex.If(node.condition, then, else_)
        if isinstance(node, ex.Reduction):
            inner = self.without(node.operand, factors, reduced.union(node.inames))
            return ex.Reduction(node.operation, node.inames, inner)
        if isinstance(node, ex.Quotient):
            above = self.without(node.numerator, factors, reduced)
            return walk.rebuild(node, (above, *walk.parts(node)[1:]))
        if isinstance(node, ex.Product):
            return self._product(node, factors, reduced)
        return 1

    def _product(
        self, node: ex.Product, factors: Counter[str], reduced: frozenset[str]
    ) -> Expression:
        left: list[Expression] = []
        for part in node.children:
            has = self.of(part, reduced)
            here = factors if has is None else factors & has
            factors = Counter(factors) - here  # not in place: it belongs to others
            rest = self.without(part, here, reduced)
            if not here or rest != 1:
                left.append(rest)
        if not left:
            return 1
        return left[0] if len(left) == 1 else ex.product_of(*left)


def _is_zero(node: Expression) -> bool:
    return isinstance(node, int | float) and node == 0


def _common(first: Factors, second: Factors) -> Factors:
    if first is None or second is None:
        return second if first is None else first
    return first & second


def common(found: Mapping[str, Factors]) -> Counter[str]:
    """Return the factors that all have; none if all have any."""
    return reduce(_common, found.values(), None) or Counter()
