"""Inames whose first and last values show what all their values would: the ends of loops.

Of ``for k in [row[i], row[i+1])``, ``value[k]`` is inside if it is for the first and the last `k`
of each `i`, for a subscript that is affine in `k` grows with it, or falls.  So it is of several
loops inside of each other, ``for j in [0, len[i])`` and ``for k in [0, j]``, if each has one lower
and one upper bound as far as these depend on the others: what lies between is a trapezoid, whose
corners are the ends' ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

import islpy as isl

from polygen.analysis.integers.affine_forms import FloorTerm, LinearForm
from polygen.analysis.integers.constraint_forms import constraint_forms
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel

_LONGEST_STRIDE = 64


def inames_by_ends(
    kernel: Kernel,
    order: Sequence[str],
    projected: Sequence[isl.Set],
    expressions: tuple[Sequence[Expression], Sequence[Expression]],
) -> dict[str, int]:
    """Return inames that need not be looked at for all their values, innermost loops.

    With how many values at either end have to be looked at: several if they come in strides.

    Parameters:
        kernel: the kernel, without substitution rules.
        order: the inames, the outermost first.
        projected: for each, the points that it and those before it have.
        expressions: subscripts, and conditions besides those of the points.
    """
    index, conditions = expressions
    found: tuple[str, ...] = ()
    strides: dict[str, int] = {}
    for at in reversed(range(len(order))):
        names = frozenset((order[at], *found))
        if any(_mentions(kernel, c, names) for c in conditions):
            break
        if not all(_is_affine(kernel, e, names) for e in index):
            break
        stride = _stride(projected[at], order[at])
        inside = zip(order[at + 1 :], projected[at + 1 :], strict=True)
        if stride is None or (found and max(stride, *strides.values()) > 1):
            break
        if not all(_has_plain_bounds(kernel, part, x, names - {x}) for x, part in inside):
            break
        found = (order[at], *found)
        strides[order[at]] = stride
    return strides


def _names(kernel: Kernel, node: Expression) -> frozenset[str]:
    """Return the names in an expression, and the inames on which temporaries in it may depend."""
    names = walk.free_variables(node)
    writers = (w.within_inames for name in names for w in kernel.writers.get(name, ()))
    return names.union(*writers)


def _mentions(kernel: Kernel, node: Expression, inames: frozenset[str]) -> bool:
    return not inames.isdisjoint(_names(kernel, node))


def _is_affine(kernel: Kernel, node: Expression, inames: frozenset[str]) -> bool:
    """Tell whether an expression is affine in some inames, with coefficients that may be data."""
    if isinstance(node, ex.Variable) and node.name in inames:
        return True
    if not _mentions(kernel, node, inames):
        return True
    if isinstance(node, ex.Sum):
        return all(_is_affine(kernel, child, inames) for child in node.children)
    if isinstance(node, ex.Product):
        varying = [child for child in node.children if _mentions(kernel, child, inames)]
        return len(varying) == 1 and _is_affine(kernel, varying[0], inames)
    return False


def _stride(points: isl.Set, iname: str) -> int | None:
    """Return among how many numbers in a row, between its bounds, an iname has a value if any.

    That is 1 if it has all values between its bounds.  None if that is not known.
    """
    pieces = points.coalesce().compute_divs().get_basic_sets()
    if len(pieces) != 1:
        return None
    stride = 1
    for constraint in constraint_forms(pieces[0]):
        floors = [t for t in constraint.form.terms if isinstance(t, FloorTerm)]
        if not floors or iname not in constraint.form.names():
            continue
        # What is asked has to come again after so many numbers: i - 4*(i // 4) == 0.
        slope = Fraction(constraint.form.terms.get(iname, 0))
        for floor in floors:
            if any(isinstance(inner, FloorTerm) for inner in floor.numerator.terms):
                return None
            slope += Fraction(
                constraint.form.terms[floor] * floor.numerator.terms.get(iname, 0), floor.divisor
            )
            stride = lcm(stride, floor.divisor)
        if slope:
            return None
    return stride if stride <= _LONGEST_STRIDE else None


def _has_plain_bounds(kernel: Kernel, points: isl.Set, iname: str, others: frozenset[str]) -> bool:
    """Tell whether others have a say in one bound at most of an iname, below, and one above.

    Such a bound is affine in them, and not rounded.
    """
    (piece,) = points.coalesce().get_basic_sets()
    below, above = list[LinearForm](), list[LinearForm]()
    for form, is_equality, _ in constraint_forms(piece, iname):
        if is_equality or form.terms[iname] > 0:
            below.append(form)
        if is_equality or form.terms[iname] < 0:
            above.append(form)
    return all(_is_plain(kernel, bounds, iname, others) for bounds in (below, above))


def _is_plain(
    kernel: Kernel, bounds: Sequence[LinearForm], iname: str, others: frozenset[str]
) -> bool:
    varying = [form for form in bounds if _mentions(kernel, form.expression(), others)]
    if not varying:
        return True
    if len(bounds) > 1 or abs(bounds[0].terms[iname]) != 1:
        return False
    data = bounds[0].names() - others - {iname}
    return not any(_mentions(kernel, ex.Variable(name), others) for name in data)
