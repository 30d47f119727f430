"""Pairs of instances as text: ``update[i, j] -> update[i + 1, j - 1]``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import gcd

import islpy as isl

from polygen.analysis.integers.affine_forms import LinearForm, combine
from polygen.ir.show_expression import show_expression

_IN = isl.dim_type.in_
_OUT = isl.dim_type.out
_PARAM = isl.dim_type.param
_DIV = isl.dim_type.div


def shown_pair(relation: isl.Map) -> str:
    """Return how the instances of a relation belong together.

    An iname of the second instance is written in terms of the first's where these say what it is,
    else the other way around; one that is free keeps its name.

    Parameters:
        relation: a map from instances to instances; all dimensions are named, no two alike.
    """
    first, second = _names(relation, _IN), _names(relation, _OUT)
    values = _solved(list(_equalities(relation)), first, second)

    def shown(kind: isl.dim_type, names: Sequence[str]) -> str:
        inside = ", ".join(_text(values.get(n, LinearForm.of_name(n))) for n in names)
        insn_id = relation.get_tuple_name(kind)
        return f"{insn_id}[{inside}]" if names else str(insn_id)

    return f"{shown(_IN, first)} -> {shown(_OUT, second)}"


def _names(relation: isl.Map, kind: isl.dim_type) -> list[str]:
    return [str(relation.get_dim_name(kind, p)) for p in range(relation.dim(kind))]


def _text(form: LinearForm) -> str:
    return show_expression(form.expression())


def _equalities(relation: isl.Map) -> Iterator[LinearForm]:
    """Yield what is 0 for all pairs, as far as that is affine."""
    for constraint in relation.affine_hull().get_constraints():
        if not constraint.is_equality():
            continue
        if constraint.involves_dims(_DIV, 0, constraint.dim(_DIV)):
            continue
        terms = {
            str(constraint.get_dim_name(kind, p)): constraint.get_coefficient_val(kind, p)
            for kind in (_PARAM, _IN, _OUT)
            for p in range(constraint.dim(kind))
        }
        constant = constraint.get_constant_val().to_python()
        yield LinearForm(constant, {n: c.to_python() for n, c in terms.items() if not c.is_zero()})


def _solved(
    equalities: list[LinearForm], first: Sequence[str], second: Sequence[str]
) -> dict[str, LinearForm]:
    """Solve equations for inames: those of the second instance if possible."""
    values: dict[str, LinearForm] = {}
    for wanted in (second, first):
        while (found := _next(equalities, wanted)) is not None:
            name, equation = found
            factor = -equation.terms[name]
            rest = combine(((equation, factor), (LinearForm.of_name(name), 1)))

            def known(form: LinearForm, name: str = name, rest: LinearForm = rest) -> LinearForm:
                return _substituted(form, name, rest)

            equalities = _reduced(equalities, known)
            values = {n: known(v) for n, v in values.items()} | {name: rest}
    return values


def _next(equalities: list[LinearForm], wanted: Sequence[str]) -> tuple[str, LinearForm] | None:
    """Return an equation, and one of the wanted names that it can be solved for."""
    for name in reversed(wanted):
        for equation in equalities:
            if abs(equation.terms.get(name, 0)) == 1:
                return name, equation
    return None


def _substituted(form: LinearForm, name: str, value: LinearForm) -> LinearForm:
    factor = form.terms.get(name, 0)
    if not factor:
        return form
    return combine(((form, 1), (LinearForm.of_name(name), -factor), (value, factor)))


def _reduced(
    equalities: list[LinearForm], known: Callable[[LinearForm], LinearForm]
) -> list[LinearForm]:
    """Return the equations after a substitution, without common factors."""
    found: list[LinearForm] = []
    for equation in map(known, equalities):
        if equation.terms:
            common = gcd(equation.constant, *equation.terms.values())
            terms = {n: c // common for n, c in equation.terms.items()}
            found.append(LinearForm(equation.constant // common, terms))
    return found
