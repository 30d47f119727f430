"""Finds the values that a backward pass can still read.

An instruction that runs again, last iteration first, needs what the kernel read there.  That is
still where it was, or it is computed again in the same iteration, or it was saved before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import islpy as isl

from polygen.analysis.access.accesses import touched
from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.order.instance_order import order_of
from polygen.analysis.pairs.instance_pairs import conflict, equal, in_conflict, piece_set, users
from polygen.analysis.pairs.iteration_local import passes_nothing
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import TemporaryVariable
from polygen.ir.domain import Domain, project_out, rename_dimension, unflatten
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, Assignment, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel
from polygen.transforms.derivatives._adjoint_terms import Loops
from polygen.transforms.derivatives._derivative_draft import refused
from polygen.transforms.derivatives._saved_values import Store, constant_range, moved
from polygen.transforms.loops.reverse import least_and_greatest


class Values(Store, Loops):
    """Values of a kernel without parallel loops, for instructions that run backwards.

    Attributes:
        values: what the kernel's inames are, in terms of those that run backwards.
        again: for each temporary that is there again, the instruction that does it.
    """

    def __init__(self, kernel: Kernel, loops: Sequence[tuple[str, bool]]) -> None:
        super().__init__(kernel)
        self.again: dict[str, Assignment] = {}
        self._names: dict[str, str] = {}
        self._there: dict[str, bool] = {}
        self.values = self._mirrored(loops)
        self._add_mirrored()

    # --- loops

    def _mirrored(self, loops: Sequence[tuple[str, bool]]) -> dict[str, Expression]:
        """Return what inames are in terms of new ones, which run the other way if that is said."""
        values: dict[str, Expression] = {}
        for iname, turned in loops:
            new = self.name(iname)
            values[iname] = ex.Variable(new)
            if turned:
                values[iname] = (self._ends_sum(iname) - LinearForm.of_name(new)).expression()
        return values

    def _ends_sum(self, iname: str) -> LinearForm:
        """Return the sum of the least and the greatest value of an iname; 0 if nothing says it."""
        found = linear_form(least_and_greatest(self.kernel, iname))
        if found is not None and found != LinearForm(0):
            return found
        least, most = constant_range(self.kernel, iname)
        return LinearForm(0 if least is None or most is None else least + most)

    def _add_mirrored(self) -> None:
        """Add the domains of the inames that run backwards."""
        for domain in self.kernel.domains:
            here = [i for i in domain.inames if i in self.values]
            if here:
                names = {i: self._iname(self.values[i]) for i in here}
                self._add_domain(domain, names, self.values)

    def _iname(self, value: Expression) -> str:
        (name,) = walk.free_variables(value) - {*self.kernel.variables}
        return name

    def turned(self, iname: str) -> str:
        """Return the iname that runs backwards in the place of another."""
        return self._iname(self.values[iname])

    def copies(self, inames: Iterable[str]) -> dict[str, str]:
        """Return new inames with the values of others, where the old ones are what they are."""
        own: dict[str, str] = {}
        groups: list[dict[str, str]] = []
        for iname in inames:
            old = self.original.get(iname, iname)
            own[iname] = new = self.name(old)
            self.original[new] = old
            free = next((group for group in groups if old not in group), None)
            if free is None:
                groups.append(free := {})
            free[old] = new
        for group in groups:
            values = {**self.values, **{old: ex.Variable(new) for old, new in group.items()}}
            for domain in self.kernel.domains:
                here = {i: group[i] for i in domain.inames if i in group}
                if here:
                    self._add_domain(domain, here, values)
        return own

    def _add_domain(
        self, domain: Domain, names: Mapping[str, str], values: Mapping[str, Expression]
    ) -> None:
        """Add the domain of new inames that stand for some of a domain's."""
        flat = domain.flat
        mentioned = [i for i in (*domain.inames, *domain.parameters) if i in values]
        for iname in mentioned:
            same = condition_set(ex.Comparison(ex.Variable(iname), "==", values[iname]))
            assert same is not None  # an affine function of one iname
            flat = flat.intersect(same)
        flat = project_out(flat, {*mentioned, *domain.inames})
        for name in domain.parameters:
            if isinstance(self.kernel.variables.get(name), TemporaryVariable):
                flat = rename_dimension(flat, name, self.scalar(name))
        found = Domain(unflatten(flat.remove_redundancies(), list(names.values())))
        self.domains = (*self.domains, found)

    # --- what is needed of the kernel

    def at(
        self,
        insn: Instruction,
        node: Expression,
        values: Mapping[str, Expression],
        conditions: tuple[Expression, ...] = (),
    ) -> Expression:
        """Return what an expression was where an instruction was executed.

        Parameters:
            insn: the instruction.
            node: the expression, in terms of the old inames.
            values: what these are.
            conditions: those under which it is evaluated, beside the instruction's.
        """
        before, self.values = self.values, values
        own = self.copies(sorted(walk.reduction_inames(node)))
        self.values = before
        return moved(self._stored(insn, node, conditions), values, own)

    def _stored(
        self, insn: Instruction, node: Expression, conditions: tuple[Expression, ...]
    ) -> Expression:
        """Return an expression that reads what is there when the kernel has run."""
        if isinstance(node, ex.If):
            return ex.If(
                self._stored(insn, node.condition, conditions),
                self._stored(insn, node.then, (*conditions, node.condition)),
                self._stored(insn, node.else_, (*conditions, ex.LogicalNot(node.condition))),
            )
        if isinstance(node, ex.Variable | ex.Subscript) and ex.name_of(node) in self.kernel.writers:
            return self._place(insn, node, conditions)
        new = tuple([self._stored(insn, part, conditions) for part in walk.parts(node)])
        return walk.rebuild(node, new)

    def _place(
        self,
        insn: Instruction,
        node: ex.Variable | ex.Subscript,
        conditions: tuple[Expression, ...],
    ) -> Expression:
        """Return where what an instruction has read is now."""
        name = ex.name_of(node)
        if is_final(self.kernel, insn.id, name, ex.index_of(node)):
            index = tuple([self._stored(insn, i, conditions) for i in ex.index_of(node)])
            return ex.element(ex.Variable(name), index)
        if single_value(self.kernel, name):
            return ex.Variable(self.scalar(name))
        return self.save(insn, node, conditions)

    # --- again

    def scalar(self, name: str) -> str:
        """Return the name of a temporary that has, in an iteration, the value that another had.

        Raises:
            NotDifferentiable: if it has several in an iteration, or its value cannot be saved.
        """
        if name in self._names:
            return self._names[name]
        if not single_value(self.kernel, name):
            raise refused(
                f"'{name}' bounds a loop, and has several values where that runs: it is not known "
                "which one it had",
                "give it one value in each iteration of the loops around it",
                self.kernel,
                *(w.id for w in self.kernel.writers[name]),
            )
        variable = self.kernel.variables[name]
        assert isinstance(variable, TemporaryVariable)
        (writer,) = self.kernel.writers[name]
        assert isinstance(writer, Assignment)
        new = self._names[name] = self.temporary(f"{name}_again", variable.dtype).name
        self.again[name] = Assignment(self.name(f"{writer.id}_again"), ex.Variable(new), 0)
        value = writer.expression if self._is_there(writer) else None
        here = {i: self.values[i] for i in writer.within_inames}
        self.again[name] = self.again[name].copy(
            expression=self.at(writer, value, here)
            if value is not None
            else walk.substitute(self.save_result(writer), here),
            within_inames=self.inames(writer.within_inames),
        )
        return new

    def loops(self, values: Mapping[str, Expression]) -> tuple[str, ...]:
        """Return the new inames that stand in what old ones are, in the same order."""
        return tuple([self._iname(value) for value in values.values()])

    def inames(self, inames: Iterable[str]) -> frozenset[str]:
        """Return the inames that run backwards in the place of others."""
        return frozenset([self._iname(self.values[i]) for i in inames])

    def _is_there(self, writer: Assigning) -> bool:
        """Tell whether all that an instruction reads can be had without saving it."""
        if writer.id not in self._there:
            self._there[writer.id] = self._is_read_where_it_is(writer)
        return self._there[writer.id]

    def _is_read_where_it_is(self, writer: Assigning) -> bool:
        read = {
            (name, ex.index_of(access))
            for node in writer.reads
            for access in walk.accesses(node)
            if (name := ex.name_of(access)) in self.kernel.writers
        }
        return all(
            is_final(self.kernel, writer.id, n, index)
            or (single_value(self.kernel, n) and self._is_there(self.kernel.writers[n][0]))
            for n, index in sorted(read, key=str)
        )


# --- what is known of variables


@per_kernel
def is_final(kernel: Kernel, insn_id: str, name: str, index: tuple[Expression, ...]) -> bool:
    """Tell whether what an instruction reads of a variable is there when the kernel has run.

    Parameters:
        kernel: the kernel.
        insn_id: the instruction.
        name: the variable.
        index: the subscripts; all elements that the instruction reads, if it has no such ones.
    """
    order = order_of(kernel)
    if name not in kernel.instruction(insn_id).read_names:
        return False  # its derivative reads it, and that is executed in other iterations
    if may_meet(kernel, insn_id, name, index):
        return False
    for writer in kernel.writers.get(name, ()):
        for pairs in _overwritten(kernel, insn_id, writer.id, name, index):
            for piece in order.before(insn_id, writer.id):
                if not is_empty(kernel, piece_set(pairs, piece)):
                    return False
    return True


def _overwritten(
    kernel: Kernel, insn_id: str, writer: str, name: str, index: tuple[Expression, ...]
) -> list[isl.Set]:
    """Return the pairs of instances of which one reads an element, and the other one writes it."""
    reads = [a for a in touched(kernel, insn_id).get(name, ()) if not a.is_write]
    meant = [a for a in reads if a.reference is not None and a.reference.index == index]
    writes = [a for a in touched(kernel, writer).get(name, ()) if a.is_write]
    return [
        conflict(kernel, a, b).pairs
        for a in meant or reads
        for b in writes
        if in_conflict(kernel, a, b)
    ]


def is_empty(kernel: Kernel, pairs: isl.Set) -> bool:
    """Tell whether there are no such pairs, whatever the kernel is called with."""
    return bool(pairs.intersect(known_parameters(kernel)).is_empty())


@per_kernel
def may_meet(
    kernel: Kernel, insn_id: str, name: str, index: tuple[Expression, ...] | None = None
) -> bool:
    """Tell whether an instance of an instruction may read the element that it writes.

    Parameters:
        kernel: the kernel.
        insn_id: the instruction.
        name: the variable.
        index: the subscripts; None for all that it reads.
    """
    for same in _overwritten(kernel, insn_id, insn_id, name, () if index is None else index):
        for iname in kernel.instruction(insn_id).within_inames:
            same = same.intersect(equal(iname))  # noqa: PLW2901
        if not is_empty(kernel, same):
            return True
    return False


@per_kernel
def single_value(kernel: Kernel, name: str) -> bool:
    """Tell whether a scalar has one value in each iteration of the loops of what writes it."""
    variable = kernel.variables[name]
    if not isinstance(variable, TemporaryVariable) or variable.shape:
        return False
    writers = kernel.writers.get(name, ())
    if len(writers) != 1 or not isinstance(writers[0], Assignment) or writers[0].predicates:
        return False
    (writer,) = writers
    if name in writer.read_names:
        return False
    around = writer.within_inames
    if not all(around <= kernel.instruction(i).within_inames for i in users(kernel, name)):
        return False
    return passes_nothing(kernel, name, frozenset(order_of(kernel).loops(writer.id)))
