"""Names factors that derivatives need several times, or in loops where they do not vary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from polygen.analysis.access.accesses import evaluated_under
from polygen.analysis.access.domains import surrounding_inames
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import TemporaryVariable
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import name_of
from polygen.transforms.derivatives._derivative_draft import DerivativeDraft
from polygen.transforms.derivatives._saved_values import is_inside, moved

_DEAR = (ex.Call, ex.Quotient, ex.Reduction, ex.Component)


@dataclass(frozen=True)
class _Place:
    """The place of an expression.

    Attributes:
        insn: the instruction.
        node: the expression, with the names it has there.
        guards: conditions under which it is evaluated.
    """

    insn: Assignment
    node: Expression
    guards: tuple[Expression, ...]


class Sharing:
    """Gives names to what several instructions compute.

    Parameters:
        kernel: one with all loops, and with all that its instructions read.
        loops: for each instruction that is looked at, the loops around it, outermost first.
        again: scalars that have one value in each iteration of the loops of what writes them.
        varying: what these instructions do not find unchanged, such as what they write.
        draft: makes new names; says what inames are copies of.

    Attributes:
        temporaries: the new ones.
    """

    def __init__(
        self,
        kernel: Kernel,
        loops: Mapping[str, tuple[str, ...]],
        again: Mapping[str, Assignment],
        varying: frozenset[str],
        draft: DerivativeDraft,
    ) -> None:
        self._kernel, self._loops, self._varying = kernel, dict(loops), varying
        self._within = {n: writer.within_inames for n, writer in again.items()}
        self._name, self._original = draft.name, draft.original
        self._root: dict[str, str] = {}
        self.temporaries: list[TemporaryVariable] = []

    def shared(
        self, insns: Sequence[Assignment], around: frozenset[str] = frozenset()
    ) -> list[Assignment]:
        """Return the instructions, before them what several of them need.

        Parameters:
            insns: those that one instruction of the kernel has become.
            around: the loops that all new instructions are in.
        """
        found = list(insns)
        while (new := self._next(found, around)) is not None:
            found = new
        return found

    def _next(self, insns: list[Assignment], around: frozenset[str]) -> list[Assignment] | None:
        groups: dict[Expression, list[_Place]] = {}
        for insn in insns:
            for place in self._places(insn):
                groups.setdefault(self._key(place.node), []).append(place)
        by_size = sorted(groups, key=lambda key: -sum(1 for _ in walk.subexpressions(key)))
        for key in by_size:
            new = self._named(groups[key], around)
            if new is not None:
                user = groups[key][0].insn.id
                self._root[new.id] = self._root.get(user, user)
                self._within[new.written] = new.within_inames
                self._loops[new.id] = tuple(
                    [i for i in self._loops[groups[key][0].insn.id] if i in new.within_inames]
                )
                left = [self._with_name(insn, key, new.assignee) for insn in insns]
                first = insns.index(groups[key][0].insn)
                return [*left[:first], new, *left[first:]]
        return None

    # --- where expressions stand

    def _places(self, insn: Assignment) -> Iterator[_Place]:
        """Yield what an instruction computes that is dear, and does not vary by itself."""
        asked: tuple[Expression, ...] = ()
        for condition in insn.predicates:
            yield from self._dear(insn, condition, asked)
            asked = (*asked, condition)
        yield from self._dear(insn, insn.expression, asked)

    def _dear(
        self, insn: Assignment, value: Expression, asked: tuple[Expression, ...]
    ) -> Iterator[_Place]:
        pending = [(value, asked)]
        while pending:
            node, guards = pending.pop()
            if isinstance(node, ex.Variable | ex.Subscript):
                continue
            names = walk.free_variables(node)
            if (
                self._varying.isdisjoint(names)
                and (_is_dear(node) or (self._reads(names) and _operations(node) > 1))
                and not isinstance(node, ex.Several | ex.Comparison | ex.LogicalAnd | ex.LogicalOr)
            ):
                yield _Place(insn, node, guards)
            if not isinstance(node, ex.Reduction | ex.Component):
                pending += evaluated_under(node, guards)

    def _reads(self, names: frozenset[str]) -> bool:
        """Tell whether some names are of more than sizes and inames."""
        found = [self._kernel.variables.get(n) for n in names - {*self._kernel.parameters}]
        return any(variable is not None for variable in found)

    def _key(self, node: Expression) -> Expression:
        """Return an expression with names for what it reduces over that do not depend on where."""
        own: dict[str, str] = {}
        for reduction in walk.reductions(node):
            for iname in reduction.inames:
                own.setdefault(iname, f"{self._original.get(iname, iname)}#{len(own)}")
        return moved(node, {}, own) if own else node

    def _with_name(self, insn: Assignment, key: Expression, name: Expression) -> Assignment:
        if not any(self._key(place.node) == key for place in self._places(insn)):
            return insn

        def named(node: Expression) -> Expression:
            if self._key(node) == key:
                return name
            if isinstance(node, ex.Variable | ex.Subscript | ex.Reduction | ex.Component):
                return node
            return walk.rebuild(node, tuple([named(part) for part in walk.parts(node)]))

        return insn.map_expressions(lambda e: e if e == insn.assignee else named(e))

    # --- what gets a name

    def _named(self, places: Sequence[_Place], around: frozenset[str]) -> Assignment | None:
        """Return what computes an expression once; None if it is not computed more often."""
        loops = self._common_loops(places)
        needed = self._needed(places[0].node) | around
        if not needed <= frozenset(loops):
            return None
        level = loops
        while level and level[-1] not in needed:
            level = level[:-1]
        choices = [level] if level != loops and _is_dear(places[0].node) else []
        if len(places) > 1:
            choices.append(loops)
        for inames in choices:
            kept = self._kept(places, inames)
            same = all(self._loops[p.insn.id] == inames and p.guards == kept for p in places)
            inside = frozenset(inames) | walk.reduction_inames(places[0].node)
            if same or is_inside(self._kernel, places[0].node, inside):
                return self._assignment(places[0], inames, kept)
        return None

    def _kept(self, places: Sequence[_Place], inames: Sequence[str]) -> tuple[Expression, ...]:
        """Return the conditions that can be asked in some loops of those that all places share."""
        first, *others = places
        return tuple(
            [
                guard
                for guard in first.guards
                if all(guard in p.guards for p in others)
                and self._needed(guard) <= frozenset(inames)
                and self._varying.isdisjoint(walk.free_variables(guard))
            ]
        )

    def _assignment(
        self, place: _Place, inames: Sequence[str], guards: Sequence[Expression]
    ) -> Assignment:
        name = self._name(_like(place.node))
        self.temporaries.append(TemporaryVariable(name))
        return Assignment(
            self._name(f"{self._root.get(place.insn.id, place.insn.id)}_value"),
            ex.Variable(name),
            place.node,
            within_inames=frozenset(inames),
            predicates=tuple(guards),
            tags=place.insn.tags,
        )

    def _common_loops(self, places: Sequence[_Place]) -> tuple[str, ...]:
        found, *others = [self._loops[p.insn.id] for p in places]
        for other in others:
            same = [a == b for a, b in zip(found, other, strict=False)]
            found = found[: [*same, False].index(False)]
        return found

    def _needed(self, node: Expression) -> frozenset[str]:
        """Return the inames that an expression needs around it."""
        kernel = self._kernel
        bound = walk.reduction_inames(node)
        names = walk.free_variables(node)
        found = frozenset(kernel.inames) & names
        found = found.union(*(self._within[n] for n in names & self._within.keys()))
        return found.union(*(surrounding_inames(kernel, i) for i in found | bound)) - bound


def _is_dear(node: Expression) -> bool:
    """Tell whether an expression is worth a name where it stands in a loop for nothing."""
    return any(isinstance(part, _DEAR) for part in walk.subexpressions(node))


def _operations(node: Expression) -> int:
    """Return how many additions and multiplications a value takes, those of subscripts not."""
    if isinstance(node, ex.Variable | ex.Subscript | ex.Reduction):
        return 0
    here = len(node.children) - 1 if isinstance(node, ex.Sum | ex.Product) else 0
    return here + sum(_operations(part) for part in walk.parts(node))


def _like(node: Expression) -> str:
    """Return how the name of an expression may begin."""
    if isinstance(node, ex.Call):
        return f"{ex.name_of(node.function)}_value"
    if isinstance(node, ex.Reduction):
        return f"{name_of(node.operation)}_value"
    if isinstance(node, ex.Component) and isinstance(node.aggregate, ex.Reduction):
        return f"{node.aggregate.inames[0]}_taken"
    return "value"
