"""Values that a kernel has on its way, saved for when it runs backwards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import islpy as isl

from polygen.analysis.access.domains import domain_of, domain_temporaries, with_surrounding
from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.analysis.integers.isl_affine import (
    condition_set,
    is_negative_somewhere,
    pw_aff_expression,
)
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.order.instance_order import order_of
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, ValueArg
from polygen.ir.domain import flat_names, project_out, unflatten
from polygen.ir.empty import NO_NAMES, new_dict
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment, Instruction
from polygen.ir.kernel import Kernel
from polygen.transforms.derivatives._derivative_draft import DerivativeDraft, refused
from polygen.transforms.derivatives._expression_derivatives import ZERO

_Place = ex.Variable | ex.Subscript
_PARAM = isl.dim_type.param


@dataclass
class Saved:
    """Instructions that keep values for later, each for the instruction that it stands beside.

    Attributes:
        before: what saves values that an instruction reads.
        after: what saves values that an instruction writes.
    """

    before: dict[str, list[Assignment]] = field(default_factory=new_dict)
    after: dict[str, list[Assignment]] = field(default_factory=new_dict)


class Store(DerivativeDraft):
    """Saves values of a kernel without parallel loops, for instructions that run backwards.

    Attributes:
        saved: what keeps values.
    """

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.saved = Saved()
        self._stores: dict[tuple[object, ...], tuple[str, tuple[str, ...]]] = {}

    def beside(self, inames: Iterable[str]) -> dict[str, str]:
        """Return new inames with the values of others, for what runs forwards."""
        return DerivativeDraft.copies(self, inames)

    def save(
        self,
        insn: Instruction,
        node: ex.Variable | ex.Subscript,
        conditions: tuple[Expression, ...],
    ) -> Expression:
        """Return where the value is that an instruction reads, and save it there."""
        asked = [*insn.predicates, *conditions]
        names = NO_NAMES.union(*map(walk.free_variables, (node, *asked)))
        copies = {n: o for n, o in self.original.items() if n in names}
        old = {n: ex.Variable(o) for n, o in copies.items()}
        access, *asked = (walk.substitute(e, old) for e in (node, *asked))
        asked = [condition for condition in asked if not _is_of_copies(condition)]
        mentioned = frozenset(self.kernel.inames) & walk.free_variables(access)
        if is_inside(self.kernel, access, insn.within_inames | mentioned):
            asked = []  # it can be read wherever the instruction might be executed
        names = NO_NAMES.union(*map(walk.free_variables, (access, *asked)))
        bound = names.intersection(self.kernel.inames) - insn.within_inames
        loops = (*order_of(self.kernel).loops(insn.id), *sorted(bound))
        key = insn.id, access, *asked
        if key not in self._stores:
            name = self._store(insn, ex.name_of(node), loops)
            self._stores[key] = name, loops
            value = access
            for condition in reversed(asked):
                value = ex.If(condition, value, ZERO)
            self._add_saving(insn, self._element(name, loops), value, bound)
        found = self._element(*self._stores[key])
        return walk.substitute(found, {o: ex.Variable(n) for n, o in copies.items()})

    def _add_saving(
        self, insn: Instruction, place: _Place, value: Expression, bound: frozenset[str]
    ) -> None:
        """Add what saves a value before an instruction, in loops and reductions of its own."""
        own = self.beside(sorted(bound | walk.reduction_inames(value)))
        free = {i: ex.Variable(own[i]) for i in bound}
        saving = Assignment(
            self.name(f"save_{ex.name_of(place).rpartition('_save')[0]}"),
            place,
            value,
            within_inames=insn.within_inames.union(own[i] for i in bound),
        ).map_expressions(lambda e: moved(e, free, own))
        self.saved.before.setdefault(insn.id, []).append(saving)

    def save_result(self, writer: Assignment) -> Expression:
        """Return where the value is that an instruction has written, and save it there."""
        loops = order_of(self.kernel).loops(writer.id)
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
        shape = tuple([self._count(insn, variable, iname) for iname in loops])
        space = AddressSpace.GLOBAL if shape else AddressSpace.PRIVATE
        dtype = self.kernel.variables[variable].dtype
        return self.temporary(f"{variable}_save", dtype, shape, space).name

    def _element(self, name: str, loops: Sequence[str]) -> ex.Variable | ex.Subscript:
        index = [LinearForm.of_name(i) - self._ends(i)[0] for i in loops]
        return ex.element(ex.Variable(name), tuple([form.expression() for form in index]))

    def _count(self, insn: Instruction, variable: str, iname: str) -> Expression:
        first, last = self._ends(iname, insn, variable)
        form = None if isinstance(last, ex.Min | ex.Max) else linear_form(last)
        if form is None:
            return ex.Max((0, ex.sum_of(last, (-first + 1).expression())))
        form = form - first + 1
        if form.is_constant or not is_negative_somewhere(known_parameters(self.kernel), form):
            return form.expression()
        return ex.Max((0, form.expression()))

    def _ends(
        self, iname: str, insn: Instruction | None = None, variable: str = ""
    ) -> tuple[LinearForm, Expression]:
        """Return a lower bound of an iname, and an upper one.

        Raises:
            NotDifferentiable: if they are not functions of the parameters.
        """
        kernel = self.kernel
        around = with_surrounding(kernel, (iname,))
        if not domain_temporaries(kernel, around):
            points = project_out(domain_of(kernel, around), around - {iname})
            values = unflatten(points.intersect(kernel.assumptions.flat), (iname,))
            if values.is_bounded() and not values.is_empty():
                last = pw_aff_expression(values.dim_max(0))
                first = linear_form(pw_aff_expression(values.dim_min(0)), kernel.parameters)
                least, most = constant_range(kernel, iname)
                if first is None and least is not None:
                    first = LinearForm(least)
                if linear_form(last) is None and most is not None:
                    last = most
                if first is not None:
                    return first, last
        raise refused(
            f"'{variable}' is overwritten after it is read here, and what it was cannot be "
            f"saved: nothing affine in the parameters says how often '{iname}' runs",
            "write each value to an element of its own; or give the loop bounds of parameters, "
            "with a condition",
            kernel,
            *([insn.id] if insn else ()),
        )


def is_inside(kernel: Kernel, node: Expression, inames: frozenset[str]) -> bool:
    """Tell whether all elements in an expression are there in all iterations of some loops."""
    points = domain_of(kernel, with_surrounding(kernel, inames))
    points = points.intersect(known_parameters(kernel))
    known = {*flat_names(points), *kernel.parameters}
    for access in walk.accesses(node):
        array = kernel.variables.get(ex.name_of(access))
        shape = () if array is None or isinstance(array, ValueArg) else array.shape or ()
        for subscript, extent in zip(ex.index_of(access), shape, strict=True):
            for condition in ((0, "<=", subscript), (subscript, "<", extent)):
                there = condition_set(ex.Comparison(*condition), known)
                if there is None or not points.is_subset(there):
                    return False
    return True


def constant_range(kernel: Kernel, iname: str) -> tuple[int | None, int | None]:
    """Return the least and the greatest value of an iname for all parameters; None if none."""
    values = unflatten(domain_of(kernel, frozenset([iname])), (iname,))
    found = values.project_out(_PARAM, 0, values.dim(_PARAM))
    ends = (found.dim_min_val(0), found.dim_max_val(0))
    least, most = (end.to_python() if end.is_int() else None for end in ends)
    return least, most


def _is_of_copies(condition: Expression) -> bool:
    """Tell whether a condition says that an iname is not the one that it is a copy of."""
    parts = condition.children if isinstance(condition, ex.LogicalOr) else (condition,)
    return all(
        isinstance(p, ex.Comparison)
        and isinstance(p.left, ex.Variable)
        and p.operator == "!="
        and p.left == p.right
        for p in parts
    )


def moved(node: Expression, values: Mapping[str, Expression], own: Mapping[str, str]) -> Expression:
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
        return ex.Reduction(node.operation, inames, moved(node.operand, values, own))
    return walk.rebuild(node, tuple([moved(part, values, own) for part in walk.parts(node)]))
