"""A derivative kernel under construction: names, loops, and the variables that matter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import islpy as isl
import numpy as np

from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.typing.expression_types import node_type
from polygen.analysis.typing.inference import kinds, sizes
from polygen.errors import NotDifferentiable, UserError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import GlobalArg, TemporaryVariable, ValueArg
from polygen.ir.domain import Domain, rename_dimension, unflatten
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, CInstruction, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.revision import Revision
from polygen.ir.show_expression import show_expression
from polygen.ir.verify import excerpt
from polygen.source import caller_location
from polygen.transforms.derivatives._expression_derivatives import Context, tangent


def refused(what: str, remedy: str, kernel: Kernel, *insn_ids: str) -> NotDifferentiable:
    """Return the error that says that something has no derivative."""
    shown = excerpt(kernel, *insn_ids) if insn_ids else None
    return NotDifferentiable(what, where=caller_location(), excerpt=shown, remedy=remedy)


class DerivativeDraft(Revision, Context):
    """A kernel without rules and calls in which derivatives are computed.

    Attributes:
        original: for each new iname that has the values of another one in a copy of what is
            reduced, that.
    """

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.original: dict[str, str] = {}

    def runs_over(self, iname: str, other: str) -> bool:
        """Tell whether an iname is certain to have all values of another one."""
        homes = {i: d for d in self.domains for i in d.inames}
        if not {iname, other} <= homes.keys() or homes[iname].inames != (iname,):
            return False
        values = rename_dimension(homes[iname].flat, iname, other)
        wanted = homes[other].flat.intersect(self.kernel.assumptions.flat)
        return bool(wanted.is_subset(values))

    def counters(self, names: Sequence[str], extents: Sequence[Expression]) -> tuple[str, ...]:
        """Return new inames that run from 0 to below some extents.

        Raises:
            NotDifferentiable: if an extent is not affine in the parameters.
        """
        inames = tuple([self.name(name) for name in names])
        for iname, extent in zip(inames, extents, strict=True):
            self.domains = (*self.domains, self._below(iname, extent))
        return inames

    def _below(self, iname: str, extent: Expression) -> Domain:
        index = ex.Variable(iname)
        inside: list[isl.Set | None] = [
            condition_set(ex.Comparison(0, "<=", index)),
            condition_set(ex.Comparison(index, "<", extent)),
        ]
        low, high = inside
        if low is None or high is None:
            raise refused(
                f"a loop over the {show_expression(extent)} elements of an axis cannot be made: "
                "that is not affine in the parameters",
                "declare the shape in terms of a parameter of its own",
                self.kernel,
            )
        return Domain(unflatten(low.intersect(high), [iname]))


# --- variables


def is_real(kernel: Kernel, name: str) -> bool:
    """Tell whether a variable may hold real numbers: its type is one of these, or not known."""
    variable = kernel.variables.get(name)
    if variable is None or (isinstance(variable, TemporaryVariable) and variable.read_only):
        return False
    return variable.dtype is None or variable.dtype.kind == "f"


def check_variable(kernel: Kernel, name: str, what: str) -> None:
    """Check that there is a derivative of, or by, a variable.

    Raises:
        UnknownArgument: if the kernel has no such variable.
        NotDifferentiable: if it holds no real numbers.
    """
    variable = kernel.variable(name)
    if name in sizes(kernel):
        raise refused(f"'{name}' is a size: a whole number", "name an array", kernel)
    if variable.dtype is None or variable.dtype.kind == "f":
        if isinstance(variable, GlobalArg | ValueArg):
            return
        raise refused(
            f"'{name}' is a temporary: there is no derivative {what} what no call passes",
            "name an argument",
            kernel,
        )
    complex_number = variable.dtype.kind == "c"
    raise refused(
        f"there is no derivative {what} '{name}', which holds numbers of type {variable.dtype}",
        "pass real and imaginary parts as arrays of their own"
        if complex_number
        else "declare it with a floating-point type",
        kernel,
    )


def relevant(kernel: Kernel, outputs: Iterable[str]) -> frozenset[str]:
    """Return the variables that some variables are computed from, these included."""
    found, pending = set(outputs), list(outputs)
    while pending:
        for writer in kernel.writers.get(pending.pop(), ()):
            values = writer.values if not isinstance(writer, CInstruction) else ()
            names = {n for v in values for n in walk.free_variables(v)}
            if isinstance(writer, CInstruction):
                names = {*writer.read_names}
            new = (names & kernel.variables.keys()) - found
            found |= new
            pending += sorted(new)
    return frozenset(found)


def active(kernel: Kernel, outputs: Sequence[str], by: Sequence[str]) -> frozenset[str]:
    """Return the variables that depend on those in `by`, and that `outputs` depend on.

    Raises:
        NotDifferentiable: if it is not known how one of them does.
    """
    wanted = frozenset(n for n in relevant(kernel, outputs) if is_real(kernel, n))
    found = wanted.intersection(by)
    while True:
        more = {
            ex.name_of(assignee)
            for insn in kernel.assignments
            for assignee, value in checked_pairs(kernel, insn, found, wanted)
            if depends(kernel, insn, value, found)
        }
        if more <= found:
            check_real(kernel, outputs, found)
            return found
        found |= more


def check_real(kernel: Kernel, outputs: Sequence[str], moving: frozenset[str]) -> None:
    """Check that what depends on some variables, and that outputs depend on, is no complex number.

    Raises:
        NotDifferentiable: if it is.
    """
    wanted, known = relevant(kernel, outputs), kinds(kernel)

    def is_complex(kind: object) -> bool:
        return kind is complex or (isinstance(kind, np.dtype) and kind.kind == "c")

    def kind_of(node: Expression, insn: Instruction) -> Any:
        kind = node_type(node, [kind_of(part, insn) for part in walk.parts(node)], known)
        if is_complex(kind) and not moving.isdisjoint(walk.free_variables(node)):
            raise refused(
                f"'{show_expression(node)}' is a complex number, of which there is no derivative",
                "compute with real and imaginary parts",
                kernel,
                insn.id,
            )
        return kind

    for insn in kernel.assignments:
        for assignee, value in insn.pairs:
            names = walk.free_variables(value)
            if ex.name_of(assignee) not in wanted or moving.isdisjoint(names):
                continue
            if not (names & kernel.variables.keys()) - known.keys():  # else, types are open
                kind_of(value, insn)
                stored = kernel.variables[ex.name_of(assignee)].dtype
                if stored and is_complex(stored) and depends(kernel, insn, value, moving):
                    kind_of(ex.converted(stored.name, value), insn)


def checked_pairs(
    kernel: Kernel, insn: Assigning, found: frozenset[str], wanted: frozenset[str]
) -> list[tuple[ex.Variable | ex.Subscript, Expression]]:
    """Return the assignees and values of an instruction that matter.

    Raises:
        NotDifferentiable: if it is verbatim C, and reads what depends on something.
    """
    if isinstance(insn, CInstruction):
        if found & insn.read_names and wanted.intersection(insn.written_names):
            raise refused(
                f"'{insn.id}' is verbatim C, of which nothing says the derivative",
                "write what it does as instructions",
                kernel,
                insn.id,
            )
        return []
    return [(a, v) for a, v in insn.pairs if ex.name_of(a) in wanted]


def check_dependent(
    kernel: Kernel, moving: frozenset[str], outputs: Sequence[str], by: Sequence[str]
) -> None:
    """Check that each of some outputs depends on something, and something on each argument.

    Raises:
        NotDifferentiable: if that is not so.
    """
    for name in outputs:
        if name not in moving:
            listed = " or ".join(f"'{n}'" for n in by)
            raise refused(
                f"'{name}' does not depend on {listed}",
                "leave it out of diff_outputs: its derivative is 0",
                kernel,
            )
    for name in by:
        if name not in moving:
            listed = " or ".join(f"'{n}'" for n in outputs)
            raise refused(
                f"{listed} does not depend on '{name}'",
                "leave it out of by: the derivative is 0",
                kernel,
            )


def depends(
    kernel: Kernel, insn: Instruction, value: Expression, variables: frozenset[str]
) -> bool:
    """Tell whether an expression has a derivative by some variables that is not 0 everywhere."""
    if variables.isdisjoint(walk.free_variables(value)):
        return False

    def of(node: Expression) -> Expression | None:
        return 1 if ex.name_of(node) in variables else None

    return differentiated(kernel, insn, value, of, Context()) is not None


def differentiated(
    kernel: Kernel,
    insn: Instruction,
    value: Expression,
    of: object,
    context: Context,
) -> Expression | None:
    """Return the tangent of an expression; errors show the instruction.

    Raises:
        NotDifferentiable: if it is not known.
    """
    try:
        return tangent(value, of, context)  # type: ignore[arg-type]
    except NotDifferentiable as error:
        raise shown(error, kernel, insn) from None


def shown(error: UserError, kernel: Kernel, insn: Instruction) -> NotDifferentiable:
    """Return the error with the instruction that it is about."""
    return refused(error.what, error.remedy or "", kernel, insn.id)
