"""Negative subscripts, where they count from the end: the option `wrap_negative` of kernels."""

from __future__ import annotations

from polygen.analysis.access.accesses import Reference, references
from polygen.analysis.integers.wrapped_subscripts import wrapped
from polygen.analysis.wellformed.array_bounds import negative_instance
from polygen.errors import MalformedInstruction
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import GlobalArg, TemporaryVariable
from polygen.ir.expression import Expression
from polygen.ir.instruction import CInstruction, Instruction, KernelCall
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from polygen.ir.verify import excerpt

_Mention = tuple[str, tuple[Expression, ...]]


def with_wrapped_subscripts(kernel: Kernel) -> Kernel:
    """Return the kernel with the place that it stands for in place of each negative subscript.

    Subscripts that are never negative stay as they are.  Substitution rules are expanded.

    Raises:
        MalformedInstruction: if a kernel is called with a part of an array that may begin at a
            negative subscript.
    """
    kernel = kernel.without_rules
    return kernel.copy(instructions=tuple([_wrapped(kernel, i) for i in kernel.instructions]))


def _wrapped(kernel: Kernel, insn: Instruction) -> Instruction:
    if isinstance(insn, KernelCall):
        _check_call(kernel, insn)
        return insn
    if isinstance(insn, CInstruction):
        return insn
    axes: dict[_Mention, set[int]] = {}
    for reference in references(insn):
        found = axes.setdefault((reference.name, reference.index), set())
        found.update(_negative_axes(kernel, reference))
    if not any(axes.values()):
        return insn

    def change(node: Expression) -> Expression:
        new = walk.rebuild(node, tuple(map(change, walk.parts(node))))
        if not isinstance(new, ex.Subscript):
            return new
        places = list(ex.index_tuple(new))
        name = ex.name_of(new)
        for axis in axes.get((name, ex.index_of(node)), ()):
            places[axis] = _place(places[axis], _extents(kernel, name)[axis])
        return ex.Subscript(new.aggregate, tuple(places) if len(places) > 1 else places[0])

    return insn.map_expressions(change)


def _place(subscript: Expression, extent: Expression) -> Expression:
    if isinstance(subscript, int):
        return ex.sum_of(extent, subscript)
    return wrapped(subscript, extent)


def _negative_axes(kernel: Kernel, reference: Reference) -> list[int]:
    """Return the axes along which a subscript may be negative."""
    extents = _extents(kernel, reference.name)
    return [n for n in range(len(extents)) if negative_instance(kernel, reference, n)]


def _extents(kernel: Kernel, name: str) -> tuple[Expression, ...]:
    variable = kernel.variables.get(name)
    return (variable.shape or ()) if isinstance(variable, GlobalArg | TemporaryVariable) else ()


def _check_call(kernel: Kernel, call: KernelCall) -> None:
    for part in (*call.arguments, *call.results):
        swept = part.swept_inames if isinstance(part, ex.SubArrayRef) else ()
        begin = part.subscript if isinstance(part, ex.SubArrayRef) else part
        for node in walk.accesses(walk.substitute(begin, dict.fromkeys(swept, 0))):
            name, index = ex.name_of(node), ex.index_of(node)
            found = Reference(call, name, index, False, call.within_inames, call.predicates)
            if index and _negative_axes(kernel, found):
                raise MalformedInstruction(
                    f"kernel '{call.function}' is called with '{show_expression(part)}', which may "
                    "begin at a negative subscript: with wrap_negative=True, that would count from "
                    "the end",
                    where=call.location,
                    excerpt=excerpt(kernel, call.id),
                    remedy="compute where it begins in an instruction of its own, or make the "
                    "kernel without wrap_negative",
                )
