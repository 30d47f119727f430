"""Kernels that no code can be generated for; loop programs that are not their kernels."""

from __future__ import annotations

from polygen.errors.families import InternalError, UserError
from polygen.errors.making import IllFormedKernel


class NoLoopNest(UserError):
    """There is no loop nest in which every iname is one loop."""


class GroupsInterleaved(UserError):
    """Instructions that have to stand between those of a group that they conflict with."""


class WaitNeeded(UserError):
    """Two instructions between which work items have to wait, although ``nosync=`` denies it."""


class NotUnrollable(UserError):
    """An iname tagged ``unr``, or that `unroll_reduction` is given, whose range is not constant."""


class LanesNotConstant(UserError):
    """An iname tagged ``ilp`` or ``vec`` with temporaries for each lane, and no number of lanes."""


class SubscriptNotConstant(UserError):
    """A subscript that chooses a component of a vector, or an array, and is no constant."""


class LocalSizeNotConstant(UserError):
    """A work-group size that is not a constant."""


class GridSizeNotKnown(UserError):
    """A grid whose size depends on what the kernel computes."""


class CannotEmit(UserError):
    """A kernel for which there are no files for other hosts."""


class NotAScan(UserError):
    """A reduction that cannot be carried from iteration to iteration (``force_scan=True``)."""


class ReductionNotSequential(UserError):
    """A reduction over an iname that is mapped to the hardware's parallel axes."""


class EndNotUniform(UserError):
    """A loop without a bound, within a launch, whose end the work items of a group share."""


class BarrierNotPossible(UserError):
    """An order across work items that no barrier or launch boundary can establish."""


class WrittenTwice(IllFormedKernel):
    """Two assignees of one instruction that are one element."""


class VerbatimNotPossible(UserError):
    """Verbatim C that mentions what the generated code has in another form."""


class NoAtomicUpdate(UserError):
    """An atomic instruction that combines an old value with nothing."""


class NotAsynchronous(UserError):
    """An asynchronous instruction that is no copy from global to local memory, or cannot wait."""


class NotOnTensorCores(UserError):
    """Loops tagged ``mma`` that the tensor cores of a GPU cannot execute."""


class AtomicNotSupported(UserError):
    """An atomic operation that the target language does not have."""


class NotDeterministic(UserError):
    """An atomic update of floating-point numbers in a kernel with the option ``deterministic``."""


class SubGroupTooLarge(UserError):
    """An option ``sub_group_size`` that is more than the target has."""


class ClusterNotPossible(UserError):
    """An option ``clusters`` for work groups that are no clusters of whole warps."""


class MixedAssignees(UserError):
    """Assignees of one instruction that different work items would have to write."""


class PrivateAcrossLaunches(UserError):
    """A private or local temporary that would have to outlive the launch that writes it."""


class LibraryNotPossible(UserError):
    """A call of a numerical library that the target, or the library, cannot make."""


class LibraryInParallel(UserError):
    """A call of a numerical library in a loop whose iterations are in no order."""


class TypeNotSupported(UserError):
    """A type that the target language does not have."""


class LiteralOutOfRange(UserError):
    """A number that the integer type it is used at cannot hold."""


class WrongLoopProgram(InternalError):
    """A loop program that does not do what its kernel means: lowering made a mistake."""


class WrongStatement(WrongLoopProgram):
    """A statement that computes, or writes, something else than its instruction."""


class WrongInstances(WrongLoopProgram):
    """An instruction that is not executed exactly once at each point of its domain."""


class WrongOrder(WrongLoopProgram):
    """Two instances that come in another order than the kernel's, or in none."""


class DivergentBarrier(WrongLoopProgram):
    """A barrier that not all work items of a group reach."""


class WrongStorage(WrongLoopProgram):
    """A variable of another type or size than in the kernel, or that loses its value."""


class WrongLoopEnd(WrongLoopProgram):
    """A loop that ends where something in it is still to be executed, or that never ends."""


class WrongShuffle(WrongLoopProgram):
    """A work item that reads a register of another one than it should, or of none."""


class UnsafeCondition(WrongLoopProgram):
    """A condition that reads outside of an array, where the kernel would not ask it."""
