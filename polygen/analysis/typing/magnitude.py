"""Bounds the numbers that are computed of loop counters and sizes.

A loop counter and a size of 32 bits may have a square that needs 64.  Where only the lower bits of
a number count, as in a sum that is a subscript, this does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import islpy as isl

from polygen.analysis.access.domains import domain_of
from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.analysis.integers.constraint_forms import constraint_forms
from polygen.analysis.integers.integer_parameters import integer_parameters
from polygen.analysis.integers.isl_affine import aff_on
from polygen.analysis.typing.index_arithmetic import SIZED, operands
from polygen.analysis.typing.inference import sizes
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel

MOST = 2**31 - 1
# Below this, a 32-bit counter can go a little past the end: a loop by blocks does.
MOST_FOR_INT32 = 2**31 - 2**20
_FAR = 2**64  # further than this, it does not matter how far


def fits(kernel: Kernel, largest: int) -> bool:
    """Tell whether 32 bits hold all that is computed of loop counters and sizes.

    Parameters:
        kernel: the kernel.
        largest: no size is greater, nor less than its negative.
    """
    bound = min(1 << largest.bit_length(), MOST_FOR_INT32)  # so that few bounds are asked for
    return values_fit(kernel, bound) and _bounds_fit(kernel, bound)


@per_kernel
def values_fit(kernel: Kernel, largest: int) -> bool:
    """Tell whether what instructions compute of counters and sizes needs no 64 bits.

    Parameters:
        kernel: the kernel.
        largest: as in `fits`.
    """
    return not any(
        _Range(kernel, insn.within_inames | insn.reduction_inames, largest).of(node) > MOST
        for insn, node in _computed(kernel)
    )


@per_kernel
def _bounds_fit(kernel: Kernel, largest: int) -> bool:
    """Tell whether both sides of all constraints of the loop domains need no 64 bits."""
    for domain in kernel.domains:
        inside = _Range(kernel, frozenset(domain.inames), largest)
        for part in domain.flat.compute_divs().get_basic_sets():
            for constraint in constraint_forms(part):
                if any(inside.of_form(side) > MOST for side in _sides(constraint.form)):
                    return False
    return True


def _sides(form: LinearForm) -> Iterator[LinearForm]:
    """Yield the two sides of a constraint, as code compares them; floors are less than that."""
    names = {t: c for t, c in form.terms.items() if isinstance(t, str)}
    yield LinearForm(max(form.constant, 0), {t: c for t, c in names.items() if c > 0})
    yield LinearForm(max(-form.constant, 0), {t: -c for t, c in names.items() if c < 0})


# --- what is computed


@per_kernel
def _computed(kernel: Kernel) -> tuple[tuple[Instruction, Expression], ...]:
    """Return what instructions compute of counters and sizes alone, and of which all bits count."""
    names = frozenset(kernel.inames) | integer_parameters(kernel) | sizes(kernel)
    return tuple(
        [
            (insn, node)
            for insn in kernel.expanded.instructions
            for whole in (*insn.assignees, *_values(insn))
            for node in _parts(whole, names)
        ]
    )


def _values(insn: Instruction) -> Iterator[Expression]:
    """Yield what an instruction evaluates, but for the subscripts of what it writes."""
    subscripts = [i for assignee in insn.assignees for i in ex.index_of(assignee)]
    yield from (e for e in insn.reads if not any(e is i for i in subscripts))


def _parts(node: Expression, names: frozenset[str]) -> Iterator[Expression]:
    """Yield the largest parts of a value that are made of integers that have no type."""
    if not isinstance(node, ex.ExpressionNode) or isinstance(node, ex.Variable):
        return
    if _is_weak(node, names):
        yield node
        for part in walk.subexpressions(node):
            if isinstance(part, ex.If):
                yield from _parts(part.condition, names)
        return
    if isinstance(node, ex.Subscript):
        for index in ex.index_tuple(node):
            yield from _exact_parts(index, names)
        return
    if isinstance(node, ex.Sum | ex.Product):
        yield from _first_parts(node, names)
    for part in walk.parts(node):
        yield from _parts(part, names)


def _first_parts(node: ex.Sum | ex.Product, names: frozenset[str]) -> Iterator[Expression]:
    """Yield what is computed before the first operand that has a type."""
    first: list[Expression] = []
    for child in node.children:
        if not (isinstance(child, int) or _is_weak(child, names)):
            break
        first.append(child)
    if len(first) > 1:
        yield ex.sum_of(*first) if isinstance(node, ex.Sum) else ex.product_of(*first)


def _exact_parts(node: Expression, names: frozenset[str]) -> Iterator[Expression]:
    """Yield those parts of a subscript of which more than the lower bits count."""
    if isinstance(node, ex.Sum | ex.Product):
        for child in node.children:
            yield from _exact_parts(child, names)
    else:
        for part in walk.parts(node):
            yield from _parts(part, names)


def _is_weak(node: Expression, names: frozenset[str]) -> bool:
    if isinstance(node, ex.Variable):
        return node.name in names
    if not isinstance(node, ex.ExpressionNode):
        return type(node) is int
    if isinstance(node, ex.If):
        return _is_weak(node.then, names) and _is_weak(node.else_, names)
    return isinstance(node, SIZED) and all(_is_weak(p, names) for p in walk.parts(node))


# --- how large it gets


@dataclass(frozen=True)
class _Range:
    """The instances in which something is computed.

    Attributes:
        kernel: the kernel.
        inames: those that it may mention.
        largest: what sizes are at most.
    """

    kernel: Kernel
    inames: frozenset[str]
    largest: int

    def of(self, node: Expression) -> int:
        """Return a number that neither an expression nor a part of it exceeds, sign aside."""
        if isinstance(node, int) or self._form(node) is not None:
            return self.size(node)
        return max(self.size(node), *map(self.of, operands(node)))

    def size(self, node: Expression) -> int:
        """Return a number that an expression does not exceed, sign aside; parts of it may."""
        if isinstance(node, int):
            return abs(node)
        form = self._form(node)
        if form is not None:
            return self.of_form(form)
        return min(_FAR, _RULES[type(node)](node, self.size))

    def _form(self, node: Expression) -> LinearForm | None:
        if not isinstance(node, ex.Sum | ex.Product | ex.Variable):
            return None
        form = linear_form(node)
        affine = form is not None and all(isinstance(term, str) for term in form.terms)
        return form if affine else None

    def of_form(self, form: LinearForm) -> int:
        """Return a number that a linear form does not exceed, sign aside."""
        widest = sum(abs(c) for c in form.terms.values()) * self.largest + abs(form.constant)
        if widest <= MOST or sum(abs(c) for c in form.terms.values()) <= 1:
            return widest
        found = [self._greatest(f) for f in (form, -form)]
        return max(found)

    def _greatest(self, form: LinearForm) -> int:
        values = isl.Set.from_params(_instances(self.kernel, self.inames, self.largest))
        function = aff_on(values.get_space(), -form)
        if values.is_empty():
            return 0
        least = None if function is None else values.min_val(function)
        return _FAR if least is None or not least.is_int() else -least.to_python()


@per_kernel
def _instances(kernel: Kernel, inames: frozenset[str], largest: int) -> isl.Set:
    names = kernel.parameters
    text = " and ".join(f"{-largest} <= {name} <= {largest}" for name in names)
    return domain_of(kernel, inames).intersect(isl.Set(f"[{', '.join(names)}] -> {{ : {text} }}"))


_Rule: TypeAlias = Callable[[Any, Callable[[Expression], int]], int]


def _power(node: ex.Power, of: Callable[[Expression], int]) -> int:
    exponent: Any = node.exponent
    if not isinstance(exponent, int) or not 0 <= exponent < 64:
        return _FAR
    return int(of(node.base) ** exponent)


def _shift(node: ex.LeftShift, of: Callable[[Expression], int]) -> int:
    count = node.shift
    return of(node.shiftee) << count if isinstance(count, int) and 0 <= count < 64 else _FAR


def _largest_part(node: Expression, of: Callable[[Expression], int]) -> int:
    return max(map(of, walk.parts(node)))


def _quotient(node: ex.FloorDiv, of: Callable[[Expression], int]) -> int:
    size, divisor = of(node.numerator), node.denominator
    return size // abs(divisor) + 1 if isinstance(divisor, int) and divisor else size


def _remainder(node: ex.Remainder, of: Callable[[Expression], int]) -> int:
    divisor = node.denominator
    return abs(divisor) if isinstance(divisor, int) and divisor else _largest_part(node, of)


_RULES: dict[type, _Rule] = {
    ex.FloorDiv: _quotient,
    ex.Remainder: _remainder,
    ex.Sum: lambda n, of: sum(map(of, n.children)),
    ex.Product: lambda n, of: reduce(lambda a, b: min(a * b, _FAR), map(of, n.children)),
    ex.If: lambda n, of: max(of(n.then), of(n.else_)),
    ex.Power: _power,
    ex.LeftShift: _shift,
    **dict.fromkeys((ex.Min, ex.Max), _largest_part),
}
