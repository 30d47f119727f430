"""Checks given sizes against a kernel's assumptions."""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl

from polygen.analysis.integers.isl_affine import to_val
from polygen.errors import AssumptionViolated
from polygen.ir.domain import flat_names
from polygen.ir.kernel import Kernel
from polygen.source import caller_location


def check_assumed(kernel: Kernel, sizes: Mapping[str, int], remedy: str) -> None:
    """Check that a kernel's assumptions hold for sizes; what others there are is open.

    Parameters:
        kernel: the kernel.
        sizes: the value of each.
        remedy: what the user can do if they do not.

    Raises:
        AssumptionViolated: if they do not hold.
    """
    left = kernel.assumptions.flat
    for position, name in enumerate(flat_names(left)):
        if name in sizes:
            left = left.fix_val(isl.dim_type.param, position, to_val(sizes[name]))
    if left.is_empty():
        shown = ", ".join(f"{name}={value}" for name, value in sizes.items())
        raise AssumptionViolated(
            f"kernel '{kernel.name}' was made on assumptions that do not hold for {shown}",
            where=caller_location(),
            excerpt=kernel.assumptions.text,
            remedy=remedy,
        )
