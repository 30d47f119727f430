"""Steps that cannot be taken."""

from __future__ import annotations

from polygen.errors.families import UserError


class InvalidArgument(UserError):
    """An argument of a transformation (or of a call of polygen's) that is of the wrong kind."""


class IllegalStep(UserError):
    """A step that breaks a dependence: what the kernel computes would change."""


class ClaimContradicted(UserError):
    """A claim that the kernel itself shows to be wrong."""


class CannotProve(UserError):
    """A step that may break a dependence: data decides, and polygen does not see it.

    Attributes:
        data_decides: which elements are touched depends on data, and nothing else is in doubt.
    """

    data_decides: bool = False


class NewObligation(CannotProve):
    """A step after which something has to hold of the data that did not have to hold before."""


class ProofLimit(UserError):
    """A step that takes more work than polygen gives it, or whose proof does: right or wrong."""


class NotTheSame(UserError):
    """A step whose result does not have the old instances, at other coordinates."""


class NothingMatches(UserError):
    """A step, or a query, that looks for something in a kernel which has none of it."""


class NotARule(UserError):
    """An assignment that no single expression can stand for."""


class NotRecomputable(UserError):
    """A temporary that cannot be computed anew in a scalar where it is read."""


class NotPrivatizable(UserError):
    """A temporary that cannot have elements for each iteration of a loop."""


class NotDifferentiable(UserError):
    """A kernel, or an expression in it, that has no derivative, or none that is known."""


class NotSavable(UserError):
    """A temporary that cannot be saved in global memory and reloaded."""


class NotVectorizable(UserError):
    """A prefetch that cannot copy several neighbours at once."""


class NotBufferable(UserError):
    """A temporary whose values cannot be computed one iteration ahead."""


class NotPaddable(UserError):
    """A loop that cannot have further iterations of which nothing is used."""


class AxisNotPossible(UserError):
    """An axis of an array that is not there, or that cannot be split, joined or padded."""


class NotConcatenable(UserError):
    """Arrays or temporaries that are too different to share one storage."""


class FootprintNotAffine(UserError):
    """Uses of which it is not known which elements they need, because data decides."""


class OutsideFootprint(UserError):
    """Uses that need more elements than the footprint that is given has."""


class NotSwept(UserError):
    """An iname over which values have to be gathered, and are not, or are without use."""


class FootprintNotConstant(UserError):
    """Uses that need more elements than fit into an array of constant size."""


class TagConflict(UserError):
    """Two inames of one instruction on one hardware axis, or an iname that is tagged already."""


class DomainsDiffer(UserError):
    """Two inames that are to become one loop, but do not have the same values."""


class LoopsOfOneInstruction(UserError):
    """Two inames that are to become one loop, and an instruction that needs both."""


class NotOnline(UserError):
    """A greatest value and a sum that cannot be computed in one pass."""


class NotInOneLaunch(UserError):
    """Work that is to follow a reduction in its launch, and has to wait for all groups."""


class NotFusible(UserError):
    """Two loops that cannot be one: something has to come between them, or nest otherwise."""


class KernelsDiffer(UserError):
    """Kernels that become one, or are compared, and say different things of what they share."""


class InameNotUsed(UserError):
    """An iname that none of the instructions has which a step is about."""


class InameNeeded(UserError):
    """An iname without which the bounds of another one mean nothing."""


class NotDistributable(UserError):
    """Loops that cannot be separated: they would have to come before and after each other."""


class NestingNotPossible(UserError):
    """Loops that a step asks to be nested in a way that the kernel's structure does not permit."""


class NoSuchReduction(UserError):
    """A reduction that a step is about, and that no instruction has."""


class NotAnAccumulation(UserError):
    """A loop that is to be a reduction, and does not add up values one after the other."""


class NoOverlappedTiles(UserError):
    """A loop of time whose steps are not stencils that tiles of time could be made of."""


class NotAProduct(UserError):
    """An instruction that is to be a product of matrices, and is none that a step knows."""


class ProducerNeeded(UserError):
    """A variable that a reduction cannot compute itself: as an array, it is needed elsewhere."""


class FinishNotPossible(UserError):
    """A reduction that groups are to finish by atomic updates, which its result does not have."""


class ReductionNotNestable(UserError):
    """Reductions that share loops, and would need them nested in different ways."""


class Reassociated(UserError):
    """A step that adds up numbers in another order, in a kernel that does not permit that."""


class MalformedMap(UserError):
    """A map of inames that isl cannot read, or whose parts lack names."""


class MapNotTotal(UserError):
    """A map of inames that leaves out points of the domain."""


class MapNotInjective(UserError):
    """A map of inames that makes one point of two, or two of one."""


class MapNotAffine(UserError):
    """A map of inames whose inverse is not affine."""


class ExtentNotConstant(UserError):
    """Loops that are to be one, of which one depends on another, or on data, and on sizes."""


class NotSeparable(UserError):
    """A condition by which code is to be separated, and which is no affine one on nested loops."""


class MapLosesInstances(UserError):
    """A map that makes one domain of several, and an instruction that is in some of them only."""


class MapMixesInames(UserError):
    """A map that makes one iname of several, of which an instruction is within some only."""
