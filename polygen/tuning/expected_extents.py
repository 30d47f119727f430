"""Expected numbers of iterations of loops: from sizes, or, where data decides, from shapes.

    for i < n:
        for j from rowptr[i] to rowptr[i + 1]:      (values has `nonzeros` elements)
            y[i] += values[j]*x[columns[j]]

Rows have `nonzeros / n` elements each, in the mean: `values` holds those of all.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from polygen.analysis.access.accesses import references
from polygen.analysis.access.domains import surrounding_inames
from polygen.ir import expression as ex
from polygen.ir.array import GlobalArg
from polygen.ir.kernel import Kernel
from polygen.ir.sizes import OpenEnd
from polygen.transforms.loops.size_estimates import extent_for, likely

_BY_DATA = 16  # iterations that a loop is expected to have whose bounds are data


def expected_extent(kernel: Kernel, iname: str, sizes: Mapping[str, int]) -> int:
    """Return how many values an iname has for sizes, from the least to the largest.

    Where data decides, as many as the rows of an array have in the mean that it counts the elements
    of, one row after the other; else these are few.

    Parameters:
        kernel: the kernel, rules expanded.
        iname: the iname.
        sizes: the value that each size is expected to have.
    """
    if is_decided_by_data(kernel, iname):
        return _mean(kernel, iname, sizes) or _BY_DATA
    home = kernel.home_domains[iname]
    inames = [i for i in home.parameters if i in kernel.home_domains]
    short = {i: _BY_DATA for i in inames if is_decided_by_data(kernel, i)}
    return extent_for(kernel, iname, {**sizes, **short})


def is_decided_by_data(kernel: Kernel, iname: str) -> bool:
    """Tell whether a bound of an iname is a value that the kernel reads or computes."""
    ends = {size.name for size in kernel.derived_sizes if isinstance(size, OpenEnd)}
    return any(n in kernel.writers or n in ends for n in kernel.home_domains[iname].parameters)


def _mean(kernel: Kernel, iname: str, sizes: Mapping[str, int]) -> int | None:
    """Return how long the rows are in the mean; None if no array says so."""
    around = surrounding_inames(kernel, iname) - {iname}
    if any(is_decided_by_data(kernel, i) for i in around):
        return None
    rows = prod(expected_extent(kernel, i, sizes) for i in around)
    for insn in kernel.instructions:
        for reference in references(insn):
            array = kernel.variables.get(reference.name)
            if reference.index != (ex.Variable(iname),) or not isinstance(array, GlobalArg):
                continue
            (length,) = array.shape if isinstance(array.shape, tuple) else (None,)
            count = 0 if length is None else likely(length, dict(sizes))
            if count > rows > 0:
                return count // rows
    return None
