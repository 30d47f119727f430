"""Calls of kernels that are not known yet: what they do with arrays nobody knows."""

from __future__ import annotations

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.kernel import Kernel
from polygen.ir.library_call import LibraryCall


def given_to_unknown(kernel: Kernel) -> frozenset[str]:
    """Return the arrays of which parts are given to kernels that are not known yet."""
    calls = [c for c in kernel.calls if c.callee is None and not isinstance(c, LibraryCall)]
    parts = [part for call in calls for part in (*call.arguments, *call.results)]
    written = {ex.name_of(result) for call in calls for result in call.results}
    nodes = [access for part in parts for access in walk.accesses(part)]
    return frozenset(written.union([ex.name_of(n) for n in nodes if isinstance(n, ex.Subscript)]))
