"""Products of sizes in domains, and in bounds that are trees: ``{ [i]: 0 <= i < n*m }``.

isl knows no products.  Each gets a name, and becomes a derived size (`polygen.ir.sizes`)::

    n_m = n * m        { [i]: 0 <= i < n_m }

A product of more than two has the names of those before it: ``n_m_k = n_m * k``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

from polygen.errors import UserError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.empty import new_dict
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from polygen.ir.sizes import DerivedSize
from polygen.language.isl_text import bound_names
from polygen.language.parser import parse_expression

_TOKEN = re.compile(r"\d+|[A-Za-z_][A-Za-z0-9_]*|\S")
_PLAIN = re.compile(r"[A-Za-z0-9_+\-*() \t]*")  # sums and products
_NAME = re.compile(r"[A-Za-z_]")


@dataclass
class NamedProducts:
    """Gives names to products of sizes, equal ones to equal products.

    Attributes:
        new_name: returns a name that nothing has, like one.
    """

    new_name: Callable[[str], str]
    _sizes: dict[tuple[str, ...], DerivedSize] = field(default_factory=new_dict)

    @classmethod
    def beside(cls, find_taken: Callable[[], set[str]]) -> NamedProducts:
        """Return what gives names that are not taken.

        Parameters:
            find_taken: returns the names that are; asked once, when there is a product.
        """
        return cls(_Names(find_taken).new)

    @classmethod
    def of(cls, kernel: Kernel) -> NamedProducts:
        """Return what gives the names of a kernel to products that it has already."""
        found = cls.beside(lambda: set(kernel.names))
        flat: dict[str, tuple[str, ...]] = {}
        for size in kernel.derived_sizes:
            shown = map(show_expression, size.factors)
            flat[size.name] = tuple(sorted(p for part in shown for p in flat.get(part, (part,))))
            found._sizes[flat[size.name]] = size
        return found

    @property
    def sizes(self) -> tuple[DerivedSize, ...]:
        """The derived sizes, those first that others follow from."""
        return tuple(self._sizes.values())

    def in_all(self, given: object) -> Any:
        """Return domains, or assumptions, with names for products in those that are texts."""
        if isinstance(given, str):
            return self.in_text(given)
        if isinstance(given, list | tuple):
            return [self.in_all(part) for part in cast("Iterable[object]", given)]
        return given

    def in_text(self, text: str) -> str:
        """Return a text in isl's notation with names for products of what is no iname."""
        if "*" not in text:
            return text
        return self._named(text, bound_names(text))

    def in_tree(self, node: Expression, is_size: Callable[[str], bool]) -> Expression:
        """Return an expression with names for products of sizes.

        Parameters:
            node: the expression.
            is_size: tells whether a variable is one.
        """
        return walk.rewrite(node, lambda part: self._without_product(part, is_size))

    def _without_product(self, node: Expression, is_size: Callable[[str], bool]) -> Expression:
        """Return the name of a product of sizes, with a number before it perhaps; or the node."""
        if not isinstance(node, ex.Product):
            return node
        factors = [part for child in node.children for part in _factors(child)]
        if sum(type(f) is not int for f in factors) < 2:
            return node
        if not all(_is_of_sizes(factor, is_size) for factor in factors):
            return node
        number, size = self._split_product(factors)
        return size if number == 1 else ex.product_of(number, size)

    def _named(self, text: str, bound: Collection[str]) -> str:
        words = [(m[0], m.start(), m.end()) for m in _TOKEN.finditer(text)]
        result, done, at = "", 0, 0
        while at < len(words):
            factors, end = self._term(text, words, at, bound)
            before = words[at - 1][0] if at else ""
            names = [f for f in factors if not isinstance(f, int)]
            if len(names) > 1 and before not in ("/", "mod", "%", ")", "]"):
                result += text[done : words[at][1]] + self._product(factors)
                done = words[end - 1][2]
            at = max(end, at + 1)
        return result + text[done:]

    def _term(
        self, text: str, words: list[tuple[str, int, int]], at: int, bound: Collection[str]
    ) -> tuple[list[Expression], int]:
        """Return the factors that stand from a word on, and where they end."""
        factors: list[Expression] = []
        while at < len(words):
            found = self._factor(text, words, at, bound)
            if found is None:
                return [], at
            factor, at = found
            factors.append(factor)
            follows = words[at][0] if at < len(words) else ""
            if follows == "*":
                at += 1
            elif not (isinstance(factor, int) and (_NAME.match(follows) or follows == "(")):
                break  # isl reads 2n as 2*n
            elif follows in bound:
                return [], at
        return factors, at

    def _factor(
        self, text: str, words: list[tuple[str, int, int]], at: int, bound: Collection[str]
    ) -> tuple[Expression, int] | None:
        word = words[at][0]
        if word.isdigit():
            return int(word), at + 1
        if word == "(":
            end = _closing(words, at)
            inside = text[words[at][2] : words[end][1]] if end else ""
            used = [name for name, _, _ in words[at:end] if _NAME.match(name)]
            if not used or not _PLAIN.fullmatch(inside) or any(name in bound for name in used):
                return None
            try:
                return parse_expression(self._named(inside, bound)), end + 1
            except UserError:  # isl does not read it, either, and it is said what is wrong
                return None
        following = words[at + 1][0] if at + 1 < len(words) else ""
        if not _NAME.match(word) or word in bound or following == "(":
            return None
        return ex.Variable(word), at + 1

    def _product(self, factors: list[Expression]) -> str:
        number, size = self._split_product(factors)
        return size.name if number == 1 else f"{number}*{size.name}"

    def _split_product(self, factors: list[Expression]) -> tuple[int, ex.Variable]:
        """Return the numbers' product, and the name of the others'."""
        number = 1
        size: Expression | None = None
        key: list[str] = []
        for factor in factors:
            if isinstance(factor, int):
                number *= factor
                continue
            key.append(show_expression(factor))
            size = factor if size is None else self._size(size, factor, tuple(sorted(key)))
        assert isinstance(size, ex.Variable)  # there are two that are no numbers
        return number, size

    def _size(self, first: Expression, second: Expression, key: tuple[str, ...]) -> ex.Variable:
        if key not in self._sizes:
            names = [f.name for f in (first, second) if isinstance(f, ex.Variable)]
            new = self.new_name("_".join(names) if len(names) == 2 else "size")
            self._sizes[key] = DerivedSize(new, None, (first, second))
        return ex.Variable(self._sizes[key].name)


class _Names:
    """New names beside some that are taken."""

    def __init__(self, find_taken: Callable[[], set[str]]) -> None:
        self._find_taken = find_taken

    @cached_property
    def _taken(self) -> set[str]:
        return self._find_taken()

    def new(self, like: str) -> str:
        """Return a name that nothing has, like one."""
        new, count = like, 0
        while new in self._taken:
            new, count = f"{like}_{count}", count + 1
        self._taken.add(new)
        return new


def _factors(node: Expression) -> tuple[Expression, ...]:
    return node.children if isinstance(node, ex.Product) else (node,)


def _is_of_sizes(node: Expression, is_size: Callable[[str], bool]) -> bool:
    """Tell whether an expression is made of sums and products of sizes and integers."""
    if isinstance(node, ex.Variable):
        return is_size(node.name)
    if isinstance(node, ex.Sum | ex.Product):
        return all(_is_of_sizes(child, is_size) for child in node.children)
    return type(node) is int


def _closing(words: list[tuple[str, int, int]], at: int) -> int:
    """Return where the parenthesis closes that opens at a word; 0 if nowhere."""
    depth = 0
    for position in range(at, len(words)):
        depth += {"(": 1, ")": -1}.get(words[position][0], 0)
        if not depth:
            return position
    return 0


def used_names(*parts: object) -> set[str]:
    """Return all names that the parts of a kernel might mention."""
    return {name for part in parts for name in re.findall(r"[A-Za-z_]\w*", repr(part))}
