"""Takes the steps of a contraction in register tiles, on a grid of work items.

What becomes of ``c[i,j] = sum(k, a[i,k]*b[k,j])``::

    for i_group, j_group (groups of work items), i_item, j_item, j_block (work items)
        sums of a tile of a few rows and columns, in registers = 0
        for k_tile
            a_tile, b_tile in local memory = a[...], b[...]  (of the next k_tile, meanwhile)
            for k_inner
                own elements of a_tile and b_tile, in registers
                for j_part, j_lane, i_part, i_lane: sums += a_own * b_own
        c[...] = sums

Loops over rows and columns run on to whole tiles, with zeros for what is not there.  The steps are
those of ``examples/fast_product.py``, for factors of any form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.tags import InameTag, UnrollHintTag, UnrollTag
from polygen.schedules.alignment import begins_with_vectors
from polygen.schedules.contractions import Contraction, stride_along
from polygen.transforms.arrays.add_padding import add_padding
from polygen.transforms.arrays.privatize_temporaries_with_inames import (
    privatize_temporaries_with_inames,
)
from polygen.transforms.arrays.split_array_dim import split_array_dim
from polygen.transforms.copies.add_prefetch import add_prefetch
from polygen.transforms.copies.double_buffer import double_buffer
from polygen.transforms.copies.precompute import precompute
from polygen.transforms.inames.duplicate_inames import duplicate_inames
from polygen.transforms.inames.prioritize_loops import prioritize_loops
from polygen.transforms.inames.tag_inames import tag_inames
from polygen.transforms.parallel_reductions.realize_reduction import realize_reduction
from polygen.transforms.reductions.pad_reduction import pad_reduction
from polygen.transforms.rules.expand_subst import expand_subst
from polygen.transforms.rules.extract_subst import extract_subst
from polygen.transforms.splitting.pad_iname import pad_iname
from polygen.transforms.splitting.pad_tiles import pad_tiles
from polygen.transforms.splitting.separate_full_tiles import separate_full_tiles
from polygen.transforms.splitting.split_iname import split_iname
from polygen.tuning.product_domains import is_part, with_one_domain, without_others

_COPIED = (4, 8, 16)  # bytes that go to local memory without registers
_SIDES = ("i", "j")
_ROOM = 8  # numbers, at the ends of rows


@dataclass(frozen=True)
class Shape:
    """The division of a contraction's work.

    Attributes:
        rows: of the tile that a group computes.
        columns: of this tile.
        depth: how much of the sum is in local memory at a time.
        items: the work items of a group: along columns, along rows, blocks of columns.
        lanes: how many neighbours a work item reads at once.
        ahead: whether there is room for a second pair of tiles, copied while the first is used.
        in_warps: whether these are tiles for tensor cores (`warp_tiles`).
    """

    rows: int
    columns: int
    depth: int
    items: tuple[int, int, int]
    lanes: int
    ahead: bool = True
    in_warps: bool = False

    @property
    def threads(self) -> int:
        """The work items of a group."""
        across, down, blocks = self.items
        return across * down * blocks

    def local_bytes(self, itemsize: int) -> int:
        """Return how much local memory a group has."""
        both = self.rows + self.columns
        count = (both + 2 * max(self.lanes, self.items[0])) * self.depth
        if self.in_warps:  # rows of either side have room at their ends
            count = both * self.depth + _ROOM * max(both, 2 * self.depth)
        return count * itemsize * (2 if self.ahead else 1)


def in_register_tiles(kernel: Kernel, contraction: Contraction, shape: Shape) -> Kernel:
    """Return the kernel with a contraction in register tiles.

    Parameters:
        kernel: the kernel; types are known.
        contraction: what is added up.
        shape: the sizes of tiles.

    Raises:
        NotPaddable: if the loop over rows or columns ends with others.
        IllegalStep, CannotProve, NotTheSame, ...: if a step is illegal.
    """
    return Tiling(with_own_loops(kernel, contraction), contraction, shape).kernel


def with_own_loops(kernel: Kernel, found: Contraction) -> Kernel:
    """Return the kernel in which no other instruction is in the parallel loops of a contraction."""
    loops = (found.rows, found.columns, found.depth, *found.also, *found.batch)
    kernel = without_others(kernel, loops, [found.insn])
    return with_one_domain(kernel, found.rows, found.columns)


class Tiling:
    """Makes the loops and arrays of a contraction in register tiles.

    Parameters:
        kernel: a kernel in which no other instruction is in the loops of the contraction.
        found: what is added up.
        shape: the sizes of tiles.

    Attributes:
        kernel: the kernel with what was made up to now.
    """

    _OWN: ClassVar[tuple[str, ...]] = ("i_part", "i_lane", "j_part", "j_lane")
    _INSIDE: ClassVar[tuple[str, ...]] = ("j_part", "j_lane", "i_part", "i_lane")

    def __init__(self, kernel: Kernel, found: Contraction, shape: Shape) -> None:
        self.kernel, self._found, self._shape = kernel, found, shape
        self._names: dict[str, str] = {}
        self._sizes = {"i": shape.rows, "j": shape.columns}
        self._loops = {"i": found.rows, "j": found.columns, "k": found.depth}
        self._begin_with_a_sum()
        self._is_part = is_part(kernel, found.rows, found.columns, found.depth)
        if self._is_part:
            self._in_groups_of_a_part()
        else:
            self._as_a_loop()
            for side in _SIDES:
                self.kernel = pad_iname(self.kernel, self._loops[side], self._sizes[side])
            self._in_groups()
        self._with_rules()
        self._in_items()
        self._with_registers()
        for side in _SIDES:
            self._with_tile(side)
        for side in _SIDES:
            self._with_own(side)
        if shape.ahead:
            tiles = [self._names["i_copy"], self._names["j_copy"]]
            self.kernel = double_buffer(self.kernel, tiles, self._names["k_tile"])
        self.kernel = separate_full_tiles(self.kernel, self._names["k_inner"])

    def _name(self, what: str, like: str) -> str:
        """Return a new name, that of something from now on."""
        self._names[what] = self.kernel.new_name(like, self._names.values())
        return self._names[what]

    def _split(
        self,
        iname: str,
        length: int,
        outer: str,
        inner: str,
        outer_tag: str | None = None,
        inner_tag: str | None = None,
    ) -> None:
        """Divide a loop; both parts are named for what they are."""
        self.kernel = split_iname(
            self.kernel,
            iname,
            length,
            outer_iname=self._name(outer, f"{self._loops[outer[0]]}{outer[1:]}"),
            inner_iname=self._name(inner, f"{self._loops[inner[0]]}{inner[1:]}"),
            outer_tag=outer_tag,
            inner_tag=inner_tag,
        )

    def _begin_with_a_sum(self) -> None:
        """Say in which order loops are."""
        found = self._found
        if self.kernel.substitutions:
            self.kernel = expand_subst(self.kernel, f"id:{found.insn}")
        # What decides that the order of loops does not matter, takes longer than to say it.
        loops = [*found.steps, *found.batch, found.rows, found.columns, *found.also, found.depth]
        self.kernel = prioritize_loops(self.kernel, loops)

    def _in_groups_of_a_part(self) -> None:
        """Give tiles to groups where rows, columns, or the sum end with each other: whole ones."""
        self._in_groups()
        inner = [self._names[f"{side}_tile"] for side in _SIDES]
        for iname in (*self._found.also, self._found.depth):
            self.kernel = pad_reduction(self.kernel, iname, inner)
        self._as_a_loop()
        self.kernel = pad_tiles(self.kernel, inner)

    def _as_a_loop(self) -> None:
        """Make the sum a loop."""
        found = self._found
        known = self.kernel.instructions_by_id
        self.kernel = realize_reduction(self.kernel, found.insn)
        new = [i for i in self.kernel.instructions_by_id if i not in known]
        self._clear, self._add = new
        (self._sums,) = self.kernel.instruction(self._add).written_names

    def _in_groups(self) -> None:
        """Give a tile of rows and columns to each group, and a batch to the third axis."""
        for side, axis in (("i", 1), ("j", 0)):
            names = f"{side}_group", f"{side}_tile"
            self._split(self._loops[side], self._sizes[side], *names, outer_tag=f"g.{axis}")
        if self._found.batch:
            self.kernel = tag_inames(self.kernel, {self._found.batch[0]: "g.2"})

    def _with_rules(self) -> None:
        """Make rules of the factors, of rows or columns in a tile, and of the loop of the sum."""
        value = self.kernel.assignment(self._add).values[0]
        assert isinstance(value, ex.Sum)
        term: Expression = value.children[-1]
        product = term.then if isinstance(term, ex.If) else term
        assert isinstance(product, ex.Product)
        left, right = reversed(product.children) if self._found.is_swapped else product.children
        for side, factor in (("i", left), ("j", right)):
            near = self._name(f"{side}_copied", f"{self._loops[side]}_copied")
            deep = self._name(f"{side}_depth", f"{self._found.depth}_of_{self._loops[side]}")
            new = {
                self._names[f"{side}_tile"]: ex.Variable(near),
                self._found.depth: ex.Variable(deep),
            }
            template = walk.substitute(self._copied_part(factor), new)
            assert isinstance(template, ex.ExpressionNode)
            rule = self._name(f"{side}_rule", "left" if side == "i" else "right")
            self.kernel = extract_subst(self.kernel, rule, template, [deep, near], self._add)

    def _copied_part(self, factor: Expression) -> Expression:
        """Return what of a factor is in a tile: all of it."""
        return factor

    def _in_items(self) -> None:
        """Divide the tile of a group: pieces of a few lanes for each work item."""
        shape, names = self._shape, self._names
        for side, axis in (("i", 1), ("j", 0)):
            rest, item = f"{side}_rest", f"{side}_item"
            self._split(names[f"{side}_tile"], shape.lanes, rest, f"{side}_lane")
            outer = "i_part" if side == "i" else "j_parts"
            self._split(names[rest], shape.items[axis], outer, item, inner_tag=f"l.{axis}")
        across, _, blocks = shape.items
        parts = shape.columns // (shape.lanes * across * blocks)
        self._split(names["j_parts"], parts, "j_block", "j_part", outer_tag="l.2")
        self._split(self._found.depth, shape.depth, "k_tile", "k_inner")

    def _with_registers(self) -> None:
        """Let an item add to all of its elements for each k: the loops over them go inside."""
        names = self._names
        own = [names[what] for what in self._OWN]
        self.kernel = privatize_temporaries_with_inames(self.kernel, own, [self._sums])
        tags: dict[str, InameTag] = dict.fromkeys(own, UnrollTag())
        tags[names["k_inner"]] = UnrollHintTag()
        for insn, suffix in ((self._clear, "begin"), (self._found.insn, "end")):
            others = [self.kernel.new_name(f"{iname}_{suffix}") for iname in own]
            self.kernel = duplicate_inames(self.kernel, own, insn, others)
            self.kernel = prioritize_loops(self.kernel, [*self._around(), *others])
            tags |= dict.fromkeys(others, UnrollTag())
        inner = [*self._found.also]
        inner += [names[w] for w in ("k_tile", "k_inner", *self._INSIDE)]
        self.kernel = prioritize_loops(self.kernel, [*self._around(), *inner])
        self.kernel = tag_inames(self.kernel, tags)

    def _around(self) -> tuple[str, ...]:
        """Return the loops around those of a work item's own, outermost first."""
        items = [self._names[what] for what in ("i_item", "j_block", "j_item")]
        return (*self._outside(), *items)

    def _with_tile(self, side: str) -> None:
        """Let the items of a group copy a tile of a factor to local memory."""
        names, shape = self._names, self._shape
        template = self.kernel.rules[names[f"{side}_rule"]].expression
        near, deep = names[f"{side}_copied"], names[f"{side}_depth"]
        is_along_depth = self._lies_along(template, deep)
        is_vector = self._has_vectors(template, near)
        self._copied(side, template, is_vector=is_vector)
        across, down, blocks = shape.items
        axes: Mapping[str, Sequence[tuple[int, int]]]
        if is_along_depth:
            axes = {deep: ((0, across),), near: ((1, down), (2, blocks))}
        else:
            along = f"{near}_outer" if is_vector else near
            axes = {deep: ((1, down),), along: ((0, across), (2, blocks))}
        self._spread(axes)
        room = shape.lanes if is_along_depth or is_vector else max(shape.lanes, across)
        width = self._found.dtype.itemsize * (self._sizes[side] + room)
        copy = names[f"{side}_copy"]
        self.kernel = add_padding(self.kernel, copy, 0, width)
        self.kernel = split_array_dim(self.kernel, (copy, 1), shape.lanes, auto_split_inames=False)

    def _copied(self, side: str, template: Expression, *, is_vector: bool) -> None:
        """Copy a tile: elements, or vectors of an array whose rows are whole ones."""
        names = self._names
        near, deep = names[f"{side}_copied"], names[f"{side}_depth"]
        copy = self._name(f"{side}_copy", f"{names[f'{side}_rule']}_tile")
        sides = _SIDES if self._is_part else (side,)  # a sum may end with the other one
        own = [f"{which}_{what}" for which in sides for what in ("part", "lane")]
        roles = ("i_item", "j_item", "j_block", *own, "k_inner")
        can_wait = self._found.dtype.itemsize in _COPIED and is_copied(template)
        self.kernel = precompute(
            self.kernel,
            names[f"{side}_rule"],
            [names[what] for what in roles],
            storage_axes=[deep, near],
            precompute_inames=[deep, near],
            precompute_outer_inames=[*self._outside(), *self._found.also, names["k_tile"]],
            default_tag=None,
            temporary_name=copy,
            dtype=self._found.dtype,
            temporary_address_space="local",
            asynchronous=can_wait,
        )
        if is_vector:
            self.kernel = split_iname(self.kernel, near, self._shape.lanes, inner_tag="vec")

    def _has_vectors(self, template: Expression, near: str) -> bool:
        """Tell whether a tile is whole vectors of an array, which begin where it has some."""
        if not isinstance(template, ex.Subscript) or not self._lies_along(template, near):
            return False
        return begins_with_vectors(self.kernel, ex.name_of(template), self._shape.lanes)

    def _outside(self) -> list[str]:
        """Return the loops around those of work items, outermost first."""
        groups = [self._names["i_group"], self._names["j_group"]]
        return [*self._found.steps, *self._found.batch, *groups]

    def _lies_along(self, template: Expression, iname: str) -> bool:
        """Tell whether neighbours along an iname are side by side in what is copied."""
        found = [
            stride_along(
                self.kernel, self.kernel.array(ex.name_of(node)), ex.index_tuple(node), iname
            )
            for node in walk.subexpressions(template)
            if isinstance(node, ex.Subscript) and iname in walk.free_variables(node)
        ]
        return 1 in found

    def _spread(self, axes: Mapping[str, Sequence[tuple[int, int]]]) -> None:
        """Spread loops that copy over the axes of items; what is left of them is unrolled."""
        for iname, along in axes.items():
            rest = iname
            for axis, length in along:
                outer = self.kernel.new_name(f"{iname}_{axis}")
                self.kernel = split_iname(
                    self.kernel, rest, length, outer_iname=outer, inner_tag=f"l.{axis}"
                )
                rest = outer
            self.kernel = tag_inames(self.kernel, {rest: UnrollTag()})

    def _with_own(self, side: str) -> None:
        """Let an item read what it needs for a k from a tile at once, neighbours as vectors."""
        names = self._names
        around = [names[w] for w in ("k_tile", "k_inner", "i_item", "j_item", "j_block")]
        self.kernel = add_prefetch(
            self.kernel,
            names[f"{side}_copy"],
            [names[f"{side}_part"], names[f"{side}_lane"]],
            temporary_name=self.kernel.new_name(f"{names[f'{side}_rule']}_own"),
            fetch_outer_inames=[*self._outside(), *self._found.also, *around],
            default_tag="unr",
            vector_width=self._shape.lanes,
        )


def is_copied(template: Expression) -> bool:
    """Tell whether a factor is an element of an array, or a choice between one and a number."""
    if isinstance(template, ex.If):
        return isinstance(template.then, ex.Subscript) and not isinstance(
            template.else_, ex.ExpressionNode
        )
    return isinstance(template, ex.Subscript)
