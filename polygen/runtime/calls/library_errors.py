"""Errors of calls of numerical libraries, by the numbers that `texts/blas.h` has for them."""

from __future__ import annotations

from polygen.errors import (
    LibraryLayout,
    LibraryTooLarge,
    NotPositiveDefinite,
    OutOfMemory,
    SingularMatrix,
    UserError,
)
from polygen.lower.program import LibraryFunction
from polygen.source import caller_location

LAYOUT, TOO_LARGE, SINGULAR, NOT_DEFINITE, NO_MEMORY = range(1, 6)


def library_error(function: LibraryFunction, kernel: str, why: int, info: int) -> UserError:
    """Return what is wrong with a call of a library.

    Parameters:
        function: the function that calls it.
        kernel: the name of the kernel.
        why: one of the numbers above.
        info: which array it is, or which pivot or minor.
    """
    where = f"{function.routine} in kernel '{kernel}'"
    kind, what, remedy = _ERRORS[why]
    array = _ARRAYS[info] if why == LAYOUT else ""
    return kind(
        f"{where} {what.format(info=info, array=array)}", where=caller_location(), remedy=remedy
    )


_ARRAYS = ("first operand", "second operand", "result")
_ERRORS: dict[int, tuple[type[UserError], str, str]] = {
    LAYOUT: (
        LibraryLayout,
        "is given an array, its {array}, that lies in memory as no library takes it: along one "
        "axis, neighbours have to lie side by side (and what is taken as a conjugate transpose of "
        "complex numbers has to lie as the result does)",
        "pass a copy: numpy.ascontiguousarray(a)",
    ),
    TOO_LARGE: (
        LibraryTooLarge,
        "is given an array with more than 2147483647 elements along an axis",
        "pass smaller arrays: the library counts with 32 bits",
    ),
    SINGULAR: (
        SingularMatrix,
        "found a pivot of 0, at {info} (counted from 0): the matrix is singular",
        "pass a matrix that has an inverse",
    ),
    NOT_DEFINITE: (
        NotPositiveDefinite,
        "found that the leading minor of {info} rows is not positive: the matrix is not positive "
        "definite",
        "pass a symmetric, positive definite matrix; is the right half filled (uplo)?",
    ),
    NO_MEMORY: (
        OutOfMemory,
        "needs memory for a copy of its matrix, and there is not as much",
        "pass smaller arrays",
    ),
}
