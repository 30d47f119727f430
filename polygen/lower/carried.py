"""Quotients and remainders that a loop carries from one iteration to the next.

Of ``r // m`` and ``r % m``, where ``r`` grows by a constant in each iteration, the next ones follow
by additions and a comparison, which take a fraction of the time of a division::

    int r_div = 0;                              int r_mod = 0;
    for (int r = 0; r < n_m; ++r) {
        s += a[k * r_div + r_mod];              // a[k * (r / m) + r % m]
        if (r_mod >= m - 1) { r_div += 1; r_mod -= m; }
        r_mod += 1;
    }

That is done behind validation, as that divisions get names is: it depends on nothing but the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator

from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.analysis.integers.unknowns import is_by_size
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.lower.declare import expressions
from polygen.lower.program import Assign, Block, Declare, If, Loop, Node

# Makes a variable: what it is called like, its value, whether nothing assigns to it later, and an
# expression that is negative if the value may be.
Naming = Callable[[str, Expression, bool, Expression], tuple[ex.Variable, Declare]]


_FEWEST = 4  # iterations, for which divisions ahead of a loop pay


class Carried:
    """The value that a loop carries from iteration to iteration.

    Parameters:
        loop: it runs upward, on one thread.
        known: the names that have values ahead of it, which do not change in it.
        positive: the sizes that are positive where the loop has an iteration.
        naming: makes variables.

    Attributes:
        before: what is declared ahead of the loop.
        after: what its body ends with.
        names: what stands for each quotient and remainder in it.
    """

    def __init__(
        self,
        loop: Loop,
        known: frozenset[str],
        positive: Container[Expression],
        naming: Naming,
    ) -> None:
        self.before: list[Declare] = []
        self.after: list[Node] = []
        self.names: dict[Expression, Expression] = {}
        self._loop, self._naming = loop, naming
        self._constants: dict[Expression, ex.Variable] = {}
        found = divisions(loop, known)
        for number, size in dict.fromkeys((d.numerator, d.denominator) for d in found):
            if size in positive:
                self._carry(number, size, has_quotient=ex.floor_quotient(number, size) in found)

    def _carry(self, number: Expression, size: Expression, *, has_quotient: bool) -> None:
        form = linear_form(number)
        assert form is not None
        step = form.terms[self._loop.iname] * self._loop.step
        first = walk.substitute(number, {self._loop.iname: self._loop.lower})
        start = linear_form(first)
        value = first if start is None else start.expression()
        like = number.name if isinstance(number, ex.Variable) else "number"
        # Where a size is 0, there is no iteration; but this is computed ahead of the loop.
        divisor = self._constant("divisor", ex.Max((size, 1)))
        more = self._constant("step_div", ex.floor_quotient(step, divisor)) if step > 1 else 0
        rest = self._constant("step_mod", ex.remainder_of(step, divisor)) if step > 1 else 1
        past: list[Node] = []
        following: list[Node] = []
        left: Expression = 0 if value == 0 else ex.remainder_of(value, divisor)
        if has_quotient:
            whole = 0 if value == 0 else ex.floor_quotient(value, divisor)
            div = self._variable(f"{like}_div", whole, number)
            left = 0 if value == 0 else _less(value, ex.product_of(divisor, div))
            self.names[ex.floor_quotient(number, size)] = div
            past.append(_added(div, 1))
            if step > 1:
                following.append(_added(div, more))
        mod = self._variable(f"{like}_mod", left, number)
        self.names[ex.remainder_of(number, size)] = mod
        past.append(_added(mod, ex.negated(divisor)))
        is_past = ex.Comparison(mod, ">=", _less(divisor, rest))
        self.after += [If(is_past, tuple(past)), *following, _added(mod, rest)]

    def _constant(self, like: str, value: Expression) -> ex.Variable:
        if value not in self._constants:
            self._constants[value], declared = self._naming(like, value, True, value)
            self.before.append(declared)
        return self._constants[value]

    def _variable(self, like: str, value: Expression, sign: Expression) -> ex.Variable:
        variable, declared = self._naming(like, value, False, sign)
        self.before.append(declared)
        return variable


def may_carry(loop: Loop) -> bool:
    """Tell whether iterations of a loop come in order on one thread, and are not few."""
    if loop.parallel or loop.unroll or loop.at_once or loop.runs is not None:
        return False
    ends = loop.lower, loop.upper
    if isinstance(ends[0], int) and isinstance(ends[1], int):
        iterations = range(ends[0], ends[1], loop.step)
        if len(iterations) < _FEWEST:
            return False
    inside = (node for node in _nodes(loop.body) if isinstance(node, Loop))
    return not any(node.parallel for node in inside)  # threads would share what is carried


def divisions(loop: Loop, known: frozenset[str]) -> list[ex.FloorDiv | ex.Remainder]:
    """Return quotients and remainders in a loop of what grows by a constant in each iteration."""
    found: list[ex.FloorDiv | ex.Remainder] = []
    for node in _nodes(loop.body):
        for whole in expressions(node):
            for part in walk.subexpressions(whole):
                if not is_by_size(part) or not walk.free_variables(part.denominator) <= known:
                    continue
                form = linear_form(part.numerator, known | {loop.iname})
                if form is not None and _growth(form, loop.iname) > 0:
                    found.append(part)
    return found


def _growth(form: LinearForm, iname: str) -> int:
    """Return by how much a number grows with an iname; 0 if not always by as much."""
    growth = form.terms.get(iname, 0)
    rest = form - LinearForm.of_name(iname) * growth
    return 0 if iname in rest.names() else growth  # in a quotient, say


def _nodes(block: Block) -> Iterator[Node]:
    for node in block:
        yield node
        if isinstance(node, Loop | If):
            yield from _nodes(node.body)


def _less(first: Expression, second: Expression) -> Expression:
    return ex.sum_of(first, -second if isinstance(second, int) else ex.negated(second))


def _added(variable: ex.Variable, value: Expression) -> Assign:
    return Assign(variable, ex.sum_of(variable, value), "")
