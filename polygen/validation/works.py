"""What has to be executed: the instructions of the kernel, its reductions spelled out.

A reduction is an accumulator, which starts with the identity of the operation, takes up the
operand once for each point of the reduction's domain, and is then used.  Which variable of the
program is the accumulator of which reduction is found in the program: it is the one that is
mentioned where the reduction stands, and that takes up what the reduction reduces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from typing import TypeAlias

from polygen.analysis.inference import kinds
from polygen.analysis.order import Order, order_of
from polygen.analysis.realized import shares_reduction_loops
from polygen.analysis.types import reduction_types
from polygen.errors import WrongStatement
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import TemporaryVariable
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, Assignment, assigning
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import Parts, facts_of, parts_of
from polygen.ir.show_expression import show_expression
from polygen.lower.program import If
from polygen.validation.constraints import Cone, Facts
from polygen.validation.faults import fault
from polygen.validation.frames import Statement
from polygen.validation.polynomial import Polynomial
from polygen.validation.readings import KernelTerms
from polygen.validation.reductions import under_conditions
from polygen.validation.scans import carried, has_value, origin_of, sweep_of
from polygen.validation.terms import key
from polygen.validation.view import View


@dataclass(eq=False, slots=True)
class Copy:
    """A statement that carries out a work.

    Attributes:
        statement: the statement.
        values: what the inames of the work stand for there, in terms of the program.
        stated: those of the inames that are no loop there.
        terms: of the kernel, for these values.
    """

    statement: Statement
    values: dict[str, Polynomial]
    stated: tuple[str, ...]
    terms: KernelTerms


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
        """What to call it."""
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


def copy_of(view: View, statement: Statement, inames: frozenset[str]) -> Copy:
    """Return a statement as a copy of a work within these inames.

    Raises:
        WrongStatement: if one of them has no value there.
    """
    terms = view.terms(statement.frame)
    values: dict[str, Polynomial] = {}
    stated: list[str] = []
    for iname in inames:
        value = terms.bound(iname)
        if value is None:
            stated.append(iname)
            if iname not in statement.values:
                raise fault(
                    WrongStatement,
                    view.kernel,
                    f"'{iname}' has no value where instruction '{statement.insn_id}', which is "
                    "within it, is carried out",
                )
            value = terms.index(statement.values[iname])
        values[iname] = value
    return Copy(statement, values, tuple(stated), KernelTerms(view.layouts, values))


_Key: TypeAlias = tuple[ex.Reduction, tuple[Expression, ...]]  # and the conditions it stands under


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
        found: dict[_Key, tuple[str, ...]] = {}
        open_names = [n for n in self._mentioned(uses) if n not in self.accumulators]
        last: set[str] = set()

        def change(node: ex.Reduction, conditions: tuple[Expression, ...]) -> Parts:
            if (node, conditions) not in found:
                around = (*always, *conditions)
                names = self._accumulators(insn, node, open_names, around)
                if names is None:
                    raise _not_computed(self._kernel, origin, node)
                found[node, conditions] = names
                open_names[:] = [name for name in open_names if name not in names]
                last.add(self._spell_out(insn, node, names, around, origin))
            return tuple(map(ex.Variable, found[node, conditions]))

        replaced = insn.map_expressions(lambda node: under_conditions(node, change))
        return replaced.copy(depends_on=insn.depends_on | last)

    def _mentioned(self, uses: Sequence[Statement]) -> list[str]:
        """Return the variables of the program that statements depend on, and the kernel lacks."""
        names: dict[str, None] = {}
        for use in uses:
            conditions = [f.node.condition for f in use.frame.outwards() if isinstance(f.node, If)]
            sides = [side for pair in use.pairs for side in pair]
            if use.verbatim is not None:
                sides += [value for _, value in use.verbatim.names]
            if use.call is not None:
                sides += use.call.arguments
            for node in (*sides, *conditions):
                names.update(dict.fromkeys(ex.name_of(access) for access in walk.accesses(node)))
        known = self._kernel
        return [n for n in names if n not in known.variables and n not in known.home_domains]

    # --- finding accumulators

    def _accumulators(
        self,
        insn: Assigning,
        node: ex.Reduction,
        names: Sequence[str],
        conditions: tuple[Expression, ...],
    ) -> tuple[str, ...] | None:
        """Return those of the variables that a reduction is computed in, one for each result."""
        candidates = list(dict.fromkeys(self._candidates(names, facts_of(node.operation).width)))
        if len(candidates) == 1:
            return candidates[0]  # whether it is, is checked like any other statement
        fitting = [c for c in candidates if self._fits(insn, node, c)]
        if len(fitting) > 1:  # under other conditions, perhaps
            fitting = [c for c in fitting if self._under(insn, c[0], conditions)] or fitting
        return fitting[0] if fitting else None

    def _candidates(self, names: Sequence[str], width: int) -> Iterator[tuple[str, ...]]:
        """Yield the variables, as many together as are updated in one statement."""
        for name in names:
            together: tuple[str, ...] = (name,)
            for statement in self._starts_and_updates(name)[1][:1]:
                together = tuple([ex.name_of(target) for target, _ in statement.pairs])
            if len(together) == width:
                yield from permutations(together)

    def _fits(self, insn: Assigning, node: ex.Reduction, names: tuple[str, ...]) -> bool:
        """Tell whether variables take up what a reduction reduces."""
        starts, updates = self._starts_and_updates(names[0])
        if not updates:
            return True  # there may be nothing to reduce
        operands = self._operands(insn, node, names, updates)
        if operands is None:
            return False
        inames = insn.within_inames.union(node.inames)
        sweep = sweep_of(self._view, origin_of(insn), insn.within_inames, starts, updates)
        if sweep:
            inames = insn.within_inames
            try:
                new, _ = carried(self._view, insn, sweep, node, ())
            except WrongStatement:
                return False
            operands = tuple([walk.substitute(o, {node.inames[0]: new}) for o in operands])
        copy = self._copy(updates[0], inames)
        if copy is None:
            return False
        dtypes = reduction_types(node, self._kinds)
        variables = tuple(map(ex.Variable, names))
        combined = facts_of(node.operation).combined(variables, operands, dtypes)
        terms = self._view.terms(updates[0].frame)
        for name, wanted in zip(names, combined, strict=True):
            value = updates[0].value_of(name)
            if value is None or key(copy.terms.value(wanted)) != key(terms.value(value)):
                return False
        return True

    def _operands(
        self,
        insn: Assigning,
        node: ex.Reduction,
        names: tuple[str, ...],
        updates: Sequence[Statement],
    ) -> Parts | None:
        """Return what is reduced, accumulators in place of reductions; None if there are none."""
        if not walk.reductions(node.operand):
            return parts_of(node)
        others = [n for n in self._mentioned(updates) if n not in names]
        inner = insn.copy(within_inames=insn.within_inames.union(node.inames))
        complete = True

        def change(node: ex.Reduction, conditions: tuple[Expression, ...]) -> Parts:
            nonlocal complete
            found = self._accumulators(inner, node, others, conditions)
            complete = complete and found is not None
            return tuple(map(ex.Variable, found or ("",) * facts_of(node.operation).width))

        replaced = tuple([under_conditions(part, change) for part in parts_of(node)])
        return replaced if complete else None

    def _under(self, insn: Assigning, name: str, conditions: tuple[Expression, ...]) -> bool:
        """Tell whether a variable is started where some conditions hold."""
        starts, _ = self._starts_and_updates(name)
        known = {i for i in insn.within_inames if starts and has_value(self._view, starts[0], i)}
        copy = self._copy(starts[0], frozenset(known)) if starts else None
        if copy is None:
            return False
        wanted = Facts()
        for condition in conditions:
            if insn.within_inames & walk.free_variables(condition) <= known:
                wanted.add(condition, copy.terms, self._view.is_integer)
        holds = self._view.facts(starts[0].frame)
        cone = Cone(holds.affine)
        return wanted.others.keys() <= holds.others.keys() and all(map(cone.implies, wanted.affine))

    def _copy(self, statement: Statement, inames: frozenset[str]) -> Copy | None:
        try:
            return copy_of(self._view, statement, inames)
        except WrongStatement:
            return None

    def _starts_and_updates(self, name: str) -> tuple[list[Statement], list[Statement]]:
        """Return what sets a variable whatever its old value, and the other writes."""
        parts: tuple[list[Statement], list[Statement]] = [], []
        for statement in self._by_accumulator.get(name, ()):
            value = statement.value_of(name)
            parts[value is not None and name in walk.free_variables(value)].append(statement)
        return parts

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
        starts, updates = self._starts_and_updates(names[0])
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
            mine, _ = self._starts_and_updates(name)
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
        further = frozenset[str]().union(*(by_id[i].depends_on for i in within))
        return apart | self._before(further, inames, conditions)


def _not_computed(kernel: Kernel, insn: Assigning, node: ex.Reduction) -> WrongStatement:
    what = f"it does not compute '{show_expression(node)}'"
    return fault(WrongStatement, kernel, what, insn)
