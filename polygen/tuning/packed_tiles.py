"""Takes the steps of a product of packed matrices (`polygen.pack_product`).

What becomes of ``c[i,j] = sum(k, a[i,k]*b[k,j])``::

    left[...] = a[...]      (threads share it; zeros where a tile goes beyond the end)
    right[...] = b[...]
    for i_block, j_block (threads), panel
        total[...] = 0
        for k_block, tile
            sums of a tile, in registers = 0
            for k: for row, part (unrolled), lane (a vector): sums += left * right
            total[...] += sums
        c[...] = total[...]

A panel is as many columns as a tile has.  Within a ``k_block`` it stays in the first two caches,
while one tile of rows after the other is read.  Columns are filled up to whole vectors, not to
whole panels: for a last panel of fewer vectors than others have, there is code of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from polygen.analysis.integers.affine_forms import linear_form
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.tags import GroupTag, InameTag, UnrollTag, VectorTag
from polygen.transforms.arrays.privatize_temporaries_with_inames import (
    privatize_temporaries_with_inames,
)
from polygen.transforms.arrays.set_temporary_address_space import set_temporary_address_space
from polygen.transforms.copies.precompute import precompute
from polygen.transforms.inames.duplicate_inames import duplicate_inames
from polygen.transforms.inames.prioritize_loops import prioritize_loops
from polygen.transforms.inames.tag_inames import tag_inames
from polygen.transforms.instructions.add_barrier import add_barrier
from polygen.transforms.parallel_reductions.realize_reduction import realize_reduction
from polygen.transforms.reductions.pad_reduction import pad_reduction
from polygen.transforms.reductions.split_reduction_inward import split_reduction_inward
from polygen.transforms.rules.extract_subst import extract_subst
from polygen.transforms.splitting.index_set_split import index_set_split
from polygen.transforms.splitting.pad_iname import pad_iname
from polygen.transforms.splitting.pad_tiles import pad_tiles
from polygen.transforms.splitting.split_iname import split_iname
from polygen.tuning.product_domains import is_deep, is_part, with_one_domain, without_others

_LARGE = 64  # bytes of vectors of which there are twice as many registers
_ROWS, _COLUMNS, _DEPTH = 96, 128, 3072  # of a block; the last one in bytes


@dataclass(frozen=True)
class Product:
    """A product of two matrices.

    Attributes:
        insn: the instruction.
        rows: the loop over rows of the result.
        columns: the one over its columns, which lie side by side.
        depth: the one of the sum.
        is_swapped: whether the factor that has the rows stands second.
        is_transposed: whether that one has its rows side by side.
        sums: the instruction that has the sum, if `insn` only reads it.
        part: the loop over parts of results, if these are complex.
        by: short loops of the sum beside `depth`: over parts of complex factors, over terms.
    """

    insn: str
    rows: str
    columns: str
    depth: str
    is_swapped: bool
    is_transposed: bool
    sums: str
    part: str = ""
    by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Blocks:
    """The sizes of tiles and blocks, in elements.

    Attributes:
        height: rows of a tile.
        lanes: numbers of a vector.
        width: columns of a tile.
        rows: of a block.
        columns: of a block.
        depth: of a block.
    """

    height: int
    lanes: int
    width: int
    rows: int
    columns: int
    depth: int

    @staticmethod
    def of(dtype: DType, vector_bytes: int, parts: int = 1, terms: int = 1) -> Blocks:
        """Return the sizes for numbers of a type.

        The sums of a tile are in registers, of which one is left for each vector of a row of the
        right factor, and one for an element of the left one.  Tiles are narrow, so that little of
        the last ones lies beyond the end.  Blocks are small, so that each thread gets some: both
        factors are copied once for all of them.

        Parameters:
            dtype: the type.
            vector_bytes: how large vectors are.
            parts: how many of these numbers one of the result has.
            terms: how many products each iteration of the sum adds up.
        """
        lanes = max(1, vector_bytes // dtype.itemsize)
        height = (12 if vector_bytes >= _LARGE else 6) // parts
        width = lanes * 2
        columns = width * max(1, _COLUMNS // width)
        depth = max(1, _DEPTH // dtype.itemsize // parts // terms)
        return Blocks(height, lanes, width, _ROWS // parts, columns, depth)


def packed(kernel: Kernel, product: Product, blocks: Blocks) -> Kernel:
    """Return the kernel with a product of packed matrices."""
    loops = (product.rows, product.columns, product.depth)
    kernel = without_others(kernel, loops, [product.insn, product.sums])
    kernel = with_one_domain(_with_shared_result(kernel, product), product.rows, product.columns)
    return _Packing(kernel, product, blocks).kernel


def _with_shared_result(kernel: Kernel, product: Product) -> Kernel:
    """Return the kernel in which all threads share the result of a product."""
    (name,) = kernel.instruction(product.insn).written_names
    if kernel.address_space(name) is AddressSpace.GLOBAL:
        return kernel
    return set_temporary_address_space(kernel, name, "global")


def _conditions(node: Expression) -> Sequence[Expression]:
    return node.children if isinstance(node, ex.LogicalAnd) else (node,)


class _Packing:
    """Makes the loops and arrays of a packed product.

    Attributes:
        kernel: the kernel with what was made up to now.
    """

    kernel: Kernel

    def __init__(self, kernel: Kernel, product: Product, blocks: Blocks) -> None:
        self.kernel, self._product, self._blocks = kernel, product, blocks
        self._names: dict[str, str] = {}
        self._part = ("part_of_sum",) if product.part else ()
        self._by = tuple([f"by_{number}" for number in range(len(product.by))])
        self._names |= zip(self._part, (product.part,), strict=False)
        self._names |= zip(self._by, product.by, strict=True)
        # One term after the other: sums of several need more registers than there are.
        self._near = ("near", *self._by) if product.part else (*self._by, "near")
        self._packed: list[str] = []
        self._tiles: tuple[str, ...] = ("block", "tile")
        self._fills_vectors = False  # whether columns run on to whole vectors alone
        self._is_wide: ex.ExpressionNode | None = None  # where a panel has all of its vectors
        # What decides that the order of loops does not matter, takes longer than to say it.
        parts = [product.part] if product.part else []
        loops = [product.rows, product.columns, *parts, product.depth, *product.by]
        self.kernel = prioritize_loops(self.kernel, loops)
        pair = (product.rows, product.columns)
        self._is_deep = is_deep(self.kernel, *pair, product.depth)
        self._is_part = is_part(self.kernel, *pair, product.depth)
        if self._is_deep:  # blocks of a sum whose length depends on the tile are inside
            self._tiles = ("tile", "block")
        if self._is_part:
            self._in_tiles_of_a_part()
        else:
            self._in_stages()
            self._in_whole_tiles()
            self._in_tiles()
        self._nest("panel", "tile", "row", "column", *self._part, "block", *self._near)
        self._with_operands_packed()
        self._in_blocks()
        self._with_sums_kept()
        self._in_order()

    def _name(self, what: str, like: str) -> str:
        """Return a new name, that of a loop from now on."""
        self._names[what] = self.kernel.new_name(like, self._names.values())
        return self._names[what]

    def _split(self, iname: str, length: int, outer: str, inner: str) -> None:
        self.kernel = split_iname(self.kernel, iname, length, outer_iname=outer, inner_iname=inner)

    def _in_stages(self) -> None:
        """Make the sum one of blocks, and instructions of both."""
        product = self._product
        block, near = (self._name(what, f"{product.depth}_{what}") for what in ("block", "near"))
        self._split(product.depth, self._blocks.depth, block, near)
        inner = [near, *product.by]
        self.kernel = split_reduction_inward(self.kernel, inner, product.sums)
        self._begin, self._flush = self._realized(product.sums)
        (self._total,) = self.kernel.instruction(self._flush).written_names

    def _realized(self, insn_id: str) -> tuple[str, str]:
        """Return what starts the sum of an instruction, and what updates it."""
        known = self.kernel.instructions_by_id
        self.kernel = realize_reduction(self.kernel, insn_id)
        start, update = [i for i in self.kernel.instructions_by_id if i not in known]
        return start, update

    def _in_tiles(self) -> None:
        """Make tiles of the loops over rows and columns."""
        blocks = self._blocks
        for iname, tile, inner, each in (
            (self._product.rows, "tile", "row", blocks.height),
            (self._product.columns, "panel", "column", blocks.width),
        ):
            self._split(iname, each, *(self._name(w, f"{iname}_{w}") for w in (tile, inner)))

    def _in_tiles_of_a_part(self) -> None:
        """Make tiles where rows, columns, or the sum end with each other: whole ones."""
        self._in_tiles()
        inner = [self._names["row"], self._names["column"]]
        self.kernel = pad_reduction(self.kernel, self._product.depth, inner)
        self._in_stages()
        self.kernel = pad_tiles(self.kernel, inner)

    def _in_whole_tiles(self) -> None:
        """Let the loops over rows and columns run on to whole tiles.

        If the columns are whole vectors already, they are filled up to whole panels.
        """
        rows, columns = self._product.rows, self._product.columns
        blocks = self._blocks
        self.kernel = pad_iname(self.kernel, rows, blocks.height)
        padded = pad_iname(self.kernel, columns, blocks.lanes)
        self._fills_vectors = padded is not self.kernel
        self.kernel = padded if self._fills_vectors else pad_iname(padded, columns, blocks.width)

    def _in_blocks(self) -> None:
        """Make blocks of tiles, of which each thread has some."""
        blocks = self._blocks
        for tile, block, length in (
            ("tile", "rows", blocks.rows // blocks.height),
            ("panel", "columns", blocks.columns // blocks.width),
        ):
            old = self._names[tile]
            outer = self._name(block, old.replace(tile, block))
            self._split(old, length, outer, self._name(tile, f"{old}_near"))
        # As long as there are few instructions, that takes the least time to prove.
        groups = {self._names["rows"]: GroupTag(0), self._names["columns"]: GroupTag(1)}
        self.kernel = tag_inames(self.kernel, groups)

    def _with_sums_kept(self) -> None:
        """Keep the sums of all tiles of a panel, and those of one tile in registers."""
        parts, product = self._part, self._product
        loops = [self._names[what] for what in ("tile", "row", *parts, "column")]
        inner = ("tile", "row", "column", *parts, "block", *self._near)
        self._nest("rows", "columns", "panel", *inner)
        self.kernel = privatize_temporaries_with_inames(self.kernel, loops, [self._total])
        self._copy(("tile", "row", "column", *parts), [self._begin], "begin")
        if parts:
            self._copy(parts, [product.sums], "store")
        self._copy(("tile", "row", "column"), {product.sums, product.insn}, "store")
        part, lane = (self._name(what, f"{product.columns}_{what}") for what in ("part", "lane"))
        self._split(self._names["column"], self._blocks.lanes, part, lane)
        inner = ("lane", "row", *parts, "part", *self._near)
        self._nest("rows", "columns", "panel", *self._tiles, *inner)
        self._with_whole_vectors_stored()
        clear, add = self._realized(self._flush)
        self._add = add
        own = [self._names[what] for what in ("row", *parts, "part", "lane")]
        kept = self.kernel.instruction(add).written_names
        self.kernel = privatize_temporaries_with_inames(self.kernel, own, sorted(kept))
        for what, insn in (("clear", clear), ("flush", self._flush)):
            self._copy(("row", *parts, "part"), [insn], what)

    def _with_whole_vectors_stored(self) -> None:
        """Ask once for each vector of the result whether there is all of it.

        And note when the last vector of a panel has any columns.
        """
        names, lanes = self._names, self._blocks.lanes
        old = names["column_store"]
        part, lane = (
            self._name(f"{what}_store", f"{names[what]}_store") for what in ("part", "lane")
        )
        self._split(old, lanes, part, lane)
        for condition in self.kernel.instruction(self._product.insn).predicates:
            self._separate(ex.If(condition, 1, 0), lane, lanes)
            first = walk.substitute(condition, {part: self._blocks.width // lanes - 1, lane: 0})
            if first != condition and self._fills_vectors:
                assert isinstance(first, ex.ExpressionNode)
                self._is_wide = first

    def _nest(self, *loops: str) -> None:
        self.kernel = prioritize_loops(self.kernel, [self._names[what] for what in loops])

    def _copy(self, loops: Sequence[str], insns: Collection[str], suffix: str) -> None:
        """Give instructions loops of their own."""
        old = [self._names[what] for what in loops]
        new = [self._name(f"{what}_{suffix}", f"{self._names[what]}_{suffix}") for what in loops]
        self.kernel = duplicate_inames(self.kernel, old, sorted(insns), new)

    def _with_operands_packed(self) -> None:
        """Copy both factors."""
        names = self._names
        left, right = self._factors()
        height, width = self._blocks.height, self._blocks.width
        for like, node, swept, size in (
            ("left", left, ("tile", "block", *self._near, "row", *self._part), height),
            ("right", right, ("panel", "block", *self._near, *self._part, "column"), width),
        ):
            used = walk.free_variables(node)
            inner = [what for what in swept if what not in self._part or names[what] in used]
            parameters = [self._name(f"{like}_{what}", f"{like}_{what}") for what in inner]
            loops = [names[what] for what in inner]
            new = {o: ex.Variable(n) for o, n in zip(loops, parameters, strict=True)}
            template = walk.substitute(node, new)
            assert isinstance(template, ex.ExpressionNode)
            others = ("panel", "column") if like == "left" else ("tile", "row")
            across = [names[what] for what in others] if self._is_part else []
            rule = self.kernel.new_name(like)
            self.kernel = extract_subst(self.kernel, rule, template, parameters, self._flush)
            self.kernel = precompute(
                self.kernel,
                rule,
                [*loops, *across],
                storage_axes=parameters,
                precompute_inames=parameters,
                precompute_outer_inames=[],
                temporary_address_space="global",
                default_tag=None,
            )
            self._separate(template, names[f"{like}_{'row' if like == 'left' else 'column'}"], size)
            self._packed.append(rule)
        self.kernel = add_barrier(self.kernel, self._packed[0], self._packed[1], within_inames=[])

    def _factors(self) -> tuple[Expression, Expression]:
        (node,) = self.kernel.assignment(self._flush).reductions
        value = node.operand.then if isinstance(node.operand, ex.If) else node.operand
        assert isinstance(value, ex.Product)
        factors = value.children
        return factors[self._product.is_swapped], factors[not self._product.is_swapped]

    def _separate(self, node: Expression, inner: str, size: int) -> None:
        """Write the code of full tiles apart, where all elements of these are there."""
        for part in walk.subexpressions(node):
            if isinstance(part, ex.If) and isinstance(part.condition, ex.Comparison):
                full = walk.substitute(part.condition, {inner: size - 1})
                if full != part.condition and isinstance(full, ex.ExpressionNode):
                    self.kernel = index_set_split(self.kernel, full)
                    return

    def _in_order(self) -> None:
        """Nest the loops, and say which are parallel, unrolled or vectors."""
        names, parts, by = self._names, self._part, self._by
        for like in ("left", "right"):
            self._nest(*[name for name in names if name.startswith(f"{like}_")])
        order = [
            *("rows", "columns", "panel"),
            *self._named("tile", "row", *parts, "column", suffix="begin"),
            *(*self._tiles, "lane"),
            *self._named("row", *parts, "part", suffix="clear"),
            *(*self._near, "row", *parts, "part"),
            *self._named("row", *parts, "part", suffix="flush"),
            *self._named("tile", "row", "part", "lane", *parts, suffix="store"),
        ]
        self._nest(*order)
        unrolled = [
            f"{what}{s}" for what in ("row", *parts, "part") for s in ("", "_clear", "_flush")
        ]
        unrolled += [*by, *(f"{what}_store" for what in parts)]
        inner = tuple([f"_{what}" for what in (*by, *parts)])
        unrolled += [name for name in names if inner and name.endswith(inner)]
        if not self._product.is_transposed:
            unrolled.append("left_row")
        tags: dict[str, InameTag] = {names[what]: UnrollTag() for what in unrolled}
        tags |= {names["left_tile"]: GroupTag(0), names["right_panel"]: GroupTag(0)}
        tags[names["lane"]] = VectorTag()
        self.kernel = tag_inames(self.kernel, tags)
        if self._is_wide is not None:
            self.kernel = index_set_split(self.kernel, self._is_wide)
        if self._is_deep:
            self._with_full_sums()

    def _with_full_sums(self) -> None:
        """Write the code apart for what the sums of all elements of a tile have in common."""
        sizes = {"row": self._blocks.height, "lane": self._blocks.lanes}
        sizes["part"] = self._blocks.width // self._blocks.lanes
        extents = {self._names[what]: size for what, size in sizes.items()}
        for node in self.kernel.assignment(self._add).values:
            for part in walk.subexpressions(node):
                if isinstance(part, ex.If):
                    for condition in _conditions(part.condition):
                        self._separate_all(condition, extents)
                    return

    def _separate_all(self, condition: Expression, extents: Mapping[str, int]) -> None:
        """Write the code apart where a condition holds for all values of some loops."""
        if not isinstance(condition, ex.Comparison) or condition.operator not in {"<", "<="}:
            return
        form = linear_form(ex.sum_of(condition.right, ex.negated(condition.left)))
        if form is None:
            return
        worst = {
            name: 0 if form.terms.get(name, 0) > 0 else size - 1 for name, size in extents.items()
        }
        full = walk.substitute(condition, worst)
        if full != condition and isinstance(full, ex.ExpressionNode):
            self.kernel = index_set_split(self.kernel, full)

    def _named(self, *loops: str, suffix: str) -> list[str]:
        return [f"{what}_{suffix}" for what in loops]
