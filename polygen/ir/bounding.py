"""Scalars that a kernel computes, and that bound its loops."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from polygen.ir.empty import NO_NAMES

if TYPE_CHECKING:
    from polygen.ir.kernel import Kernel


def bounding(kernel: Kernel, inames: Iterable[str]) -> frozenset[str]:
    """Return the scalars that are computed before the loops of inames, for their bounds."""
    found = NO_NAMES.union(*(kernel.home_domains[i].parameters for i in inames))
    return found.difference(kernel.inames, kernel.parameters)
