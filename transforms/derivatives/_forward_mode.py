"""The derivative of a kernel that runs along with it: Jacobians, and tangents in one direction.

Behind each instruction stands one that computes the derivative of what it assigns, in the same
loops, by the chain rule; what is read is the derivative of what the kernel reads there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from polygen.analysis.access.accesses import touched
from polygen.analysis.access.domains import all_reads
from polygen.analysis.access.footprint import fully_written
from polygen.analysis.dataflow.permitted_executions import why_none_is_permitted
from polygen.analysis.order.instance_order import order_of
from polygen.analysis.pairs.instance_pairs import users
from polygen.analysis.pairs.iteration_local import passes_nothing, unwritten
from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace, GlobalArg, TemporaryVariable, ValueArg
from polygen.ir.claims import Claim, Independent
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, Assignment, Instruction, assigning
from polygen.ir.kernel import Kernel
from polygen.transforms.derivatives._chosen_operands import with_choices
from polygen.transforms.derivatives._derivative_draft import (
    DerivativeDraft,
    active,
    check_dependent,
    differentiated,
    refused,
)
from polygen.transforms.derivatives._expression_derivatives import with_own_loops
from polygen.transforms.derivatives._known_values import may_meet
from polygen.transforms.derivatives._named_factors import Sharing
from polygen.transforms.derivatives._remaining_kernel import pruned, with_priorities


@dataclass(frozen=True)
class Directions:
    """In which directions the derivative is taken.

    Attributes:
        by: the arguments.
        axes: those of the only one, each element of which is a direction of its own; None for one
            direction, which is passed.
        prefix: how the names of the inames along these begin.
    """

    by: tuple[str, ...]
    axes: tuple[int, ...] | None
    prefix: str = ""


def forward(
    kernel: Kernel, outputs: Sequence[str], directions: Directions, copied: frozenset[str]
) -> Kernel:
    """Return the kernel that computes derivatives of some outputs along directions.

    Parameters:
        kernel: without rules and calls.
        outputs: the arguments whose derivatives are computed.
        directions: by what.
        copied: the arguments that are computed as well.
    """
    moving = active(kernel, outputs, directions.by)
    check_dependent(kernel, moving, outputs, directions.by)
    kernel, choices = with_choices(kernel, moving)
    for own_sums, own_loops in ((False, False), (True, False)):
        made = _Forward(
            kernel, moving, outputs, directions, choices, own_sums=own_sums, own_loops=own_loops
        )
        found = made.kernel(copied)
        if not directions.axes or _is_possible(found, made.shadows_of_temporaries):
            return found
    made = _Forward(kernel, moving, outputs, directions, choices, own_sums=True, own_loops=True)
    return made.kernel(copied)


def _is_possible(kernel: Kernel, names: Sequence[str]) -> bool:
    """Tell whether loops nest, and temporaries pass nothing from one direction to the next."""
    if why_none_is_permitted(kernel) is not None:
        return False
    return all(_is_scratch(kernel, name) for name in names if users(kernel, name))


def _is_scratch(kernel: Kernel, name: str) -> bool:
    order = order_of(kernel)
    ids = users(kernel, name)
    shared = order.loops(ids[0])
    for other in ids:
        shared = shared[: len(order.shared_loops(ids[0], other))]
    return passes_nothing(kernel, name, frozenset(shared))


class _Forward:
    """Makes the derivative of each instruction.

    Attributes:
        shadows_of_temporaries: the names of the derivatives of temporaries.
    """

    def __init__(
        self,
        kernel: Kernel,
        moving: frozenset[str],
        outputs: Sequence[str],
        directions: Directions,
        choices: Mapping[Expression, str],
        *,
        own_sums: bool,
        own_loops: bool,
    ) -> None:
        self._kernel, self._moving, self._directions = kernel, moving, directions
        self._passed = frozenset((*outputs, *directions.by))
        self._own_sums, self._own_loops = own_sums, own_loops
        self._draft = DerivativeDraft(kernel)
        self._draft.choices = choices
        suffix = "_dot" if directions.axes is None else f"_d{directions.by[0]}"
        self._suffix = suffix
        self._fixed = frozenset(
            by for by in directions.by if directions.axes is not None and by not in kernel.writers
        )
        self._shadows = {v: self._draft.name(v + suffix) for v in sorted(moving - self._fixed)}
        self._ids: dict[str, str] = {}
        self._values: dict[str, list[str]] = {}
        self._temporaries: list[TemporaryVariable] = []
        self._shared: tuple[str, ...] | None = None

    @property
    def shadows_of_temporaries(self) -> list[str]:
        """The names of the derivatives of temporaries."""
        known = {t.name for t in self._kernel.temporaries}
        return [shadow for v, shadow in self._shadows.items() if v in known]

    def kernel(self, copied: frozenset[str]) -> Kernel:
        """Return the kernel with the derivatives, and with what they need."""
        old = self._kernel
        started = self._starts()
        new = [i for insn in old.assignments for i in self._derivative(insn)]
        shadows = [self._shadow(v) for v in old.variables.values() if v.name in self._shadows]
        passed = {self._shadows.get(name) for name in self._passed}
        whole = old.copy(
            domains=self._draft.domains,
            instructions=(*started, *old.instructions, *new),
            arguments=(*old.arguments, *(v for v in shadows if v.name in passed)),
            temporaries=(
                *old.temporaries,
                *(v for v in shadows if v.name not in passed),
                *self._temporaries,
            ),
        )
        whole = self._ordered(whole, [i.id for i in started])
        return with_priorities(pruned(whole, old, [*self._shadows.values()], copied), old)

    # --- variables

    def _extents(self) -> tuple[Expression, ...]:
        """Return how many directions there are along each of their axes."""
        axes = self._directions.axes
        if not axes:
            return ()
        shape = self._kernel.array(self._directions.by[0]).shape or ()
        return tuple([shape[axis] for axis in axes])

    def _shadow(self, variable: Any) -> Any:
        """Return the variable that holds the derivative of another one."""
        name, extents = self._shadows[variable.name], self._extents()
        temporary = isinstance(variable, TemporaryVariable)
        if isinstance(variable, ValueArg) or (temporary and not (extents and self._own_loops)):
            return replace(variable, name=name)
        shape = (*(variable.shape or ()), *extents)
        if variable.name in self._passed and isinstance(variable, GlobalArg):
            return GlobalArg(name, variable.dtype, shape) if extents else as_passed(variable, name)
        constant = all(isinstance(extent, int) for extent in shape)
        space = variable.address_space if temporary and constant else AddressSpace.GLOBAL
        return TemporaryVariable(name, variable.dtype, shape, space)

    # --- directions

    def _along(self) -> tuple[str, ...]:
        """Return the inames over directions for an instruction."""
        if self._own_loops or self._shared is None:
            axes, extents = self._directions.axes or (), self._extents()
            names = [f"{self._directions.prefix}{axis}" for axis in axes]
            self._shared = self._draft.counters(names, extents)
        return self._shared

    def _of(self, along: tuple[str, ...], node: Expression) -> Expression | None:
        """Return the derivative of what is read, or written, along a direction."""
        name, index = ex.name_of(node), ex.index_of(node)
        if name not in self._moving:
            return None
        if name in self._fixed:
            return self._seed(index, along)
        known = isinstance(self._kernel.variables[name], TemporaryVariable)
        axes = () if known and not self._own_loops else map(ex.Variable, along)
        return ex.element(ex.Variable(self._shadows[name]), (*index, *axes))

    def _seed(self, index: Sequence[Expression], along: Sequence[str]) -> Expression:
        """Return the derivative of an element of the argument by the one that is the direction."""
        axes = self._directions.axes or ()
        same = tuple(
            [
                ex.Comparison(index[a], "==", ex.Variable(d))
                for a, d in zip(axes, along, strict=True)
            ]
        )
        if not same:
            return 1.0
        return ex.If(same[0] if len(same) == 1 else ex.LogicalAnd(same), 1.0, 0.0)

    # --- instructions

    def _starts(self) -> list[Instruction]:
        """Return what gives derivatives of arguments their values before the kernel begins."""
        return [self._start(name) for name in sorted(self._shadows) if self._needs_start(name)]

    def _needs_start(self, name: str) -> bool:
        kernel = self._kernel
        if not isinstance(kernel.variables[name], GlobalArg):
            return False
        if name in self._directions.by:
            return self._directions.axes is not None
        if not fully_written(kernel, name):
            return True
        reads = [a for i in users(kernel, name) for a in touched(kernel, i)[name] if not a.is_write]
        return not all(unwritten(kernel, read).is_empty() for read in reads)

    def _start(self, name: str) -> Instruction:
        shape = self._kernel.array(name).shape or ()
        own = self._draft.counters([f"{name}_dim_{axis}" for axis in range(len(shape))], shape)
        along = self._draft.counters(
            [f"{self._directions.prefix}{axis}" for axis in self._directions.axes or ()],
            self._extents(),
        )
        index = tuple(map(ex.Variable, own))
        value = self._seed(index, along) if name in self._directions.by else 0.0
        place = ex.element(ex.Variable(self._shadows[name]), (*index, *map(ex.Variable, along)))
        return Assignment(
            self._draft.name(f"start_{self._shadows[name]}"),
            place,
            value,
            within_inames=frozenset((*own, *along)),
        )

    def _derivative(self, insn: Assigning) -> list[Instruction]:
        """Return the instruction that computes the derivatives of what another one assigns."""
        moving = [(a, v) for a, v in insn.pairs if ex.name_of(a) in self._moving]
        if not moving:
            return []
        along = self._along()

        def of(node: Expression) -> Expression | None:
            return self._of(along, node)

        pairs: list[tuple[Any, Expression]] = []
        for assignee, value in moving:
            if self._own_sums or self._comes_first(insn):
                value = with_own_loops(value, self._draft)  # noqa: PLW2901
            found = differentiated(self._kernel, insn, value, of, self._draft)
            target = of(assignee)
            if target != found:  # an update by what does not matter
                pairs.append((target, 0.0 if found is None else found))
        if not pairs:
            return []
        check_atomic(self._kernel, insn)
        self._ids[insn.id] = self._draft.name(insn.id + self._suffix)
        common = {
            name: getattr(insn, name)
            for name in ("predicates", "tags", "groups", "conflicts_with_groups", "priority")
        }
        if len(pairs) == 1 and isinstance(insn, Assignment):
            common["atomicity"] = insn.atomicity
        targets, values = zip(*pairs, strict=True)
        new = assigning(
            self._ids[insn.id],
            targets,
            values,
            within_inames=insn.within_inames.union(along),
            **common,
        )
        return [new] if not isinstance(new, Assignment) else self._with_values(insn, new, along)

    def _with_values(
        self, insn: Assigning, new: Assignment, along: tuple[str, ...]
    ) -> list[Instruction]:
        """Return a derivative, before it what it needs several times, or for all directions."""
        kernel = self._kernel.copy(domains=self._draft.domains)
        nested = order_of(self._kernel).loops(insn.id)
        parallel = sorted(insn.within_inames.difference(nested))
        loops = {new.id: (*parallel, *nested, *along)}
        sharing = Sharing(kernel, loops, {}, frozenset(self._shadows.values()), self._draft)
        *values, last = sharing.shared([new], insn.within_inames)
        self._temporaries += sharing.temporaries
        self._values[insn.id] = [value.id for value in values]
        own = [v.copy(expression=with_own_loops(v.expression, self._draft)) for v in values]
        return [*own, last]

    def _derived(self, insn_id: str) -> list[str]:
        """Return the instructions that stand for the derivative of one, that itself last."""
        own = [self._ids[insn_id]] if insn_id in self._ids else []
        return [*self._values.get(insn_id, ()), *own]

    # --- order

    def _comes_first(self, insn: Assigning) -> bool:
        """Tell whether an instruction overwrites what its derivative reads."""
        names = insn.read_names.intersection(insn.written_names)
        return any(may_meet(self._kernel, insn.id, name) for name in names)

    def _ordered(self, kernel: Kernel, started: Sequence[str]) -> Kernel:
        """Return the kernel with its dependencies.

        A derivative stands where its instruction stands: after what that comes after, and before
        what comes after that; and before it, if it overwrites what it reads.
        """
        old, order = self._kernel, order_of(self._kernel)
        uses = {
            i.id: (frozenset(i.written_names), all_reads(kernel, i)) for i in kernel.instructions
        }
        before: dict[str, set[str]] = {i.id: set() for i in kernel.instructions}

        def ordered(first: str, second: str) -> None:
            (written, read), (later, later_read) = uses[first], uses[second]
            if written & (later | later_read) or read & later:
                before[second].add(first)

        for insn in old.instructions:
            derived = self._derived(insn.id)
            for position, derivative in enumerate(derived):
                if isinstance(insn, Assigning) and self._comes_first(insn):
                    ordered(derivative, insn.id)
                for earlier in (*started, *derived[:position]):
                    ordered(earlier, derivative)
            for first in old.instructions:
                if order.depends(first.id, insn.id):
                    self._order_pair(first.id, insn.id, ordered)
        ids = {i.id: i.id for i in old.instructions}
        ids |= {d: i.id for i in old.instructions for d in self._derived(i.id)}
        new = [self._with_order(i, old, ids, before[i.id]) for i in kernel.instructions]
        return kernel.copy(instructions=tuple(new), claims=self._claims())

    def _order_pair(self, first: str, second: str, ordered: Any) -> None:
        for early in self._derived(first):
            ordered(early, second)
            for late in self._derived(second):
                ordered(early, late)
        for late in self._derived(second):
            ordered(first, late)

    def _with_order(
        self, insn: Instruction, old: Kernel, ids: dict[str, str], before: set[str]
    ) -> Instruction:
        if insn.id not in ids:
            return insn
        relations = old.instruction(ids[insn.id]).happens_after
        more = [replace(r, first=first) for r in relations for first in self._derived(r.first)]
        before = before - {r.first for r in (*relations, *more)}
        return insn.copy(depends_on=insn.depends_on | before, happens_after=relations.union(more))

    def _claims(self) -> tuple[Claim, ...]:
        """Return the claims: what is independent of something has a derivative that is, too."""
        found: dict[Claim, None] = dict.fromkeys(self._kernel.claims)
        for claim in self._kernel.claims:
            if isinstance(claim, Independent):
                firsts = [claim.first, *self._derived(claim.first)]
                seconds = [claim.second, *self._derived(claim.second)]
                pairs = [(a, b) for a in firsts for b in seconds]
                found.update(dict.fromkeys(Independent(a, b) for a, b in pairs))
        return tuple(found)


def as_passed(variable: GlobalArg, name: str) -> GlobalArg:
    """Return an argument with the layout of another one, which may be written."""
    if type(variable) is GlobalArg:
        return replace(variable, name=name)
    return GlobalArg(name, variable.dtype, variable.shape)


def check_atomic(kernel: Kernel, insn: Assigning) -> None:
    """Check that an atomic update is a sum: of all others, the order would matter.

    Raises:
        NotDifferentiable: if it is not, or returns the old value.
    """
    if insn.atomicity is not None and len(insn.assignees) > 1:
        raise refused(
            f"'{insn.id}' is an atomic update that returns the old value, which depends on the "
            "order in which updates come",
            "where the order is that of the loops, leave out what makes it atomic: "
            "old, a[i] = a[i], a[i] + x",
            kernel,
            insn.id,
        )
    update = insn.update if isinstance(insn, Assignment) else None
    if update is not None and update.operation != "sum":
        raise refused(
            f"'{insn.id}' is an atomic update that is no sum: its derivative depends on the order "
            "in which updates come",
            "write it as a reduction, or without {atomic}",
            kernel,
            insn.id,
        )
