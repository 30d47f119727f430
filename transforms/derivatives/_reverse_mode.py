"""The adjoint of a kernel: how a sum of its outputs depends on what it reads.

The kernel runs once, as far as its values are needed; then its instructions run once more, from
the last one to the first.  For what one assigns, the adjoint is known then: it is passed on to what
it reads, by the chain rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from polygen.analysis.order.instance_order import order_of
from polygen.analysis.order.loop_tree import LoopNode, TreeNode, loop_tree
from polygen.analysis.pairs.instance_pairs import conflicts, equal, piece_set, users
from polygen.analysis.typing.derivatives import times
from polygen.errors import NotDifferentiable
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, GlobalArg, TemporaryVariable, ValueArg
from polygen.ir.atomicity import Atomicity
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, Assignment, Instruction
from polygen.ir.kernel import Kernel
from polygen.transforms.derivatives._adjoint_terms import Term, terms
from polygen.transforms.derivatives._chosen_operands import with_choices
from polygen.transforms.derivatives._derivative_draft import active, check_dependent, shown
from polygen.transforms.derivatives._expression_derivatives import total
from polygen.transforms.derivatives._forward_mode import as_passed, check_atomic
from polygen.transforms.derivatives._initial_adjoints import (
    added,
    with_first_values,
    without_starts,
)
from polygen.transforms.derivatives._known_values import Values, is_empty, may_meet, single_value
from polygen.transforms.derivatives._loop_scopes import is_carried, scope_of
from polygen.transforms.derivatives._named_factors import Sharing
from polygen.transforms.derivatives._pass_order import in_order
from polygen.transforms.derivatives._remaining_kernel import paths, pruned, with_priorities

_Place = ex.Variable | ex.Subscript


def reverse(
    kernel: Kernel,
    outputs: Sequence[str],
    by: Sequence[str],
    copied: frozenset[str],
    *,
    atomic: bool,
) -> Kernel:
    """Return the kernel that computes the adjoints of some arguments from those of outputs.

    Parameters:
        kernel: without rules, calls and parallel loops.
        outputs: the arguments whose adjoints are passed.
        by: the arguments whose adjoints are computed.
        copied: the arguments that are computed as well.
        atomic: whether adding to adjoints of what the kernel only reads is atomic.
    """
    return _Reverse(kernel, outputs, by, atomic=atomic).kernel(copied)


class _Reverse:
    def __init__(
        self, kernel: Kernel, outputs: Sequence[str], by: Sequence[str], *, atomic: bool
    ) -> None:
        self._atomic = atomic
        self._outputs, self._by = frozenset(outputs), frozenset(by)
        self._moving = active(kernel, outputs, by)
        check_dependent(kernel, self._moving, outputs, by)
        kernel, choices = with_choices(kernel, self._moving)
        self._kernel = kernel
        self._tree = loop_tree(kernel, quiet=True)
        self._order = order_of(kernel)
        self._scopes = {v: scope_of(kernel, v) for v in sorted(self._moving)}
        turned = [
            (path[-1], is_carried(kernel, path, self._scopes)) for path in _loops(self._tree, ())
        ]
        self._values = Values(kernel, turned)
        self._values.choices = choices
        self._bars = {v: self._values.name(f"{v}_bar") for v in sorted(self._moving)}
        self._temporaries: list[TemporaryVariable] = []
        self._loops: dict[str, tuple[str, ...]] = {}

    def kernel(self, copied: frozenset[str]) -> Kernel:
        """Return the kernel that runs forwards, then backwards."""
        old, values = self._kernel, self._values
        adjoints = {i.id: self._adjoint(i) for i in old.assignments}
        starts = self._starts()
        adjoints = self._shared(adjoints)
        backwards = with_first_values(self._sequence(self._tree, (), adjoints, starts), starts)
        variables = [self._bar(v) for v in sorted(self._moving)]
        arguments = [v for v in variables if isinstance(v, GlobalArg)]
        temporaries = [v for v in variables if isinstance(v, TemporaryVariable)]
        nests = [tuple([values.turned(i) for i in path]) for path in paths(self._tree, ())]
        whole = old.copy(
            domains=values.domains,
            arguments=(*old.arguments, *arguments),
            temporaries=(
                *old.temporaries,
                *temporaries,
                *values.temporaries,
                *self._temporaries,
            ),
            priorities=(*old.priorities, *(p for p in nests if len(p) > 1)),
        )
        whole = in_order(whole, old, values.saved, backwards)
        around = {v: values.inames(self._scopes[v]) for v in starts}
        whole = without_starts(whole, starts, around)
        found = [self._bars[name] for name in sorted(self._by & self._moving)]
        return with_priorities(pruned(whole, old, found, copied), old)

    def _shared(self, adjoints: dict[str, list[Assignment]]) -> dict[str, list[Assignment]]:
        """Return what runs backwards, with names for what is needed several times."""
        values = self._values
        backwards = [i for insns in adjoints.values() for i in insns]
        again = {i.written: i for i in values.again.values()}
        whole = self._kernel.copy(
            domains=values.domains,
            instructions=(*self._kernel.instructions, *again.values(), *backwards),
            temporaries=(*self._kernel.temporaries, *self._temporaries, *values.temporaries),
        )
        varying = frozenset(n for i in backwards for n in i.written_names)
        sharing = Sharing(whole, self._loops, again, varying, values)
        found = {insn_id: sharing.shared(insns) for insn_id, insns in adjoints.items()}
        self._temporaries += sharing.temporaries
        return found

    # --- loops and variables

    def _bar(self, name: str) -> Any:
        """Return the variable that holds the adjoint of another one."""
        variable, bar = self._kernel.variables[name], self._bars[name]
        if isinstance(variable, ValueArg):
            return GlobalArg(bar, variable.dtype, ())
        shape = variable.shape or ()
        if name in self._by | self._outputs and isinstance(variable, GlobalArg):
            return as_passed(variable, bar)
        constant = isinstance(variable, TemporaryVariable) and all(
            isinstance(e, int) for e in shape
        )
        space = AddressSpace.PRIVATE if constant else AddressSpace.GLOBAL
        return TemporaryVariable(bar, variable.dtype, shape, space)

    def _starts(self) -> dict[str, Assignment]:
        """Return, for each adjoint that is not passed, what makes it 0 at first."""
        found: dict[str, Assignment] = {}
        for name in sorted(self._moving - self._outputs):
            variable = self._kernel.variables[name]
            shape = () if isinstance(variable, ValueArg) else variable.shape or ()
            fixed = self._fixed_axes(name, len(shape))
            axes = [a for a in range(len(shape)) if a not in fixed]
            own = self._values.counters([f"{name}_dim_{a}" for a in axes], [shape[a] for a in axes])
            index = {**fixed, **dict(zip(axes, map(ex.Variable, own), strict=True))}
            around = self._values.inames(self._scopes[name])
            found[name] = Assignment(
                self._values.name(f"start_{self._bars[name]}"),
                ex.element(ex.Variable(self._bars[name]), tuple([index[a] for a in sorted(index)])),
                0.0,
                within_inames=around.union(own),
            )
        return found

    def _fixed_axes(self, name: str, rank: int) -> dict[int, Expression]:
        """Return the subscripts that all that touches a variable has: inames of its scope."""
        indices = {
            ex.index_of(access)
            for insn_id in users(self._kernel, name)
            for node in _accessed(self._kernel.instruction(insn_id))
            for access in walk.accesses(node)
            if ex.name_of(access) == name
        }
        found: dict[int, Expression] = {}
        for axis in range(rank):
            here = {index[axis] for index in indices}
            iname = here.pop() if len(here) == 1 else None
            if isinstance(iname, ex.Variable) and iname.name in self._scopes[name]:
                found[axis] = self._values.values[iname.name]
        return found

    def _sequence(
        self,
        nodes: Sequence[TreeNode],
        path: tuple[str, ...],
        adjoints: dict[str, list[Assignment]],
        starts: dict[str, Assignment],
    ) -> list[Assignment]:
        """Return the instructions that run backwards, in an order that the loops permit."""
        found: list[Assignment] = [
            start for name, start in starts.items() if self._scopes[name] == path
        ]
        here = [n.id for n in nodes if isinstance(n, Instruction)]
        again = {self._kernel.writers[n][0].id: i for n, i in self._values.again.items()}
        found += [again[i] for i in here if i in again]
        for node in reversed(nodes):
            if isinstance(node, LoopNode):
                found += self._sequence(node.children, (*path, node.iname), adjoints, starts)
            elif isinstance(node, Instruction):
                found += adjoints.get(node.id, [])
        return found

    # --- instructions

    def _adjoint(self, insn: Assigning) -> list[Assignment]:
        """Return what passes the adjoints of what is assigned on to what is read."""
        pairs = [(a, v) for a, v in insn.pairs if ex.name_of(a) in self._moving]
        if not pairs:
            return []
        check_atomic(self._kernel, insn)
        first: list[Assignment] = []
        second: list[Assignment] = []
        for assignee, value in pairs:
            taken, passed = self._passed(insn, assignee, value, several=len(pairs) > 1)
            first += taken
            second += passed
        return [*first, *second]

    def _passed(
        self, insn: Assigning, assignee: _Place, value: Expression, *, several: bool
    ) -> tuple[list[Assignment], list[Assignment]]:
        """Return what takes an adjoint, and what passes it on."""
        name = ex.name_of(assignee)
        bar = self._place(insn, assignee, self._here(insn))
        rest = added(assignee, value)
        found = self._terms(insn, value if rest is None else rest)
        parts = [t for t in found if t.is_part]
        found = [t for t in found if not t.is_part]
        mixed = several or any(
            ex.name_of(t.access) == name
            and may_meet(self._kernel, insn.id, name, ex.index_of(t.access))
            for t in found
        )
        seed: Expression = bar
        taken: list[Assignment] = []
        cleared = rest is None and (mixed or self._is_used_before(insn, name))
        if mixed or cleared:
            seed, taken = self._taken(insn, name, bar)
        taken += [self._part(insn, seed, t) for t in parts]
        if cleared:
            own = [t for t in found if t.access == assignee and not t.conditions and not several]
            own = [t for t in own if t.values == self._here(insn)]
            left = total([self._contribution(insn, seed, t) for t in own])
            taken.append(
                self._instruction(insn, f"{insn.id}_clear", bar, 0.0 if left is None else left)
            )
            found = [t for t in found if t not in own]
        return taken, [self._pass(insn, seed, t) for t in found]

    def _here(self, insn: Instruction) -> dict[str, Expression]:
        return {i: v for i, v in self._values.values.items() if i in insn.within_inames}

    def _terms(self, insn: Assigning, value: Expression) -> list[Term]:
        """Return the derivatives of what is assigned, one for each element and condition."""
        values = self._values
        before, values.values = values.values, self._here(insn)
        try:
            found = terms(value, self._moving, values)
        except NotDifferentiable as error:
            raise shown(error, self._kernel, insn) from None
        values.values = before
        groups: dict[Any, list[Term]] = {}
        for term in found:
            key = term.access, term.seed, term.conditions, tuple(term.values.items())
            groups.setdefault(key, []).append(term)
        sums = [(g[0], total([t.coefficient for t in g])) for g in groups.values()]
        kept = self._kept(insn, value)
        return [
            replace(term, coefficient=c if kept is None else _with(c, value, kept))
            for term, c in sums
            if c is not None
        ]

    def _kept(self, insn: Assigning, value: Expression) -> Expression | None:
        """Return the scalar that has what an instruction computes, there or computed again."""
        name = insn.written_names[0]
        if not isinstance(insn, Assignment) or not single_value(self._kernel, name):
            return None
        whole = isinstance(value, ex.Call | ex.Quotient | ex.Reduction) and value == insn.expression
        return ex.Variable(name) if whole else None

    def _place(
        self,
        insn: Instruction,
        access: _Place,
        values: Mapping[str, Expression],
        conditions: tuple[Expression, ...] = (),
    ) -> _Place:
        """Return the adjoint of an element."""
        old = ex.index_of(access)
        index = tuple([self._values.at(insn, i, values, conditions) for i in old])
        return ex.element(ex.Variable(self._bars[ex.name_of(access)]), index)

    def _taken(
        self, insn: Assigning, name: str, bar: _Place
    ) -> tuple[Expression, list[Assignment]]:
        """Return a temporary that holds an adjoint, and what fills it."""
        dtype = self._kernel.variables[name].dtype
        seed = ex.Variable(self._values.name(f"{self._bars[name]}_taken"))
        self._temporaries.append(TemporaryVariable(seed.name, dtype))
        return seed, [self._instruction(insn, f"{insn.id}_take", seed, bar)]

    def _contribution(self, insn: Assigning, seed: Expression, term: Term) -> Expression:
        """Return what is added to the adjoint of what is read."""
        if term.seed is not None:
            seed = ex.Variable(term.seed)
        asked = term.conditions
        return times(seed, self._values.at(insn, term.coefficient, term.values, asked))

    def _pass(self, insn: Assigning, seed: Expression, term: Term) -> Assignment:
        """Return what adds to the adjoint of what is read."""
        target = self._place(insn, term.access, term.values, term.conditions)
        value = ex.sum_of(target, self._contribution(insn, seed, term))
        new = self._there(insn, f"{insn.id}_bar", target, value, term)
        read_only = ex.name_of(term.access) not in self._kernel.writers
        return new.copy(atomicity=Atomicity()) if self._atomic and read_only else new

    def _part(self, insn: Assigning, seed: Expression, term: Term) -> Assignment:
        """Return what computes the adjoint of a part of an expression."""
        assert isinstance(term.access, ex.Variable)
        self._temporaries.append(TemporaryVariable(term.access.name))
        value = self._contribution(insn, seed, term)
        return self._there(insn, f"{insn.id}_part", term.access, value, term)

    def _there(
        self, insn: Assigning, name: str, target: _Place, value: Expression, term: Term
    ) -> Assignment:
        """Return an instruction in the loops, and under the conditions, of a term."""
        asked = term.conditions
        conditions = [self._values.at(insn, c, term.values, asked[:n]) for n, c in enumerate(asked)]
        new = self._instruction(insn, name, target, value)
        self._loops[new.id] = self._values.loops(term.values)
        return new.copy(
            within_inames=frozenset(self._loops[new.id]),
            predicates=(*new.predicates, *conditions),
        )

    def _instruction(
        self, insn: Assigning, name: str, target: _Place, value: Expression
    ) -> Assignment:
        here = self._here(insn)
        new = Assignment(
            self._values.name(name),
            target,
            value,
            within_inames=self._values.inames(insn.within_inames),
            predicates=tuple([self._values.at(insn, p, here) for p in insn.predicates]),
            tags=insn.tags,
        )
        self._loops[new.id] = self._values.loops(here)
        return new

    # --- what has to be taken, and made 0

    def _is_used_before(self, insn: Assigning, name: str) -> bool:
        """Tell whether what an instruction overwrites was used, or may be used by the caller."""
        kernel = self._kernel
        if name in self._by:
            return True
        for first in users(kernel, name):
            for found in conflicts(kernel, first, insn.id, name):
                if found.kind == "flow":
                    continue
                for piece in self._order.before(first, insn.id):
                    pairs = piece_set(found.pairs, piece)
                    for iname in self._scopes[name]:
                        pairs = pairs.intersect(equal(iname))
                    if not is_empty(kernel, pairs):
                        return True
        return False


def _accessed(insn: Instruction) -> tuple[Expression, ...]:
    """Return what an instruction evaluates, and where it stores that."""
    return (*insn.reads, *(insn.assignees if isinstance(insn, Assigning) else ()))


def _with(node: Expression, part: Expression, name: Expression) -> Expression:
    """Return an expression with a name for a part of it."""
    if node == part:
        return name
    return walk.rebuild(node, tuple([_with(inner, part, name) for inner in walk.parts(node)]))


def _loops(nodes: Sequence[TreeNode], path: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    for node in nodes:
        if isinstance(node, LoopNode):
            yield (*path, node.iname)
            yield from _loops(node.children, (*path, node.iname))
