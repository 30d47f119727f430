"""`polygen.distribute_loop`."""

from __future__ import annotations

from collections.abc import Sequence

from polygen.analysis.access.domains import surrounding_inames
from polygen.analysis.order.loop_tree import loop_tree, statements
from polygen.errors import (
    CannotProve,
    IllegalStep,
    InameNeeded,
    NestingNotPossible,
    NotDistributable,
)
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.tags import InameTag, is_lane, is_on_axis
from polygen.language.within import matching
from polygen.source import caller_location
from polygen.transformation import Iname, Within, transformation
from polygen.transforms.inames.duplicate_inames import duplicate_inames
from polygen.transforms.inames.loop_position import loops_below, path_to


@transformation
def distribute_loop(kernel: Kernel, iname: Iname, within: Within | None = None) -> Kernel:
    """Make several loops of one, each for some of its instructions, as far as that is legal.

    It is `duplicate_inames` of the loop and of those in it, with their tags: for the last
    instructions first, each time as few as have loops of their own without breaking a dependence.
    The loops around it, and axes of the hardware, stay shared.  Values that a scalar hands on
    within an iteration keep its users together: `privatize_temporaries_with_inames` makes an array
    of it.

    Kind: order and storage.

    Requires:
        1. The iname is that of a loop.
        2. If `within` is given: these instructions can have loops of their own, as
           `duplicate_inames` asks.

    Parameters:
        iname: the iname of the loop.
        within: the instructions that get loops of their own, as a query
            (`polygen.language.within`); if not given, there are as many loops as is legal.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i]: 1<=i<n }",
        ...     ["a[i] = a[i-1] + x[i]", "b[i] = 2*a[i]", "c[i] = b[i-1] + b[i]"], name="chain",
        ...     assumptions="n >= 1",
        ... )
        >>> knl = pg.add_dtypes(knl, {"a,b,x": "float32"})
        >>> knl = pg.distribute_loop(knl, "i")
        >>> print(str(pg.generate_code(knl, "c")).partition("{")[2])
        <BLANKLINE>
            for (int i = 1; i < n; ++i)
                a[i] = a[i - 1] + x[i];
            for (int i_1 = 1; i_1 < n; ++i_1)
                b[i_1] = 2.0f * a[i_1];
            for (int i_0 = 1; i_0 < n; ++i_0)
                c[i_0] = b[i_0 - 1] + b[i_0];
        }

    Raises:
        UnknownIname, UnknownInstruction: if the kernel has no such iname or instruction.
        NestingNotPossible: if 1 does not hold.
        InameNotUsed, InameNeeded, NotDistributable, IllegalStep: if 2 does not hold.

    Source: Kennedy, McKinley, Loop distribution with arbitrary control flow, 1990.
    """
    path = path_to(kernel, iname)
    if not path:
        raise NestingNotPossible(
            f"'{iname}' is no loop: no instruction is within it, or it is an axis of the hardware",
            where=caller_location(),
            remedy="name a loop; split_reduction_outward divides sums",
        )
    if within is not None:
        return _apart(kernel, iname, matching(kernel, within))
    tree = loop_tree(kernel, quiet=True)
    insns = [i for i in statements(tree) if iname in i.within_inames]
    end = len(insns)
    for start in range(end - 1, 0, -1):
        try:
            kernel = _apart(kernel, iname, insns[start:end])
        except (CannotProve, IllegalStep, InameNeeded, NotDistributable):
            continue
        end = start
    return kernel


def _apart(kernel: Kernel, iname: str, insns: Sequence[Instruction]) -> Kernel:
    """Give instructions loops of their own."""
    path = path_to(kernel, iname)
    used = frozenset[str]().union(*(i.within_inames | i.reduction_inames for i in insns))
    below = loops_below(kernel, path)
    home = kernel.home_domains[iname].inames
    names = [iname]
    for other in kernel.inames:
        if other in path or other not in used:
            continue
        inside = other in below or iname in surrounding_inames(kernel, other)
        # What is reduced over is no loop yet, and may have its bounds together with the loop's.
        if inside or (other in home and not _is_shared(kernel.tags.get(other))):
            names.append(other)
    tags = {name: kernel.tags[name] for name in names if name in kernel.tags}
    return duplicate_inames(kernel, names, [i.id for i in insns], tags=tags)


def _is_shared(tag: InameTag | None) -> bool:
    """Tell whether loops one after the other are in the same iterations of an iname with a tag."""
    return is_on_axis(tag) or is_lane(tag)
