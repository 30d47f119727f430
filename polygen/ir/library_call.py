"""Calls of numerical libraries: products of matrices, solutions of linear systems, transforms."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter

from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.ir.instruction import KernelCall
from polygen.ir.public import public_class


@public_class
@dataclass(frozen=True)
class LibraryCall(KernelCall):
    """``c = library("gemm", a, b, alpha=2)``: a routine of BLAS or LAPACK on arrays.

    It stands for the loops that compute the same (`Kernel.expanded`), so that dependences, proofs
    and counts know what it reads and writes.  Generated code calls the library instead.

    Attributes:
        function: the name of the routine.
        arguments: what it reads: parts of arrays, and numbers.
        results: what it writes: parts of arrays.
        callee: a kernel that does the same; None while sizes are not known.
        names: what the routine calls each of the arguments; empty for a result that it reads.
        options: what is said by words, such as ``trans_a="T"``.
    """

    names: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()

    def numbers(self) -> dict[str, Expression]:
        """Return the arguments that are no arrays, by name."""
        pairs = zip(self.names, self.arguments, strict=True)
        return {name: value for name, value in pairs if not isinstance(value, ex.SubArrayRef)}

    def operands(self) -> tuple[Expression, ...]:
        """Return the arrays that it reads, in the order in which calls name them."""
        numbers = self.numbers()
        pairs = zip(self.names, self.arguments, strict=True)
        # Routines call their operands by letters, in the order of the alphabet.
        named = sorted(
            [(n, part) for n, part in pairs if n and n not in numbers], key=itemgetter(0)
        )
        return tuple([part for _, part in named])


def is_whole(part: Expression) -> bool:
    """Tell whether part of an array is all of it, its axes in their order."""
    if not isinstance(part, ex.SubArrayRef):
        return False
    return ex.index_of(part.subscript) == tuple(map(ex.Variable, part.swept_inames))


def whole(name: str, rank: int) -> ex.SubArrayRef:
    """Return all of an array, as an argument of a call."""
    axes = tuple([f"_{axis}" for axis in range(rank)])
    return ex.SubArrayRef(axes, ex.element(ex.Variable(name), tuple(map(ex.Variable, axes))))
