"""Linear subscripts: ``a[[e]]`` becomes a subscript for each axis.

Elements are counted as they are stored: as C does where no strides are declared.  ``a[[m*i + j]]``
is ``a[i, j]`` where ``j`` is known to be less than the extent ``m``; in general it is
``a[e // m, e % m]``.  So whatever is proved of subscripts is proved of linear ones.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

from polygen.analysis.access.domains import domain_of
from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.known_facts import known_parameters
from polygen.errors import MalformedInstruction
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import GlobalArg, TemporaryVariable
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Auto, element_strides
from polygen.ir.verify import excerpt

# A product of a number and names.
_Monomial: TypeAlias = tuple[int, tuple[str, ...]]
_ONE: _Monomial = (1, ())


def without_linear_subscripts(kernel: Kernel) -> Kernel:
    """Return the kernel with a subscript for each axis in place of each linear one.

    An array without a declared shape has one axis.

    Raises:
        MalformedInstruction: if the declared strides of an array leave gaps between elements.
    """
    instructions = tuple([_resolved(kernel, insn) for insn in kernel.instructions])
    rules = tuple(
        [
            replace(rule, expression=_without(kernel, rule.expression, None))
            for rule in kernel.substitutions
        ]
    )
    return kernel.copy(instructions=instructions, substitutions=rules)


def _resolved(kernel: Kernel, insn: Instruction) -> Instruction:
    return insn.map_expressions(lambda node: _without(kernel, node, insn))


def _without(kernel: Kernel, node: Expression, insn: Instruction | None) -> Expression:
    parts = tuple([_without(kernel, part, insn) for part in walk.parts(node)])
    node = walk.rebuild(node, parts)
    return _resolve(kernel, node, insn) if isinstance(node, ex.LinearSubscript) else node


def _resolve(kernel: Kernel, node: ex.LinearSubscript, insn: Instruction | None) -> Expression:
    variable = kernel.variables.get(ex.name_of(node))
    shape = variable.shape if isinstance(variable, GlobalArg | TemporaryVariable) else None
    if not shape or len(shape) == 1:
        return ex.Subscript(node.aggregate, node.index)
    order: list[int] | None = list(range(len(shape)))[::-1]
    if isinstance(variable, GlobalArg | TemporaryVariable) and variable.dim_tags is not None:
        order = _storage_order(shape, element_strides(variable) or ())
    if order is None:
        raise MalformedInstruction(
            f"'{ex.name_of(node)}' has elements that are not one after the other: its strides "
            "leave gaps, and a[[...]] counts elements",
            where=kernel.location if insn is None else insn.location,
            excerpt=None if insn is None else excerpt(kernel, insn.id),
            remedy="write a subscript for each axis",
        )
    index: dict[int, Expression] = {}
    rest: Expression = node.index
    for axis in order[:-1]:
        # In a rule, what a name stands for is said at each use.
        rest, index[axis] = _divided(kernel, rest, shape[axis], may_know=insn is not None)
    index[order[-1]] = rest
    return ex.Subscript(node.aggregate, tuple([index[axis] for axis in range(len(shape))]))


# --- the order of storage


def _storage_order(
    shape: tuple[Expression, ...], strides: tuple[Expression | Auto | None, ...]
) -> list[int] | None:
    """Return the axes, that of neighbours first; None if there are gaps between elements."""
    left = list(range(len(shape)))
    order: list[int] = []
    step: _Monomial | None = _ONE
    while left:
        found = [axis for axis in left if step is not None and _monomial(strides[axis]) == step]
        if not found:
            return None
        order.append(found[0])
        left.remove(found[0])
        step = _times(step, _monomial(shape[found[0]]))
    return order


def _monomial(node: Expression | Auto | None) -> _Monomial | None:
    if isinstance(node, int):
        return node, ()
    if isinstance(node, ex.Variable):
        return 1, (node.name,)
    if not isinstance(node, ex.Product):
        return None
    total: _Monomial | None = _ONE
    for child in node.children:
        total = _times(total, _monomial(child))
    return total


def _times(a: _Monomial | None, b: _Monomial | None) -> _Monomial | None:
    if a is None or b is None:
        return None
    return a[0] * b[0], tuple(sorted((*a[1], *b[1])))


# --- division


def _divided(
    kernel: Kernel, node: Expression, extent: Expression, *, may_know: bool
) -> tuple[Expression, Expression]:
    """Return ``node // extent`` and ``node % extent``, simplified where multiples can be seen."""
    terms = node.children if isinstance(node, ex.Sum) else (node,)
    multiples = [q for term in terms if (q := _without_factor(term, extent)) is not None]
    others = [term for term in terms if _without_factor(term, extent) is None]
    rest = _sum(others)
    if multiples and may_know and _is_within(kernel, rest, extent):
        return _sum(multiples), rest
    return _quotient(ex.FloorDiv, node, extent), _quotient(ex.Remainder, node, extent)


def _quotient(kind: Any, node: Expression, extent: Expression) -> Expression:
    quotient: Expression = kind(node, extent)
    return quotient


def _sum(terms: list[Expression]) -> Expression:
    if len(terms) < 2:
        return terms[0] if terms else 0
    return ex.sum_of(*terms)


def _without_factor(term: Expression, extent: Expression) -> Expression | None:
    """Return the quotient of a term and an extent if one is a factor of the other."""
    if term == extent:
        return 1
    if not isinstance(term, ex.Product) or extent not in term.children:
        return None
    where = term.children.index(extent)
    factors: list[Expression] = [f for k, f in enumerate(term.children) if k != where]
    return factors[0] if len(factors) == 1 else ex.product_of(*factors)


def _is_within(kernel: Kernel, node: Expression, extent: Expression) -> bool:
    """Tell whether ``0 <= node < extent`` for all values of the inames."""
    form = linear_form(node)
    if form is None:
        return False
    inside = condition_set(
        ex.LogicalAnd((ex.Comparison(node, ">=", 0), ex.Comparison(node, "<", extent)))
    )
    names = form.names()
    known = names <= {*kernel.inames, *(p for d in kernel.domains for p in d.parameters)}
    if inside is None or not known:
        return False
    instances = domain_of(kernel, frozenset(names & set(kernel.inames)))
    return instances.intersect(known_parameters(kernel)).is_subset(inside)
