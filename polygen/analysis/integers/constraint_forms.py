"""The constraints of flat sets as linear forms.

Read as matrices: to ask isl for a constraint and its coefficients by name takes ten times as long.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import islpy as isl

from polygen.analysis.integers.affine_forms import LinearForm, Term
from polygen.analysis.integers.isl_affine import form_of_aff
from polygen.ir.domain import flat_names

_CST, _PARAM, _SET, _DIV = (
    isl.dim_type.cst,
    isl.dim_type.param,
    isl.dim_type.set,
    isl.dim_type.div,
)
_COLUMNS = _CST, _PARAM, _SET, _DIV


class ConstraintForm(NamedTuple):
    """A constraint of a flat set.

    Attributes:
        form: what is 0, or not negative.
        is_equality: whether it is 0.
        position: which of the constraints it is, in isl's order.
    """

    form: LinearForm
    is_equality: bool
    position: int


def constraint_forms(piece: isl.BasicSet, about: str | None = None) -> list[ConstraintForm]:
    """Return the constraints of a flat piece, in isl's order: equations come first.

    Parameters:
        piece: the piece.
        about: return those that mention this name only; None for all.
    """
    if piece.dim(_DIV):
        found = [
            ConstraintForm(form_of_aff(c.get_aff()), c.is_equality(), position)
            for position, c in enumerate(piece.get_constraints())
        ]
        return [c for c in found if about is None or about in c.form.names()]
    names = flat_names(piece)
    column = None if about is None else names.index(about) + 1 if about in names else 0
    equal = piece.equalities_matrix(*_COLUMNS)
    rest = piece.inequalities_matrix(*_COLUMNS)
    return [
        *_forms(equal, names, column, 0, is_equality=True),
        *_forms(rest, names, column, equal.rows(), is_equality=False),
    ]


def _forms(
    matrix: isl.Mat, names: tuple[str, ...], column: int | None, before: int, *, is_equality: bool
) -> Iterator[ConstraintForm]:
    element = matrix.get_element_val
    for row in range(matrix.rows()):
        if column is not None and (not column or element(row, column).is_zero()):
            continue
        terms: dict[Term, int] = {}
        for position, name in enumerate(names, 1):
            value = element(row, position)
            if factor := value.get_num_si() or _number(value):
                terms[name] = factor
        form = LinearForm(_number(element(row, 0)), terms)
        yield ConstraintForm(form, is_equality, before + row)


def _number(value: isl.Val) -> int:
    """Return what `to_python` does, which reads it from a text."""
    # As a number of C, isl gives 0 for one of more than 64 bits.
    return value.get_num_si() or (0 if value.is_zero() else value.to_python())
