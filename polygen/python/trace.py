"""A function that is being traced: names, loops, temporaries and assignments to elements."""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.names import usable_name
from polygen.python.affine import Affine, number
from polygen.python.element_overlap_test import reads_of_other_elements
from polygen.python.nodes import FAULTS, Assign, Fault, Fetch, For, Node, Nodes, Scalar, Storage
from polygen.python.operators import operand_tree
from polygen.python.refused import Refused, ShapeRefused
from polygen.python.size_facts import SizeFacts
from polygen.python.values import (
    Arrayed,
    Index,
    Indices,
    Lazy,
    Number,
    View,
    index_tree,
    whole,
)


class Trace:
    """The facts that are known so far, and the statements so far.

    Attributes:
        nodes: what has been made.
        facts: sizes, ranges of loops, guards.
        node: the node of the user's tree that is being traced: a statement, or a call in it.
        statement_node: the statement.
        asked: conditions under which the expression at hand is evaluated.
        depth: how many loops and branches are open.
        at_line: the line of the statement of the compiled function, not of one that it calls.
    """

    def __init__(self) -> None:
        self.nodes = Nodes()
        self.facts = SizeFacts()
        self.node: ast.AST | None = None
        self.statement_node: ast.AST | None = None
        self._body: list[Node] = self.nodes.body
        self._taken: dict[str, str] = {}
        self._values_kept: list[dict[Expression, tuple[str, frozenset[str], int]]] = [{}]
        self._clock = 0
        self._written: dict[str, int] = {}
        self.asked: list[Expression] = []
        self._stretched: set[Affine] = set()
        self.depth: int = 0
        self.at_line: int = 0

    # --- names

    def name(self, like: str) -> str:
        """Return a name that nothing has so far."""
        word = usable_name(like)
        found, count = word, 0
        while found in self._taken:
            found, count = f"{word}_{count}", count + 1
        self._taken[found] = like
        return found

    @property
    def written_names(self) -> dict[str, str]:
        """The names in the kernel, as the user calls them."""
        return dict(self._taken)

    # --- statements

    def emit(self, node: Node) -> None:
        """Add a statement."""
        self._clock += 1
        if isinstance(node, Assign | Fetch):
            self._written[ex.name_of(node.target)] = self._clock
        self._body.append(node)

    @property
    def time(self) -> int:
        """The number of statements so far."""
        return self._clock

    def written_since(self, time: int) -> list[str]:
        """Return the names that statements have assigned to since there were so many."""
        return [name for name, last in self._written.items() if last > time]

    @contextmanager
    def inside(self, body: list[Node]) -> Generator[None]:
        """Let statements be added to a block."""
        outer, self._body = self._body, body
        kept, self._values_kept = self._values_kept, [{}]
        try:
            yield
        finally:
            self._body, self._values_kept = outer, kept

    @contextmanager
    def loop(
        self, like: str, lower: Affine, upper: Affine, step: int = 1, *, is_written: bool = False
    ) -> Generator[Affine]:
        """Open a loop; its value is a form."""
        iname = self.name(like)
        made = For(iname, lower, upper, step, [], self.node, is_written)
        self.emit(made)
        self.facts.ranges[iname] = (lower, upper.minus(1))
        with self.inside(made.body):
            yield Affine.of(iname)

    @contextmanager
    def each(self, shape: Sequence[Affine]) -> Generator[tuple[Affine, ...]]:
        """Open a loop for each axis."""
        if not shape:
            yield ()
            return
        if shape[0].is_constant and shape[0].constant <= 0:
            with self.inside([]), self.each(shape[1:]) as inner:
                yield (number(0), *inner)
            return
        if shape[0] == number(1):
            with self.each(shape[1:]) as inner:
                yield (number(0), *inner)
            return
        with self.loop("q", number(0), shape[0]) as index, self.each(shape[1:]) as inner:
            yield (index, *inner)

    def reduced(self, extent: Affine, like: str = "r") -> Affine:
        """Return the loop of a reduction."""
        iname = self.name(like)
        self.nodes.reduced[iname] = (number(0), extent)
        self.facts.ranges[iname] = (number(0), extent.minus(1))
        return Affine.of(iname)

    # --- variables

    def scalar(self, like: str, dtype: np.dtype) -> str:
        """Return a new temporary without axes."""
        name = self.name(like)
        self.nodes.scalars[name] = Scalar(name, dtype)
        return name

    def frozen(self, value: Number, like: str = "t") -> Number:
        """Return a scalar that keeps its value: one of a variable is copied."""
        if value.is_constant or (value.affine is not None and value.cell is None):
            return value
        tree = value.element()
        known = None if like != "t" else self._same_value(tree)
        name = known or self.scalar(like, value.dtype)
        if known is None:
            self.emit(Assign(ex.Variable(name), tree, self.node))
            self._keep_value(tree, name)
        affine = None
        if value.dtype.kind in "iu":
            affine = Affine.of(name)
            least = number(0) if value.dtype.kind == "u" else None
            self.facts.ranges.setdefault(name, (least, None))
        return Number(value.dtype, value.weak, ex.Variable(name), affine)

    def integer(
        self, tree: Expression, low: Affine | None, high: Affine | None, like: str = "t"
    ) -> Affine:
        """Return a new integer temporary, of which the range may be known."""
        known = self._same_value(tree)
        if known is not None:
            return Affine.of(known)
        name = self.scalar(like, np.dtype("int64"))
        self.emit(Assign(ex.Variable(name), tree, self.node))
        self.facts.ranges[name] = (low, high)
        self._keep_value(tree, name)
        return Affine.of(name)

    def _keep_value(self, tree: Expression, name: str) -> None:
        """Remember that a temporary has a value, as long as nothing in it is written."""
        self._values_kept[-1][tree] = (name, walk.free_variables(tree), self._clock)

    def _same_value(self, tree: Expression) -> str | None:
        """Return a temporary of this block that has a value already."""
        known = self._values_kept[-1].get(tree)
        if known is None:
            return None
        name, read, clock = known
        return name if all(self._written.get(one, 0) <= clock for one in read) else None

    # --- what is an error in Python

    def fault(self, condition: Expression, kind: type[Exception], text: str | None = None) -> None:
        """Let the call raise an error of a kind, and a text, if a condition holds here."""
        nodes = self.nodes
        if nodes.fault is None:
            made = self.storage(
                "faults", np.dtype("int32"), (number(1),), "made", zeros=True, is_written=True
            )
            nodes.fault = made.name
        place = next(
            at for at, (known, said) in enumerate(FAULTS) if known is kind and text in (None, said)
        )
        site = (self.at_line, place, self.node)
        if site not in nodes.fault_sites:
            nodes.fault_sites.append(site)
            nodes.storages[nodes.fault].shape = (number(len(nodes.fault_sites)),)
        if self.asked:
            condition = ex.LogicalAnd((*self.asked, condition))
        self.emit(Fault(condition, nodes.fault_sites.index(site), self.node))

    def storage(
        self, like: str, dtype: np.dtype, shape: Sequence[Affine], role: str, **more: Any
    ) -> Storage:
        """Return a new array; extents that vary with loops are the largest there are."""
        extents = tuple([self.largest(extent) for extent in shape])
        found = Storage(self.name(like), dtype, extents, role, **more)
        self.nodes.storages[found.name] = found
        return found

    def largest(self, form: Affine) -> Affine:
        """Return the largest value of a form, in sizes."""
        if all(s in self.facts.values for s in form.symbols()):
            return form
        found = self.facts.least(form.times(-1))
        if found is None:
            raise ShapeRefused("data decides how large an array is", "allocate it before the loop")
        found = found.times(-1)
        if self.facts.holds(found):
            return found
        return number(0)

    def made(self, dtype: np.dtype, shape: Sequence[Affine], like: str, *, zeros: bool) -> View:
        """Return a new array that the call allocates."""
        for extent in shape:
            if any(s not in self.facts.values for s in extent.symbols()):
                raise ShapeRefused(
                    "data decides how large an array is", "allocate it before the loop"
                )
            if self.facts.holds(extent) is False:
                raise Refused("an array has a negative extent")
        return whole(self.storage(like, dtype, shape, "made", zeros=zeros))

    def checks_at_call(self, tree: Expression, extent: Affine) -> bool:
        """Tell whether the call looks at subscripts: those that are arguments, never written."""
        del tree, extent
        return False

    def allocated(
        self, dtype: np.dtype, shape: Sequence[Affine], like: str, *, zeros: bool
    ) -> View:
        """Return a new array: by the call, or by the kernel within loops."""
        if self.depth == 0:
            return self.made(dtype, shape, like, zeros=zeros)
        base = self.storage(like, dtype, shape, "temporary")
        return View(base, tuple(shape), lambda index: index, is_whole=True, recipe=None)

    def copied(self, value: Arrayed) -> View:
        """Return a copy in memory."""
        if self.depth > 0:
            return self.stored(value)
        base = self.storage("copy", value.dtype, value.shape, "temporary")
        view = whole(base)
        self.assign(view, value)
        return view

    # --- shapes

    def extents_agree(self, one: Affine, other: Affine) -> bool:
        """Tell whether two extents are equal, in all calls of this variant."""
        found = self.facts.equal(one, other)
        if found is None:
            return self.facts.is_never_negative(one.minus(other)) and (
                self.facts.is_never_negative(other.minus(one))
            )
        return found

    def is_one(self, extent: Affine) -> bool:
        """Tell whether an extent is 1."""
        if extent.is_constant:
            return extent.constant == 1
        if any(s not in self.facts.values for s in extent.symbols()):
            return False
        if extent.evaluate(self.facts.values) != 1:
            return False
        return bool(self.facts.equal(extent, number(1)))

    def broadcast(self, shapes: Sequence[tuple[Affine, ...]]) -> tuple[Affine, ...]:
        """Return the shape that NumPy gives to arrays of several shapes.

        Raises:
            Refused: if they do not go together.
        """
        rank = max(map(len, shapes), default=0)
        result: list[Affine] = []
        for axis in range(-rank, 0):
            extent = number(1)
            for shape in shapes:
                if len(shape) < -axis:
                    continue
                extent = self._joined(extent, shape[axis])
            result.append(extent)
        return tuple(result)

    def _joined(self, one: Affine, other: Affine) -> Affine:
        if one == other or other == number(1):
            return one
        if one == number(1) or self.extents_agree(one, other):
            return other
        if self.is_one(one):
            return other
        if self.is_one(other):
            return one
        if self._is_of_data(one) or self._is_of_data(other):
            return self._joined_by_call(one, other)
        raise ShapeRefused(
            f"shapes do not go together: {_shown(one)} and {_shown(other)} elements",
            "make them of one shape",
        )

    def _is_of_data(self, extent: Affine) -> bool:
        return any(symbol not in self.facts.values for symbol in extent.symbols())

    def _joined_by_call(self, one: Affine, other: Affine) -> Affine:
        """Return the extent of two that data decides: the call finds out if they go together."""
        left, right = one.tree("int64"), other.tree("int64")
        is_one, is_other = ex.Comparison(left, "==", 1), ex.Comparison(right, "==", 1)
        differs = ex.Comparison(left, "!=", right)
        both = (differs, ex.LogicalNot(is_one), ex.LogicalNot(is_other))
        self.fault(ex.LogicalAnd(both), ValueError, "operands could not be broadcast together")
        self._stretched |= {one, other}
        joined = ex.If(is_one, right, ex.If(is_other, left, ex.Min((left, right))))
        high = max(
            (form for form in map(self._most, (one, other)) if form is not None),
            key=lambda form: form.evaluate(self.facts.values),
            default=None,
        )
        if high is not None:
            for form in filter(None, map(self._most, (one, other))):
                self.facts.holds(high.minus(form))
        return self.integer(joined, number(0), high, "extent")

    def _most(self, extent: Affine) -> Affine | None:
        found = self.facts.least(extent.times(-1))
        return None if found is None else found.times(-1)

    def _place_in(self, extent: Affine, place: Index) -> Index:
        """Return the place along an axis of a value that is broadcast."""
        if self.is_one(extent):
            return number(0)
        if extent in self._stretched:
            is_one = ex.Comparison(extent.tree("int64"), "==", 1)
            return ex.If(is_one, 0, index_tree(place))
        return place

    def element_of(self, value: Number | Arrayed, rank: int, index: Indices) -> Expression:
        """Return an element of a value that is broadcast to more axes."""
        del rank
        return value.element(self.index_of(value, index))

    def index_of(self, value: Number | Arrayed, index: Indices) -> Indices:
        """Return the subscripts in a value for those in what it is broadcast to."""
        own = index[len(index) - len(value.shape) :]
        places: list[Index] = [
            self._place_in(extent, place) for extent, place in zip(value.shape, own, strict=True)
        ]
        return tuple(places)

    def shared(self, value: Number | Arrayed) -> Number | Arrayed:
        """Return a value whose elements are cheap to ask for several times."""
        if isinstance(value, Lazy) and value.is_costly:
            return self.stored(value)
        return value

    # --- assignments

    def stored(self, value: Arrayed, like: str = "tmp") -> View:
        """Return an array in memory with the elements of a value."""
        base = self.storage(like, value.dtype, value.shape, "temporary")
        view = View(base, value.shape, lambda index: index, is_whole=base.shape == value.shape)
        with self.each(value.shape) as index:
            self.emit(Assign(view.element(index), value.element(index), self.node))
        return view

    def assign(self, target: View, value: Number | Arrayed) -> None:
        """Assign to all elements of a part of an array, as NumPy does."""
        shape = value.shape
        while len(shape) > len(target.shape):
            if not self.is_one(shape[0]):
                raise Refused("more axes are assigned than there are")
            shape = shape[1:]
        target = self._as_large_as(target, shape)
        target.base.is_written = True
        element = self._unaffected(target, value)
        with self.each(target.shape) as index:
            tree = target.stored_value(element(index), index)
            self.emit(Assign(target.stored_element(index), tree, self.node))

    def _as_large_as(self, target: View, shape: tuple[Affine, ...]) -> View:
        """Return the target of elements of a shape, which have to be as many as there are.

        Where data decides how many there are, the call finds out, and may raise an error.
        """
        extents = list(target.shape)
        for axis, given in enumerate(shape, len(extents) - len(shape)):
            own = extents[axis]
            if own == given or self.is_one(given) or self.extents_agree(own, given):
                continue
            is_many = self.facts.is_never_negative(given.minus(2))
            if not self._is_of_data(own):
                raise Refused(f"{_shown(given)} elements are assigned to {_shown(own)}")
            differs: Expression = ex.Comparison(own.tree(), "!=", given.tree())
            least: Expression = ex.Min((own.tree(), given.tree()))  # nothing beyond is touched
            if not is_many:
                is_one = ex.Comparison(given.tree(), "==", 1)
                differs = ex.LogicalAnd((differs, ex.LogicalNot(is_one)))
                least = ex.If(is_one, own.tree(), least)
                self._stretched.add(given)
            self.fault(differs, ValueError, "arrays of two shapes are assigned")
            extents[axis] = self.integer(least, number(0), own if not is_many else given, "extent")
        return replace(target, shape=tuple(extents))

    def _assigned_element(
        self, target: View, value: Number | Arrayed, index: Indices
    ) -> Expression:
        rank = len(value.shape)
        own = index if rank <= len(index) else (*[number(0)] * (rank - len(index)), *index)
        tree = self.element_of(value, rank, own)
        if value.dtype.kind == "c" and target.dtype.kind != "c":
            raise Refused("a complex number is assigned to a real one")
        return operand_tree(value, tree, target.dtype)

    def _unaffected(self, target: View, value: Number | Arrayed) -> Callable[[Indices], Expression]:
        """Return what gives the elements to assign, whatever was assigned before.

        Where an iteration reads what another one of the same statement writes, that is copied: all
        elements of the value; or those that are read, if they have fewer axes.
        """
        if isinstance(value, Number):
            return partial(self._assigned_element, target, value)
        # The loops of reductions that a look makes are none of the kernel's.
        kept = dict(self.nodes.reduced)
        names = {f"?{axis}": extent for axis, extent in enumerate(target.shape)}
        index = tuple([_place(name, extent) for name, extent in names.items()])
        tree = self._assigned_element(target, value, index)
        reads = self._affected(target, tree, names)
        has_sums = self.nodes.reduced.keys() != kept.keys()
        for name in set(self.nodes.reduced) - set(kept):
            del self.nodes.reduced[name]
        if not reads:
            return partial(self._assigned_element, target, value)
        own = [_axes_of(read, names) for read in reads]
        axes = sum(extent != number(1) for extent in target.shape)
        if has_sums or target.is_gather or max(map(len, own)) >= axes:
            return partial(self._assigned_element, target, self.stored(value))
        copies = {read: self._copy(target, read, names) for read in reads}
        tree = walk.rewrite(tree, lambda node: copies.get(node, node))
        return lambda at: walk.substitute(
            tree, {name: index_tree(place) for name, place in zip(names, at, strict=True)}
        )

    def _affected(
        self, target: View, tree: Expression, names: Mapping[str, Affine]
    ) -> list[Expression]:
        """Return what is read in a value, and may be written before."""
        index = tuple([_place(name, extent) for name, extent in names.items()])
        if target.is_gather:  # several iterations may write one element
            mentioned = target.base.name in walk.free_variables(tree)
            return [ex.Variable(target.base.name)] if mentioned else []
        ranges = {name: (number(0), extent.minus(1)) for name, extent in names.items()}
        return reads_of_other_elements(target.stored_element(index), tree, ranges, self.facts)

    def _copy(self, target: View, read: Expression, names: Mapping[str, Affine]) -> Expression:
        """Copy what is read in iterations along some axes; return an element of the copy."""
        axes = _axes_of(read, names)
        if not axes:
            scalar = ex.Variable(self.scalar("old", target.base.dtype))
            self.emit(Assign(scalar, read, self.node))
            return scalar
        shape = [names[axis] for axis in axes]
        view = whole(self.storage("old", target.base.dtype, shape, "temporary"))
        with self.each(shape) as index:
            places = dict(zip(axes, map(index_tree, index), strict=True))
            element = view.stored_element(index)
            self.emit(Assign(element, walk.substitute(read, places), self.node))
        return view.stored_element(tuple([Affine.of(axis) for axis in axes]))


def _place(name: str, extent: Affine) -> Affine:
    return number(0) if extent == number(1) else Affine.of(name)


def _axes_of(read: Expression, names: Mapping[str, Affine]) -> list[str]:
    used = walk.free_variables(read)
    return [name for name in names if name in used]


def _shown(form: Affine) -> str:
    return str(form.tree())
