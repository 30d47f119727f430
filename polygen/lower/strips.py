"""A loop that divides its counter, as one over quotients and one over what has that quotient.

Of ``a[k * (r / m) + r % m]``, neighbours are neighbours in memory until the quotient changes.  So
targets with vectors get a loop in which it does not::

    int const r_rows = n_m / m + min(1, n_m % m);
    for (int r_div = 0; r_div < r_rows; ++r_div) {
        int const first = m * r_div;
        for (int r = first; r < first + min(m, n_m - first); ++r)
            s += a[k * r_div + r - first];
    }
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace

from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.lower.carried import Naming, divisions
from polygen.lower.program import Block, Loop

_FEWEST = 16  # iterations of a loop


@dataclass(frozen=True)
class Strips:
    """A loop in strips, in which a quotient does not change.

    Attributes:
        before: what is declared ahead of the loops.
        loop: the outer loop, over quotients; the inner one is the last in its body, with the body
            of the loop.
        names: what stands for the quotient and the remainder in the inner one.
    """

    before: Block
    loop: Loop
    names: dict[Expression, Expression]


def in_strips(
    loop: Loop, known: frozenset[str], positive: Container[Expression], naming: Naming
) -> Strips | None:
    """Return a loop in strips; None if it divides nothing that grows by 1.

    Parameters:
        loop: it runs upward, on one thread.
        known: the names that have values ahead of it, which do not change in it.
        positive: the sizes that are positive where the loop has an iteration.
        naming: makes variables.
    """
    ends = loop.lower, loop.upper
    if isinstance(ends[0], int) and isinstance(ends[1], int) and ends[1] - ends[0] < _FEWEST:
        return None
    for division in divisions(loop, known) if loop.step == 1 else ():
        form = linear_form(division.numerator)
        grows_by_1 = form is not None and form.terms.get(loop.iname) == 1
        if form is not None and grows_by_1 and division.denominator in positive:
            return _strips(loop, form, division, naming)
    return None


def _strips(
    loop: Loop, form: LinearForm, division: ex.FloorDiv | ex.Remainder, naming: Naming
) -> Strips:
    number, size = division.numerator, division.denominator
    rest = (form - LinearForm.of_name(loop.iname)).expression()
    like = number.name if isinstance(number, ex.Variable) else "number"
    divisor, declared = naming("divisor", ex.Max((size, 1)), True, 1)
    row, _ = naming(f"{like}_div", 0, True, number)
    place = _less(ex.product_of(divisor, row), rest)
    first, start = naming(f"{like}_first", place, True, number if rest == 0 else -1)
    ends = loop.lower, loop.upper
    least, end = (_simple(walk.substitute(number, {loop.iname: e})) for e in ends)
    lower = 0 if least == 0 else ex.floor_quotient(least, divisor)
    count = ex.sum_of(ex.floor_quotient(end, divisor), ex.Min((1, ex.remainder_of(end, divisor))))
    rows, counted = naming(f"{like}_rows", count, True, end)
    left = ex.Min((divisor, _less(loop.upper, first)))
    inner = replace(
        loop,
        lower=first if least == 0 else ex.Max((loop.lower, first)),
        upper=ex.sum_of(first, left),
        # The two together have as many as the loop: of one row, say.
        estimate=_less(loop.upper, loop.lower) if loop.estimate is None else loop.estimate,
    )
    outer = Loop(
        row.name,
        lower,
        rows,
        (start, inner),
        unordered=loop.unordered,
        estimate=1,
    )
    names: dict[Expression, Expression] = {
        ex.floor_quotient(number, size): row,
        ex.remainder_of(number, size): _less(ex.Variable(loop.iname), first),
    }
    return Strips((declared, counted), outer, names)


def _simple(node: Expression) -> Expression:
    form = linear_form(node)
    return node if form is None else form.expression()


def _less(first: Expression, second: Expression) -> Expression:
    if second == 0:
        return first
    return _simple(ex.sum_of(first, -second if isinstance(second, int) else ex.negated(second)))
