"""What a kernel that runs backwards knows of the values that the kernel has had.

An instruction that runs again, last iteration first, needs what the kernel read there.  That is
still where it was, or it is computed again in the same iteration, or it was saved before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import islpy as isl

from polygen.analysis.affine import LinearForm, linear_form
from polygen.analysis.domains import domain_of, domain_temporaries, with_surrounding
from polygen.analysis.isl_affine import (
    condition_set,
    is_negative_somewhere,
    pw_aff_expression,
)
from polygen.analysis.known import known_parameters
from polygen.analysis.order import order_of
from polygen.analysis.pairs import conflicts, equal, piece_set, users
from polygen.analysis.scratch import passes_nothing
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.domain import Domain, project_out, rename_dimension, unflatten
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, Assignment, Instruction
from polygen.ir.kernel import Kernel, per_kernel
from polygen.transforms._diff_draft import Draft, refused
from polygen.transforms._diff_expressions import ZERO, Loops
from polygen.transforms.reverse import least_and_greatest


@dataclass
class Saved:
    """Instructions that keep values for later, each for the instruction that it stands beside.

    Attributes:
        before: what saves values that an instruction reads.
        after: what saves values that an instruction writes.
    """

    before: dict[str, list[Assignment]] = field(default_factory=dict[str, list[Assignment]])
    after: dict[str, list[Assignment]] = field(default_factory=dict[str, list[Assignment]])


class Values(Draft, Loops):
    """Values of a kernel without parallel loops, for instructions that run backwards.

    Attributes:
        values: what the kernel's inames are, in terms of those that run backwards.
        temporaries: the new ones.
        saved: what keeps values.
        again: for each temporary that is there again, the instruction that does it.
    """

    def __init__(self, kernel: Kernel, loops: Sequence[tuple[str, bool]]) -> None:
        super().__init__(kernel)
        self.temporaries: list[TemporaryVariable] = []
        self.saved = Saved()
        self.again: dict[str, Assignment] = {}
        self._names: dict[str, str] = {}
        self._stores: dict[tuple[object, ...], tuple[str, tuple[str, ...]]] = {}
        self._original: dict[str, str] = {}
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
                ends = linear_form(least_and_greatest(self.kernel, iname))
                assert ends is not None  # 0 if they are not affine
                values[iname] = (ends - LinearForm.of_name(new)).expression()
        return values

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
        own = {iname: self.name(iname) for iname in inames}
        self._original |= {new: old for old, new in own.items()}
        values = {**self.values, **{old: ex.Variable(new) for old, new in own.items()}}
        for domain in self.kernel.domains:
            here = {i: own[i] for i in domain.inames if i in own}
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
        inner = sorted(walk.reduction_inames(node) & {*self.kernel.inames})
        own = self.copies(inner)
        self.values = before
        return _moved(self._stored(insn, node, conditions), values, own)

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
        if is_final(self.kernel, insn.id, name):
            index = tuple([self._stored(insn, i, conditions) for i in ex.index_of(node)])
            return ex.element(ex.Variable(name), index)
        if single_value(self.kernel, name):
            return ex.Variable(self.scalar(name))
        return self._save(insn, node, conditions)

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
        new = self._names[name] = self.name(f"{name}_again")
        self.temporaries.append(TemporaryVariable(new, variable.dtype, (), AddressSpace.PRIVATE))
        self.again[name] = Assignment(self.name(f"{writer.id}_again"), ex.Variable(new), 0)
        value = writer.expression if self._is_there(writer) else None
        here = {i: self.values[i] for i in writer.within_inames}
        self.again[name] = self.again[name].copy(
            expression=self.at(writer, value, here)
            if value is not None
            else walk.substitute(self._save_result(writer), here),
            within_inames=self.inames(writer.within_inames),
        )
        return new

    def inames(self, inames: Iterable[str]) -> frozenset[str]:
        """Return the inames that run backwards in the place of others."""
        return frozenset([self._iname(self.values[i]) for i in inames])

    def _is_there(self, writer: Assigning) -> bool:
        """Tell whether all that an instruction reads can be had without saving it."""
        names = {n for e in writer.reads for n in walk.free_variables(e)}
        return all(
            is_final(self.kernel, writer.id, n)
            or (single_value(self.kernel, n) and self._is_there(self.kernel.writers[n][0]))
            for n in names & self.kernel.writers.keys()
        )

    # --- saved

    def _save(
        self,
        insn: Instruction,
        node: ex.Variable | ex.Subscript,
        conditions: tuple[Expression, ...],
    ) -> Expression:
        """Return where the value is that an instruction reads, and save it there."""
        asked = [*insn.predicates, *conditions]
        names = frozenset[str]().union(*map(walk.free_variables, (node, *asked)))
        copies = {n: o for n, o in self._original.items() if n in names}
        old = {n: ex.Variable(o) for n, o in copies.items()}
        access, *asked = (walk.substitute(e, old) for e in (node, *asked))
        names = frozenset[str]().union(*map(walk.free_variables, (access, *asked)))
        bound = names.intersection(self.kernel.inames) - insn.within_inames
        loops = tuple([i for i in self.kernel.inames if i in insn.within_inames | bound])
        key = insn.id, access, *asked
        if key not in self._stores:
            name = self._store(insn, ex.name_of(node), loops)
            self._stores[key] = name, loops
            value = access
            for condition in reversed(asked):
                value = ex.If(condition, value, ZERO)
            own = {i: ex.Variable(n) for i, n in Draft.copies(self, sorted(bound)).items()}
            saving = Assignment(
                self.name(f"save_{ex.name_of(node)}"),
                self._element(name, loops),
                value,
                within_inames=insn.within_inames.union(map(ex.name_of, own.values())),
            ).map_expressions(lambda e: walk.substitute(e, own))
            self.saved.before.setdefault(insn.id, []).append(saving)
        found = self._element(*self._stores[key])
        return walk.substitute(found, {o: ex.Variable(n) for n, o in copies.items()})

    def _save_result(self, writer: Assignment) -> Expression:
        """Return where the value is that an instruction has written, and save it there."""
        loops = tuple([i for i in self.kernel.inames if i in writer.within_inames])
        name = self._store(writer, writer.written, loops)
        saving = Assignment(
            self.name(f"save_{writer.written}"),
            self._element(name, loops),
            writer.assignee,
            within_inames=writer.within_inames,
        )
        self.saved.after.setdefault(writer.id, []).append(saving)
        return self._element(name, loops)

    def _store(self, insn: Instruction, variable: str, loops: Sequence[str]) -> str:
        """Return the name of a new array with an element for each iteration of some loops."""
        name = self.name(f"{variable}_save")
        shape = tuple([self._count(insn, variable, iname) for iname in loops])
        space = AddressSpace.GLOBAL if shape else AddressSpace.PRIVATE
        dtype = self.kernel.variables[variable].dtype
        self.temporaries.append(TemporaryVariable(name, dtype, shape, space))
        return name

    def _element(self, name: str, loops: Sequence[str]) -> ex.Variable | ex.Subscript:
        index = [LinearForm.of_name(i) - self._ends(i)[0] for i in loops]
        return ex.element(ex.Variable(name), tuple([form.expression() for form in index]))

    def _count(self, insn: Instruction, variable: str, iname: str) -> Expression:
        first, last = self._ends(iname, insn, variable)
        form = last - first + 1
        if form.is_constant or not is_negative_somewhere(known_parameters(self.kernel), form):
            return form.expression()
        return ex.Max((0, form.expression()))

    def _ends(
        self, iname: str, insn: Instruction | None = None, variable: str = ""
    ) -> tuple[LinearForm, LinearForm]:
        """Return the least and the greatest value of an iname.

        Raises:
            NotDifferentiable: if they are not affine in the parameters.
        """
        kernel = self.kernel
        around = with_surrounding(kernel, (iname,))
        forms: list[LinearForm | None] = [None, None]
        if not domain_temporaries(kernel, around):
            points = project_out(domain_of(kernel, around), around - {iname})
            values = unflatten(points.intersect(kernel.assumptions.flat), (iname,))
            if values.is_bounded() and not values.is_empty():
                found = (values.dim_min(0), values.dim_max(0))
                forms = [linear_form(pw_aff_expression(f), kernel.parameters) for f in found]
        first, last = forms
        if first is None or last is None:
            raise refused(
                f"'{variable}' is overwritten after it is read here, and what it was cannot be "
                f"saved: nothing affine in the parameters says how often '{iname}' runs",
                "write each value to an element of its own; or give the loop bounds of parameters, "
                "with a condition",
                kernel,
                *([insn.id] if insn else ()),
            )
        return first, last


def _moved(
    node: Expression, values: Mapping[str, Expression], own: Mapping[str, str]
) -> Expression:
    """Return an expression in terms of other inames.

    Parameters:
        node: the expression.
        values: what free inames are.
        own: the new inames of reductions.
    """
    if not walk.reductions(node):
        return walk.substitute(node, values)
    if isinstance(node, ex.Reduction):
        values = {**values, **{i: ex.Variable(own[i]) for i in node.inames if i in own}}
        inames = tuple([own.get(i, i) for i in node.inames])
        return ex.Reduction(node.operation, inames, _moved(node.operand, values, own))
    return walk.rebuild(node, tuple([_moved(part, values, own) for part in walk.parts(node)]))


# --- what is known of variables


@per_kernel
def is_final(kernel: Kernel, insn_id: str, name: str) -> bool:
    """Tell whether what an instruction reads of a variable is there when the kernel has run."""
    order = order_of(kernel)
    if name not in kernel.instruction(insn_id).read_names:
        return False  # its derivative reads it, and that is executed in other iterations
    if may_meet(kernel, insn_id, name):
        return False
    for writer in kernel.writers.get(name, ()):
        for found in conflicts(kernel, insn_id, writer.id, name):
            if found.kind != "anti":
                continue
            for piece in order.before(insn_id, writer.id):
                if not is_empty(kernel, piece_set(found.pairs, piece)):
                    return False
    return True


def is_empty(kernel: Kernel, pairs: isl.Set) -> bool:
    """Tell whether there are no such pairs, whatever the kernel is called with."""
    return bool(pairs.intersect(known_parameters(kernel)).is_empty())


@per_kernel
def may_meet(kernel: Kernel, insn_id: str, name: str) -> bool:
    """Tell whether an instance of an instruction may read the element that it writes."""
    for found in conflicts(kernel, insn_id, insn_id, name):
        same = found.pairs
        for iname in kernel.instruction(insn_id).within_inames:
            same = same.intersect(equal(iname))
        if found.kind == "anti" and not is_empty(kernel, same):
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
