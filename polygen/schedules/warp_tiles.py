"""Takes the steps of a contraction on tensor cores, on a grid of work items.

What becomes of ``c[i,j] = sum(k, a[i,k]*b[k,j])``::

    for i_group, j_group (groups of work items), i_item, j_item, j_block (work items)
        sums of a tile of a few rows and columns, in registers = 0
        for k_tile
            a_tile, b_tile in local memory = a[...], b[...]  (of the next k_tile, meanwhile)
            for k_inner, i_part, j_part, j_lane: sums += a_tile * b_tile  (tensor cores)
        c[...] = sums

The innermost loops are tagged ``mma`` (`use_tensor_cores`).  The 32 work items of a warp are 4
along columns, each for pairs of them, and 8 along rows.  A tile lies in local memory as the factor
does in global memory, so that vectors are copied.
"""

from __future__ import annotations

from typing import ClassVar

from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.tags import VectorTag
from polygen.schedules.alignment import begins_with_vectors
from polygen.schedules.contractions import Contraction
from polygen.schedules.register_tiles import Shape, Tiling, is_copied, with_own_loops
from polygen.transforms.arrays.add_padding import add_padding
from polygen.transforms.copies.precompute import precompute
from polygen.transforms.inames.tag_inames import tag_inames
from polygen.transforms.inames.use_tensor_cores import use_tensor_cores
from polygen.transforms.kernels.add_dtypes import add_dtypes
from polygen.transforms.splitting.split_iname import split_iname

ACROSS, DOWN = 4, 8  # the work items of a warp
_PAIR = 2  # columns of a work item side by side
_VECTOR = 16  # bytes
_COPIED = (4, 8, 16)  # bytes that go to local memory without registers


def in_warp_tiles(kernel: Kernel, contraction: Contraction, shape: Shape) -> Kernel:
    """Return the kernel with a contraction on tensor cores.

    Parameters:
        kernel: the kernel; types are known.
        contraction: what is added up.
        shape: the sizes of tiles; the work items are 4, a multiple of 8, and blocks of columns.

    Raises:
        NotPaddable: if the loop over rows or columns ends with others.
        IllegalStep, CannotProve, NotTheSame, ...: if a step is illegal.
    """
    return WarpTiling(with_own_loops(kernel, contraction), contraction, shape).kernel


class WarpTiling(Tiling):
    """Makes the loops and arrays of a contraction on tensor cores."""

    _OWN: ClassVar[tuple[str, ...]] = ("i_part", "j_part", "j_lane")
    _INSIDE: ClassVar[tuple[str, ...]] = _OWN

    def _copied_part(self, factor: Expression) -> Expression:
        """Return what of a factor is in a tile: numbers of 16 bits, before they are converted."""
        is_short = self._found.factors.itemsize < self._found.dtype.itemsize
        return factor.parameters[0] if is_short and isinstance(factor, ex.Call) else factor

    def _in_items(self) -> None:
        """Divide the tile of a group: rows and pairs of columns for each work item."""
        names, shape = self._names, self._shape
        across, down, blocks = shape.items
        self._split(names["i_tile"], down, "i_part", "i_item", inner_tag="l.1")
        self._split(names["j_tile"], _PAIR, "j_rest", "j_lane")
        self._split(names["j_rest"], across, "j_parts", "j_item", inner_tag="l.0")
        parts = shape.columns // (_PAIR * across * blocks)
        self._split(names["j_parts"], parts, "j_block", "j_part", outer_tag="l.2")
        self._split(self._found.depth, shape.depth, "k_tile", "k_inner")

    def _with_registers(self) -> None:
        """Let a work item hold the sums of all of its elements, and a warp add to them at once."""
        super()._with_registers()
        inner = [self._names[what] for what in ("k_inner", *self._OWN)]
        self.kernel = tag_inames(self.kernel, dict.fromkeys(inner, "for"), force=True)
        self.kernel = use_tensor_cores(self.kernel, self._add, inner)
        self._with_stored_pairs()

    def _with_stored_pairs(self) -> None:
        """Let a work item store pairs of columns as vectors, where these are whole."""
        insn = self.kernel.assignment(self._found.insn)
        (target,) = insn.assignees
        pair = f"{self._names['j_lane']}_end"
        if (
            pair in self.kernel.home_domains
            and isinstance(target, ex.Subscript)
            and self._lies_along(target, pair)
            and begins_with_vectors(self.kernel, ex.name_of(target), _PAIR)
            and not insn.predicates
        ):
            self.kernel = tag_inames(self.kernel, {pair: VectorTag()}, force=True)

    def _with_tile(self, side: str) -> None:
        """Let the items of a group copy a tile of a factor to local memory, as it lies there."""
        names, shape, itemsize = self._names, self._shape, self._found.factors.itemsize
        template = self.kernel.rules[names[f"{side}_rule"]].expression
        near, deep = names[f"{side}_copied"], names[f"{side}_depth"]
        is_deep = self._lies_along(template, deep)
        along, other = (deep, near) if is_deep else (near, deep)
        lanes = _VECTOR // itemsize
        is_vector = isinstance(template, ex.Subscript) and begins_with_vectors(
            self.kernel, ex.name_of(template), lanes
        )
        length = shape.depth if is_deep else self._sizes[side]
        is_vector = is_vector and self._lies_along(template, along) and length % lanes == 0
        self._copied_as_it_lies(side, template, (other, along), is_vector=is_vector)
        if is_vector:
            self.kernel = split_iname(self.kernel, along, lanes, inner_tag="vec")
        across, down, blocks = shape.items
        inner, count = (f"{along}_outer", length // lanes) if is_vector else (along, length)
        if count % (across * down) == 0:
            self._spread({inner: ((0, across), (1, down)), other: ((2, blocks),)})
        elif is_deep:
            self._spread({inner: ((0, across),), other: ((1, down), (2, blocks))})
        else:
            self._spread({inner: ((0, across), (2, blocks)), other: ((1, down),)})
        width = (length + _room(itemsize, is_deep=is_deep)) * itemsize
        self.kernel = add_padding(self.kernel, names[f"{side}_copy"], 0, width)

    def _copied_as_it_lies(
        self, side: str, template: Expression, axes: tuple[str, str], *, is_vector: bool
    ) -> None:
        """Copy a tile, with these axes."""
        names, factors = self._names, self._found.factors
        copy = self._name(f"{side}_copy", f"{names[f'{side}_rule']}_tile")
        own = ("i_part",) if side == "i" else ("j_part", "j_lane")
        roles = ("i_item", "j_item", "j_block", *own, "k_inner")
        self.kernel = precompute(
            self.kernel,
            names[f"{side}_rule"],
            [names[what] for what in roles],
            storage_axes=list(axes),
            precompute_inames=list(axes),
            precompute_outer_inames=[*self._outside(), names["k_tile"]],
            default_tag=None,
            temporary_name=copy,
            temporary_address_space="local",
            asynchronous=is_copied(template) and (is_vector or factors.itemsize in _COPIED),
        )
        self.kernel = add_dtypes(self.kernel, {copy: factors})

    def _with_own(self, side: str) -> None:
        """Leave out what work items would read for themselves: the hardware reads for all."""


def _room(itemsize: int, *, is_deep: bool) -> int:
    """Return how many numbers are left out at the ends of rows, for other banks."""
    if itemsize == 4:  # of four bytes, eight work items side by side, or four
        return 4 if is_deep else 8
    return 4 if itemsize > 4 else 8
