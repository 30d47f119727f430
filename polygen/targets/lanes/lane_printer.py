"""Expressions for all lanes at once: vectors, and what is the same for all lanes as ever.

The rules are those of numbers wherever the language has its operators for vectors, too.  What
differs is here: a vector is not promoted, conversions are spelled out, and functions are those of
vectors, or helpers that call one for each component.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.typing.functions import FUNCTIONS
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.dtype import DType, computed_in, dtype_name, is_integer
from polygen.ir.expression import Expression
from polygen.lower.lanes import is_vector
from polygen.targets.expressions.common_rules import Printer
from polygen.targets.expressions.name_facts import Uses, VectorHelper
from polygen.targets.expressions.typed_terms import (
    ATOM,
    BIT_AND,
    BIT_OR,
    EQUALITY,
    UNARY,
    Lanes,
    Term,
    promoted,
    unsigned,
)
from polygen.targets.lanes.lane_helpers import helper_name, is_whole, truth_type
from polygen.targets.languages.target import BOOL, FLOAT16, FLOAT32, FLOAT64, INT32, SHORT_NAMES

LaneRule: TypeAlias = Callable[["LanePrinter", Any, DType], Term]


class LanePrinter(Printer):
    """Prints expressions for all lanes of an iname.

    Parameters:
        like: prints expressions for one lane; the two note what they use in one place.
        rules: for what differs between lanes; what has none is printed lane by lane.

    Attributes:
        iname: whose lanes they are, from 0 on.
        count: how many.
    """

    def __init__(self, like: Printer, rules: Mapping[type, LaneRule]) -> None:
        super().__init__(like.target, like.rules, like.names)
        self.uses: Uses = like.uses
        self.lane_rules = rules
        self.iname, self.count = "", 0

    def varies(self, node: Expression) -> bool:
        """Tell whether an expression differs between lanes."""
        return isinstance(node, ex.ExpressionNode) and self.iname in walk.free_variables(node)

    def term(self, node: Expression, at: DType) -> Term:
        """Print an annotated node: a vector if it differs between lanes."""
        if self.constant(node) is not None or not self.varies(node):
            return super().term(node, at)
        rule = self.lane_rules.get(type(node))
        if rule is None or not all(self._is_vector(part, at) for part in _operands(node)):
            return self.one_by_one(node, at)
        return self.spread(rule(self, node, at))

    def value(self, node: Expression, dtype: DType) -> Term:
        """Print an annotated node that is assigned to something of a type."""
        if self._is_vector(node, dtype):
            return self.exact(self.term(node, dtype))
        return self.one_by_one(node, dtype, dtype)

    def one_by_one(self, node: Expression, at: DType, dtype: DType | None = None) -> Lanes:
        """Print a vector of what each lane has: of what there are no operations on vectors for.

        Parameters:
            node: what is printed, annotated.
            at: the type at which it is used, if it has none of its own.
            dtype: the type of the components; None for that of the node.
        """
        kind = int if dtype is None and self.kind(node) is int else None
        dtype = dtype or self.dtype(self.kind(node), at)
        terms = [self.instead(in_lane(node, self.iname, n), dtype) for n in range(self.count)]
        if dtype == BOOL:
            texts = [f"-({self.truth(term).text})" for term in terms]
            return Lanes(self.literal(INT32, texts), UNARY, BOOL, INT32)
        if kind is int:
            dtype = max((term.dtype for term in terms), key=lambda t: t.itemsize)
        wide = promoted(dtype)
        texts = [self.element(self.exact(term), wide).text for term in terms]
        return Lanes(self.literal(wide, texts), UNARY, dtype, wide)

    def _is_vector(self, node: Expression, at: DType) -> bool:
        """Tell whether what is computed is a vector, or the same for all lanes."""
        return not self.varies(node) or self.has_vector(self.dtype(self.kind(node), at))

    def has_vector(self, dtype: DType) -> bool:
        """Tell whether a vector of a number for each lane is one that registers hold."""
        return is_vector(computed_in(dtype), self.count, self.target.vector_bytes)

    # --- vectors

    def vector(self, dtype: DType) -> str:
        """Return what the target calls a vector of a number for each lane."""
        return self.vector_type(dtype, self.count)

    def spread(self, term: Term) -> Lanes:
        """Return a vector, of one number if it is none."""
        if isinstance(term, Lanes):
            return term
        truth = term.dtype == BOOL
        text = f"-{term.within(ATOM)}" if truth else term.text
        dtype = INT32 if truth else promoted(term.c_type)
        same = self.target.same_lanes(self.vector(dtype), text, self.count)
        return Lanes(same, UNARY, term.dtype, dtype, term.exact)

    def literal(self, dtype: DType, texts: Sequence[str]) -> str:
        """Return the text of a vector of numbers."""
        return self.target.lanes.format(self.vector(dtype), ", ".join(texts))

    def convert_lanes(self, term: Term, dtype: DType) -> str:
        """Return the text of a vector with components of another type."""
        return self.target.convert_lanes.format(self.vector(dtype), term.text)

    def element(self, term: Term, dtype: DType) -> Term:
        """Return a term that the language computes with in a type, without promoting it."""
        if term.dtype == BOOL and isinstance(term, Lanes):
            term = Lanes(f"-{term.within(UNARY)}", UNARY, term.c_type, term.c_type)
        # 7LL - i is of no type that stdint.h has, says Clang.
        computed = dtype.itemsize == 8 and is_integer(dtype) and term.level < UNARY
        if term.c_type == dtype and (isinstance(term, Lanes) or not computed):
            return term
        if isinstance(term, Lanes):
            return Lanes(self.convert_lanes(term, dtype), ATOM, term.dtype, dtype, term.exact)
        if promoted(term.c_type) == dtype and not computed:
            return Term(term.text, term.level, term.dtype, dtype, term.exact, term.integer)
        if term.integer is not None and is_integer(dtype) and term.c_type == INT32:
            return Term(term.text, term.level, term.dtype, dtype, integer=term.integer)
        text = f"({self.type_name(dtype)}) {term.within(UNARY)}"
        return Term(text, UNARY, term.dtype, dtype, term.exact)

    def truths(self, term: Term, dtype: DType) -> Lanes:
        """Return a vector of truth values whose components are integers of a type."""
        found = self.spread(self.truth(term))
        if found.c_type == dtype:
            return found
        return Lanes(self.convert_lanes(found, dtype), ATOM, BOOL, dtype)

    # --- what is done with terms

    def cast(self, term: Term, dtype: DType) -> Term:
        """Return a term that has a type in C, too."""
        if not isinstance(term, Lanes) or dtype == BOOL:
            return self.truth(term) if dtype == BOOL else super().cast(term, dtype)
        if dtype == FLOAT16:
            source = FLOAT64 if term.c_type == FLOAT64 else FLOAT32
            half = self.helper("to_half", source, [term])
            return Lanes(half.text, ATOM, FLOAT16, FLOAT32)
        wide = promoted(dtype)
        if wide != dtype:  # C promotes it again
            narrow = Lanes(self.convert_lanes(self.element(term, wide), dtype), ATOM, dtype, dtype)
            return Lanes(self.convert_lanes(narrow, wide), ATOM, dtype, wide)
        found = self.element(term, dtype)
        return Lanes(found.text, found.level, dtype, dtype, split=found.split)

    def convert(self, term: Term, dtype: DType) -> Term:
        """Return a term of a type, in the kernel and in C: for overloaded functions."""
        if not isinstance(term, Lanes):
            return super().convert(term, dtype)
        term = self.exact(term)
        return term if term.dtype == dtype else self.cast(term, dtype)

    def truth(self, term: Term) -> Term:
        """Return a term that says whether one is not zero."""
        if not isinstance(term, Lanes):
            return super().truth(term)
        term = self.exact(term)
        if term.dtype == BOOL:
            return term
        zero = self.element(self.number(0, promoted(term.dtype)), term.c_type)
        text = f"{term.within(UNARY)} != {zero.text}"
        return Lanes(text, EQUALITY, BOOL, truth_type(term.c_type))

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
        """Return ``left operator right``, computed in a type."""
        found = super().binary(operator, left, right, dtype, level, modular, wraps)
        if not isinstance(left, Lanes) and not isinstance(right, Lanes):
            return found
        text, exact, split = found.text, found.exact, found.split
        return Lanes(text, level, dtype, found.c_type, exact, split=split, bounds=found.bounds)

    def without_sign(self, left: Term, right: Term, c_type: DType) -> tuple[Term, Term]:
        """Return operands such that C computes in an unsigned type: both, if they are vectors."""
        if not isinstance(left, Lanes) and not isinstance(right, Lanes):
            return super().without_sign(left, right, c_type)
        return self.cast(left, c_type), self.cast(right, c_type)

    def common(
        self, left: Term, right: Term, dtype: DType, modular: bool
    ) -> tuple[Term, Term, DType]:
        """Convert operands to the type that C would compute in."""
        if not isinstance(left, Lanes) and not isinstance(right, Lanes):
            return super().common(left, right, dtype, modular)
        wanted = promoted(dtype)
        if not modular or left.dtype != dtype:
            left = self.exact(left)
        if not modular or right.dtype != dtype:
            right = self.exact(right)
        if modular and unsigned(wanted) in (left.c_type, right.c_type):  # it wraps around
            return *self.without_sign(left, right, unsigned(wanted)), unsigned(wanted)
        return self.element(left, wanted), self.element(right, wanted), wanted

    def logical(self, operator: str, terms: Iterable[Term]) -> Term:
        """Return terms joined by ``&&`` or ``||``: in vectors, bit by bit."""
        terms = [self.truth(term) for term in terms]
        if not any(isinstance(term, Lanes) for term in terms):
            return super().logical(operator, terms)
        neutral = "true" if operator == "&&" else "false"
        kept = [t for t in terms if t.text != neutral]
        dtype = next(t.c_type for t in kept if isinstance(t, Lanes))
        if len(kept) == 1:
            return kept[0]
        level = BIT_AND if operator == "&&" else BIT_OR
        texts = [self.truths(t, dtype).within(UNARY) for t in kept]
        return Lanes(f" {operator[0]} ".join(texts), level, BOOL, dtype)

    def narrow(self, term: Term, dtype: DType) -> Term:
        """Return a term that C computed in a larger type than the kernel has."""
        if not isinstance(term, Lanes):
            return super().narrow(term, dtype)
        return Lanes(term.text, term.level, dtype, term.c_type, exact=term.c_type == dtype)

    # --- functions

    def helper(self, name: str, dtype: DType, terms: Iterable[Term]) -> Term:
        """Return a call of a helper function for a type."""
        terms = list(terms)
        if not any(isinstance(term, Lanes) for term in terms):
            return super().helper(name, dtype, terms)
        self.type_name(dtype)
        called = ""
        if not is_whole(name):
            self.uses.helpers.add((name, dtype_name(dtype)))
            called = f"pg_{name}_{SHORT_NAMES[dtype.name]}"
        return self._of_vectors(name, called, dtype, terms)

    def math_call(
        self, function: str, dtype: DType, terms: Iterable[Term], exponent: Term | None = None
    ) -> Term:
        """Return a call of a mathematical function of the target for operands of a type."""
        terms = [*terms, *([] if exponent is None else [exponent])]
        if not any(isinstance(term, Lanes) for term in terms):
            numbers = terms if exponent is None else terms[:-1]
            return super().math_call(function, dtype, numbers, exponent)
        wide = promoted(dtype)
        if not self.has(function):
            return self.narrow(self.helper(function, wide, map(self.exact, terms)), dtype)
        self.uses.math = True
        name = self.target.math_name(function, wide)
        terms = list(map(self.exact, terms))
        if function in self.target.vector_functions:
            given = [self.spread(self.element(term, wide)).text for term in terms]
            return self.narrow(Lanes(f"{name}({', '.join(given)})", ATOM, wide, wide), dtype)
        return self.narrow(self._of_vectors(function, name, wide, terms), dtype)

    def select(self, condition: Lanes, then: Lanes, other: Lanes) -> Lanes:
        """Return what is one vector where a condition holds, and another elsewhere."""
        dtype = then.c_type
        condition = self.truths(condition, truth_type(dtype))
        if "select" in self.target.vector_functions:
            text = f"select({other.text}, {then.text}, {condition.text})"
        else:
            name = helper_name(self._noted("select", "", dtype, [condition, then, other], dtype))
            text = f"{name}({condition.text}, {then.text}, {other.text})"
        return Lanes(text, ATOM, then.dtype, dtype, then.exact and other.exact)

    def _of_vectors(self, name: str, called: str, dtype: DType, terms: Sequence[Term]) -> Lanes:
        known = FUNCTIONS.get(name)
        types = [dtype] * len(terms)
        if known is not None and known.exponent:
            types[-1] = INT32
        given = [self.spread(self.element(t, d)) for t, d in zip(terms, types, strict=True)]
        result = FLOAT32 if name == "to_half" else dtype
        helper = self._noted(name, called, dtype, given, result)
        text = f"{helper_name(helper)}({', '.join(t.text for t in given)})"
        return Lanes(text, ATOM, result, result)

    def _noted(
        self, name: str, called: str, dtype: DType, given: Sequence[Lanes], result: DType
    ) -> VectorHelper:
        for each in (*(t.c_type for t in given), result, *(() if called else (truth_type(dtype),))):
            self.vector(each)
        operands = tuple([t.c_type.name for t in given])
        helper = VectorHelper(name, dtype.name, self.count, operands, result.name, called)
        self.uses.vectors.add(helper)
        return helper


def in_lane(node: Expression, iname: str, lane: int) -> Expression:
    """Return what an expression is in a lane, with simple subscripts."""
    if isinstance(node, ex.Variable):
        return lane if node.name == iname else node
    if isinstance(node, ex.Subscript):
        index = [in_lane(i, iname, lane) for i in ex.index_tuple(node)]
        index = [form.expression() if (form := linear_form(i)) is not None else i for i in index]
        return ex.Subscript(node.aggregate, tuple(index) if len(index) > 1 else index[0])
    return walk.rebuild(node, tuple([in_lane(part, iname, lane) for part in walk.parts(node)]))


def _operands(node: Expression) -> tuple[Expression, ...]:
    """Return the parts of which vectors are made, if there are some."""
    return () if isinstance(node, ex.Subscript) else walk.parts(node)
