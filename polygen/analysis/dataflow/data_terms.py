"""Sums of integers of which some terms are not affine: ``s + i//8`` and ``i_outer + s``.

In a subscript they are computed without rounding, so the order of terms does not matter.  Such
terms are data, and quotients and remainders by sizes.
"""

from __future__ import annotations

from polygen.analysis.dataflow.comparison_context import Context, Frame
from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.analysis.integers.unknowns import is_by_size
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression

_PART = "__part"  # names of users do not begin so


def data_terms(
    old: Expression, new: Expression, at: Context
) -> tuple[tuple[Expression, Expression], ...]:
    """Return the terms of which two subscripts are the same sum, if these have the same values.

    Each of the first with that of the second which has to have its value.  None of them, if they
    differ in something else, too.
    """
    before, after = _without_data(old, at.old), _without_data(new, at.new)
    if before is None or after is None:
        return ()
    (was, data), (now, other_data) = before, after
    values = at.old.integer(was), at.new.integer(now)
    if [c for _, c in data] != [c for _, c in other_data] or values[0] is None or values[1] is None:
        return ()
    same = at.points.intersect(values[0].ne_set(values[1])).is_empty()
    return tuple([(a, b) for (a, _), (b, _) in zip(data, other_data, strict=True)]) if same else ()


def _without_data(
    node: Expression, frame: Frame
) -> tuple[Expression, list[tuple[Expression, int]]] | None:
    """Return what of a sum is no data, and how often each term is in it that is."""
    parts: dict[str, Expression] = {}

    def part(inner: Expression) -> Expression:
        if not is_by_size(inner):
            return inner
        name = f"{_PART}{len(parts)}"
        parts[name] = walk.substitute(inner, parts)
        return ex.Variable(name)

    form = linear_form(walk.rewrite(node, part))
    if form is None:
        return None
    data = {n: c for n, c in form.terms.items() if isinstance(n, str) and n not in frame.integers}
    rest = LinearForm(form.constant, {t: c for t, c in form.terms.items() if t not in data})
    terms = [(parts.get(name, ex.Variable(name)), factor) for name, factor in data.items()]
    return rest.expression(), sorted(terms, key=_place)


def _place(term: tuple[Expression, int]) -> tuple[str, int, str]:
    """Return by what terms are compared: kinds, factors, names."""
    node, factor = term
    return type(node).__name__, factor, node.name if isinstance(node, ex.Variable) else ""
