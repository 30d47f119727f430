"""Stores that convert: what a kernel with the option ``convert_stores`` writes, as conversions.

t = 2.5*a[i]  with an int32 t    ->    t = int32(2.5*a[i])
flag[i] = k   with a bool flag   ->    flag[i] = k != 0
"""

from __future__ import annotations

import numpy as np

from polygen.analysis.typing.expression_types import type_of
from polygen.analysis.typing.inference import kinds
from polygen.analysis.typing.kinds import Kind, can_assign
from polygen.ir import expression as ex
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, Instruction
from polygen.ir.kernel import Kernel


def with_converted_stores(kernel: Kernel) -> Kernel:
    """Return the kernel with conversions where a variable holds another kind of number.

    Parameters:
        kernel: its types are known, and it has no rules.
    """
    if not kernel.options.convert_stores:
        return kernel
    known = dict(kinds(kernel))
    instructions = tuple([_with_conversions(kernel, insn, known) for insn in kernel.instructions])
    return kernel if instructions == kernel.instructions else kernel.copy(instructions=instructions)


def _with_conversions(kernel: Kernel, insn: Instruction, known: dict[str, Kind]) -> Instruction:
    if not isinstance(insn, Assigning):
        return insn
    pairs = tuple([(to, _stored(kernel, to, value, known)) for to, value in insn.pairs])
    return insn if pairs == insn.pairs else insn.with_pairs(pairs)


def _stored(
    kernel: Kernel, assignee: Expression, value: Expression, known: dict[str, Kind]
) -> Expression:
    dtype = kernel.variables[ex.name_of(assignee)].dtype
    assert dtype is not None
    if can_assign(type_of(value, known), dtype):
        return value
    return _converted(dtype, value)


def _converted(dtype: DType, value: Expression) -> Expression:
    if dtype == np.dtype(bool):
        return ex.Comparison(value, "!=", 0)
    return ex.converted(dtype.name, value)
