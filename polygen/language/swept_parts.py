"""Parts of arrays begin where the loops of their names do.

With ``{ [i]: 4<=i<7 }``, the call ``[i]: y[i] = f([i]: x[i])`` gives ``y[4:7]`` and ``x[4:7]``.  It
becomes ``[_i]: y[_i + 4] = f([_i]: x[_i + 4])``: from here on, the names of the axes of a part
begin at 0, and have nothing to do with loops.  Names that no domain has mean that already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import islpy as isl

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.integers.isl_affine import pw_aff_expression
from polygen.analysis.integers.known_facts import known_parameters
from polygen.errors import MalformedInstruction
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import TemporaryVariable
from polygen.ir.domain import project_out, unflatten
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import KernelCall
from polygen.ir.kernel import Kernel
from polygen.ir.verify import excerpt
from polygen.language.statement import Statement


def with_beginnings(kernel: Kernel, statements: Mapping[str, Statement]) -> Kernel:
    """Return a kernel in which parts of arrays begin where the loops of their names do.

    Parameters:
        kernel: its calls may be of kernels that are not known yet.
        statements: what its instructions were written as, by their ids.

    Raises:
        MalformedInstruction: if the values of a loop are not equally far apart, or if where it
            begins is known only in loops that the call is not in.
    """
    calls = [call for call in kernel.calls if statements[call.id].sweeps]
    begun = {call.id: _Call(kernel, call).begun(statements[call.id].exhaustive) for call in calls}
    if all(begun[call.id] is call for call in calls):
        return kernel
    return kernel.copy(instructions=tuple([begun.get(i.id, i) for i in kernel.instructions]))


def _swept(kernel: Kernel, call: KernelCall) -> list[str]:
    return sorted(call.axis_names.intersection(kernel.home_domains))


@dataclass(frozen=True)
class _Axis:
    """An axis of a part, along which an iname is ``step*name + begin``."""

    name: str
    step: int
    begin: Expression


class _Call:
    """One call, in whose parts the names of axes are inames."""

    def __init__(self, kernel: Kernel, call: KernelCall) -> None:
        self._kernel, self._call = kernel, call
        self._taken = {*kernel.inames, *kernel.variables, *call.axis_names}

    def begun(self, exhaustive: bool) -> KernelCall:
        """Return the call with parts that begin at 0."""
        found = {iname: self._axis(iname) for iname in _swept(self._kernel, self._call)}
        axes = {iname: axis for iname, axis in found.items() if axis is not None}
        if not axes:
            return self._call
        mentioned = NO_NAMES.union(*(walk.free_variables(a.begin) for a in axes.values()))
        writers = self._writers(mentioned)
        return self._call.copy(
            arguments=tuple([_moved(node, axes) for node in self._call.arguments]),
            results=tuple([_moved(node, axes) for node in self._call.results]),
            depends_on=self._call.depends_on | (NO_NAMES if exhaustive else writers),
        )

    def _axis(self, iname: str) -> _Axis | None:
        """Return what an iname stands for; None if it begins at 0 and takes every value."""
        values = self._values(iname)
        begin: Expression = 0
        if not values.is_empty():
            begin = pw_aff_expression(values.dim_min(0))
        step = self._step(iname, values)
        if begin == 0 and step == 1:
            return None
        new, count = f"_{iname}", 0
        while new in self._taken:
            new, count = f"_{iname}_{count}", count + 1
        self._taken.add(new)
        return _Axis(new, step, begin)

    def _values(self, iname: str) -> isl.Set:
        """Return the values of an iname, in terms of the loops around the call, and of sizes."""
        kernel = self._kernel
        around = self._call.within_inames - self._call.axis_names
        flat = domain_of(kernel, with_surrounding(kernel, around | {iname}))
        others = kernel.home_domains.keys() - around - {iname}
        flat = project_out(flat.intersect(known_parameters(kernel)), others)
        return unflatten(flat, [iname])

    def _step(self, iname: str, values: isl.Set) -> int:
        """Return how far neighbouring values of an iname are apart."""
        step: int = values.get_stride(0).to_python() or 1  # 0 where there is one value
        later = values.subtract(values.lexmin())
        before = later.apply(isl.Map(f"{{ [i] -> [i - {step}] }}"))
        if not before.is_subset(values):
            raise self._refused(f"the values of '{iname}' are not equally far apart")
        return step

    def _writers(self, names: Iterable[str]) -> frozenset[str]:
        """Return what writes the temporaries that say where a loop begins."""
        kernel = self._kernel
        found: set[str] = set()
        for name in sorted(names):
            if not isinstance(kernel.variables.get(name), TemporaryVariable):
                continue
            writers = kernel.writers.get(name, ())
            for writer in writers:
                if not writer.within_inames <= self._call.within_inames:
                    inames = ", ".join(sorted(writer.within_inames - self._call.within_inames))
                    raise self._refused(
                        f"where a part begins, '{name}' says, which is computed in loops that the "
                        f"call is not in: {inames}"
                    )
            if len(writers) == 1:
                found.add(writers[0].id)
        return frozenset(found)

    def _refused(self, why: str) -> MalformedInstruction:
        return MalformedInstruction(
            f"a part of an array begins where a loop does, and {why}",
            where=self._call.location,
            excerpt=excerpt(self._kernel, self._call.id),
            remedy="give the axis of the part a name that is no iname, and say in the subscript "
            "where it begins: [_i]: x[_i + 4]",
        )


def _moved(node: Expression, axes: Mapping[str, _Axis]) -> Expression:
    """Return what a call gives, with other names for the axes of a part."""
    if not isinstance(node, ex.SubArrayRef) or axes.keys().isdisjoint(node.swept_inames):
        return node
    names = tuple([axes[n].name if n in axes else n for n in node.swept_inames])
    own = {iname: axis for iname, axis in axes.items() if iname in node.swept_inames}
    aggregate, *index = walk.parts(node.subscript)
    moved = [_moved_subscript(i, own) for i in index]
    element = walk.rebuild(node.subscript, (aggregate, *moved))
    extents = [(axes[n].name if n in axes else n, extent) for n, extent in node.extents]
    return ex.SubArrayRef(names, element, tuple(extents))


def _moved_subscript(node: Expression, axes: Mapping[str, _Axis]) -> Expression:
    """Return a subscript in terms of axes: ``2*i`` is ``2*_i + 2*max(0, j)``, say."""
    if walk.free_variables(node).isdisjoint(axes):
        return node
    # The iname stands for its first value until multiples of the axis are apart from that.
    later = {
        iname: ex.sum_of(ex.product_of(axis.step, ex.Variable(axis.name)), ex.Variable(iname))
        for iname, axis in axes.items()
    }
    node = _in_normal_form(walk.substitute(node, later))
    begins = {iname: axis.begin for iname, axis in axes.items()}
    return _in_normal_form(walk.substitute(node, begins))


def _in_normal_form(node: Expression) -> Expression:
    form = linear_form(node)
    return node if form is None else form.expression()
