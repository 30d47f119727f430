"""Finds what each work item of a warp passes to tensor cores, and what it holds.

For ``sums[h,v] = sums[h,v] + a[g,h,k]*b[k,t,v]``, with ``t`` and ``g`` of `tensor_products`::

    for k in [0, 8):
        for h in [0, 2):                        left 0, 1   a[g, 0, t],     a[g, 1, t]
            for v in [0, 2):             ->     left 2, 3   a[g, 0, t + 4], a[g, 1, t + 4]
                sums[2*h + v] += ...            right 0, 1  b[t, g//2, g%2], b[t + 4, g//2, g%2]

The hardware multiplies a matrix of 8 or 16 rows with one of 8 columns.  The PTX ISA says what a
work item passes of them, and what it holds ("Matrix Fragments for mma"):

- of the left matrix, of row ``g + 8*h``, column ``t`` and every fourth one after it;
- of the right one, the same rows of column ``g``;
- of the sum, of row ``g + 8*h``, columns ``2*t`` and ``2*t + 1``: those that it has.

So what it passes is an element that work items of its warp read, at other values of the inames:
``k`` is its ``t``, and the column, ``(t, v)``, is ``(g//2, g%2)``.

Numbers of 16 bits are passed in pairs: columns ``2*t`` and ``2*t + 1``, and so on every eighth.
``ldmatrix`` loads them from local memory: eight work items say where eight neighbours begin, which
each of the eight rows of a matrix of 8 x 8 has, or each of its columns.  32 of them do so for four
such matrices, which are, of the left matrix, for ``h`` of 0 and 1 and columns 0 and 8 of 16, and of
the right one, rows 0, 8, 16 and 24.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.lower.address import simplify
from polygen.lower.program import Loop, MatrixLoad, TensorProduct

ACROSS, DOWN = 4, 8  # the work items of a warp, along l.0 and l.1
_DEPTHS: Mapping[str, tuple[int, ...]] = {
    "float64": (16, 8, 4),
    "tf32": (8, 4),
    "float16": (16,),
    "bfloat16": (16,),
}
_SHORT = ("float16", "bfloat16")
_ROW = 8  # numbers of 16 bits that ldmatrix reads side by side


@dataclass(frozen=True)
class WarpNames:
    """The inames of a work item's place in its warp.

    Attributes:
        across: along ``l.0``.
        down: along ``l.1``.
        is_alone: whether the group has one warp along this axis.
    """

    across: str
    down: str
    is_alone: bool

    @property
    def in_warp(self) -> Expression:
        """The place along ``l.1``."""
        down = ex.Variable(self.down)
        return down if self.is_alone else ex.remainder_of(down, DOWN)

    @property
    def number(self) -> Expression:
        """The number of the work item in its warp."""
        return ex.sum_of(ex.Variable(self.across), ex.product_of(ACROSS, self.in_warp))


@dataclass(frozen=True)
class SmallProduct:
    """A sum of products in loops with constant numbers of iterations.

    Attributes:
        counts: the iterations of each loop, outermost first.
        sums: the element that is added to.
        left: the factor that depends on ``l.1``.
        right: the factor that depends on ``l.0``.
    """

    counts: Mapping[str, int]
    sums: ex.Subscript
    left: ex.Subscript
    right: ex.Subscript

    def roles(self) -> tuple[list[str], list[str], str]:
        """Return the loops over rows, over columns, and over the terms of the sum.

        Raises:
            ValueError: if one is none of these.
        """
        used = [walk.free_variables(n) for n in (self.sums, self.left, self.right)]
        found: dict[tuple[bool, ...], list[str]] = {}
        for iname in self.counts:
            found.setdefault(tuple([iname in names for names in used]), []).append(iname)
        rows = found.pop((True, True, False), [])
        columns = found.pop((True, False, True), [])
        depths = found.pop((False, True, True), [])
        if found:
            iname = next(iter(found.values()))[0]
            raise ValueError(f"'{iname}' is no loop over rows, columns or terms of the sum")
        if len(depths) != 1:
            raise ValueError(f"its sums run over {len(depths)} loops, not one")
        return rows, columns, depths[0]

    def last_even(self, inames: list[str]) -> str | None:
        """Return the innermost loop with an even number of iterations."""
        return next((i for i in reversed(inames) if self.counts[i] % 2 == 0), None)


def passed(nest: Loop, kind: str, product: SmallProduct, names: WarpNames) -> TensorProduct:
    """Return the product of a warp that loops stand for.

    Parameters:
        nest: the loops.
        kind: the type of the factors, as the hardware has them.
        product: what they compute.
        names: of a work item's place.

    Raises:
        ValueError: if the hardware has none of such sizes; it says why.
    """
    return _Passed(kind, product, names).product(nest)


class _Passed:
    def __init__(self, kind: str, product: SmallProduct, names: WarpNames) -> None:
        self._kind, self._product, self._names = kind, product, names
        self._rows, self._columns, self._depth = product.roles()
        self._row = product.last_even(self._rows)
        column = product.last_even(self._columns)
        if column is None:
            raise ValueError("none of its loops over columns has an even number of iterations")
        self._column = column
        count, depths = product.counts[self._depth], _DEPTHS[kind]
        self._deep = next((d for d in depths if count % d == 0), 0)
        if not self._deep:
            raise ValueError(f"'{self._depth}' has {count} values, no multiple of {min(depths)}")
        if kind in _SHORT and self._row is None:
            raise ValueError("none of its loops over rows has an even number of iterations")

    def product(self, nest: Loop) -> TensorProduct:
        column = self._column
        sums = [
            {**self._lower(h), column: _ahead(column, v)}
            for h in range(1 if self._row is None else 2)
            for v in range(2)
        ]
        is_short = self._kind in _SHORT
        left, right = (() if is_short else tuple(side()) for side in (self._left, self._right))
        return TensorProduct(
            nest,
            self._around([self._depth]),
            self._around([*self._rows, *self._columns]),
            self._kind,
            tuple([_moved(self._product.sums, self._alone(place)) for place in sums]),
            left,
            right,
            (self._names.across, self._names.down),
            (self._left_load(), self._right_load()) if is_short else None,
        )

    def _step(self, iname: str) -> int:
        if iname == self._depth:
            return self._deep
        return 2 if iname in {self._row, self._column} else 1

    def _around(self, loops: list[str]) -> tuple[tuple[str, int, int], ...]:
        """Return those of the loops that there are: their iterations, and steps."""
        steps = [(i, self._product.counts[i], self._step(i)) for i in loops]
        return tuple([loop for loop in steps if loop[1] != loop[2]])

    def _alone(self, place: Mapping[str, Expression]) -> dict[str, Expression]:
        """Return values of inames; of loops with one iteration, there are none."""
        none = {i: 0 for i, count in self._product.counts.items() if count == self._step(i)}
        return none | {i: walk.substitute(value, none) for i, value in place.items()}

    def _lower(self, h: Expression) -> dict[str, Expression]:
        """Return the loop over rows with what is added to it."""
        return {} if self._row is None else {self._row: _ahead(self._row, h)}

    # --- element by element

    def _left(self) -> Iterator[ex.Subscript]:
        across = ex.Variable(self._names.across)
        for first in range(0, self._deep, ACROSS):
            for h in range(1 if self._row is None else 2):
                deeper = _ahead(self._depth, ex.sum_of(across, first))
                place = {**self._lower(h), self._depth: deeper}
                yield _moved(self._product.left, self._alone(place))

    def _right(self) -> Iterator[ex.Subscript]:
        across = ex.Variable(self._names.across)
        place = self._in_column(self._product.right, self._names.in_warp)
        for first in range(0, self._deep, ACROSS):
            deeper = _ahead(self._depth, ex.sum_of(across, first))
            yield _moved(self._product.right, self._alone({**place, self._depth: deeper}))

    def _in_column(self, node: ex.Subscript, number: Expression) -> dict[str, Expression]:
        """Return where an element of the right matrix is read that is in a column, of eight."""
        across, column = self._names.across, self._column
        second = _difference(node, column)
        if second is not None and _difference(node, across) == 2 * second:  # columns in a row
            return {across: 0, column: _ahead(column, number)}
        half = ex.floor_quotient(number, 2)
        return {across: half, column: _ahead(column, ex.remainder_of(number, 2))}

    # --- by ldmatrix

    def _left_load(self) -> MatrixLoad:
        node, names = self._product.left, self._names
        is_transposed = self._is_transposed(node, {names.down: 1})
        lane, warp = names.number, ex.sum_of(ex.Variable(names.down), ex.negated(names.in_warp))
        within, matrix = ex.remainder_of(lane, _ROW), ex.floor_quotient(lane, _ROW)
        lower = self._lower(ex.remainder_of(matrix, 2))
        along = ex.product_of(_ROW, ex.floor_quotient(matrix, 2))
        first_row, deeper = (warp, within) if is_transposed else (ex.sum_of(warp, within), 0)
        rows = [
            {names.down: first_row, self._depth: _ahead(self._depth, first, along, deeper)} | lower
            for first in range(0, self._deep, 2 * _ROW)
        ]
        return self._load(node, rows, self._rows, is_transposed=is_transposed)

    def _right_load(self) -> MatrixLoad:
        node, names, lane = self._product.right, self._names, self._names.number
        is_transposed = self._is_transposed(node, {self._column: 1, names.across: 2})
        if is_transposed:  # the columns are neighbours
            place = {names.across: 0, self._depth: _ahead(self._depth, lane)}
        else:
            along = ex.product_of(_ROW, ex.floor_quotient(lane, _ROW))
            place = self._in_column(node, ex.remainder_of(lane, _ROW))
            place[self._depth] = _ahead(self._depth, along)
        return self._load(node, [place], self._columns, is_transposed=is_transposed)

    def _is_transposed(self, node: ex.Subscript, strides: Mapping[str, int]) -> bool:
        """Tell whether it is not the terms of a sum that are side by side.

        Parameters:
            node: an element of a factor.
            strides: how far apart neighbours are along other inames, where these are so.

        Raises:
            ValueError: if nothing is.
        """
        if _difference(node, self._depth) == 1:
            return False
        if all(_difference(node, iname) == stride for iname, stride in strides.items()):
            return True
        raise ValueError(f"no eight numbers of '{ex.name_of(node)}' lie side by side")

    def _load(
        self,
        node: ex.Subscript,
        places: list[dict[str, Expression]],
        loops: list[str],
        *,
        is_transposed: bool,
    ) -> MatrixLoad:
        rows = tuple([_moved(node, self._alone(place)) for place in places])
        # The loop over terms of the sum has steps.
        stepped = {self._depth: ex.product_of(self._deep, ex.Variable(self._depth))}
        if not all(_is_multiple(_moved(row, stepped)) for row in rows):
            raise ValueError(f"rows of '{ex.name_of(node)}' do not begin at multiples of 16 bytes")
        registers = self._deep // (4 if loops is self._rows else 8)
        return MatrixLoad(rows, is_transposed, self._around(loops), registers)


def _ahead(iname: str, *further: Expression) -> Expression:
    """Return an iname with something added to it."""
    return ex.sum_of(ex.Variable(iname), *further)


def _moved(node: ex.Subscript, values: Mapping[str, Expression]) -> ex.Subscript:
    """Return an element with others in the place of inames."""
    index = tuple([simplify(walk.substitute(i, values)) for i in ex.index_tuple(node)])
    return ex.Subscript(node.aggregate, index[0] if len(index) == 1 else index)


def _difference(node: ex.Subscript, iname: str) -> int | None:
    """Return how much further the next element along an iname is, if that is a constant."""
    first, *others = ex.index_tuple(node)
    ahead = walk.substitute(first, {iname: _ahead(iname, 1)})
    found = None if others else simplify(ex.sum_of(ahead, ex.negated(first)))
    return found if isinstance(found, int) else None


def _is_multiple(node: ex.Subscript) -> bool:
    """Tell whether an element begins eight ones, counted from the array's beginning."""
    form: LinearForm | None = linear_form(node.index)
    if form is None or form.constant % _ROW:
        return False
    return all(factor % _ROW == 0 for factor in form.terms.values())
