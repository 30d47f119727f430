"""Checks that instructions marked as asynchronous may be."""

from __future__ import annotations

from collections.abc import Mapping

from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace, GlobalArg, ImageArg, TemporaryVariable
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel


def copied(value: Expression) -> Expression:
    """Return what an asynchronous instruction copies, perhaps: of a choice, with a number else."""
    if isinstance(value, ex.If) and isinstance(value.else_, int | float):
        return value.then
    return value


def why_not_asynchronous(
    kernel: Kernel, insn: Assignment, spaces: Mapping[str, AddressSpace] | None = None
) -> str | None:
    """Return why an instruction cannot be a copy that is under way for a while; None if it can.

    Parameters:
        kernel: the kernel.
        insn: one of its instructions, which says that it is one.
        spaces: where temporaries are; if not given, one that is declared ``auto`` may be anywhere.
    """
    if insn.atomicity is not None:
        return "it is atomic"
    value, written = copied(insn.expression), kernel.variables.get(insn.written)
    if not isinstance(value, ex.Variable | ex.Subscript):
        return "it computes a value, and does not only copy one"
    if not isinstance(written, TemporaryVariable) or not _is_in(
        AddressSpace.LOCAL, written, spaces
    ):
        return f"'{insn.written}' is no temporary in local memory"
    read = kernel.variables.get(ex.name_of(value))
    is_argument = isinstance(read, GlobalArg) and not isinstance(read, ImageArg)
    is_temporary = (
        isinstance(read, TemporaryVariable)
        and not read.read_only
        and _is_in(AddressSpace.GLOBAL, read, spaces)
    )
    if read is None or not (is_argument or is_temporary):
        return f"'{ex.name_of(value)}' is no array in global memory"
    types = [v.dtype for v in (read, written) if v.dtype is not None]
    if len(set(types)) > 1:
        return f"'{read.name}' and '{written.name}' have different types"
    return None


def _is_in(
    space: AddressSpace, variable: TemporaryVariable, spaces: Mapping[str, AddressSpace] | None
) -> bool:
    if spaces is not None:
        return spaces[variable.name] is space
    return variable.address_space in {space, AddressSpace.AUTO}
