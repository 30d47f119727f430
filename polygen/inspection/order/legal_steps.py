"""`polygen.is_legal`: whether a step may be taken, as a value instead of an error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Concatenate, ParamSpec

from polygen.analysis.integers.proving import with_proofs
from polygen.errors import InvalidArgument, ReservedName, UnknownName, UserError
from polygen.ir.kernel import Kernel
from polygen.ir.public import public

_P = ParamSpec("_P")
_WRONG_CALL = (InvalidArgument, ReservedName, UnknownName)


@dataclass(frozen=True)
class Verdict:
    """A verdict on a step.  It is true if the step is legal: ``if pg.is_legal(...):``.

    Attributes:
        kernel: what the step leads to; None if it may not be taken.
        error: what taking it raises; None if it may be taken.
    """

    kernel: Kernel | None
    error: UserError | None = None

    def __bool__(self) -> bool:
        return self.error is None

    def __str__(self) -> str:
        return "legal" if self.error is None else str(self.error)


@public
def is_legal(
    kernel: Kernel,
    step: Callable[Concatenate[Kernel, _P], Kernel],
    *args: _P.args,
    **kwargs: _P.kwargs,
) -> Verdict:
    """Tell whether a step may be taken, without raising an error if not: for search loops.

    It may if it applies to the kernel and is proved to keep what the kernel computes, also within
    `without_proofs` and with POLYGEN_PROOFS=0.  A step that changes the interface on purpose, such
    as `fix_parameters`, needs no proof.

    Parameters:
        kernel: the kernel.
        step: a transformation, or a function that takes several steps.
        args, kwargs: its arguments.

    Returns:
        What is true or false, and has the new kernel or the error: nothing needs to be done twice.

    Raises:
        InvalidArgument, UnknownName, ReservedName: if `step` cannot be called like this on any
            kernel, or on this one, for want of such an iname, say.  These are mistakes in the
            script; that a search never finds anything legal would hide them.

    >>> import polygen as pg
    >>> knl = pg.make_kernel("{ [i]: 1<=i<n }", "a[i] = a[i-1] + 1")
    >>> [tag for tag in ("unr", "g.0", "l.0") if pg.is_legal(knl, pg.tag_inames, {"i": tag})]
    ['unr']
    >>> pg.is_legal(knl, pg.split_iname, "i", 16).kernel.inames
    ('i_outer', 'i_inner')
    """
    with with_proofs():
        try:
            return Verdict(step(kernel, *args, **kwargs))
        except _WRONG_CALL:
            raise
        except UserError as error:
            # Its frames hold kernels: a search that keeps verdicts need not keep these.
            return Verdict(None, error.with_traceback(None))
