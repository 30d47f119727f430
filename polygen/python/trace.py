"""A function that is being traced: names, loops, temporaries and assignments to elements."""

from __future__ import annotations

import ast
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.names import usable_name
from polygen.python.affine import Affine, number
from polygen.python.element_overlap_test import reads_other_elements
from polygen.python.nodes import FAULTS, Assign, Fault, For, Node, Nodes, Scalar, Storage
from polygen.python.operators import operand_tree
from polygen.python.refused import Refused
from polygen.python.size_facts import SizeFacts
from polygen.python.values import (
    Arrayed,
    Index,
    Indices,
    Lazy,
    Number,
    View,
    whole,
)


class Trace:
    """The facts that are known so far, and the statements so far.

    Attributes:
        nodes: what has been made.
        facts: sizes, ranges of loops, guards.
        node: the node of the user's tree that is being traced.
        asked: conditions under which the expression at hand is evaluated.
        depth: how many loops and branches are open.
    """

    def __init__(self) -> None:
        self.nodes = Nodes()
        self.facts = SizeFacts()
        self.node: ast.AST | None = None
        self._body: list[Node] = self.nodes.body
        self._taken: dict[str, str] = {}
        self._values_kept: list[dict[Expression, tuple[str, frozenset[str], int]]] = [{}]
        self._clock = 0
        self._written: dict[str, int] = {}
        self.asked: list[Expression] = []
        self.depth: int = 0

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
        if isinstance(node, Assign):
            self._written[ex.name_of(node.target)] = self._clock
        self._body.append(node)

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

    def fault(self, condition: Expression, kind: type[Exception]) -> None:
        """Let the call raise an error if a condition holds here."""
        nodes = self.nodes
        if nodes.fault is None:
            made = self.storage(
                "faults", np.dtype("int32"), (number(len(FAULTS)),), "made", zeros=True,
                is_written=True,
            )  # fmt: skip
            nodes.fault = made.name
        place = next(at for at, (known, _) in enumerate(FAULTS) if known is kind)
        if self.asked:
            condition = ex.LogicalAnd((*self.asked, condition))
        self.emit(Fault(condition, place, self.node))

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
            raise Refused("data decides how large an array is", "allocate it before the loop")
        found = found.times(-1)
        if self.facts.holds(found):
            return found
        return number(0)

    def made(self, dtype: np.dtype, shape: Sequence[Affine], like: str, *, zeros: bool) -> View:
        """Return a new array that the call allocates."""
        for extent in shape:
            if any(s not in self.facts.values for s in extent.symbols()):
                raise Refused("data decides how large an array is", "allocate it before the loop")
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
        raise Refused(
            f"shapes do not go together: {_shown(one)} and {_shown(other)} elements",
            "make them of one shape",
        )

    def element_of(self, value: Number | Arrayed, rank: int, index: Indices) -> Expression:
        """Return an element of a value that is broadcast to more axes."""
        del rank
        own = index[len(index) - len(value.shape) :]
        places: list[Index] = [
            number(0) if self.is_one(extent) else place
            for extent, place in zip(value.shape, own, strict=True)
        ]
        return value.element(tuple(places))

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
        for own, given in zip(target.shape[::-1], shape[::-1], strict=False):
            if own != given and not self.is_one(given) and not self.extents_agree(own, given):
                raise Refused(f"{_shown(given)} elements are assigned to {_shown(own)}")
        target.base.is_written = True
        if self._needs_copy(target, value):
            assert not isinstance(value, Number)
            value = self.stored(value)
        with self.each(target.shape) as index:
            tree = self._assigned_element(target, value, index)
            tree = target.stored_value(tree, index)
            self.emit(Assign(target.stored_element(index), tree, self.node))

    def _assigned_element(
        self, target: View, value: Number | Arrayed, index: Indices
    ) -> Expression:
        rank = len(value.shape)
        own = index if rank <= len(index) else (*[number(0)] * (rank - len(index)), *index)
        tree = self.element_of(value, rank, own)
        if value.dtype.kind == "c" and target.dtype.kind != "c":
            raise Refused("a complex number is assigned to a real one")
        return operand_tree(value, tree, target.dtype)

    def _needs_copy(self, target: View, value: Number | Arrayed) -> bool:
        """Tell whether an iteration reads what another one of the same statement writes."""
        if isinstance(value, Number):
            return False
        names = [f"?{axis}" for axis in range(len(target.shape))]
        index = tuple(
            [
                number(0) if extent == number(1) else Affine.of(name)
                for name, extent in zip(names, target.shape, strict=True)
            ]
        )
        # The loops of reductions that a look makes are none of the kernel's.
        kept = dict(self.nodes.reduced)
        written = target.stored_element(index)
        read = self._assigned_element(target, value, index)
        ranges = {
            name: (number(0), extent.minus(1))
            for name, extent in zip(names, target.shape, strict=True)
        }
        if target.is_gather:  # several iterations may write one element
            found = target.base.name in walk.free_variables(read)
        else:
            found = reads_other_elements(written, read, ranges, self.facts)
        for name in set(self.nodes.reduced) - set(kept):
            del self.nodes.reduced[name]
        return found


def _shown(form: Affine) -> str:
    return str(form.tree())
