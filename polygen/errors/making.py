"""Kernels that cannot be made, or have no one result."""

from __future__ import annotations

from polygen.errors.families import UserError
from polygen.errors.names import UnknownName


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


class EndlessLoop(UserError):
    """A loop without a bound that no condition ends, or whose end something asks for."""


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


class NegativePower(IllFormedKernel):
    """A power of integers with a negative exponent."""


class OverlappingParts(IllFormedKernel):
    """Parts of arrays, one of them written, that a call gives to a kernel, and that overlap."""


class CallAssumption(IllFormedKernel):
    """A call that gives a kernel numbers for which that was not made."""


class OverlappingElements(IllFormedKernel):
    """An array that is written, and two of whose elements lie in one place."""


class UnknownRoutine(UserError):
    """A routine of a numerical library that polygen does not know."""


class WrongLibraryCall(UserError):
    """A routine of a numerical library that is given what it does not take."""


class ShapeNotFound(UserError):
    """An array whose shape cannot be guessed from its subscripts."""


class TypeNotFound(UserError):
    """A variable whose type cannot be inferred from what is known."""


class TypeMismatch(UserError):
    """An operation on types that it does not exist for."""
