"""Affine forms of sizes and loops, as the tracer of Python functions computes with them.

A symbol is a size, a loop, or an integer temporary of the kernel; `Floor` is the quotient of a
form by a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from polygen.ir import expression as ex
from polygen.ir.expression import Expression


@dataclass(frozen=True)
class Floor:
    """``form // divisor``, for a positive number."""

    form: Affine
    divisor: int


Atom: TypeAlias = "str | Floor"


@dataclass(frozen=True)
class Affine:
    """``constant + sum of coefficient*atom``; no coefficient is 0.

    Attributes:
        terms: pairs of an atom and its coefficient, names first, so that equal forms are equal.
        constant: the constant.
    """

    terms: tuple[tuple[Atom, int], ...] = ()
    constant: int = 0

    @staticmethod
    def of(name: str) -> Affine:
        """Return a symbol by itself."""
        return Affine(((name, 1),))

    @property
    def is_constant(self) -> bool:
        """Whether it is a number."""
        return not self.terms

    def plus(self, other: Affine | int) -> Affine:
        """Return the sum."""
        if isinstance(other, int):
            return Affine(self.terms, self.constant + other)
        found = dict(self.terms)
        for atom, factor in other.terms:
            found[atom] = found.get(atom, 0) + factor
        terms = sorted([(a, c) for a, c in found.items() if c], key=_rank)
        return Affine(tuple(terms), self.constant + other.constant)

    def times(self, factor: int) -> Affine:
        """Return a multiple."""
        if factor == 0:
            return Affine()
        return Affine(tuple([(a, c * factor) for a, c in self.terms]), self.constant * factor)

    def minus(self, other: Affine | int) -> Affine:
        """Return the difference."""
        return self.plus(-other if isinstance(other, int) else other.times(-1))

    def floor(self, divisor: int) -> Affine:
        """Return the quotient by a positive number, rounded down."""
        if divisor == 1:
            return self
        outside = tuple([(a, c // divisor) for a, c in self.terms if c % divisor == 0])
        inside = tuple([(a, c) for a, c in self.terms if c % divisor])
        whole, rest = divmod(self.constant, divisor)
        if not inside:
            return Affine(outside, whole)
        atom = Floor(Affine(inside, rest), divisor)
        return Affine(outside, whole).plus(Affine(((atom, 1),)))

    def evaluate(self, values: Mapping[str, int]) -> int:
        """Return its number for those of all symbols."""
        total = self.constant
        for atom, factor in self.terms:
            if isinstance(atom, Floor):
                total += factor * (atom.form.evaluate(values) // atom.divisor)
            else:
                total += factor * values[atom]
        return total

    def symbols(self) -> set[str]:
        """Return all names in it."""
        found: set[str] = set()
        for atom, _ in self.terms:
            found |= atom.form.symbols() if isinstance(atom, Floor) else {atom}
        return found

    def replaced(self, name: str, low: Affine, high: Affine) -> Affine:
        """Return a form at most as large: a symbol between two forms is replaced by one of them."""
        made = Affine((), self.constant)
        for atom, factor in self.terms:
            if atom == name:
                made = made.plus((low if factor > 0 else high).times(factor))
            elif isinstance(atom, Floor) and name in atom.form.symbols():
                ends = (low, high) if factor > 0 else (high, low)
                inner = (
                    atom.form.replaced(name, *ends)
                    if factor > 0
                    else (atom.form.times(-1).replaced(name, low, high).times(-1))
                )
                made = made.plus(inner.floor(atom.divisor).times(factor))
            else:
                made = made.plus(Affine(((atom, factor),)))
        return made

    def without_quotients(self) -> Affine:
        """Return a form without quotients that is at most as large, where factors allow that.

        ``-4*(f // 2)`` is at least ``-2*f``, and ``4*(f // 2)`` at least ``2*(f - 1)``.
        """
        made = Affine((), self.constant)
        for atom, factor in self.terms:
            if isinstance(atom, Floor) and factor % atom.divisor == 0:
                inner = atom.form if factor < 0 else atom.form.minus(atom.divisor - 1)
                made = made.plus(inner.times(factor // atom.divisor).without_quotients())
            else:
                made = made.plus(Affine(((atom, factor),)))
        return made

    def substituted(self, values: Mapping[str, Affine]) -> Affine:
        """Return the form with symbols replaced."""
        made = Affine((), self.constant)
        for atom, factor in self.terms:
            if isinstance(atom, Floor):
                inner = atom.form.substituted(values).floor(atom.divisor)
                made = made.plus(inner.times(factor))
            else:
                made = made.plus(values.get(atom, Affine.of(atom)).times(factor))
        return made

    def tree(self, convert: str | None = None) -> Expression:
        """Return it as a tree of polygen's, each symbol converted to a type if asked for."""
        parts: list[Expression] = []
        for atom, factor in self.terms:
            node = _atom_tree(atom, convert)
            parts.append(node if factor == 1 else ex.product_of(factor, node))
        if self.constant or not parts:
            number: Expression = self.constant
            if convert is not None and not parts:
                number = ex.converted(convert, number)
            parts.append(number)
        return parts[0] if len(parts) == 1 else ex.sum_of(*parts)


def _rank(term: tuple[Atom, int]) -> tuple[bool, str]:
    atom, _ = term
    return isinstance(atom, Floor), str(atom)


def _atom_tree(atom: Atom, convert: str | None) -> Expression:
    if isinstance(atom, Floor):
        return ex.floor_quotient(atom.form.tree(convert), atom.divisor)
    node: Expression = ex.Variable(atom)
    return node if convert is None else ex.converted(convert, node)


def number(value: int) -> Affine:
    """Return a number as a form."""
    return Affine((), value)


def affine_text(form: Affine) -> str:
    """Return a form as Python text."""
    parts = [
        f"{factor}*({affine_text(atom.form)} // {atom.divisor})"
        if isinstance(atom, Floor)
        else (atom if factor == 1 else f"{factor}*{atom}")
        for atom, factor in form.terms
    ]
    if form.constant or not parts:
        parts.append(str(form.constant))
    return "(" + " + ".join(parts) + ")"
