"""Instructions: what is executed for each point of a loop domain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.any_instruction import (
    Assigning,
    Instruction,
    Opaque,
    Options,
    identical,
    with_index,
)
from polygen.ir.array import AddressSpace
from polygen.ir.atomicity import Atomicity, Update, update_of
from polygen.ir.cached import cached_property
from polygen.ir.expression import Expression
from polygen.ir.fetches import operation_of
from polygen.ir.public import public_class
from polygen.source import SourceLocation

__all__ = [
    "Assigning",
    "Assignment",
    "Barrier",
    "CInstruction",
    "Instruction",
    "KernelCall",
    "MultiAssignment",
    "NoOp",
    "Options",
    "assigning",
    "first_element",
    "identical",
]


@public_class
@dataclass(frozen=True)
class Barrier(Instruction):
    """A point that all work items reach before any goes on.

    What it depends on is over, and visible to all, before what depends on it begins.

    Attributes:
        scope: who waits for each other: the work items of a group (``LOCAL``), or all
            (``GLOBAL``).
    """

    id: str
    scope: AddressSpace
    within_inames: frozenset[str] = frozenset()
    depends_on: frozenset[str] = frozenset()
    predicates: tuple[Expression, ...] = ()
    location: SourceLocation | None = field(default=None, compare=False)


@public_class
@dataclass(frozen=True)
class NoOp(Instruction):
    """Does nothing: a point in the order that others may depend on."""

    id: str
    within_inames: frozenset[str] = frozenset()
    depends_on: frozenset[str] = frozenset()
    predicates: tuple[Expression, ...] = ()
    location: SourceLocation | None = field(default=None, compare=False)


@public_class
@dataclass(frozen=True)
class Assignment(Assigning):
    """``assignee = expression``, once for each value of the inames it is within.

    Attributes:
        id: the name that dependencies use.
        assignee: a variable or a subscript of an array.
        expression: what is assigned.
        within_inames: the inames whose loops it is in.
        depends_on: the ids of the instructions that come before it.
        predicates: conditions, all of which must hold for it to be executed.
        atomicity: how it is atomic, if it is.
        asynchronous: whether it may be carried out later than it is reached, but before anything
            can tell: it copies an element of global memory to local memory.
        location: where the user wrote it; not part of its value.
    """

    id: str
    assignee: ex.Variable | ex.Subscript
    expression: Expression
    within_inames: frozenset[str] = frozenset()
    depends_on: frozenset[str] = frozenset()
    predicates: tuple[Expression, ...] = ()
    # In place of what the base class says.
    atomicity: Atomicity | None = field(default=None)  # pyright: ignore[reportIncompatibleVariableOverride]
    asynchronous: bool = field(default=False)  # pyright: ignore[reportIncompatibleVariableOverride]
    location: SourceLocation | None = field(default=None, compare=False)

    @cached_property
    def assignees(self) -> tuple[ex.Variable | ex.Subscript, ...]:
        """The variables and elements that it assigns to."""
        return (self.assignee,)

    @cached_property
    def update(self) -> Update | None:
        """The operation of an atomic update; None if it is none."""
        if self.atomicity is None or self.atomicity.init:
            return None
        return update_of(self.assignee, self.expression, self.atomicity.operation)

    @cached_property
    def updated(self) -> ex.Variable | ex.Subscript | None:
        """The element that it updates atomically; None if it updates none."""
        return None if self.update is None else self.assignee

    @cached_property
    def commuting(self) -> str:
        """The operation of its updates, if these may come in any order; else nothing."""
        return "" if self.update is None else self.update.operation

    @cached_property
    def written(self) -> str:
        """The name of the variable that is written."""
        return ex.name_of(self.assignee)

    @cached_property
    def values(self) -> tuple[Expression, ...]:
        """The assigned values."""
        return (self.expression,)

    def with_pairs(
        self, pairs: Sequence[tuple[ex.Variable | ex.Subscript, Expression]], **changes: Any
    ) -> Self:
        """Return the instruction with another assignee and value."""
        ((assignee, expression),) = pairs
        return self.copy(assignee=assignee, expression=expression, **changes)


@public_class
@dataclass(frozen=True)
class MultiAssignment(Assigning):
    """``a, b = x, y``: values for several assignees, all read before anything is written.

    The assignees are different elements.  ``a, b = f(x)`` has the `Component`s of one call as its
    values.  An atomic one returns the old value of what it updates: ``old, a = a, a + x``, which is
    printed as ``old = fetch_add(a, x)``.

    Attributes:
        id: the name that dependencies use.
        assignees: two or more variables or subscripts of arrays.
        values: what is assigned to each of them.
        within_inames: the inames whose loops it is in.
        depends_on: the ids of the instructions that come before it.
        predicates: conditions, all of which must hold for it to be executed.
        atomicity: how it is atomic, if it is.
        location: where the user wrote it; not part of its value.
    """

    id: str
    # The fields take the place of what the base classes compute once.
    assignees: tuple[ex.Variable | ex.Subscript, ...] = field()  # pyright: ignore[reportIncompatibleVariableOverride]
    values: tuple[Expression, ...] = field()  # pyright: ignore[reportIncompatibleVariableOverride]
    within_inames: frozenset[str] = frozenset()
    depends_on: frozenset[str] = frozenset()
    predicates: tuple[Expression, ...] = ()
    atomicity: Atomicity | None = field(default=None)  # pyright: ignore[reportIncompatibleVariableOverride]
    location: SourceLocation | None = field(default=None, compare=False)

    @cached_property
    def updated(self) -> ex.Variable | ex.Subscript | None:
        """The element that it updates atomically; None if it updates none."""
        return None if self.atomicity is None else self.assignees[-1]

    @cached_property
    def commuting(self) -> str:
        """The operation of its updates, if these may come in any order; else nothing."""
        if self.atomicity is None or not self.atomicity.any_order:
            return ""
        return operation_of(self.assignees[-1], self.values[-1])

    def with_pairs(
        self, pairs: Sequence[tuple[ex.Variable | ex.Subscript, Expression]], **changes: Any
    ) -> Self:
        """Return the instruction with other assignees and values, as many as there are."""
        assignees, values = zip(*pairs, strict=True)
        return self.copy(assignees=assignees, values=values, **changes)


@public_class
@dataclass(frozen=True)
class CInstruction(Opaque):
    """Verbatim C: a text that is pasted into the generated code, and what it reads and writes.

    What it declares is trusted, and taken for what it may touch: all of each variable that it
    reads, and of each assignee without subscripts.  In the text, variables have their names;
    arrays are pointers to their first elements.  With ``{atomic=any_order}``, instances may come in
    any order, and at once, whatever they write that others with it write, too.

    Attributes:
        iname_exprs: names that the text may use, each with an expression of inames and sizes.
        code: the text: one or several statements of C.
        read_variables: the variables that it reads.
        assignees: what it writes: variables, or elements.
        id: the name that dependencies use.
        within_inames: the inames whose loops it is in.
        depends_on: the ids of the instructions that come before it.
        predicates: conditions, all of which must hold for it to be executed.
        atomicity: ``Atomicity(any_order=True)`` claims that any order is right; or None.
        location: where the user wrote it; not part of its value.
    """

    iname_exprs: tuple[tuple[str, Expression], ...]
    code: str
    read_variables: frozenset[str] = frozenset()
    # In place of what the base class says.
    assignees: tuple[ex.Variable | ex.Subscript, ...] = field(default=())  # pyright: ignore[reportIncompatibleVariableOverride]
    id: str = ""
    within_inames: frozenset[str] = frozenset()
    depends_on: frozenset[str] = frozenset()
    predicates: tuple[Expression, ...] = ()
    # In place of what the base class says.
    atomicity: Atomicity | None = field(default=None)  # pyright: ignore[reportIncompatibleVariableOverride]
    location: SourceLocation | None = field(default=None, compare=False)

    @property
    def form(self) -> tuple[object, ...]:
        """All that is said of the text, but for the expressions that it evaluates."""
        written = [(ex.name_of(a), len(ex.index_of(a))) for a in self.assignees]
        names = [name for name, _ in self.iname_exprs]
        return self.code, self.read_variables, names, written, self.atomicity

    @property
    def evaluated(self) -> tuple[Expression, ...]:
        """The expressions of inames, and the subscripts of what is written."""
        index = [i for assignee in self.assignees for i in ex.index_of(assignee)]
        return (*(value for _, value in self.iname_exprs), *index)

    @cached_property
    def accesses(self) -> tuple[ex.Subscript | ex.Variable, ...]:
        """The accesses outside of its verbatim text, arrays touched as a whole excluded."""
        written = [a for a in self.assignees if isinstance(a, ex.Subscript)]
        nodes = (*self.evaluated, *self.predicates)
        return (*written, *(access for node in nodes for access in walk.accesses(node)))

    @cached_property
    def read_names(self) -> frozenset[str]:
        """Every name that it evaluates or reads."""
        return self.read_variables.union(*(walk.free_variables(e) for e in self.reads))

    def _with(
        self,
        assignees: Sequence[ex.Variable | ex.Subscript],
        rule: Callable[[Expression], Expression],
    ) -> Self:
        return self.copy(
            assignees=tuple(assignees),
            iname_exprs=tuple([(name, rule(value)) for name, value in self.iname_exprs]),
            predicates=tuple([rule(p) for p in self.predicates]),
        )


@public_class
@dataclass(frozen=True)
class KernelCall(Opaque):
    """``[j]: y[i, j] = f(n, [j]: x[i, j])``: another kernel is executed, on parts of arrays.

    It stands for the instructions of that kernel (`Kernel.expanded`), which are executed one after
    the other where it stands.

    Attributes:
        function: the name of the kernel that is called.
        arguments: what that reads: expressions, and parts of arrays.
        results: what it writes: parts of arrays.
        callee: the kernel; None while nothing of that name is known.
        parts: while code is made, the instructions that it stands for; the kernel is then what its
            function is made of, and the arguments are what that is given.
        id: the name that dependencies use.
        within_inames: the inames whose loops it is in.
        depends_on: the ids of the instructions that come before it.
        predicates: conditions, all of which must hold for it to be executed.
        location: where the user wrote it; not part of its value.
    """

    function: str
    arguments: tuple[Expression, ...]
    results: tuple[Expression, ...]
    callee: Any = None  # a Kernel; kernels consist of instructions, so it cannot be said here
    parts: tuple[Instruction, ...] = ()
    id: str = ""
    within_inames: frozenset[str] = frozenset()
    depends_on: frozenset[str] = frozenset()
    predicates: tuple[Expression, ...] = ()
    location: SourceLocation | None = field(default=None, compare=False)

    @cached_property
    def assignees(self) -> tuple[ex.Variable | ex.Subscript, ...]:
        """The arrays that it writes parts of."""
        return tuple([ex.Variable(ex.name_of(result)) for result in self.results])

    @property
    def compared(self) -> tuple[object, ...]:
        """The arguments, results and predicates, and the instructions of what is called."""
        called = () if self.callee is None else self.callee.instructions
        return (*self.arguments, *self.results, *self.predicates, *called)

    @property
    def evaluated(self) -> tuple[Expression, ...]:
        """The arguments, and the subscripts of the parts that are written."""
        return (*self.arguments, *(i for r in self.results for i in first_element(r)))

    @cached_property
    def accesses(self) -> tuple[ex.Subscript | ex.Variable, ...]:
        """Each subscript and each scalar that it mentions, names of axes left out."""
        nodes = (*self.results, *self.arguments, *self.predicates)
        return tuple([access for node in nodes for access in walk.accesses(node)])

    @cached_property
    def axis_names(self) -> frozenset[str]:
        """The names that stand for the axes of parts of arrays."""
        parts = (*self.arguments, *self.results)
        return frozenset(n for p in parts if isinstance(p, ex.SubArrayRef) for n in p.swept_inames)

    def map_reads(self, rule: Callable[[Expression], Expression]) -> Self:
        """Return the instruction with `rule` applied to what it evaluates (see `reads`)."""
        return self._mapped(rule, tuple([_with_part(result, rule) for result in self.results]))

    def map_expressions(self, rule: Callable[[Expression], Expression]) -> Self:
        """Return the instruction with `rule` applied to its arguments, results and predicates."""
        return self._mapped(rule, tuple(map(rule, self.results)))

    def _mapped(
        self, rule: Callable[[Expression], Expression], results: tuple[Expression, ...]
    ) -> Self:
        return self.copy(
            results=results,
            arguments=tuple(map(rule, self.arguments)),
            predicates=tuple(map(rule, self.predicates)),
        )


def first_element(part: Expression) -> tuple[Expression, ...]:
    """Return the subscripts of the element of part of an array at which its axes are 0."""
    if not isinstance(part, ex.SubArrayRef):
        return ex.index_of(part)
    zeros = dict.fromkeys(part.swept_inames, 0)
    return tuple([walk.substitute(i, zeros) for i in ex.index_of(part.subscript)])


def _with_part(part: Expression, rule: Callable[[Expression], Expression]) -> Expression:
    """Return part of an array with `rule` applied to its subscripts."""
    if isinstance(part, ex.SubArrayRef) and isinstance(part.subscript, ex.Subscript):
        return replace(part, subscript=with_index(part.subscript, rule))
    return part


def assigning(
    insn_id: str,
    assignees: Sequence[ex.Variable | ex.Subscript],
    values: Sequence[Expression],
    **common: Any,
) -> Assignment | MultiAssignment:
    """Return the instruction that assigns values to one or several assignees."""
    if len(assignees) > 1:
        return MultiAssignment(insn_id, tuple(assignees), tuple(values), **common)
    return Assignment(insn_id, assignees[0], values[0], **common)
