"""Compares a statement's expressions with the kernel's, where it stands."""

from __future__ import annotations

from polygen.analysis.integers.decided_conditions import Decided
from polygen.analysis.integers.integer_parameters import integer_parameters
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.validation.copy_of import Copy
from polygen.validation.points import executed
from polygen.validation.same_integers import is_same
from polygen.validation.terms import key
from polygen.validation.view import View


def agree(view: View, copy: Copy, found: Expression, wanted: Expression) -> bool:
    """Tell whether an expression of the program is one of the kernel's where it is evaluated.

    Choices that are decided there may be made already.
    """
    terms = view.terms(copy.statement.frame)
    if is_same(key(terms.value(found)), key(copy.terms.value(wanted))):
        return True
    if ex.If not in walk.classes(wanted):
        return False
    points, _ = executed(view, copy)
    decided = Decided(points, integer_parameters(view.kernel).union(view.kernel.inames))
    found, wanted = decided.choices(found), decided.choices(wanted)
    return is_same(key(terms.value(found)), key(copy.terms.value(wanted)))
