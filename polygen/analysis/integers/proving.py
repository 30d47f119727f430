"""Switches proofs on and off, and bounds their work."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

import islpy as isl

from polygen.errors import ProofLimit
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.source import caller_location

# None where nothing was said: then POLYGEN_PROOFS decides.
_WANTED: ContextVar[bool | None] = ContextVar("whether proofs are wanted", default=None)


@public
@contextmanager
def without_proofs() -> Generator[None]:
    """Make kernels and take steps without proving them, for search loops and for measuring.

    >>> import polygen as pg
    >>> knl = pg.make_kernel("{ [i]: 1<=i<n }", "a[i] = a[i-1] + 1")
    >>> with pg.without_proofs():
    ...     racy = pg.tag_inames(knl, {"i": "g.0"})
    """
    with _proofs(wanted=False):
        yield


@contextmanager
def with_proofs() -> Generator[None]:
    """Prove, also within `without_proofs` and with POLYGEN_PROOFS=0."""
    with _proofs(wanted=True):
        yield


@contextmanager
def _proofs(*, wanted: bool) -> Generator[None]:
    token = _WANTED.set(wanted)
    try:
        yield
    finally:
        _WANTED.reset(token)


def proofs_are_on() -> bool:
    """Tell whether to prove: not within `without_proofs`, nor with POLYGEN_PROOFS=0."""
    wanted = _WANTED.get()
    return os.environ.get("POLYGEN_PROOFS") != "0" if wanted is None else wanted


# For less than a hundred instructions; a kernel has as much again for each full hundred:
MOST_OPERATIONS = 3_000_000  # of isl, in one proof: usually seconds
MOST_IN_A_STEP = 2_000_000  # of isl, in what a transformation does itself
# Whatever the kernel:
MOST_IN_A_COMPARISON = 1_000_000  # of isl, in one attempt: usually far less than a second
MOST_IN_AN_ATTEMPT = 300_000  # of isl, in what a proof can do without
MOST_FOR_CLAIMS = 1_000_000  # of isl, to find what would make a refused step right
MOST_IN_A_COUNT = 400_000  # of isl, for one formula: longer ones tell nobody anything


@contextmanager
def limited(kernel: Kernel, what: str, otherwise: str) -> Generator[None]:
    """Bound what isl may do in a proof, and raise an error if that is not enough.

    Parameters:
        kernel: the kernel: more may be done for more instructions.
        what: what could not be proved: the subject of a sentence.
        otherwise: what the user can do who knows that it is so.

    Raises:
        ProofLimit: if isl has more to do than is reasonable.
    """
    sets = "the sets of pairs of instances that touch one element"
    most = MOST_OPERATIONS * _hundreds(kernel)
    with _limited(most, f"{what} within the limit: {sets}", otherwise):
        yield


def _hundreds(kernel: Kernel) -> int:
    return 1 + len(kernel.instructions) // 100


def limited_step(step: str, kernel: Kernel) -> AbstractContextManager[None]:
    """Bound what isl may do in a step itself, and raise an error if that is not enough.

    Raises:
        ProofLimit: if isl has more to do than is reasonable.
    """
    what = f"{step} could not be taken for kernel '{kernel.name}' within the limit: the sets of"
    otherwise = "or take the step earlier, while the loops are simpler"
    return _limited(MOST_IN_A_STEP * _hundreds(kernel), f"{what} instances and elements", otherwise)


@contextmanager
def limited_comparison() -> Generator[None]:
    """Bound what isl may do to compare two kernels, and raise an error if that is not enough.

    Raises:
        ProofLimit: if isl has more to do than is reasonable.
    """
    what = "that the kernels compute the same could not be proved within the limit: the relations"
    with _limited(MOST_IN_A_COMPARISON, f"{what} between their instances", "or compare parts"):
        yield


@contextmanager
def limited_count() -> Generator[None]:
    """Bound what isl may do to find a formula, and raise an error if that is not enough.

    Raises:
        ProofLimit: if isl has more to do than is reasonable.
    """
    with _limited(MOST_IN_A_COUNT, "the sets whose points are counted", "or count for given sizes"):
        yield


_ATTEMPT: ContextVar[bool] = ContextVar("whether this is part of an attempt", default=False)


@contextmanager
def limited_attempt(most: int = MOST_IN_AN_ATTEMPT) -> Generator[None]:
    """Bound what isl may do, all in all, to find what one can do without.

    Limits inside of it are not looked at: what they bound is a part of the attempt.

    Parameters:
        most: how many operations there may be.

    Raises:
        ProofLimit: if isl has more to do than is reasonable.
    """
    if _ATTEMPT.get():
        yield
        return
    token = _ATTEMPT.set(True)
    try:
        with _bounded(most, "the sets of an attempt", "or take other steps"):
            yield
    finally:
        _ATTEMPT.reset(token)


@contextmanager
def _limited(most: int, what: str, otherwise: str) -> Generator[None]:
    with nullcontext() if _ATTEMPT.get() else _bounded(most, what, otherwise):
        yield


@contextmanager
def _bounded(most: int, what: str, otherwise: str) -> Generator[None]:
    context = isl.DEFAULT_CONTEXT
    outside = context.get_max_operations()
    context.reset_operations()
    context.set_max_operations(most)
    try:
        yield
    except isl.Error:
        if not _is_exhausted():
            raise
        raise ProofLimit(
            f"{what} are too complicated",
            where=caller_location(),
            remedy="fix parameters that are known (fix_parameters), or write subscripts and "
            f"bounds without // and %; {otherwise}",
        ) from None
    finally:
        context.set_max_operations(outside)
        context.reset_operations()


def _is_exhausted() -> bool:
    """Tell whether isl refuses everything: its messages do not say that the limit is the reason."""
    try:
        isl.Set("{ : }").is_empty()
    except isl.Error:
        return True
    return False
