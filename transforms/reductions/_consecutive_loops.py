"""One loop in which those of two inames come one after the other."""

from __future__ import annotations

from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.integers.known_facts import known_parameters
from polygen.errors import ExtentNotConstant
from polygen.ir.domain import rename_dimension
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from polygen.ir.tags import ForTag
from polygen.source import caller_location
from polygen.transforms.fusion.fuse_loops import fuse_loops
from polygen.transforms.fusion.widened_loops import values_of
from polygen.transforms.inames.tag_inames import tag_inames
from polygen.transforms.inames.untag_inames import untag_inames
from polygen.transforms.loops.loop_extents import box_of
from polygen.transforms.loops.shift import shift


def have_same_values(kernel: Kernel, first: str, second: str) -> bool:
    """Tell whether two inames have the same values, for all sizes that there may be."""
    known = known_parameters(kernel)
    values = [values_of(kernel, iname) for iname in (first, second)]
    values[1] = rename_dimension(values[1], second, first)
    return bool(values[0].intersect(known).is_equal(values[1].intersect(known)))


def beside(kernel: Kernel, first: str, second: str) -> Kernel:
    """Return the kernel with the iterations of a second loop after those of the first, in one.

    Raises:
        TagConflict: if they are tagged differently.
        ExtentNotConstant: if the bounds of one depend on other inames, or on data.
    """
    tags = [kernel.tags.get(iname, ForTag()) for iname in (first, second)]
    if tags[0] == tags[1] != ForTag():
        kernel = untag_inames(kernel, [first, second])
    one, other = box_of(kernel, [first, second]).ranges
    counts = [form for r in (one, other) if (form := linear_form(r.count)) is not None]
    if len(counts) < 2:
        raise ExtentNotConstant(
            f"'{first}' and '{second}' cannot be one loop, one after the other: where they end is "
            "the least of several numbers",
            where=caller_location(),
            excerpt="\n".join(str(kernel.home_domains[iname]) for iname in (first, second)),
            remedy="say which of them is less (assume)",
        )
    end = one.least + counts[0]
    kernel = shift(kernel, second, show_expression((end - other.least).expression()))
    kernel = fuse_loops(kernel, first, second, 0)
    return kernel if tags[0] == ForTag() else tag_inames(kernel, {first: tags[0]})
