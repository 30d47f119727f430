"""The two error families, and how an error is shown.

Every error that polygen raises on purpose is a `UserError` (something the user can mend) or an
`InternalError` (polygen's own fault, worth a report).  There is one class for each failed
precondition, so that a script can tell them apart.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class PolygenError(Exception):
    """What all errors of polygen share: how they are shown.

    Parameters:
        what: one or two sentences: what was asked, and why it cannot be.
        where: the place in the user's own file, or None when it is not known.
        excerpt: lines of text (a kernel, an instruction) with the culprit marked.
        remedy: what would work instead.
    """

    def __init__(
        self,
        what: str,
        *,
        where: object | None = None,
        excerpt: str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(what, where, excerpt, remedy)
        self.what = what
        self.where = where
        self.excerpt = excerpt
        self.remedy = remedy
        # The id of the instruction concerned, until the excerpt is made of it.
        self.insn_id = ""

    def __str__(self) -> str:
        lines = [self.what]
        if self.where is not None:
            lines.append(f"  at {self.where}")
        if self.excerpt:
            lines += [f"  | {line}" for line in self.excerpt.splitlines()]
        if self.remedy:
            lines.append(f"  remedy: {self.remedy}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.what, self.where, self.excerpt, self.remedy))


def _rebuild(
    kind: type[PolygenError],
    what: str,
    where: object | None,
    excerpt: str | None,
    remedy: str | None,
) -> PolygenError:
    return kind(what, where=where, excerpt=excerpt, remedy=remedy)


class UserError(PolygenError):
    """Something in the user's kernel, step or call cannot be."""


class InternalError(PolygenError):
    """Polygen contradicts itself: a defect of polygen, not of the user's program."""

    def __str__(self) -> str:
        return (
            super().__str__()
            + "\n  This is a defect of polygen. Please report it, with the kernel "
            "(print(kernel) shows all of it) and the steps that led here."
        )


class PolygenWarning(UserWarning):
    """What all warnings of polygen share."""


# ---- names ----


class UnknownName(UserError):
    """A name that the kernel does not have: what is close to it is suggested."""


class UnknownIname(UnknownName):
    """An iname that no domain of the kernel has."""


class UnknownInstruction(UnknownName):
    """An instruction id that the kernel does not have."""


class UnknownArgument(UnknownName):
    """An argument or variable that the kernel does not have."""


class UnknownFunction(UnknownName):
    """A function that polygen has no rule for."""


class UnknownRule(UnknownName):
    """A substitution rule that the kernel does not have."""


class UnknownTarget(UnknownName):
    """A target that polygen does not generate code for."""


class WrongArity(UserError):
    """A function with more or fewer arguments than it takes."""


class NameTaken(UserError):
    """A new name that the kernel already uses for something else."""


class BuiltInFunction(UserError):
    """A function of one's own that has the name of one that kernels can call anyway."""


class ReservedName(UserError):
    """A name that is a keyword of a target language, or not an identifier at all."""


# ---- writing a kernel ----


class MalformedDomain(UserError):
    """A loop domain or an assumption that isl cannot read."""


class NonAffineDomain(MalformedDomain):
    """A loop domain whose constraints multiply variables: isl's sets have affine bounds."""


class MalformedInstruction(UserError):
    """An instruction that is not in polygen's language."""


class MalformedExpression(UserError):
    """An expression that is not in polygen's language."""


class MalformedQuery(UserError):
    """A text that is no query for instructions."""


class MalformedText(UserError):
    """A text that is not one that a kernel is printed as."""


class UndeclaredVariable(UnknownName):
    """A variable that has to be declared, and is not."""


class MalformedKernel(UserError):
    """A kernel whose parts do not fit together."""


class MalformedTag(UserError):
    """A text that is no iname tag."""


class MalformedLayout(UserError):
    """An array's layout that contradicts its shape, or itself."""


class ConditionChanges(UserError):
    """A condition of a block that the block changes, and asks again."""


class UnusedReductionIname(UserError):
    """A reduction over an iname on which what is reduced does not depend."""


class MalformedRelation(UserError):
    """A dependency on instances that is no relation between the instances of two instructions."""


class RelationContradicted(UserError):
    """A dependency on instances of which the loops put the later ones first."""


class UnboundedDomain(UserError):
    """An iname without a lower or an upper bound."""


class DomainCycle(UserError):
    """Loop domains that need each other's inames."""


class CallCycle(UserError):
    """Kernels that call each other in a circle."""


class FunctionNotPossible(UserError):
    """A kernel that is called, and cannot become a function in the generated code."""


class RuleCycle(UserError):
    """Substitution rules that are part of each other."""


class DependencyCycle(UserError):
    """Instructions that each have to come before the other."""


class IllFormedKernel(UserError):
    """A kernel whose result is not determined: what is wrong is said with a counterexample."""


class UnorderedAccess(IllFormedKernel):
    """Two instances that touch one element, one writing it, and nothing says which comes first."""


class NestingDecides(IllFormedKernel):
    """Two instances that touch one element: which loop is outside says which comes first."""


class UninitializedRead(IllFormedKernel):
    """A temporary that is read before it is written."""


class OutOfBounds(IllFormedKernel):
    """An access outside of an array."""


class OverlappingParts(IllFormedKernel):
    """Parts of arrays, one of them written, that a call gives to a kernel, and that overlap."""


class CallAssumption(IllFormedKernel):
    """A call that gives a kernel numbers for which that was not made."""


class OverlappingElements(IllFormedKernel):
    """An array that is written, and two of whose elements lie in one place."""


class ShapeNotFound(UserError):
    """An array whose shape cannot be guessed from its subscripts."""


class TypeNotFound(UserError):
    """A variable whose type cannot be inferred from what is known."""


class TypeMismatch(UserError):
    """An operation on types that it does not exist for."""


# ---- transforming a kernel ----


class InvalidArgument(UserError):
    """An argument of a transformation (or of a call of polygen's) that is of the wrong kind."""


class IllegalStep(UserError):
    """A step that breaks a dependence: what the kernel computes would change."""


class ClaimContradicted(UserError):
    """A claim that the kernel itself shows to be wrong."""


class CannotProve(UserError):
    """A step that may break a dependence: data decides, and polygen does not see it."""


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


class NotPrivatizable(UserError):
    """A temporary that cannot have elements for each iteration of a loop."""


class NotSavable(UserError):
    """A temporary that cannot be saved in global memory and reloaded."""


class NotBufferable(UserError):
    """A temporary whose values cannot be computed one iteration ahead."""


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


class NotFusible(UserError):
    """Two loops that cannot be one: something has to come between them, or nest otherwise."""


class KernelsDiffer(UserError):
    """Kernels that are to become one, and say different things of what they share."""


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
    """Loops that are to be one, where an inner one has no constant number of iterations."""


class NotSeparable(UserError):
    """A condition by which code is to be separated, and which is no affine one on nested loops."""


class MapLosesInstances(UserError):
    """A map that makes one domain of several, and an instruction that is in some of them only."""


class MapMixesInames(UserError):
    """A map that makes one iname of several, of which an instruction is within some only."""


# ---- generating code ----


class NoLoopNest(UserError):
    """There is no loop nest in which every iname is one loop."""


class GroupsInterleaved(UserError):
    """Instructions that have to stand between those of a group that they conflict with."""


class WaitNeeded(UserError):
    """Two instructions between which work items have to wait, although ``nosync=`` denies it."""


class NotUnrollable(UserError):
    """An iname tagged ``unr`` whose number of iterations is not a constant."""


class LanesNotConstant(UserError):
    """An iname tagged ``ilp`` or ``vec`` with temporaries for each lane, and no number of lanes."""


class SubscriptNotConstant(UserError):
    """A subscript that chooses a component of a vector, or an array, and is no constant."""


class LocalSizeNotConstant(UserError):
    """A work-group size that is not a constant."""


class GridSizeNotKnown(UserError):
    """A grid whose size depends on what the kernel computes."""


class NotAScan(UserError):
    """A reduction that cannot be carried from iteration to iteration (``force_scan=True``)."""


class ReductionNotSequential(UserError):
    """A reduction over an iname that is mapped to the hardware's parallel axes."""


class BarrierNotPossible(UserError):
    """An order across work items that no barrier or launch boundary can establish."""


class WrittenTwice(IllFormedKernel):
    """Two assignees of one instruction that are one element."""


class VerbatimNotPossible(UserError):
    """Verbatim C that mentions what the generated code has in another form."""


class NoAtomicUpdate(UserError):
    """An atomic instruction that combines an old value with nothing."""


class AtomicNotSupported(UserError):
    """An atomic operation that the target language does not have."""


class MixedAssignees(UserError):
    """Assignees of one instruction that different work items would have to write."""


class PrivateAcrossLaunches(UserError):
    """A private or local temporary that would have to outlive the launch that writes it."""


class TypeNotSupported(UserError):
    """A type that the target language does not have."""


class LiteralOutOfRange(UserError):
    """A number that the integer type it is used at cannot hold."""


# ---- a loop program that is not its kernel ----


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


class UnsafeCondition(WrongLoopProgram):
    """A condition that reads outside of an array, where the kernel would not ask it."""


# ---- calling a kernel ----


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
    """A temporary that is larger than the memory there is for it."""


class WrongStrides(UserError):
    """An array whose strides are not what was declared, or cannot be used at all."""


class MisalignedArray(UserError):
    """An array whose elements do not lie on multiples of what their type needs."""


class ValueDoesNotFit(UserError):
    """A number that its argument's type cannot hold."""


class AssumptionViolated(UserError):
    """Sizes for which the kernel's assumptions do not hold."""


class ObligationViolated(AssumptionViolated):
    """Data for which a kernel would touch what is not there, or do things in no order."""


class ClaimViolated(AssumptionViolated):
    """Data for which something is not true that the user vouched for."""


class ReadOnlyOutput(UserError):
    """An array that the kernel writes and that must not be written."""


class OverlappingArguments(UserError):
    """Two arguments in the same memory, one of which is written."""


# ---- compilers and devices ----


class NoCompiler(UserError):
    """There is no C compiler on this machine, or not the one that was asked for."""


class NoDevice(UserError):
    """There is no device of the kind that was asked for."""


class NoLinker(UserError):
    """PoCL needs the program ``ld`` and would end the process without it."""


class WrongDevice(UserError):
    """A call whose arrays, queue and kernel belong to different devices."""


class CompilationFailed(UserError):
    """The device's compiler rejected the generated code, or could not run."""


class LaunchFailed(UserError):
    """The device refused to run a compiled kernel."""


# ---- pictures ----


class NoSympy(UserError):
    """Expressions of sympy's are asked for, and sympy is not installed."""


class NoGraphviz(UserError):
    """A picture of a graph is asked for, and Graphviz's program ``dot`` is not there."""


class DrawingFailed(UserError):
    """Graphviz did not draw a graph."""


# ---- warnings ----


class AmbiguousNesting(PolygenWarning):
    """Several loops could stand outside: one was picked, always the same."""


class ComputedAnew(PolygenWarning):
    """A reduction that would be a scan, were it not for an iname on a hardware axis."""


class ObligationUnchecked(PolygenWarning):
    """Something that a call with ``check_assumptions=True`` cannot check beforehand."""


class SeparationIgnored(PolygenWarning):
    """A condition by which code is to be separated, and cannot be as the kernel is now."""


class NotVectorized(PolygenWarning):
    """An instruction in lanes tagged ``vec`` that is executed for one after the other."""


class PriorityIgnored(PolygenWarning):
    """A loop priority that contradicts what the kernel's structure requires."""


class NotValidated(PolygenWarning):
    """A loop program that was not compared with its kernel: that takes too much work."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a remedy that names what is close to `name`, or what there is."""
    names = sorted(set(known))
    close = close_names(name, names)
    if close:
        return "did you mean " + " or ".join(f"'{c}'" for c in close) + "?"
    if not names:
        return "there are none"
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    return f"there are: {shown}"


def close_names(name: str, known: Iterable[str], count: int = 2, alike: float = 0.5) -> list[str]:
    """Return the names, `count` of them at most, that are spelt like `name`, the closest first.

    Parameters:
        name: what was written.
        known: what there is.
        count: how many are returned at most.
        alike: how much of a name has to be the same, from 0 to 1.
    """
    return difflib.get_close_matches(name, sorted(set(known)), n=count, cutoff=alike)


def caret(text: str, column: int, length: int = 1) -> str:
    """Return `text` (one line) with a caret below the `column` (counted from 0)."""
    return f"{text}\n{' ' * column}{'^' * max(1, length)}"


def mark_lines(text: str, culprits: Iterable[str]) -> str:
    """Return `text` with an arrow before each line that is one of `culprits`."""
    marked = set(culprits)
    return "\n".join(("-> " if line in marked else "   ") + line for line in text.splitlines())
