"""Walking expressions: one table of what each node's parts are, and walkers over it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import Any, TypeAlias

from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression

Parts: TypeAlias = tuple[Expression, ...]
_Node: TypeAlias = Any  # the rows below know the node's class; the table cannot say so


def _in_subscript(node: _Node) -> Parts:
    index: Expression | Parts = node.index
    return (node.aggregate, *index) if isinstance(index, tuple) else (node.aggregate, index)


# For each class of node: its parts, and how to build it anew from other parts.
_Row: TypeAlias = tuple[Callable[[_Node], Parts], Callable[[_Node, Parts], Expression]]

_CHILDREN: _Row = (attrgetter("children"), lambda n, p: type(n)(p))
_QUOTIENT: _Row = (attrgetter("numerator", "denominator"), lambda n, p: type(n)(*p))
_SHIFT: _Row = (lambda n: (n.shiftee, n.shift), lambda n, p: type(n)(*p))
_NOT: _Row = (lambda n: (n.child,), lambda n, p: type(n)(*p))

_TABLE: dict[type, _Row] = {
    ex.Variable: (lambda n: (), lambda n, p: n),
    ex.Subscript: (
        _in_subscript,
        lambda n, p: ex.Subscript(p[0], p[1] if len(p) == 2 else p[1:]),
    ),
    ex.LinearSubscript: (
        lambda n: (n.aggregate, n.index),
        lambda n, p: ex.LinearSubscript(*p),
    ),
    ex.Call: (attrgetter("parameters"), lambda n, p: ex.Call(n.function, p)),
    ex.Component: (lambda n: (n.aggregate,), lambda n, p: ex.Component(p[0], n.position)),
    ex.SubArrayRef: (
        lambda n: (n.subscript, *[extent for _, extent in n.extents]),
        lambda n, p: ex.SubArrayRef(n.swept_inames, p[0], _with_values(n.extents, p[1:])),
    ),
    ex.Comparison: (
        attrgetter("left", "right"),
        lambda n, p: ex.Comparison(p[0], n.operator, p[1]),
    ),
    ex.If: (lambda n: (n.condition, n.then, n.else_), lambda n, p: ex.If(*p)),
    ex.Power: (lambda n: (n.base, n.exponent), lambda n, p: ex.Power(*p)),  # type: ignore[arg-type]
    ex.Reduction: (
        lambda n: (n.operand,),
        lambda n, p: ex.Reduction(n.operation, n.inames, p[0]),
    ),
    ex.Invocation: (
        lambda n: (*n.arguments, *n.values),
        lambda n, p: ex.Invocation(
            n.rule, n.tag, p[: len(n.arguments)], n.inames, p[len(n.arguments) :]
        ),
    ),
    **dict.fromkeys((ex.Quotient, ex.FloorDiv, ex.Remainder), _QUOTIENT),
    **dict.fromkeys((ex.LeftShift, ex.RightShift), _SHIFT),
    **dict.fromkeys((ex.LogicalNot, ex.BitwiseNot), _NOT),
    **dict.fromkeys(
        (
            ex.Several,
            ex.Sum,
            ex.Product,
            ex.Min,
            ex.Max,
            ex.LogicalAnd,
            ex.LogicalOr,
            ex.BitwiseAnd,
            ex.BitwiseOr,
            ex.BitwiseXor,
        ),
        _CHILDREN,
    ),
}


def _with_values(
    pairs: tuple[tuple[str, Expression], ...], values: Parts
) -> tuple[tuple[str, Expression], ...]:
    return tuple([(name, new) for (name, _), new in zip(pairs, values, strict=True)])


SUPPORTED_NODES = frozenset(_TABLE)


_PARTS = {kind: row[0] for kind, row in _TABLE.items()}
LEAVES = frozenset((ex.Variable, int, float))  # most nodes are one


def parts(node: Expression) -> Parts:
    """Return the direct subexpressions of `node`; a number has none."""
    kind = type(node)
    if kind in LEAVES:
        return ()
    get = _PARTS.get(kind)
    if get is not None:
        return get(node)
    if isinstance(node, ex.ExpressionNode):
        raise InternalError(f"no rule for a node of class {type(node).__name__}")
    return ()


def rebuild(node: Expression, new_parts: Parts) -> Expression:
    """Return `node` with other parts; the same object if they are the same objects."""
    for old, new in zip(parts(node), new_parts, strict=True):
        if old is not new:
            return _TABLE[type(node)][1](node, new_parts)
    return node


def rewrite(node: Expression, rule: Callable[[Expression], Expression]) -> Expression:
    """Apply `rule` to every subexpression, innermost first."""
    old = parts(node)
    if not old:
        return rule(node)
    return rule(rebuild(node, tuple([rewrite(p, rule) for p in old])))


def subexpressions(node: Expression) -> Iterator[Expression]:
    """Yield `node` and everything inside it, outermost first."""
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        pending += reversed(parts(node))


def depth(node: Expression, most: int) -> int:
    """Return how deep subexpressions are nested, or a number above `most` if that is more.

    Without recursion: what recurses is safe up to some depth only.
    """
    pending = [(node, 1)]
    deepest = 0
    while pending and deepest <= most:
        node, level = pending.pop()
        deepest = max(deepest, level)
        pending += [(part, level + 1) for part in parts(node)]
    return deepest


def conjuncts(condition: Expression) -> Iterator[Expression]:
    """Yield conditions that hold together if and only if this one does: the parts of ``a and b``.

    In the order in which they are asked.
    """
    if isinstance(condition, ex.LogicalAnd):
        for child in condition.children:
            yield from conjuncts(child)
        return
    if isinstance(condition, ex.LogicalNot):
        inner = condition.child
        if isinstance(inner, ex.LogicalNot):
            yield from conjuncts(inner.child)
            return
        if isinstance(inner, ex.LogicalOr):
            for child in inner.children:
                yield from conjuncts(ex.LogicalNot(child))
            return
    yield condition


def free_variables(node: Expression) -> frozenset[str]:
    """Return the names that `node` mentions: inames of its own reductions are not free."""
    if type(node) is int or not isinstance(node, ex.ExpressionNode):
        return _NO_NAMES
    # Nodes do not change: the answer is kept in them, as their hashes are.
    known: frozenset[str] | None = node.__dict__.get(_NAMES)
    if known is not None:
        return known
    if isinstance(node, ex.Variable):
        found = frozenset((node.name,))
    elif isinstance(node, ex.Reduction):
        found = free_variables(node.operand).difference(node.inames)
    elif isinstance(node, ex.SubArrayRef):
        found = free_variables(node.subscript).difference(node.swept_inames)
        found = found.union(*(free_variables(extent) for _, extent in node.extents))
    else:
        names: set[str] = set()
        for part in parts(node):
            if type(part) is ex.Variable:
                names.add(part.name)
            elif type(part) is not int:
                names |= free_variables(part)
        found = frozenset(names)
    node.__dict__[_NAMES] = found
    return found


_NAMES = "names that are free in it"
_NO_NAMES: frozenset[str] = frozenset()


def substitute(node: Expression, values: Mapping[str, Expression]) -> Expression:
    """Return `node` with the named variables replaced, all at once.

    The inames of a reduction are bound in it: they are not replaced inside.  Sums that are put
    into the sum of a subscript become part of it: integers may be added in any order.
    """
    if isinstance(node, ex.Variable):
        return values.get(node.name, node)
    if free_variables(node).isdisjoint(values):
        return node
    old = parts(node)
    if isinstance(node, ex.Reduction) and not values.keys().isdisjoint(node.inames):
        values = {k: v for k, v in values.items() if k not in node.inames}
    if isinstance(node, ex.SubArrayRef):
        return _substituted_part(node, values)
    new = tuple([substitute(p, values) for p in old])
    if isinstance(node, ex.Subscript):
        new = tuple([_flat(p) for p in new])
    return _TABLE[type(node)][1](node, new)


def with_flat_subscripts(node: Expression) -> Expression:
    """Return `node` with sums in the sums of subscripts made part of these, as `substitute` does.

    So what was substituted in, in however many steps, compares with what was not.
    """
    if ex.Subscript not in classes(node):
        return node

    def flat(one: Expression) -> Expression:
        if not isinstance(one, ex.Subscript):
            return one
        return rebuild(one, tuple([_flat(part) for part in parts(one)]))

    return rewrite(node, flat)


def _substituted_part(node: ex.SubArrayRef, values: Mapping[str, Expression]) -> Expression:
    """Return part of an array with names replaced; its own names are bound, and make way."""
    values = {k: v for k, v in values.items() if k not in node.swept_inames}
    captured = NO_NAMES.union(*map(free_variables, values.values()))
    taken = captured | free_variables(node.subscript)
    own: dict[str, str] = {}
    for name in node.swept_inames:
        new, count = name, 0
        while new in captured or (count and (new in taken or new in own.values())):
            new, count = f"{name}_{count}", count + 1
        own[name] = new
    values |= {name: ex.Variable(new) for name, new in own.items() if new != name}
    extents = tuple([(own[name], substitute(extent, values)) for name, extent in node.extents])
    subscript = substitute(node.subscript, values)
    if subscript is node.subscript and extents == node.extents:
        return node
    return ex.SubArrayRef(tuple(own.values()), subscript, extents)


def _flat(node: Expression) -> Expression:
    if not isinstance(node, ex.Sum) or not any(isinstance(c, ex.Sum) for c in node.children):
        return node
    return ex.sum_of(*_terms(node))


def _terms(node: Expression) -> Iterator[Expression]:
    if not isinstance(node, ex.Sum):
        yield node
        return
    for child in node.children:
        yield from _terms(child)


def classes(node: Expression) -> frozenset[type]:
    """Return the classes of the nodes in `node`, itself included; numbers have none."""
    if type(node) is ex.Variable:
        return _OF_VARIABLES
    if type(node) is int or not isinstance(node, ex.ExpressionNode):
        return _NO_CLASSES
    known: frozenset[type] | None = node.__dict__.get(_CLASSES)
    if known is None:
        found: set[type] = {type(node)}
        for part in parts(node):
            if type(part) is ex.Variable:
                found.add(ex.Variable)
            elif type(part) not in LEAVES:
                found |= classes(part)
        known = node.__dict__[_CLASSES] = frozenset(found)
    return known


_CLASSES = "classes of what is in it"
_NO_CLASSES: frozenset[type] = frozenset()
_OF_VARIABLES: frozenset[type] = frozenset((ex.Variable,))


def numbers(node: Expression) -> tuple[str, ...]:
    """Return the numbers in `node`, from left to right, as they are written: 3 is not 3.0."""
    if not isinstance(node, ex.ExpressionNode):
        return (repr(node),)
    known: tuple[str, ...] | None = node.__dict__.get(_NUMBERS)
    if known is None:
        known = tuple([number for part in parts(node) for number in numbers(part)])
        node.__dict__[_NUMBERS] = known
    return known


_NUMBERS = "numbers in it"


def reductions(node: Expression) -> list[ex.Reduction]:
    """Return the reductions in `node`, outermost first."""
    if ex.Reduction not in classes(node):
        return []
    found = [node] if isinstance(node, ex.Reduction) else []
    for part in parts(node):
        if type(part) not in LEAVES:
            found += reductions(part)
    return found


def reduction_inames(node: Expression) -> frozenset[str]:
    """Return the inames that reductions in `node` run over."""
    return frozenset(name for r in reductions(node) for name in r.inames)


def accesses(node: Expression) -> list[ex.Subscript | ex.Variable]:
    """Return each subscript, and each variable that is not the array of one, outermost first."""
    found: list[ex.Subscript | ex.Variable] = []
    _collect_accesses(node, found)
    return found


def _collect_accesses(node: Expression, found: list[ex.Subscript | ex.Variable]) -> None:
    if type(node) in LEAVES:
        if type(node) is ex.Variable:
            found.append(node)
        return
    inner = parts(node)
    if isinstance(node, ex.SubArrayRef):
        found += [a for a in accesses(node.subscript) if ex.name_of(a) not in node.swept_inames]
        found += [a for _, extent in node.extents for a in accesses(extent)]
        return
    if isinstance(node, ex.Subscript):
        found.append(node)
        inner = inner[1:]
    for part in inner:
        if type(part) is ex.Variable:
            found.append(part)
        elif type(part) not in LEAVES:
            _collect_accesses(part, found)
