"""Finding expressions that have the form of another one, some names in which stand for anything."""

from __future__ import annotations

from collections.abc import Callable, Collection

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression


def match(
    template: Expression, node: Expression, parameters: Collection[str]
) -> dict[str, Expression] | None:
    """Return what each parameter of a template stands for in `node`, or None if they differ.

    A parameter stands for the same in all of its places, and for nothing that a reduction of the
    template runs over: that has no meaning outside of it.
    """
    found: dict[str, Expression] = {}
    return found if _matches(template, node, frozenset(parameters), found) else None


def _matches(
    template: Expression,
    node: Expression,
    parameters: frozenset[str],
    found: dict[str, Expression],
    bound: frozenset[str] = frozenset(),
) -> bool:
    if isinstance(template, ex.Variable) and template.name in parameters:
        if not bound.isdisjoint(walk.free_variables(node)):
            return False
        return found.setdefault(template.name, node) == node
    parts, others = walk.parts(template), walk.parts(node)
    if type(template) is not type(node) or len(parts) != len(others):
        return False
    # With the same parts, all that is left is what the node itself says.
    if walk.rebuild(template, others) != node:
        return False
    if isinstance(template, ex.Reduction):
        bound = bound.union(template.inames)
    return all(
        _matches(part, other, parameters, found, bound)
        for part, other in zip(parts, others, strict=True)
    )


def _in_part(part: ex.SubArrayRef, rule: Callable[[Expression], Expression]) -> Expression:
    """Return part of an array with a rule applied to subscripts; it stays one of that array."""
    if not isinstance(part.subscript, ex.Subscript):
        return part
    index = [
        i if walk.free_variables(i).intersection(part.swept_inames) else rule(i)
        for i in ex.index_tuple(part.subscript)
    ]
    new = walk.rebuild(part.subscript, (part.subscript.aggregate, *index))
    return ex.SubArrayRef(part.swept_inames, new, part.extents)


def replace_matches(
    node: Expression,
    template: Expression,
    parameters: Collection[str],
    replacement: Callable[[dict[str, Expression]], Expression],
) -> Expression:
    """Return `node` with what has the form of a template replaced, outermost first.

    Parameters:
        node: the expression.
        template: the form.
        parameters: the names in it that stand for anything.
        replacement: takes what each of them stands for, in which the form is replaced already.
    """

    def replaced(part: Expression) -> Expression:
        values = match(template, part, parameters)
        if values is not None:
            return replacement({name: replaced(value) for name, value in values.items()})
        if isinstance(part, ex.SubArrayRef):
            return _in_part(part, replaced)
        return walk.rebuild(part, tuple([replaced(p) for p in walk.parts(part)]))

    return replaced(node)
