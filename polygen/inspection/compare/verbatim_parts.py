"""The parts of a kernel that compilers are given as they are: no proof looks at them."""

from __future__ import annotations

from collections.abc import Iterator

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.callables import Symbol, user_function
from polygen.ir.expression import Expression
from polygen.ir.instruction import CInstruction
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import definition_of
from polygen.ir.show import called_kernels


def verbatim_parts(kernel: Kernel) -> tuple[str, ...]:
    """Return what of a kernel, and of those that it calls, compilers are given as it is.

    That is verbatim C, functions of the user's (which may be any that C has), preambles and build
    options (which may name programs).
    """
    kernels = (kernel, *called_kernels(kernel).values())
    return tuple(dict.fromkeys(part for each in kernels for part in _parts(each)))


def _parts(kernel: Kernel) -> Iterator[str]:
    for insn in kernel.instructions:
        if isinstance(insn, CInstruction):
            yield f"the verbatim C of '{insn.id}'"
    for node in _nodes(kernel.without_rules):
        found = user_function(node)
        if found is None:
            continue
        if not isinstance(found.definition, Symbol):
            yield f"the function '{found.name}'"
        elif any(text for _, text in found.definition.preambles):
            yield f"the preamble of '{found.name}'"
    if kernel.preambles:
        yield f"the preambles of '{kernel.name}'"
    if kernel.options.build_options:
        yield f"the build options of '{kernel.name}'"


def _nodes(kernel: Kernel) -> Iterator[Expression]:
    """Yield all parts of the expressions in instructions, and of what reductions do."""
    whole: list[Expression] = []

    def collect(node: Expression) -> Expression:
        whole.append(node)
        return node

    for insn in kernel.instructions:
        insn.map_expressions(collect)
    for node in (part for expression in whole for part in walk.subexpressions(expression)):
        yield node
        definition = definition_of(node.operation) if isinstance(node, ex.Reduction) else None
        if definition is not None:
            yield from walk.subexpressions(definition.combined)
