"""Compares the values of two nests' loops: the same ones, or the same ones after a shift."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.ir.domain import project_out, rename_dimension
from polygen.ir.kernel import Kernel


def same_values(
    kernel: Kernel, first: Sequence[str], second: Sequence[str], shifts: Sequence[int] = ()
) -> bool:
    """Tell whether loops have the same values, as many inames as they are.

    Parameters:
        kernel: the kernel.
        first: the loops of one nest.
        second: those of another one, in the same order.
        shifts: what is added to each iname of the second nest; nothing if not given.
    """
    values = _values(kernel, second)
    for old, new in zip(second, first, strict=True):
        values = rename_dimension(values, old, new)
    for iname, by in zip(first, shifts, strict=False):
        values = _shifted(values, iname, by)
    context = kernel.assumptions.flat
    return bool(_values(kernel, first).intersect(context).is_equal(values.intersect(context)))


def _values(kernel: Kernel, loops: Sequence[str]) -> isl.Set:
    return domain_of(kernel, with_surrounding(kernel, loops))


def _shifted(values: isl.Set, iname: str, by: int) -> isl.Set:
    if not by:
        return values
    other = f"{iname}_before"
    values = rename_dimension(values, iname, other)
    by_that = isl.Set(f"[{iname}, {other}] -> {{ : {iname} = {other} + {by} }}")
    return project_out(values.intersect(by_that), [other])
