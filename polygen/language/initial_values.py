"""Temporaries that have values before anything is written to them.

They get these by an instruction that comes before all others that touch them: from a table of
constants, unless all elements are one number.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from polygen.ir import expression as ex
from polygen.ir.array import TemporaryVariable
from polygen.ir.domain import Domain, parse_domain
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment, Instruction
from polygen.ir.kernel import Kernel
from polygen.language.tables import with_table


def with_initial_values(kernel: Kernel) -> Kernel:
    """Return the kernel with an instruction for each temporary that has initial values.

    Parameters:
        kernel: its temporaries are such as `with_table` returns.
    """
    for temporary in kernel.temporaries:
        if temporary.initializer is not None and not temporary.read_only:
            kernel = _initialized(kernel, temporary, temporary.initializer)
    return kernel


def _initialized(
    kernel: Kernel, temporary: TemporaryVariable, elements: np.ndarray[Any, Any]
) -> Kernel:
    name, domains = temporary.name, list[Domain]()
    inames: list[str] = []
    for axis, extent in enumerate(elements.shape):
        inames.append(kernel.new_name(f"{name}_i{axis}", inames))
        domains.append(parse_domain(f"{{ [{inames[-1]}]: 0 <= {inames[-1]} < {extent} }}"))
    added = [replace(temporary, initializer=None)]
    index = tuple([ex.Variable(iname) for iname in inames])
    value = _one_number(elements)
    if value is None:
        table = kernel.new_name(f"{name}_initial", inames)
        added.append(with_table(TemporaryVariable(table, initializer=elements, read_only=True)))
        value = _element(table, index)
    first = Assignment(
        id=kernel.new_name(f"{name}_start"),
        assignee=_element(name, index),
        expression=value,
        within_inames=frozenset(inames),
        location=kernel.location,
    )
    return kernel.copy(
        domains=(*kernel.domains, *domains),
        temporaries=tuple(
            sorted([t for t in kernel.temporaries if t is not temporary] + added, key=_by_name)
        ),
        priorities=(*kernel.priorities, *((tuple(inames),) if len(inames) > 1 else ())),
        instructions=(first, *[_after(kernel, i, name, first.id) for i in kernel.instructions]),
    )


def _by_name(temporary: TemporaryVariable) -> str:
    return temporary.name


def _element(name: str, index: tuple[Expression, ...]) -> ex.Variable | ex.Subscript:
    variable = ex.Variable(name)
    return ex.Subscript(variable, index[0] if len(index) == 1 else index) if index else variable


def _one_number(elements: np.ndarray[Any, Any]) -> Expression | None:
    """Return what all elements are, if they are one number that can be written down."""
    first = elements.ravel()[:1]
    if first.dtype.kind not in "iuf" or not np.isfinite(first[0]):
        return None
    if elements.tobytes() != first.tobytes() * elements.size:
        return None
    number: Expression = first[0].item()
    return number


def _after(kernel: Kernel, insn: Instruction, name: str, first: str) -> Instruction:
    """Return an instruction that comes after another one if it touches a variable."""
    touching = kernel.without_rules.instruction(insn.id)  # calls too, by what they are given
    inames = insn.within_inames | insn.reduction_inames
    bounds = (kernel.home_domains[i].parameters for i in inames)
    if name in touching.read_names.union(touching.written_names, *bounds):
        return insn.copy(depends_on=insn.depends_on | {first})
    return insn
