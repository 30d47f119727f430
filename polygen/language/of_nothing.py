"""Adds assumptions to kernels so that no minimum or maximum is of nothing."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from polygen.analysis.access.empty_reductions import of_nothing, sizes_with_something
from polygen.errors import EmptyReduction
from polygen.ir.domain import Domain, intersection
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import name_of
from polygen.ir.show_expression import show_expression
from polygen.ir.verify import excerpt

_IDENTITIES: ContextVar[bool] = ContextVar("_IDENTITIES", default=False)


@contextmanager
def identities() -> Generator[None]:
    """Let minima and maxima of nothing be infinite, or the like: as they are in Loo.py."""
    token = _IDENTITIES.set(True)
    try:
        yield
    finally:
        _IDENTITIES.reset(token)


def with_something_to_reduce(kernel: Kernel) -> Kernel:
    """Return a kernel that assumes of its sizes that its minima and maxima are of something.

    Steps rely on that as on any assumption, and calls check it.

    Raises:
        EmptyReduction: if one never is.
    """
    if _IDENTITIES.get():
        return kernel
    known = kernel.assumptions.flat
    for insn, reduction, sizes in sizes_with_something(kernel):
        if known.is_subset(sizes):
            continue
        known = intersection(known, sizes).coalesce()
        if known.is_empty():
            raise EmptyReduction(
                f"'{show_expression(reduction)}' has nothing to reduce, whatever the sizes are",
                where=insn.location,
                excerpt=excerpt(kernel, insn.id) if insn in kernel.instructions else "",
                remedy=of_nothing(name_of(reduction.operation)),
            )
    if known is kernel.assumptions.flat:
        return kernel
    return kernel.copy(assumptions=Domain(known.drop_unused_params()))
