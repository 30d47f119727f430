"""Checks that a kernel is well formed: that its result is determined.

It is if any two instances that touch one element, one of them writing, come in an order, if what
is read from temporaries was written before, and if all accesses are inside their arrays.
"""

from __future__ import annotations

from collections.abc import Iterator

from polygen.analysis.dataflow.permitted_executions import why_none_is_permitted
from polygen.analysis.integers.proving import limited
from polygen.analysis.values.sound_accesses import NOTHING, Unchanged, note_sound
from polygen.analysis.wellformed.access_order import check_order
from polygen.analysis.wellformed.array_bounds import check_bounds
from polygen.analysis.wellformed.element_places import check_distinct
from polygen.analysis.wellformed.integer_powers import power_obligations
from polygen.analysis.wellformed.obligations import Obligation
from polygen.analysis.wellformed.read_cover import check_cover
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.ir.remembered import per_kernel


@public
def check_well_formed(kernel: Kernel) -> None:
    """Check that the result of a kernel is determined, as `make_kernel` does.

    What depends on data is not refused: `obligations` lists it.

    Raises:
        UnorderedAccess: if two instances touch one element, one writing, and nothing orders them.
        NestingDecides: if such an order depends on which of several loops is outside.
        UninitializedRead: if a temporary is read before it is written.
        OutOfBounds: if an access is outside of its array.
        OverlappingElements: if two elements of an array that is written lie in one place.
        NegativePower: if the exponent of a power of integers is negative.
        NoLoopNest, DependencyCycle: if no execution is permitted.
        ProofLimit: if isl has more to do than is reasonable.

    >>> import polygen as pg
    >>> knl = pg.make_kernel("{ [i]: 1<=i<n }", "a[i] = a[i-1] + 1")
    >>> pg.check_well_formed(knl)
    """
    obligations(kernel)
    power_obligations(kernel)


def obligations(kernel: Kernel) -> tuple[Obligation, ...]:
    """Return what has to hold for accesses to be well formed, where data decides.

    Raises:
        UserError: if the kernel is not well formed, as `check_well_formed` says.
    """
    return _obligations(kernel)


@per_kernel
def _obligations(kernel: Kernel) -> tuple[Obligation, ...]:
    with limited(
        kernel,
        f"kernel '{kernel.name}' could not be shown to be well formed",
        "or make the kernel within polygen.without_proofs()",
    ):
        found = tuple(dict.fromkeys(_look(kernel.expanded, NOTHING)))
    note_sound(kernel.expanded)
    return found


def check_result(kernel: Kernel, known: Unchanged) -> tuple[Obligation, ...]:
    """Check that what a step makes of a kernel is well formed, as `check_well_formed` does.

    Returns what has to hold of the data: of what was looked at.

    Parameters:
        kernel: the kernel after the step, without rules.
        known: what need not be looked at: the step left it as it was in a sound kernel.
    """
    found = tuple(dict.fromkeys(_look(kernel, known)))
    note_sound(kernel)
    return found


def _look(kernel: Kernel, known: Unchanged) -> Iterator[Obligation]:
    check_permitted(kernel)
    check_distinct(kernel)
    yield from check_order(kernel, known)
    yield from check_cover(kernel, known)
    yield from check_bounds(kernel, known)


def check_permitted(kernel: Kernel) -> None:
    """Check that some order of a kernel's instances is permitted.

    Raises:
        NoLoopNest, DependencyCycle, DomainCycle, GroupsInterleaved: if none is.
    """
    why = why_none_is_permitted(kernel)
    if why is not None:
        raise type(why)(
            why.what,
            where=why.where or kernel.location,
            excerpt=why.excerpt,
            remedy=why.remedy or "give the reduction, or what else is in its loops, other inames",
        )
