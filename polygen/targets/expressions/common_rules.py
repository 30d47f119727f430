"""Shared parts of all rules that print expressions: types, literals, casts, C's operators.

An expression is printed in two passes.  The first finds the type of each subexpression, from its
leaves upward.  The second prints, from the root downward: only there is it known at which type
those parts are used that have no type of their own, literals above all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from polygen.analysis.typing.kinds import Kind, join
from polygen.errors import InternalError, LiteralOutOfRange
from polygen.ir import expression as ex
from polygen.ir.dtype import DType, dtype_name, integer_limits, is_exact, is_integer
from polygen.ir.expression import Expression
from polygen.targets.expressions.complex_numbers import (
    complex_binary,
    complex_comparison,
    part_of,
    print_complex_number,
    to_complex,
)
from polygen.targets.expressions.name_facts import Names, Uses
from polygen.targets.expressions.type_annotation import Annotator
from polygen.targets.expressions.typed_terms import (
    AND,
    ATOM,
    BIT_OR,
    EQUALITY,
    OR,
    UNARY,
    Term,
    float_text,
    integer_text,
    integer_type,
    is_held,
    promoted,
    result_range,
    tight,
    unsigned,
    usual,
)
from polygen.targets.languages.target import (
    BOOL,
    COMPLEX128,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT32,
    SHORT_NAMES,
    Target,
)

Rule: TypeAlias = Callable[["Printer", Any, DType], Term]


class Printer(Annotator):
    """Prints expressions for one target.

    Parameters:
        target: whose C it is.
        rules: how to print each class of node, given the type at which it is used if it has
            no type of its own.
        names: what is known of the names that expressions mention.
    """

    def __init__(self, target: Target, rules: Mapping[type, Rule], names: Names) -> None:
        self.target = target
        super().__init__(names)
        self.rules = rules
        # Indices that are the same as others, and these: one variable is declared for both.
        self.aliases: dict[str, str] = {}
        self.uses = Uses()

    def dtype(self, kind: Kind, at: DType) -> DType:
        """Return the type in which a node of some kind is computed where it is used at `at`."""
        if kind is int and at is self.index_dtype:
            return at
        return kind if isinstance(kind, np.dtype) else self._adopt(kind, at)

    def _adopt(self, kind: object, at: DType) -> DType:
        if kind is complex:
            return at if at.kind == "c" else COMPLEX128
        if kind is float:
            return at if at.kind == "f" else part_of(at) if at.kind == "c" else FLOAT64
        wider = is_integer(at) and at.itemsize > self.index_dtype.itemsize
        return at if wider else self.index_dtype

    def meet(self, kind: Kind, at: DType, *terms: Term) -> DType:
        """Return `dtype`, wide enough for operands if those are loop counters and sizes."""
        dtype = self.dtype(kind, at)
        if kind is int:
            for term in terms:
                other = term.dtype
                if other is not dtype and other.kind == "i" and other.itemsize > dtype.itemsize:
                    dtype = other
        return dtype

    # --- the second pass

    def index_term(self, node: Expression, rule: Rule | None = None) -> Term:
        """Print a subscript or a bound.

        Parameters:
            node: not annotated yet.
            rule: how it is printed, if in another way than usual.
        """
        with self.apart():
            self.annotate_index(node)
            if rule is None or self.constant(node) is not None or id(node) in self.found.computed:
                return self.exact(self.term(node, self.index_dtype))
            return self.exact(rule(self, node, self.index_dtype))

    def term(self, node: Expression, at: DType) -> Term:
        """Print an annotated node.

        Parameters:
            node: what is printed.
            at: the type at which it is used, if it has none of its own.
        """
        found = self.found
        constant = found.constants.get(id(node))
        if constant is not None:
            return self.number(constant, at)
        if id(node) in found.entered:
            return self._entered(node, at)
        if id(node) in found.computed:
            return self._computed(node, at)
        if id(node) in found.meant:
            return self.term(found.meant[id(node)], at)
        if isinstance(node, np.generic):
            return self.number(node.item(), node.dtype)
        rule = self.rules.get(type(node))
        if rule is None:
            raise InternalError(f"no text for a node of class {type(node).__name__}")
        return rule(self, node, at)

    def _entered(self, node: Expression, at: DType) -> Term:
        """Print a value in a subscript."""
        dtype = self.dtype(self.kind(node), at)
        with self.apart():
            own = self.dtype(self.annotate(node), at)
            term = self.exact(self.term(node, own))
        return term if own == BOOL or not is_integer(own) else replace(term, dtype=dtype)

    def _computed(self, node: Expression, at: DType) -> Term:
        """Print an operation on unsigned numbers in a subscript."""
        dtype, own = self.dtype(self.kind(node), at), self.found.computed.pop(id(node))
        kind, self.found.kinds[id(node)] = self.kind(node), own
        term = self.exact(self.term(node, own))
        self.found.computed[id(node)], self.found.kinds[id(node)] = own, kind
        return replace(term, dtype=dtype)

    def instead(self, node: Expression, at: DType) -> Term:
        """Print a new node, which stands for another one and has its parts."""
        self.made.append(node)  # while it lives, no other one has its identity
        self.annotate(node)
        return self.term(node, at)

    def has(self, function: str) -> bool:
        """Tell whether the target has a function of this name, and no variable hides it."""
        hidden = function in self.names.kinds or function in self.names.dtypes
        return not hidden and function not in self.target.missing_functions

    def type_name(self, dtype: DType) -> str:
        """Return what the target calls a type, and note that the text mentions it."""
        name = self.target.type_name(dtype)
        self.uses.types.add(dtype_name(dtype))
        return name

    def vector_type(self, dtype: DType, count: int) -> str:
        """Return what the target calls a vector of numbers, and note that the text mentions it."""
        self.uses.types.add(f"{dtype.name}_vec{count}")
        return self.target.array_vector.format(self.type_name(dtype), dtype.name, count)

    def number(self, value: Any, at: DType) -> Term:
        """Return a literal of Python's as it is spelled where it is used at a type."""
        if at == BOOL:
            self.type_name(BOOL)
            return Term("true" if value else "false", ATOM, BOOL, INT32)
        if at.kind == "c" or isinstance(value, complex):
            return print_complex_number(self, complex(value), at if at.kind == "c" else COMPLEX128)
        if at.kind == "f" or isinstance(value, float):
            return self._float(float(value), at if at.kind == "f" else FLOAT64)
        return self._integer(int(value), at)

    def _float(self, value: float, dtype: DType) -> Term:
        self.type_name(dtype)
        suffix = self.target.literal_suffixes.get(dtype_name(promoted(dtype)), "")
        text, level, c_type = float_text(value, dtype, suffix)
        if c_type != promoted(dtype) or not np.isfinite(value):
            self.uses.math = True
        return Term(text, level, dtype, c_type)

    def _integer(self, value: int, dtype: DType) -> Term:
        low, high = integer_limits(dtype)
        if not low <= value <= high:
            raise LiteralOutOfRange(
                f"{value} is used at type '{dtype.name}', which cannot hold it",
                remedy=f"convert it, as in int64({value}), or change the types around it",
            )
        if integer_type(value) is INT32:
            text, level = integer_text(value, "")
            return Term(text, level, dtype, INT32, integer=value)
        return self._spelled(value, dtype)

    def _spelled(self, value: int, dtype: DType) -> Term:
        text, level = integer_text(value, self.target.literal_suffixes.get(dtype_name(dtype), ""))
        return Term(text, level, dtype, dtype, integer=value)

    # --- types

    def cast(self, term: Term, dtype: DType) -> Term:
        """Return a term that has a type in C, too."""
        if dtype == BOOL:
            return self.truth(term)
        if dtype == FLOAT16:
            return self._rounded(term)
        if dtype.kind == "c":
            return to_complex(self, term, dtype)
        if term.integer is not None and is_integer(dtype) and dtype.itemsize >= 4:
            low, high = integer_limits(dtype)
            if low <= term.integer <= high:  # else it becomes another number
                return self._spelled(term.integer, dtype)
        return Term(f"({self.type_name(dtype)}) {term.within(UNARY)}", UNARY, dtype, dtype)

    def _rounded(self, term: Term) -> Term:
        """Return a term rounded to half precision; C computes with it in single precision."""
        source = FLOAT64 if term.c_type == FLOAT64 else FLOAT32
        call = self.helper("to_half", source, [term])
        return Term(call.text, ATOM, FLOAT16, FLOAT32)

    def exact(self, term: Term) -> Term:
        """Return a term whose value in C is the one it has in the kernel."""
        return term if term.exact else self.cast(term, term.dtype)

    def convert(self, term: Term, dtype: DType) -> Term:
        """Return a term of a type, in the kernel and in C: for overloaded functions."""
        term = self.exact(term)
        own = FLOAT32 if dtype == FLOAT16 else dtype
        if term.dtype == dtype and term.c_type == own:
            return term
        return self.cast(term, dtype)

    def wide(self, term: Term) -> Term:
        """Return an integer as C has it in no smaller a type than its own: to change its sign."""
        if not is_integer(term.dtype) or _holds(promoted(term.c_type), promoted(term.dtype)):
            return term
        return self.cast(self.exact(term), term.dtype)

    def truth(self, term: Term) -> Term:
        """Return a term that is 0 or 1: whether the given one is not zero."""
        term = self.exact(term)
        if term.dtype == BOOL:
            return term
        if term.dtype.kind == "c":
            return complex_comparison(self, "!=", term, self.number(0, term.dtype), term.dtype)
        zero = self.number(0, term.dtype)
        return Term(f"{term.within(EQUALITY + 1)} != {zero.text}", EQUALITY, BOOL, INT32)

    # --- operators

    def binary(
        self,
        operator: str,
        left: Term,
        right: Term,
        dtype: DType,
        level: int,
        modular: bool,
        wraps: bool = False,
    ) -> Term:
        """Return ``left operator right``, computed in a type.

        Parameters:
            operator: as C spells it.
            left: its left operand.
            right: its right operand.
            dtype: the type in which NumPy computes it.
            level: how strongly the operator binds.
            modular: whether the lower bits of its result depend on the lower bits of its
                operands only: then what C computes in a larger type need not be cast at once.
            wraps: whether the result may be no number of its type, and wraps around then.
        """
        if dtype.kind == "c":
            return complex_binary(self, operator, left, right, dtype, level)
        modular = modular and is_exact(dtype)
        wraps = wraps and modular
        found = result_range(operator, left, right, dtype) if wraps else None
        left, right, c_type = self.common(left, right, dtype, modular)
        if found is not None and not is_held(found, c_type):
            found = None
            if c_type.kind == "i":
                c_type = unsigned(c_type)
                left, right = self.without_sign(left, right, c_type)
        text = f"{left.within(level)} {operator} {tight(right, level + 1)}"
        exact = c_type == dtype or not (modular or dtype == FLOAT16)
        exact = exact or (found is not None and is_held(found, dtype))
        split = (left.text, operator, right)
        return Term(text, level, dtype, c_type, exact, split=split, bounds=found)

    def without_sign(self, left: Term, right: Term, c_type: DType) -> tuple[Term, Term]:
        """Return operands such that C computes in an unsigned type, which wraps around.

        It does if one of them has that type: a literal if there is one, else the right one, so
        that ``a = a + x`` is still ``a += x``.
        """
        if left.integer is not None and right.integer is None:
            return self.cast(left, c_type), right
        return left, self.cast(right, c_type)

    def bounded(self, term: Term, node: Expression) -> Term:
        """Return the term of an annotated node, with what is known of how large it is."""
        if term.bounds is None and term.exact and is_integer(term.dtype):
            term.bounds = self.range_of(node)
        return term

    def common(
        self, left: Term, right: Term, dtype: DType, modular: bool
    ) -> tuple[Term, Term, DType]:
        """Cast operands as far as C would not compute in `dtype` by itself."""
        wanted = promoted(dtype)
        if left.exact and right.exact and left.c_type is wanted is right.c_type:
            return left, right, wanted
        if not modular or left.dtype != dtype:
            left = self.exact(left)
        if not modular or right.dtype != dtype:
            right = self.exact(right)
        found = usual(left.c_type, right.c_type)
        if found == wanted or (modular and _holds(found, wanted)):
            return left, right, found
        if left.integer is None and right.integer is not None:
            right = self.cast(right, wanted)
        else:
            left = self.cast(left, wanted)
        found = usual(left.c_type, right.c_type)
        if found != wanted:
            left, right = self.cast(left, wanted), self.cast(right, wanted)
        return left, right, wanted

    def logical(self, operator: str, terms: Iterable[Term]) -> Term:
        """Return terms joined by ``&&`` or ``||``."""
        level, neutral = (AND, "true") if operator == "&&" else (OR, "false")
        terms = [self.truth(term) for term in terms]
        constant = [t for t in terms if t.text in ("true", "false")]
        if constant:  # compilers warn of those
            decisive = [t for t in constant if t.text != neutral]
            others = [t for t in terms if t not in constant]
            if decisive or not others:
                return (decisive or constant)[0]
            terms = others
        if len(terms) == 1:
            return terms[0]
        # Compilers warn of && within || unless it is in parentheses.
        parts = [t.text if t.level == level else t.within(BIT_OR) for t in terms]
        return Term(f" {operator} ".join(parts), level, BOOL, INT32)

    def narrow(self, term: Term, dtype: DType) -> Term:
        """Return a term that C computed in a larger type than the kernel has."""
        return Term(term.text, term.level, dtype, term.c_type, exact=term.c_type == dtype)

    def helper(self, name: str, dtype: DType, terms: Iterable[Term]) -> Term:
        """Return a call of a helper function of the target's preamble for a type."""
        self.type_name(dtype)
        self.uses.helpers.add((name, dtype.name))
        text = f"pg_{name}_{SHORT_NAMES[dtype.name]}({', '.join(t.text for t in terms)})"
        return Term(text, ATOM, dtype, dtype)

    def math_call(
        self, function: str, dtype: DType, terms: Iterable[Term], exponent: Term | None = None
    ) -> Term:
        """Return a call of a mathematical function of the target for operands of a type.

        Parameters:
            function: its usual name.
            dtype: the type of the operands, and of the result; halves are computed as ``float``.
            terms: the operands.
            exponent: a last operand that is an ``int``, if there is one.
        """
        wide = promoted(dtype)
        operands = [self.convert(t, wide) for t in terms]
        if exponent is not None:
            operands.append(self.convert(exponent, INT32))
        if self.has(function):
            self.uses.math = True
            name = self.target.math_name(function, wide)
            call = Term(f"{name}({', '.join(t.text for t in operands)})", ATOM, wide, wide)
        else:
            call = self.helper(function, wide, operands)
        return self.narrow(call, dtype)


def joined(kinds: Iterable[Kind]) -> list[Kind]:
    """Return the type of the first of some operands, the first two, and so on."""
    found: list[Kind] = []
    for kind in kinds:
        found.append(join(found[-1], kind) if found else kind)
    return found


def _holds(larger: DType, dtype: DType) -> bool:
    return is_integer(larger) and is_integer(dtype) and larger.itemsize >= dtype.itemsize


def is_minus_one(node: Expression) -> bool:
    """Tell whether a factor is the -1 that stands for a negation."""
    return type(node) is int and node == -1


def is_cheap(node: Expression) -> bool:
    """Tell whether a node may be written several times."""
    return isinstance(node, ex.Variable | ex.Subscript) or not isinstance(node, ex.ExpressionNode)
