"""Calls of kernels that are not known yet: what they do with arrays nobody knows."""

from __future__ import annotations

from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from polygen.ir.library_call import LibraryCall


def given_to_unknown(kernel: Kernel) -> frozenset[str]:
    """Return the arrays of which parts are given to kernels that are not known yet."""
    calls = [c for c in kernel.calls if c.callee is None and not isinstance(c, LibraryCall)]
    parts = [part for call in calls for part in (*call.arguments, *call.results)]
    return frozenset([ex.name_of(p) for p in parts if isinstance(p, ex.SubArrayRef)])
