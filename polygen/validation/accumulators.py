"""Finds the variables of a program in which a reduction is accumulated.

It is those that are mentioned where the reduction stands, and that take up what it reduces.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

from polygen.analysis.typing.expression_types import reduction_types
from polygen.analysis.typing.kinds import Kind
from polygen.errors import WrongStatement
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning
from polygen.ir.reduction import Parts, facts_of, parts_of
from polygen.lower.program import If
from polygen.validation.agreement import agree
from polygen.validation.constraints import Cone, Facts
from polygen.validation.copy_of import Copy, copy_of
from polygen.validation.frames import Statement
from polygen.validation.reductions import Place, results_used, under_conditions
from polygen.validation.scans import carried, has_value, origin_of, sweep_of
from polygen.validation.terms import key
from polygen.validation.view import View

_MISSING = "'"  # no name in a program has one


def is_missing(name: str) -> bool:
    """Tell whether a name stands for an accumulator that the program does not have."""
    return _MISSING in name


class Accumulators:
    """Finds the accumulators of reductions.

    Parameters:
        view: the program.
        written: for each variable that the kernel lacks, the statements that write it.
        kinds: the types of the names that expressions may mention; those of accumulators are
            added as they are found.
    """

    def __init__(
        self, view: View, written: Mapping[str, Sequence[Statement]], kinds: Mapping[str, Kind]
    ) -> None:
        self._view = view
        self._written = written
        self._kinds = kinds
        self._count = 0

    def mentioned(self, uses: Sequence[Statement]) -> list[str]:
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
        known = self._view.kernel
        return [n for n in names if n not in known.variables and n not in known.home_domains]

    def of(
        self,
        insn: Assigning,
        place: Place,
        used: Sequence[int],
        names: Sequence[str],
        always: tuple[Expression, ...] = (),
    ) -> tuple[str, ...] | None:
        """Return those of the variables that a reduction is computed in, one for each result.

        Where there is nothing to reduce, a result that is not used may have none: then it gets a
        name (`is_missing`).

        Parameters:
            insn: what the reduction is in.
            place: the reduction, where it stands.
            used: the positions of those of its results that `insn` uses.
            names: the variables that may be it.
            always: further conditions that it is computed under.
        """
        node, conditions = place[0], (*always, *place[1])
        width = facts_of(node.operation).width
        candidates = list(dict.fromkeys(self._candidates(names, used, width)))
        if len(candidates) == 1:
            return candidates[0]  # whether it is, is checked like any other statement
        fitting = [c for c in candidates if self._fits(insn, node, c)]
        if len(fitting) > 1:  # under other conditions, perhaps
            under = [c for c in fitting if self._under(insn, first_known(c), conditions)]
            fitting = under or fitting
        return fitting[0] if fitting else None

    def _candidates(
        self, names: Sequence[str], used: Sequence[int], width: int
    ) -> Iterator[tuple[str, ...]]:
        """Yield the variables, as many together as are updated in one statement.

        Of those that nothing updates, as many as are used.
        """
        idle: list[str] = []
        for name in names:
            updates = self.starts_and_updates(name)[1]
            if not updates:
                idle.append(name)
            elif len(updates[0].pairs) == width:
                yield from permutations([ex.name_of(target) for target, _ in updates[0].pairs])
        if len(idle) < len(used):
            return
        self._count += 1
        together = [f"{_MISSING}{self._count}_{position}" for position in range(width)]
        for some in permutations(idle, len(used)):
            for position, name in zip(used, some, strict=True):
                together[position] = name
            yield tuple(together)

    def _fits(self, insn: Assigning, node: ex.Reduction, names: tuple[str, ...]) -> bool:
        """Tell whether variables take up what a reduction reduces."""
        starts, updates = self.starts_and_updates(first_known(names))
        if not updates:
            return self._begins(node, names)  # there may be nothing to reduce
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
        for name, wanted in zip(names, combined, strict=True):
            value = updates[0].value_of(name)
            if value is None or not agree(self._view, copy, value, wanted):
                return False
        return True

    def _begins(self, node: ex.Reduction, names: tuple[str, ...]) -> bool:
        """Tell whether variables begin with what a reduction of nothing is."""
        wanted = facts_of(node.operation).identity(reduction_types(node, self._kinds))
        for name, identity in zip(names, wanted, strict=True):
            for start in self.starts_and_updates(name)[0]:
                value, copy = start.value_of(name), copy_of(self._view, start, frozenset())
                terms = self._view.terms(start.frame)
                if value is None or key(terms.value(value)) != key(copy.terms.value(identity)):
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
        others = [n for n in self.mentioned(updates) if n not in names]
        inner = insn.copy(within_inames=insn.within_inames.union(node.inames))
        used = results_used(parts_of(node))
        complete = True

        def change(place: Place, position: int) -> Expression:
            nonlocal complete
            found = self.of(inner, place, used[place], others)
            complete = complete and found is not None
            return ex.Variable(found[position] if found else "")

        replaced = tuple([under_conditions(part, change) for part in parts_of(node)])
        return replaced if complete else None

    def _under(self, insn: Assigning, name: str, conditions: tuple[Expression, ...]) -> bool:
        """Tell whether a variable is started where some conditions hold."""
        starts, _ = self.starts_and_updates(name)
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

    def starts_and_updates(self, name: str) -> tuple[list[Statement], list[Statement]]:
        """Return what sets a variable whatever its old value, and the other writes."""
        parts: tuple[list[Statement], list[Statement]] = [], []
        for statement in self._written.get(name, ()):
            value = statement.value_of(name)
            parts[value is not None and name in walk.free_variables(value)].append(statement)
        return parts


def first_known(names: Sequence[str]) -> str:
    """Return the first of accumulators that the program has."""
    return next(name for name in names if not is_missing(name))
