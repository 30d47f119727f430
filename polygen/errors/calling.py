"""Calls that cannot be made; compilers, devices and programs that are not there, or fail."""

from __future__ import annotations

from polygen.errors.families import UserError


class MissingArgument(UserError):
    """An argument that a call has to pass, because nothing else tells its value."""


class WrongArgumentType(UserError):
    """An argument of the wrong kind, or of another type than was declared."""


class WrongByteOrder(WrongArgumentType):
    """An array whose numbers are not in the machine's byte order."""


class WrongShape(UserError):
    """An array whose shape is not what the kernel says."""


class SizeMismatch(UserError):
    """Two arguments that say different things of one size."""


class NegativeSize(UserError):
    """An array that would have fewer than no elements."""


class OutOfMemory(UserError):
    """An array or a temporary that is larger than the memory there is for it."""


class WrongStrides(UserError):
    """An array whose strides are not what was declared, or cannot be used at all."""


class MisalignedArray(UserError):
    """An array whose elements do not lie on multiples of what their type needs."""


class ValueDoesNotFit(UserError):
    """A number that its argument's type cannot hold."""


class AssumptionViolated(UserError):
    """Sizes for which the kernel's assumptions do not hold."""


class EmptyReduction(AssumptionViolated):
    """Sizes for which a least or a greatest value would be that of no values."""


class ObligationViolated(AssumptionViolated):
    """Data for which a kernel would touch what is not there, or do things in no order."""


class TooManyToCheck(UserError):
    """A call that is to check more than can be checked."""


class ObligationUnchecked(UserError):
    """A call that is to check what is not known before the kernel has run."""


class ClaimViolated(AssumptionViolated):
    """Data for which something is not true that the user vouched for."""


class ReadOnlyOutput(UserError):
    """An array that the kernel writes and that must not be written."""


class OverlappingArguments(UserError):
    """Two arguments in the same memory, one of which is written."""


class UnreadableFile(UserError):
    """A file that the command ``polygen`` was given, and that is not there, or cannot be read."""


class NoCompiler(UserError):
    """There is no C compiler on this machine, or not the one that was asked for."""


class NoDevice(UserError):
    """There is no device of the kind that was asked for."""


class NoLinker(UserError):
    """PoCL needs the program ``ld`` and would end the process without it."""


class WrongDevice(UserError):
    """A call whose arrays, queue and kernel belong to different devices."""


class DeviceLacks(UserError):
    """A device that has not what the generated code uses."""


class CompilationFailed(UserError):
    """The device's compiler rejected the generated code, or could not run."""


class NoTemporaryFiles(UserError):
    """Compiling needs temporary files, and they cannot be written."""


class LaunchFailed(UserError):
    """The device refused to run a compiled kernel."""


class KernelFault(LaunchFailed):
    """A device failed while a kernel ran: it accessed memory that is not there, say."""


class NoLibrary(UserError):
    """A kernel calls BLAS or LAPACK, and SciPy (on CUDA: CuPy), which has them, is missing."""


class LibraryInGraph(UserError):
    """A kernel that calls a library is called while a CUDA graph is made of its stream."""


class LibraryLayout(UserError):
    """An array whose elements lie as no routine of a library takes them."""


class LibraryTooLarge(UserError):
    """An array with more elements along an axis than a library counts."""


class SingularMatrix(UserError):
    """A system of linear equations without a unique solution: a pivot is 0."""


class NotPositiveDefinite(UserError):
    """A matrix that has no Cholesky factor."""


class NoSympy(UserError):
    """Expressions of sympy's are asked for, and sympy is not installed."""


class NoGraphviz(UserError):
    """A graph is asked for as PNG, and Graphviz's program ``dot`` is not there."""


class NoMatplotlib(UserError):
    """A picture of a domain is asked for, and matplotlib is not installed."""


class DrawingFailed(UserError):
    """Graphviz did not draw a graph."""


class AutomaticTestFailure(UserError):
    """Two kernels that should compute the same do not: `auto_test_vs_ref`."""
