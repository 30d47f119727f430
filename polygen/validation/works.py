"""Lists the works: the instructions of the kernel, its reductions spelled out.

A reduction is an accumulator, which starts with the identity of the operation, takes up the
operand once for each point of the reduction's domain, and is then used.  Which variable of the
program is the accumulator of which reduction is found in the program (`accumulators.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from polygen.analysis.order.instance_order import Order, order_of
from polygen.analysis.order.reduction_statements import shares_reduction_loops
from polygen.analysis.typing.expression_types import reduction_types
from polygen.analysis.typing.inference import kinds
from polygen.errors import WrongStatement
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import TemporaryVariable
from polygen.ir.cached import cached_property
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, Assignment, assigning
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import facts_of, parts_of
from polygen.ir.show_expression import show_expression
from polygen.validation.accumulators import Accumulators, first_known, is_missing
from polygen.validation.copy_of import Copy, copy_of
from polygen.validation.faults import fault
from polygen.validation.frames import Statement
from polygen.validation.reductions import Place, results_used, under_conditions
from polygen.validation.scans import carried, sweep_of
from polygen.validation.view import View


@dataclass(eq=False, slots=True)
class Work:
    """Something that the program has to execute at each point of a domain.

    Attributes:
        insn: what it does: an instruction without reductions, its `id` unique.
        origin: the instruction of the kernel that it is a part of.
        part: what it is of its instruction, if it is not all of it: "the start of", or "".
        reduction: the reduction that it is a part of, if any.
        asked_within: the inames for whose values the kernel asks its conditions: those of a
            reduction's operand are asked once for all of it.
        copies: the statements that carry it out.
    """

    insn: Assigning
    origin: Assigning
    part: str
    reduction: ex.Reduction | None
    asked_within: frozenset[str]
    copies: list[Copy] = field(default_factory=list[Copy])
    sweep: tuple[str, ...] = ()  # the loops through which its reduction is carried, as nested

    @property
    def what(self) -> str:
        """Its name in messages."""
        whole = f"instruction '{self.origin.id}'"
        if self.reduction is None:
            return whole
        return f"{self.part}'{show_expression(self.reduction)}' in {whole}"


@dataclass(frozen=True)
class Works:
    """All works of a kernel.

    Attributes:
        all: in the order of the instructions.
        original: the kernel.
        accumulators: the variables of the program that are no temporaries of the kernel.
    """

    all: tuple[Work, ...]
    original: Kernel
    accumulators: Mapping[str, TemporaryVariable]

    @cached_property
    def kernel(self) -> Kernel:
        """A kernel with the works as its instructions, and its barriers and no-ops."""
        if not self.accumulators:
            return self.original
        marks = [i for i in self.original.instructions if not isinstance(i, Assigning)]
        return self.original.copy(
            instructions=(*(work.insn for work in self.all), *marks),
            temporaries=(*self.original.temporaries, *self.accumulators.values()),
        )

    @cached_property
    def is_mixed(self) -> bool:
        """Whether other instructions stand in the loops of a reduction: these nest together."""
        return shares_reduction_loops(self.original)

    def order(self, *works: Work) -> Order:
        """Return the order of the instances of some works: the kernel's own if that has it."""
        whole = not self.is_mixed and all(work.reduction is None for work in works)
        return order_of(self.original if whole else self.kernel)


def works_of(view: View) -> Works:
    """Return the works of a kernel, each with its statements.

    Raises:
        WrongStatement: if a statement belongs to none, or a reduction has no accumulator.
    """
    maker = _Maker(view)
    return Works(maker.run(), view.kernel, maker.accumulators)


class _Maker:
    def __init__(self, view: View) -> None:
        self._view = view
        self._kernel = view.kernel
        self._kinds = dict(kinds(view.kernel))
        self._done: list[Work] = []
        self._by_insn: dict[str, list[Statement]] = {}
        self._by_accumulator: dict[str, list[Statement]] = {}
        for statement in view.root.statements():
            self._sort(statement)
        self._find = Accumulators(view, self._by_accumulator, self._kinds)
        self.accumulators: dict[str, TemporaryVariable] = {}

    def _sort(self, statement: Statement) -> None:
        names = statement.written_names
        unknown = [name for name in names if name not in self._kernel.variables]
        for name in unknown:
            self._by_accumulator.setdefault(name, []).append(statement)
        if unknown:
            return
        if statement.insn_id not in self._kernel.instructions_by_id:
            raise fault(
                WrongStatement,
                self._kernel,
                f"'{names[0]}' is written for '{statement.insn_id}', which is no instruction",
            )
        self._by_insn.setdefault(statement.insn_id, []).append(statement)

    def run(self) -> tuple[Work, ...]:
        for insn in self._kernel.assignments:
            statements = self._by_insn.get(insn.id, [])
            if insn.reduction_inames:
                always = tuple(p for p in insn.predicates if not walk.reductions(p))
                alone = self._replaced(insn, insn, statements, always)
            else:
                alone = insn
            self._add(alone, insn, statements)
        for name in self._by_accumulator.keys() - self.accumulators.keys():
            raise fault(
                WrongStatement,
                self._kernel,
                f"'{name}' is written, which no instruction needs",
            )
        return tuple(self._done)

    def _add(
        self,
        insn: Assigning,
        origin: Assigning,
        statements: Sequence[Statement],
        part: str = "",
        reduction: tuple[ex.Reduction, frozenset[str]] | None = None,
    ) -> None:
        copies = [copy_of(self._view, s, insn.within_inames) for s in statements]
        node, around = reduction or (None, insn.within_inames)
        self._done.append(Work(insn, origin, part, node, around, copies))

    def _replaced(
        self,
        insn: Assigning,
        origin: Assigning,
        uses: Sequence[Statement],
        always: tuple[Expression, ...],
    ) -> Assigning:
        """Add the works of the reductions in `insn`; return it with accumulators instead.

        What is never executed keeps them: nothing is said of their accumulators.
        """
        if not uses:
            return insn
        found: dict[Place, tuple[str, ...]] = {}
        open_names = [n for n in self._find.mentioned(uses) if n not in self.accumulators]
        used = results_used(insn.reads)
        last: set[str] = set()

        def change(place: Place, position: int) -> Expression:
            if place not in found:
                names = self._find.of(insn, place, used[place], open_names, always)
                if names is None:
                    raise _not_computed(self._kernel, origin, place[0])
                found[place] = names
                open_names[:] = [name for name in open_names if name not in names]
                around = (*always, *place[1])
                last.add(self._spell_out(insn, place[0], names, around, origin))
            return ex.Variable(found[place][position])

        replaced = insn.map_expressions(lambda node: under_conditions(node, change))
        return replaced.copy(depends_on=insn.depends_on | last)

    # --- spelling reductions out

    def _spell_out(
        self,
        insn: Assigning,
        node: ex.Reduction,
        names: tuple[str, ...],
        conditions: tuple[Expression, ...],
        origin: Assigning,
    ) -> str:
        """Add the works of a reduction; return the id of its update."""
        starts, updates = self._find.starts_and_updates(first_known(names))
        dtypes = reduction_types(node, self._kinds)
        facts = facts_of(node.operation)
        accumulators = tuple(map(ex.Variable, names))
        for name, dtype in zip(names, dtypes, strict=True):
            self._kinds[name] = dtype
            self.accumulators[name] = TemporaryVariable(name, dtype)
        around = insn.within_inames
        sweep = sweep_of(self._view, origin.id, around, starts, updates)
        operands, asked = parts_of(node), tuple[Expression, ...]()
        if sweep:
            value, asked = carried(self._view, insn, sweep, node, conditions)
            operands = tuple([walk.substitute(o, {node.inames[0]: value}) for o in operands])
        reduction = node, around
        ids: list[str] = []
        for name, identity in zip(names, facts.identity(dtypes), strict=True):
            if is_missing(name):
                continue
            ids.append(f"{origin.id}'{name}'start")
            start = Assignment(
                id=ids[-1],
                assignee=ex.Variable(name),
                expression=identity,
                within_inames=around.difference(sweep),
                depends_on=self._before(insn.depends_on, sweep or node.inames, conditions),
                predicates=() if sweep else conditions,  # one that is carried may always start
                location=origin.location,
            )
            mine, _ = self._find.starts_and_updates(name)
            self._add(start, origin, mine, "the start of ", reduction)
        update: Assigning = assigning(
            f"{origin.id}'{names[0]}'update",
            accumulators,
            operands,
            within_inames=around if sweep else around.union(node.inames),
            depends_on=insn.depends_on.union(ids),
            predicates=(*conditions, *asked),
            location=origin.location,
        )
        alone = update
        if update.reduction_inames:
            alone = self._replaced(update, origin, updates, conditions)
        values = facts.combined(accumulators, alone.values, dtypes)
        alone = alone.with_pairs(tuple(zip(accumulators, values, strict=True)))
        self._add(alone, origin, updates, "", reduction)
        self._done[-1].sweep = sweep
        return update.id

    def _before(
        self, ids: frozenset[str], inames: Iterable[str], conditions: tuple[Expression, ...]
    ) -> frozenset[str]:
        """Return those of the kernel's instructions that come before the loop of a reduction.

        Where a condition is asked, those as well that something in the loop comes after.
        """
        by_id = self._kernel.instructions_by_id
        known = ids.intersection(by_id)
        apart = frozenset(i for i in known if by_id[i].within_inames.isdisjoint(inames))
        within = known - apart
        if not conditions or not within:
            return apart
        further = NO_NAMES.union(*(by_id[i].depends_on for i in within))
        return apart | self._before(further, inames, conditions)


def _not_computed(kernel: Kernel, insn: Assigning, node: ex.Reduction) -> WrongStatement:
    what = f"it does not compute '{show_expression(node)}'"
    return fault(WrongStatement, kernel, what, insn)
