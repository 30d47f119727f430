"""Complex numbers: the language's own, or vectors of two with functions beside them.

A real operand of a complex operation stays real where that computes the same: C multiplies both
parts with it, and so does OpenCL C; but there, it would be added to both.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np

from polygen.errors import UnknownFunction
from polygen.ir.dtype import DType
from polygen.targets.expressions.typed_terms import ATOM, EQUALITY, PRODUCT, SUM, UNARY, Term
from polygen.targets.languages.target import BOOL, INT32, Target


class Printer(Protocol):
    """The interface of the printer of all expressions."""

    @property
    def target(self) -> Target:
        """Whose C it is."""
        raise NotImplementedError

    def type_name(self, dtype: DType) -> str:
        """Return what the target calls a type."""
        raise NotImplementedError

    def number(self, value: complex, at: DType) -> Term:
        """Return a literal."""
        raise NotImplementedError

    def cast(self, term: Term, dtype: DType) -> Term:
        """Return a term of another type."""
        raise NotImplementedError

    def exact(self, term: Term) -> Term:
        """Return a term whose value in C is the one it has in the kernel."""
        raise NotImplementedError

    def helper(self, name: str, dtype: DType, terms: Iterable[Term]) -> Term:
        """Return a call of a helper function."""
        raise NotImplementedError


def part_of(dtype: DType) -> DType:
    """Return the type of the parts of a complex number.

    >>> part_of(np.dtype("complex64"))
    dtype('float32')
    """
    return np.dtype(f"f{dtype.itemsize // 2}")


def print_complex_number(p: Printer, value: complex, dtype: DType) -> Term:
    """Return a literal; one without an imaginary part is a real one."""
    part = part_of(dtype)
    real, imaginary = p.number(value.real, part), p.number(value.imag, part)
    if value.imag == 0:
        return Term(real.text, real.level, dtype, part)
    text = p.target.complex_literal.format(p.type_name(dtype), real.text, imaginary.text)
    if p.target.complex_operators and value.real == 0:
        text, level = text.removeprefix(f"{real.text} + "), PRODUCT
    else:
        level = SUM if p.target.complex_operators else ATOM
    return Term(text, level, dtype, dtype)


def to_complex(p: Printer, term: Term, dtype: DType) -> Term:
    """Return a term that is complex in C, too."""
    name, term = p.type_name(dtype), p.exact(term)
    if term.c_type == dtype:
        return Term(term.text, term.level, dtype, dtype)
    if p.target.complex_operators:
        return Term(f"({name}) {term.within(UNARY)}", UNARY, dtype, dtype)
    if term.c_type.kind == "c":
        text = p.target.complex_convert.format(name, term.text)
        return Term(text, ATOM, dtype, dtype)
    zero = p.number(0, part_of(dtype))
    real = _as_part(p, term, dtype)
    text = p.target.complex_literal.format(name, real.text, zero.text)
    return Term(text, ATOM, dtype, dtype)


def _as_part(p: Printer, term: Term, dtype: DType) -> Term:
    """Return a real term in the type of the parts, a complex one as it is, if of that type."""
    if term.c_type.kind == "c":
        return to_complex(p, term, dtype)
    part, term = part_of(dtype), p.exact(term)
    return term if term.c_type == part else p.cast(term, part)


def complex_binary(
    p: Printer, operator: str, left: Term, right: Term, dtype: DType, level: int
) -> Term:
    """Return ``left operator right`` for one of ``+ - * /``."""
    left, right = _as_part(p, left, dtype), _as_part(p, right, dtype)
    both = left.c_type.kind == right.c_type.kind == "c"
    if not p.target.complex_operators:
        if operator in "+-" or (operator == "/" and left.c_type.kind != "c"):
            left, right = to_complex(p, left, dtype), to_complex(p, right, dtype)
            both = True
        if both and operator in "*/":
            return p.helper("mul" if operator == "*" else "div", dtype, (left, right))
    c_type = dtype if "c" in (left.c_type.kind, right.c_type.kind) else part_of(dtype)
    within = right.within(level + 1)
    shown = f"({within})" if within.startswith("-") else within
    text = f"{left.within(level)} {operator} {shown}"
    return Term(text, level, dtype, c_type, split=(left.text, operator, right))


def complex_comparison(p: Printer, operator: str, left: Term, right: Term, dtype: DType) -> Term:
    """Return ``left == right`` or ``left != right``."""
    if p.target.complex_operators:
        text = f"{left.within(SUM)} {operator} {right.within(SUM)}"
        return Term(text, EQUALITY, BOOL, INT32)
    left, right = to_complex(p, left, dtype), to_complex(p, right, dtype)
    text = p.target.complex_comparisons[operator].format(left.within(SUM), right.within(SUM))
    return Term(text, ATOM, BOOL, INT32)


def complex_call(
    p: Printer, function: str, terms: Iterable[Term], dtype: DType, result: DType
) -> Term:
    """Return a call of a function of complex numbers.

    Parameters:
        p: the printer.
        function: its usual name.
        terms: its arguments.
        dtype: the type of the arguments.
        result: the type of what it returns.

    Raises:
        UnknownFunction: if the target has no such function of complex numbers.
    """
    terms = [to_complex(p, term, dtype) for term in terms]
    form = p.target.complex_forms.get(function)
    if form is not None:
        suffix = p.target.math_suffixes.get(part_of(dtype).name, "")
        arguments = (
            terms[0].within(ATOM)
            if form.startswith("{")
            else ", ".join(term.text for term in terms)
        )
        return Term(form.format(arguments, suffix), ATOM, result, result)
    if function not in p.target.complex_helpers:
        raise UnknownFunction(
            f"target '{p.target.name}' has no function '{function}' of complex numbers",
            remedy="write it with functions that it has: "
            + ", ".join(
                sorted({*p.target.complex_forms, *p.target.complex_helpers} - {"mul", "div"})
            ),
        )
    call = p.helper(function, dtype, terms)
    return Term(call.text, ATOM, result, result)
