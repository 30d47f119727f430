"""Sums in blocks, and blocks of these: few numbers are added up in a row.

A sum in a row of n numbers loses up to n times the rounding of one addition, and loses most where
all are alike: what NumPy adds up pairwise keeps more digits.  Here a block is as long as the
parts of a sum that a processor has side by side make it fast, and its sum one term of the next
block: of few, so that the levels above are nearly as exact as pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from math import prod

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.integers.moving_box import tile_axis
from polygen.analysis.rearrangement.summation_order import may_reorder
from polygen.analysis.typing.expression_types import reduction_types
from polygen.analysis.typing.inference import infer_types, kinds
from polygen.ir import expression as ex
from polygen.ir.domain import project_out, unflatten
from polygen.ir.dtype import DType, is_inexact
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import name_of
from polygen.ir.substitution import expand
from polygen.ir.tags import ForTag, is_parallel
from polygen.transforms.parallel_reductions.realize_reduction import realize_reduction
from polygen.transforms.reductions.split_reduction_inward import split_reduction_inward
from polygen.transforms.splitting.separate_full_tiles import separate_full_tiles
from polygen.transforms.splitting.split_iname import split_iname

IN_A_ROW = 16  # numbers that are added up one after the other, as in NumPy
_RADIX, _MOST = 4, 8  # sums of blocks that are one in the next level, and that may be left in a row
_USUAL = 32  # bytes of the vectors that compilers make of loops
_PARTS = 4  # such vectors of what parts come to are added up in a row
LEVELS = 2  # of loops whose length is not known: short ones pay for them
_BLOCKS = 2  # blocks of a loop that is expected to have no more are added up in a row


def rounded(kernel: Kernel, ids: Iterable[str], inames: Collection[str]) -> DType | None:
    """Return the type in which instructions add up floating-point numbers over some inames.

    None if they do not, or if one of the reductions over these has an order.
    """
    known = kinds(infer_types(kernel, complete=False))
    found: list[DType] = []
    for node in [node for name in ids for node in kernel.instruction(name).reductions]:
        if set(node.inames) != set(inames):
            continue
        if not may_reorder(kernel, node):
            return None
        if name_of(node.operation) == "sum":
            plain = ex.Reduction(node.operation, node.inames, expand(node.operand, kernel.rules))
            found += reduction_types(plain, known)
    return next((dtype for dtype in found if is_inexact(dtype)), None)


def in_blocks(
    kernel: Kernel,
    ids: Sequence[str],
    inames: Sequence[str],
    first: int,
    unit: int,
    *,
    apart: bool,
    depth: int = LEVELS,
) -> tuple[Kernel, str]:
    """Return the kernel with sums of blocks, and the iname of the innermost loop.

    Parameters:
        kernel: the kernel.
        ids: instructions whose reductions run over the inames; what else does, is left as it is.
        inames: the inames, the innermost last.
        first: how many elements an innermost block has.
        unit: what its length is a multiple of.
        apart: whether compilers add up each innermost loop by itself.
        depth: how many levels of blocks a loop becomes whose length is not known.
    """
    group: list[str] = []
    size, most, block, innermost = 1, first, first, inames[-1]
    for name in reversed(inames):
        iname, length, levels = name, extent_of(kernel, name), depth
        while levels and (length is None or size * length > most):
            each = _each(length, max(1, block // size), unit)
            if each > 1:
                levels -= length is None
                length = length and -(-length // each)
                outer, inner = (kernel.new_name(f"{name}_{kind}") for kind in ("blocks", "near"))
                kernel = split_iname(
                    kernel, iname, each, outer_iname=outer, inner_iname=inner, within=_query(ids)
                )
                iname, innermost = outer, inner if innermost == iname else innermost
                group.insert(0, inner)
            if group:
                kernel = split_reduction_inward(kernel, group, _query(ids))
            group, size, most, unit = [], 1, _MOST, 1
            block = _RADIX if length is not None else _MOST
        group.insert(0, iname)
        size *= length or _MOST
        if apart and iname == inames[-1]:
            most = block = IN_A_ROW * size
    return kernel, innermost


def _each(length: int | None, most: int, unit: int) -> int:
    """Return the length of blocks: all alike, and none longer."""
    if length is None or most < unit:
        return most
    return unit * -(-length // (unit * -(-length // most)))


def _query(ids: Sequence[str]) -> str:
    return " or ".join(f"id:{name}" for name in ids)


def innermost_alone(kernel: Kernel, iname: str) -> tuple[Kernel, str]:
    """Return the kernel with all sums realized that are around the innermost, and where that is.

    Parameters:
        kernel: the kernel.
        iname: of the innermost sum.
    """
    while True:
        insn = next(i for i in kernel.instructions if iname in i.reduction_inames)
        if all(iname in node.inames for node in insn.reductions):
            return kernel, insn.id
        kernel = realize_reduction(kernel, insn.id)


def levels_for(length: int, block: int, most: int = LEVELS) -> int:
    """Return how many levels of blocks pay in a loop that is expected to have some length.

    Parameters:
        length: how many values the loop is expected to have.
        block: how many values the innermost blocks would have.
        most: how many levels there are at most.
    """
    levels = 0
    while levels < most and length > _BLOCKS * block:
        levels, block = levels + 1, block * _MOST
    return levels


def sum_in_blocks(
    kernel: Kernel,
    ids: Sequence[str],
    reduced: Sequence[str],
    in_a_row: int = IN_A_ROW,
    depth: int = LEVELS,
    length: int | None = None,
) -> Kernel:
    """Return the kernel with sums in blocks, if they lose digits, each of which is some vectors.

    Parameters:
        kernel: the kernel.
        ids: instructions whose sums run over the same inames.
        reduced: the inames, the innermost last.
        in_a_row: how many vectors are added up one after the other.
        depth: how many levels of blocks a loop becomes whose length is not known.
        length: how many values such a loop is expected to have, if that is known.
    """
    dtype = rounded(kernel, ids, reduced)
    if dtype is None:
        return kernel
    vector = 1 if dtype.kind == "c" else _USUAL // dtype.itemsize  # of complex numbers, none
    first = in_a_row * vector
    if length is not None:
        depth = levels_for(length, first, depth)
    kernel, innermost = in_blocks(kernel, ids, reduced, first, vector, apart=True, depth=depth)
    return kernel if innermost in reduced else separate_full_tiles(kernel, innermost)


def of_parts_in_blocks(kernel: Kernel, ids: Sequence[str]) -> Kernel:
    """Add up in blocks what parts come to: few vectors of these."""
    for name in ids:
        for again in kernel.instruction(name).reduction_inames:
            kernel = sum_in_blocks(kernel, [name], (again,), _PARTS)
    return kernel


def nests_in_blocks(
    kernel: Kernel, ids: Sequence[str], length_of: Callable[[str], int] | None = None
) -> Kernel:
    """Return the kernel with sums in blocks: what shares loops still does.

    Parameters:
        kernel: the kernel.
        ids: the instructions.
        length_of: returns how many values an iname is expected to have.
    """
    nests: dict[frozenset[str], list[str]] = {}
    for name in ids:
        for node in kernel.instruction(name).reductions:
            nests.setdefault(frozenset(node.inames), []).append(name)
    for reduced, names in nests.items():
        ordered = [i for i in kernel.inames if i in reduced]
        length = prod(map(length_of, ordered)) if length_of else None
        kernel = sum_in_blocks(kernel, list(dict.fromkeys(names)), ordered, length=length)
    return kernel


def steps_in_blocks(kernel: Kernel, known: Collection[str]) -> Kernel:
    """Return the kernel in which work items add up their own elements in blocks.

    Loops become blocks of steps; what is unrolled inside of a step is a block by itself.  There are
    two levels, for each lane's sums are in registers.

    Parameters:
        kernel: the kernel.
        known: instructions that are left as they are.
    """
    near: dict[str, str] = {}  # by the loop over blocks, that of the steps in one
    for name in [i for i in kernel.instructions_by_id if i not in known]:
        for node in dict.fromkeys(kernel.instruction(name).reductions):
            if any(is_parallel(kernel.tags.get(iname)) for iname in node.inames):
                continue
            if rounded(kernel, [name], node.inames) is not None:
                kernel = _steps_in_blocks(kernel, name, node.inames, near)
    return kernel


def _steps_in_blocks(
    kernel: Kernel, insn_id: str, inames: Sequence[str], near: dict[str, str]
) -> Kernel:
    """Return the kernel with a sum in blocks; other instructions share its loops still."""
    steps = [i for i in inames if kernel.tags.get(i, ForTag()) == ForTag()]
    unrolled = [i for i in inames if i not in steps]
    inside = unrolled if steps else unrolled[1:]
    many = prod(extent_of(kernel, iname) or IN_A_ROW for iname in inside)
    if many > 1 and (steps or many * (extent_of(kernel, unrolled[0]) or IN_A_ROW) > IN_A_ROW):
        kernel = split_reduction_inward(kernel, inside, insn_id)
        inside = []
    shared = [near[iname] for iname in steps if iname in near]
    if not shared:
        length = extent_of(kernel, steps[-1]) if len(steps) == 1 else None
        if not steps or (length is not None and length <= IN_A_ROW):
            return kernel
        blocks, within = (kernel.new_name(f"{steps[-1]}_{kind}") for kind in ("blocks", "near"))
        kernel = split_iname(kernel, steps[-1], IN_A_ROW, outer_iname=blocks, inner_iname=within)
        near[blocks] = within
        shared = [within]
    return split_reduction_inward(kernel, [*shared, *inside], insn_id)


def extent_of(kernel: Kernel, iname: str) -> int | None:
    """Return how many values an iname has, if that is a number."""
    around = with_surrounding(kernel, [iname])
    values = project_out(domain_of(kernel, around), around - {iname})
    axis = tile_axis(unflatten(values, (iname,)))
    return None if axis is None else axis.extent
