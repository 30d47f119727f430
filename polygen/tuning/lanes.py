"""Lanes of vectors that have a part of a reduction each: they wait for each other less."""

from __future__ import annotations

from collections.abc import Sequence

from polygen.analysis.access.strides import Address
from polygen.analysis.typing.expression_types import reduction_types
from polygen.analysis.typing.inference import infer_types, kinds, sizes
from polygen.errors import NotVectorized
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, Array
from polygen.ir.dtype import is_integer
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.layout import has_vectors
from polygen.ir.substitution import expand
from polygen.ir.tags import LocalTag, VectorTag
from polygen.transforms.arrays.set_temporary_address_space import set_temporary_address_space
from polygen.transforms.inames.tag_inames import tag_inames
from polygen.transforms.inames.untag_inames import untag_inames
from polygen.transforms.kernels.set_options import set_options
from polygen.transforms.parallel_reductions.realize_reduction import realize_reduction
from polygen.transforms.splitting.separate_full_tiles import separate_full_tiles
from polygen.transforms.splitting.split_iname import split_iname
from polygen.tuning.blocked_sums import (
    IN_A_ROW,
    LEVELS,
    extent_of,
    in_blocks,
    innermost_alone,
    rounded,
    sum_in_blocks,
)

_VECTOR, _VECTORS = 64, 4  # bytes of a vector, and how many are added up side by side


def operand_of(kernel: Kernel, insn: Instruction) -> ex.Expression:
    """Return what the first reduction of an instruction reduces, rules expanded."""
    return expand(insn.reductions[0], kernel.rules)


def elements_of(kernel: Kernel, insn: Instruction) -> list[tuple[Array, tuple[ex.Expression, ...]]]:
    """Return the arrays that are reduced, with their subscripts."""
    nodes = walk.subexpressions(operand_of(kernel, insn))
    read = [node for node in nodes if isinstance(node, ex.Subscript)]
    return [(kernel.array(ex.name_of(node)), ex.index_tuple(node)) for node in read]


def in_lanes(
    kernel: Kernel,
    insn_id: str,
    reduced: Sequence[str],
    depth: int = LEVELS,
    expected: int | None = None,
) -> Kernel:
    """Let each lane of some vectors have a part of a reduction: they wait for each other less.

    A short reduction, or one of which there are no vectors, is one in blocks, if digits are lost.

    Parameters:
        kernel: the kernel.
        insn_id: an instruction with one outermost reduction.
        reduced: what that runs over, the innermost last.
        depth: how many levels of blocks a loop becomes whose length is not known.
        expected: how many values are expected to be reduced, where their number is not known.
    """
    insn, iname = kernel.instruction(insn_id), reduced[-1]
    length = extent_of(kernel, iname)
    known = kinds(infer_types(kernel, complete=False))
    reduction = operand_of(kernel, insn)
    assert isinstance(reduction, ex.Reduction)
    (dtype, *others) = reduction_types(reduction, known)
    vector = _VECTOR // dtype.itemsize
    count = _VECTORS * vector
    reassociates = kernel.options.allow_reassociation or is_integer(dtype)
    names = sizes(kernel).union(kernel.inames)
    alike = not others and has_vectors(dtype)
    for array, index in elements_of(kernel, insn):
        near = Address(array, index, names).stride(iname) in (0, 1)
        alike = alike and array.dtype == dtype and near
    if not (alike and reassociates) or (length or 0) < 4 * count:
        return sum_in_blocks(kernel, [insn_id], reduced, depth=depth, length=expected)
    if rounded(kernel, [insn_id], reduced):
        first = IN_A_ROW * count
        kernel, iname = in_blocks(kernel, [insn_id], reduced, first, count, apart=False)
        kernel, insn_id = innermost_alone(kernel, iname)
    lane, several = (kernel.new_name(f"{iname}_{kind}") for kind in ("lane", "vectors"))
    tiled = split_iname(kernel, iname, count, inner_iname=lane, outer_iname=several)
    kernel = separate_full_tiles(tiled, lane)
    if kernel is not tiled:  # lanes of the rim are one after the other
        silenced = {*kernel.options.silenced_warnings, NotVectorized.__name__}
        kernel = set_options(kernel, silenced_warnings=sorted(silenced))
    kernel = tag_inames(kernel, {lane: LocalTag(0)})
    before, tags = {t.name for t in kernel.temporaries}, set(kernel.tags)
    kernel = realize_reduction(kernel, insn_id)
    stages = sorted(set(kernel.tags) - tags)
    kernel = untag_inames(kernel, [lane, *stages])
    for array in kernel.temporaries:
        if array.name not in before and array.shape:
            kernel = set_temporary_address_space(kernel, array.name, AddressSpace.PRIVATE)
    kernel = split_iname(kernel, lane, vector, outer_tag="ilp", inner_tag="vec")
    for stage in stages:
        extent = extent_of(kernel, stage) or 1
        if extent > vector:
            kernel = split_iname(kernel, stage, vector, outer_tag="ilp", inner_tag="vec")
        elif extent > 1:
            kernel = tag_inames(kernel, {stage: VectorTag()})
    return kernel
