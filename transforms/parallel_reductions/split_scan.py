"""`polygen.split_scan`."""

from __future__ import annotations

from polygen.errors import NotAScan
from polygen.ir.kernel import Kernel
from polygen.language.kernel_assembly import check_made
from polygen.language.within import matching
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import Iname, PositiveInt, Within, transformation
from polygen.transforms.arrays.array_rewriting import Space, to_space
from polygen.transforms.parallel_reductions._scan_domains import SplitLoop
from polygen.transforms.parallel_reductions._scan_parts import ScanParts, scans_along
from polygen.transforms.splitting.split_iname import split_iname


@transformation
def split_scan(
    kernel: Kernel,
    iname: Iname,
    length: PositiveInt,
    within: Within | None = None,
    temporary_scope: Space = "global",
) -> Rearranged:
    """Compute scans along a loop in parts: what each part comes to, what comes before each, and it.

    ``b[i] = sum(j, a[j])`` for j up to i becomes, with ``i = length*i_outer + i_inner``::

        total_j[i_total] = sum(j_total, a[length*i_total + j_total])   (what is in a part)
        before_j[i_before] = sum(j_before, total_j[j_before])          (j_before < i_before)
        b[i] = before_j[i_outer] + sum(j_inner, a[length*i_outer + j_inner])

    Parts need each other in the second line alone, which is a scan that is shorter by the length.
    What is combined comes in the order in which it came: so it takes any operation that
    associates, as that of segmented sums does.

    Kind: order and storage.

    Requires:
        1. The loop is not tagged, or tagged ``for``.
        2. There are reductions over an iname of their own in the loop, which take, up to where a
           part begins, the same in all of its iterations, and nothing that the loop changes.
        3. They are under no conditions, or what they reduce is inside of its arrays anyway.
        4. The operation associates; rounding errors do not matter (`set_options`,
           ``allow_reassociation``), or there are none.
        5. The types of what is reduced are known.

    Parameters:
        iname: the loop.
        length: how many of its iterations are a part.
        within: the instructions: an id, a query, or several of these; all if not given.
        temporary_scope: where totals and what comes before are kept: ``"global"``, for parts that
            groups share, or ``"local"``, for parts in a group.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i,j]: 0<=j<=i<n }", "b[i] = sum(j, a[j])", name="running")
        >>> knl = pg.split_scan(pg.add_dtypes(knl, {"a": "float32"}), "i", 256)
        >>> for insn in knl.assignments:
        ...     print(insn.assignee, "=", insn.expression)
        total_j[i_total] = sum(j_total, a[256*i_total + j_total])
        before_j[i_before] = sum(j_before, total_j[j_before])
        b[256*i_outer + i_inner] = before_j[i_outer] + sum(j_inner, a[256*i_outer + j_inner])

    Raises:
        UnknownIname, UnknownInstruction: if the kernel has no such iname or instruction.
        TagConflict: if 1 does not hold.
        NotAScan: if 2, 3 or 4 does not hold.
        TypeNotFound: if 5 does not hold.

    Source: Chatterjee, Blelloch, Zagha, Scan primitives for vector computers, Supercomputing 1990.
    """
    space = to_space(temporary_scope)
    ids = {insn.id for insn in matching(kernel, within)}
    outer, inner = (kernel.new_name(f"{iname}_{part}") for part in ("outer", "inner"))
    split = split_iname(kernel, iname, length, outer_iname=outer, inner_iname=inner).without_rules
    scans = scans_along(split, ids, (outer, inner))
    if not scans:
        raise NotAScan(
            f"no reduction in the loop of '{iname}' of kernel '{kernel.name}' runs over an iname "
            "of its own that this loop bounds",
            where=caller_location(),
            remedy="name the loop along which a reduction takes more and more",
        )
    loop = SplitLoop(split, iname, outer, inner, length)
    new = ScanParts(loop, space).split(scans)
    # Each scan takes its contributions once, in their order; what is left to see is that others
    # leave alone what the totals read, and that this is inside of its arrays.
    check_made(new)
    return Rearranged(new, restated=new)
