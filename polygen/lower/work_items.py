"""A launch as loops, for targets without a grid: loops over groups, and inside over work items.

Where work items have to wait for each other, the loops over work items end and start anew.  What
a work item keeps for itself across such a point becomes an array with an element for each item;
of an array that it keeps, neighbours' elements are neighbours if that is so of all else that items
read and write: then their iterations become vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from polygen.errors import VerbatimNotPossible
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
from polygen.ir.tags import GroupTag, LocalTag
from polygen.lower.address import simplify
from polygen.lower.declare import expressions, mentioned, place_declarations
from polygen.lower.launches import Axis
from polygen.lower.neighbours import are_neighbours, nodes_in
from polygen.lower.program import Assign, Barrier, Block, Call, Declare, If, Loop, Node, Verbatim
from polygen.lower.shared_loops import (
    is_stable,
    mentioned_by_head,
    synchronizes,
    with_shared_loops,
    written_names,
)

_Carries: TypeAlias = Callable[[str, frozenset[str]], bool]


def as_loops(
    body: Block,
    axes: Sequence[Axis],
    wanted: Mapping[str, Declare],
    index_dtype: DType,
    carries: _Carries,
    within: Mapping[str, frozenset[str]],
) -> Block:
    """Return what a launch executes as ordinary loops, with its temporaries declared.

    Parameters:
        body: what each work item executes.
        axes: the launch's grid.
        wanted: how each temporary would be declared for one work item.
        index_dtype: the type of loop counters.
        carries: tells whether a temporary passes a value from one iteration of loops to another.
        within: the inames that each instruction is within.
    """
    local = [axis for axis in axes if isinstance(axis.tag, LocalTag)]
    groups = [axis for axis in axes if isinstance(axis.tag, GroupTag)]
    result = _WorkItems(local, wanted, index_dtype, carries, within).run(body)
    # Inside all of the loops, which have to nest perfectly to run in parallel together.
    used = _used(result, within)
    result = (*(d for axis in groups for d in _aliases(axis, used, index_dtype)), *result)
    loops = len(groups)
    for depth, axis in enumerate(sorted(groups, key=lambda a: a.tag.axis)):
        outermost = depth == loops - 1
        result = (_axis_loop(axis, result, parallel=loops if outermost else 0),)
    return result


def _used(body: Block, within: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Return the names that are mentioned, and the inames that something is executed within."""
    found = mentioned(body)
    for node in body:
        if isinstance(node, Loop | If):
            found |= _used(node.body, within)
        elif isinstance(node, Assign | Declare | Verbatim | Call):
            found |= within.get(node.insn_id, frozenset())
    return found


def _aliases(axis: Axis, used: Collection[str], index_dtype: DType) -> tuple[Declare, ...]:
    """Return those inames that are used, and share an axis, computed from what stands for it."""
    (name, first), *others = axis.inames
    return tuple(
        Declare(
            other,
            index_dtype,
            initial=simplify(_shifted(ex.Variable(name), first, start)),
            constant=True,
        )
        for other, start in others
        if other in used
    )


def without_barriers(body: Block) -> Block:
    """Return what a group of a single work item executes."""
    return tuple(
        replace(node, body=without_barriers(node.body)) if isinstance(node, Loop | If) else node
        for node in body
        if not isinstance(node, Barrier)
    )


def _axis_loop(axis: Axis, body: Block, parallel: int = 0) -> Loop:
    """Return the loop over an axis."""
    name, first = axis.inames[0]
    upper = simplify(_shifted(axis.size, 0, first))
    return Loop(name, first, upper, body, parallel=parallel, unordered=True)


def _shifted(value: Expression, old: Expression, new: Expression) -> Expression:
    """Return ``value - old + new``."""
    terms = (value, 0 if old == 0 else ex.negated(old), new)
    kept = tuple(t for t in terms if t != 0)
    return ex.sum_of(*kept) if len(kept) > 1 else (kept or (0,))[0]


class _WorkItems:
    def __init__(
        self,
        local: Sequence[Axis],
        wanted: Mapping[str, Declare],
        index_dtype: DType,
        carries: _Carries,
        within: Mapping[str, frozenset[str]],
    ) -> None:
        self._axes = sorted(local, key=lambda a: a.tag.axis)
        self._wanted = wanted
        self._index_dtype = index_dtype
        self._carries = carries
        self._within = within
        # What each region mentions, and the loops around it.
        self._regions: list[tuple[frozenset[str], frozenset[str]]] = []

    def run(self, body: Block) -> Block:
        private = {n: d for n, d in self._wanted.items() if d.address_space is AddressSpace.PRIVATE}
        shared_loops = with_shared_loops(body, self._axes, private)
        waits = shared_loops != body
        body = shared_loops
        self._collect(body, frozenset())
        kept = {n: d for n, d in private.items() if self._axes and self._is_kept(n)}
        own = {n: d for n, d in private.items() if n not in kept}
        shared = {n: d for n, d in self._wanted.items() if d.address_space is AddressSpace.LOCAL}
        interleaved = waits or self._are_vectors(list(nodes_in(body)), kept)
        kept = {n: replace(d, interleaved=interleaved) for n, d in kept.items()}
        expanded = {n: replace(d, extent=(d.extent or 1) * self._items()) for n, d in kept.items()}
        result = self._split(body, own, kept)
        items = frozenset(axis.inames[0][0] for axis in self._axes)
        return place_declarations(result, {**shared, **expanded}, items)

    def _are_vectors(self, nodes: Sequence[Node], kept: Collection[str]) -> bool:
        """Tell whether iterations of the innermost loop over work items may become vectors."""
        if not self._axes or self._axes[0].size in (1, 2, 3):
            return False
        if any(isinstance(node, Call) for node in nodes):  # which are given parts as they are
            return False
        return all(are_neighbours(nodes, name, kept) for name, _ in self._axes[0].inames)

    def _is_kept(self, name: str) -> bool:
        """Tell whether a private variable has to keep its value from one region to another."""
        homes = [loops for names, loops in self._regions if name in names]
        return len(homes) > 1 or any(loops and self._carries(name, loops) for loops in homes)

    def _items(self) -> int:
        count = 1
        for axis in self._axes:
            assert isinstance(axis.size, int)  # groups have constant sizes
            count *= axis.size
        return count

    def _collect(self, body: Block, loops: frozenset[str]) -> None:
        """Note what the regions mention: the longest stretches of siblings without a barrier.

        Bounds and conditions around a barrier are regions of their own.
        """
        region: list[Node] = []
        for node in (*body, Barrier(frozenset())):
            if not synchronizes(node):
                region.append(node)
                continue
            if region:
                self._regions.append((mentioned(region), loops))
                region = []
            if isinstance(node, Loop | If):
                self._regions.append((mentioned_by_head(node), loops))
                inside = loops | {node.iname} if isinstance(node, Loop) else loops
                self._collect(node.body, inside)

    def _split(self, body: Block, own: Mapping[str, Declare], kept: Mapping[str, Declare]) -> Block:
        """Return `body` with loops over the work items around each region."""
        result: list[Node] = []
        region: list[Node] = []
        for node in (*body, Barrier(frozenset())):
            if not synchronizes(node):
                region.append(node)
                continue
            if region:
                result += self._around(tuple(region), own, kept)
                region = []
            if isinstance(node, Loop | If):
                head = _expanded(replace(node, body=()), kept, 0, self._items())  # same for all
                assert isinstance(head, Loop | If)
                result.append(replace(head, body=self._split(node.body, own, kept)))
        return tuple(result)

    def _around(
        self, region: Block, own: Mapping[str, Declare], kept: Mapping[str, Declare]
    ) -> Block:
        names = mentioned(region)
        if any(name in names for name in kept):
            region = tuple(_expanded(node, kept, self._item(), self._items()) for node in region)
        region = place_declarations(region, {n: d for n, d in own.items() if n in names})
        return self._with_items(region)

    def _with_items(self, region: Block) -> Block:
        """Return the loops over work items around statements that do not synchronize."""
        items = frozenset(name for axis in self._axes for name, _ in axis.inames)
        if len(region) > 1 and self._axes and _are_versions(region, items):
            return tuple(
                replace(node, body=self._with_items(node.body)) if isinstance(node, If) else node
                for node in region
            )
        used = _used(region, self._within)
        around, region = self._shared(region, items)
        for axis in self._axes:
            region = (*_aliases(axis, used, self._index_dtype), *region)
            region = (_axis_loop(axis, region),)
        for node in reversed(around):
            region = (replace(node, body=region),)
        return region

    def _shared(self, region: Block, items: frozenset[str]) -> tuple[Sequence[Loop | If], Block]:
        """Return the loops of a region that go around those over work items, and what these hold.

        That is so of a nest in which all items make the same iterations, if what it holds becomes
        vectors: what each item copies in turn, say, of what a group keeps.
        """
        around, inside = _taken_apart(region, items)
        if not any(isinstance(node, Loop) for node in around):
            return (), region
        nodes = list(nodes_in(inside))
        plain = all(isinstance(node, Assign | Declare | If) for node in nodes)
        return (around, inside) if plain and self._are_vectors(nodes, ()) else ((), region)

    def _item(self) -> Expression:
        """Return the number of the work item in its group."""
        number: Expression = 0
        for axis in reversed(self._axes):
            name, first = axis.inames[0]
            index = _shifted(ex.Variable(name), first, 0)
            number = ex.sum_of(ex.product_of(number, axis.size), index)
        return simplify(number)


def _are_versions(region: Block, items: frozenset[str]) -> bool:
    """Tell whether statements are all under conditions that are the same for all items."""
    written = written_names(region)
    return all(
        isinstance(node, If)
        and is_stable(node, written)
        and items.isdisjoint(mentioned_by_head(node))
        for node in region
    )


def _taken_apart(region: Block, items: frozenset[str]) -> tuple[list[Loop | If], Block]:
    """Return loops and conditions around a block that are the same for all items, and the rest.

    What differs from item to item, and may be asked in each iteration as well as once, is asked
    around the block.
    """
    written = written_names(region)
    around: list[Loop | If] = []
    asked: list[Expression] = []
    while len(region) == 1 and isinstance(node := region[0], Loop | If):
        if not is_stable(node, written):
            break
        head = mentioned_by_head(node)
        copied = isinstance(node, Loop) and (node.unroll or node.at_once)
        if items.isdisjoint(head) and not copied:
            around.append(node)
        elif isinstance(node, If):
            asked.append(node.condition)
        else:
            break
        region = node.body
    for condition in reversed(asked):
        region = (If(condition, region),)
    return around, region


def _expanded(node: Node, kept: Mapping[str, Declare], item: Expression, items: int) -> Node:
    """Return `node` with each kept variable an array that the work item has a part of."""

    def rule(e: Expression) -> Expression:
        # Outermost first: the array of a subscript is a variable too.
        if isinstance(e, ex.Subscript) and ex.name_of(e) in kept:
            first, *chosen = ex.index_tuple(e)
            index = _own_element(kept[ex.name_of(e)], rule(first), item, items)
            return ex.Subscript(e.aggregate, (index, *chosen) if chosen else index)
        if isinstance(e, ex.Variable) and e.name in kept:
            return ex.Subscript(e, item)
        return walk.rebuild(e, tuple([rule(p) for p in walk.parts(e)]))

    if isinstance(node, Assign):
        pairs: list[tuple[ex.Variable | ex.Subscript, Expression]] = []
        for target, value in node.pairs:
            expanded = rule(target)
            assert isinstance(expanded, ex.Variable | ex.Subscript)
            pairs.append((expanded, rule(value)))
        (target, value), *others = pairs
        return replace(node, target=target, value=value, others=tuple(others))
    if isinstance(node, Call):
        return replace(node, arguments=tuple(map(rule, node.arguments)))
    if isinstance(node, Verbatim):
        return _expanded_verbatim(node, kept, rule)
    if isinstance(node, Loop):
        body = tuple(_expanded(child, kept, item, items) for child in node.body)
        runs = None if node.runs is None else rule(node.runs)
        return replace(node, lower=rule(node.lower), upper=rule(node.upper), body=body, runs=runs)
    if isinstance(node, If):
        body = tuple(_expanded(child, kept, item, items) for child in node.body)
        return replace(node, condition=rule(node.condition), body=body)
    assert not list(expressions(node))  # declarations come later
    return node


def _own_element(kept: Declare, index: Expression, item: Expression, items: int) -> Expression:
    """Return the subscript of an element of the part that a work item has."""
    if kept.interleaved:
        return simplify(ex.sum_of(ex.product_of(items, index), item))
    return simplify(ex.sum_of(ex.product_of(kept.extent or 1, item), index))


def _expanded_verbatim(
    node: Verbatim, kept: Mapping[str, Declare], rule: Callable[[Expression], Expression]
) -> Verbatim:
    for name in (*node.reads, *node.writes):
        if name in kept:
            raise VerbatimNotPossible(
                f"verbatim C in '{node.insn_id}' mentions '{name}', which each work item has for "
                "itself and keeps across a barrier: here it becomes a part of an array",
                remedy=f"make '{name}' an array with an element for each work item, in local "
                "memory, or write the instruction without verbatim C",
            )
    return replace(node, names=tuple([(name, rule(value)) for name, value in node.names]))
