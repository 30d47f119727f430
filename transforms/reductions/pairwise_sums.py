"""`polygen.pairwise_sums`."""

from __future__ import annotations

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.integers.moving_box import tile_axis
from polygen.errors import InvalidArgument, NoSuchReduction
from polygen.ir.domain import project_out, unflatten
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import name_of
from polygen.ir.verify import excerpt
from polygen.language.within import matching
from polygen.source import caller_location
from polygen.transformation import Iname, PositiveInt, Within, transformation
from polygen.transforms.reductions.split_reduction_inward import split_reduction_inward
from polygen.transforms.splitting.split_iname import split_iname


@transformation
def pairwise_sums(
    kernel: Kernel,
    iname: Iname,
    within: Within | None = None,
    *,
    length: PositiveInt = 16,
    most: PositiveInt = 1 << 24,
) -> Kernel:
    r"""Add up in blocks, blocks of blocks, and so on, so that few numbers are added up in a row.

    Each addition rounds what was added up before it.  In a row of n numbers, the error grows with
    n; in blocks of blocks, with the number of levels, the logarithm of n, as in NumPy's pairwise
    sums.  What is added to what follows from sizes alone.

    Kind: order and storage.

    Requires:
        1. Some instruction has a sum over the iname.
        2. The kernel permits reassociation (`set_options`), or what is added up is an integer.

    Parameters:
        iname: the iname that is summed over.  Of a sum over several, name one after the other.
        within: the instructions: an id, a query, or several of these; all if not given.
        length: how many numbers are added up in a row, at least 2.
        most: up to how many values the iname has, where sizes decide: that says how many levels
            there are.  Of more values, more are added up in a row on the last level.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [j]: 0<=j<4096 }", "total[0] = sum(j, a[j])")
        >>> knl = pg.pairwise_sums(knl, "j")
        >>> print(str(knl).splitlines()[-2].partition("  {")[0])
        [] total[0] = sum(j_2, sum(j_1, sum(j_0, a[16*(16*j_2 + j_1) + j_0])))

    Raises:
        UnknownIname, UnknownInstruction: if the kernel has no such iname or instruction.
        InvalidArgument: if a length of 1 is asked for.
        NoSuchReduction: if 1 does not hold.
        Reassociated: if 2 does not hold.
    """
    if length < 2:
        raise InvalidArgument(
            "pairwise_sums was asked for blocks of one number",
            where=caller_location(),
            remedy="add up at least two numbers in a row: length=2",
        )
    chosen = [insn.id for insn in matching(kernel, within) if _is_summed(insn, iname)]
    if not chosen:
        raise NoSuchReduction(
            f"there is no sum over '{iname}'",
            where=caller_location(),
            excerpt=excerpt(kernel, *(insn.id for insn in matching(kernel, within))),
            remedy="name what a sum runs over",
        )
    outer = iname
    levels = _levels(_extent(kernel, iname) or most, length)
    for level in range(levels):
        inner = kernel.new_name(f"{iname}_{level}")
        last = level + 1 == levels
        blocks = kernel.new_name(f"{iname}_{level + 1}" if last else f"{iname}_rest", (inner,))
        kernel = split_iname(
            kernel, outer, length, outer_iname=blocks, inner_iname=inner, within=chosen
        )
        kernel = split_reduction_inward(kernel, inner, chosen)
        outer = blocks
    return kernel


def _is_summed(insn: Instruction, iname: str) -> bool:
    return any(iname in n.inames and name_of(n.operation) == "sum" for n in insn.reductions)


def _levels(count: int, length: int) -> int:
    """Return how often blocks are made, so that no more than so many are left in a row."""
    levels = 0
    while count > length:
        count = -(-count // length)
        levels += 1
    return levels


def _extent(kernel: Kernel, iname: str) -> int | None:
    """Return how many values an iname has, if that is a number."""
    around = with_surrounding(kernel, [iname])
    axis = tile_axis(unflatten(project_out(domain_of(kernel, around), around - {iname}), (iname,)))
    return None if axis is None else axis.extent
