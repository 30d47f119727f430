"""The step behind `polygen.rename_callable`, on one kernel."""

from __future__ import annotations

from dataclasses import replace

from polygen.analysis.typing.call_arguments import linked
from polygen.analysis.typing.functions import FUNCTIONS
from polygen.errors import NameTaken
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.callables import Symbol, UserFunction, checked_functions, user_function
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction, KernelCall
from polygen.ir.kernel import Kernel
from polygen.ir.library_call import LibraryCall
from polygen.ir.names import check_function_name
from polygen.language.operations import operation_names
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import Name, transformation


@transformation
def rename_callable(kernel: Kernel, old_name: Name, new_name: str) -> Rearranged:
    """Return a kernel with another name of a function: its own, or that of what it calls."""
    check_function_name(new_name)
    numbers = any(found.name == old_name for found in user_functions(kernel))
    new = _with_calls(kernel, old_name, new_name)
    # Calls of another name are calls of another function, for all that proofs know.
    return Rearranged(new, restated=new if numbers else None)


def _with_calls(kernel: Kernel, old: str, new: str) -> Kernel:
    """Return a kernel with another name of a function, in what it calls as well."""
    called: dict[str, Kernel] = {}
    for found in user_functions(kernel):  # once calls are inlined, they are its own
        if found.name == old and new != old:
            _check_function(kernel, new, found.definition)

    def function(node: Expression) -> Expression:
        found = user_function(node)
        if found is None or found.name != old or isinstance(found.definition, Symbol):
            return node
        return ex.Call(UserFunction(new, found.definition), walk.parts(node))

    def changed(node: Expression) -> Expression:
        return walk.rewrite(node, function)

    def instruction(insn: Instruction) -> Instruction:
        insn = insn.map_expressions(changed)
        if not isinstance(insn, KernelCall) or isinstance(insn, LibraryCall):
            return insn
        name = new if insn.function == old else insn.function
        if insn.callee is not None:
            callee = _with_calls(insn.callee, old, new)
            if called.setdefault(name, callee) != callee:
                raise _taken(name, "two different kernels")
        return insn.copy(function=name)

    renamed = kernel.copy(
        name=new if kernel.name == old else kernel.name,
        instructions=tuple(map(instruction, kernel.instructions)),
        substitutions=tuple(
            [replace(r, expression=changed(r.expression)) for r in kernel.substitutions]
        ),
    )
    return linked(renamed, called)


def user_functions(kernel: Kernel) -> list[UserFunction]:
    """Return the functions of numbers that a kernel calls, or that what it calls does."""
    callees = [call.callee for call in kernel.calls if call.callee is not None]
    return [*_own_functions(kernel), *(f for callee in callees for f in user_functions(callee))]


def _own_functions(kernel: Kernel) -> list[UserFunction]:
    nodes = [e for insn in kernel.instructions for e in (*insn.assignees, *insn.reads)]
    nodes += [rule.expression for rule in kernel.substitutions]
    calls = [user_function(part) for node in nodes for part in walk.subexpressions(node)]
    return [f for f in calls if f is not None and not isinstance(f.definition, Symbol)]


def _check_function(kernel: Kernel, name: str, definition: object) -> None:
    """Check that a function of numbers can have a name in a kernel."""
    checked_functions({name: definition}, (*FUNCTIONS, *operation_names()))
    if name in {kernel.name, *kernel.inames, *kernel.variables, *kernel.rules}:
        raise _taken(name, f"a function, and something else in kernel '{kernel.name}'")


def _taken(name: str, what: str) -> NameTaken:
    return NameTaken(
        f"rename_callable: '{name}' would be {what}",
        where=caller_location(),
        remedy=f"take another name, such as '{name}_'",
    )
