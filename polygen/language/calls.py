"""Statements that call kernels: ``[j]: out[i, j] = f([j]: a[i, j], 2*n)``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from polygen.analysis.typing.call_arguments import REMEDY, checked
from polygen.analysis.typing.functions import FUNCTIONS
from polygen.errors import MalformedInstruction, UserError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.instruction import KernelCall
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from polygen.language.library_calls import library_statement
from polygen.language.parser import located
from polygen.language.statement import Statement


def with_calls(
    statements: Sequence[Statement], kernels: Mapping[str, Kernel | None]
) -> list[Statement]:
    """Return statements with those that call a kernel as such.

    They are those that call one of `kernels`, or that give part of an array to anything.  Of a
    kernel only the name may be known yet: then it is None here.

    Raises:
        WrongArity: if a call has another number of arguments than the kernel.
        MalformedInstruction: if a part of an array is given to nothing, or an argument is of
            another form than the kernel's.
    """
    return [_as_call(statement, kernels) for statement in statements]


def _as_call(statement: Statement, kernels: Mapping[str, Kernel | None]) -> Statement:
    if statement.call:  # it was given as an instruction
        return statement
    if statement.library is not None:
        return library_statement(statement, statement.library)
    call = _call(statement)
    name = "" if call is None else ex.name_of(call.function)
    gives = call is not None and any(isinstance(a, ex.SubArrayRef) for a in call.parameters)
    takes = any(isinstance(a, ex.SubArrayRef) for a in statement.assignees)
    if call is not None and not statement.assignees:
        return _alone(statement, call, kernels)
    if call is None or not (name in kernels or gives or takes):
        _check_no_part(statement, statement.expressions)
        return statement
    if statement.atomicity is not None or statement.asynchronous:
        raise _refused(
            statement, MalformedInstruction, "a call of a kernel assigns parts of arrays"
        )
    called = KernelCall(name, call.parameters, statement.assignees)
    return _calling(statement, called, kernels)


def _alone(statement: Statement, call: ex.Call, kernels: Mapping[str, Kernel | None]) -> Statement:
    """Return a statement that assigns nothing: what is called says, which arrays it writes."""
    name = ex.name_of(call.function)
    if name in FUNCTIONS:
        raise located(
            MalformedInstruction,
            f"{name}() computes something, and nothing is assigned",
            statement,
            0,
            f"write where it goes: a[i] = {name}(...)",
        )
    parts = tuple([p for p in call.parameters if isinstance(p, ex.SubArrayRef)])
    return _calling(statement, KernelCall(name, call.parameters, parts), kernels)


def _calling(
    statement: Statement, called: KernelCall, kernels: Mapping[str, Kernel | None]
) -> Statement:
    for node in (*called.arguments, *statement.predicates):
        inner = walk.parts(node) if isinstance(node, ex.SubArrayRef) else (node,)
        _check_no_part(statement, inner)
    callee = kernels.get(called.function)
    if callee is not None:
        called = checked(called, callee, lambda kind, what: _refused(statement, kind, what))
    return replace(
        statement,
        assignees=called.results,
        values=called.arguments,
        call=called.function,
        sweeps=any(isinstance(n, ex.SubArrayRef) for n in (*called.arguments, *called.results)),
        id_prefix=statement.id_prefix or called.function,
    )


def _refused(statement: Statement, kind: type[UserError], what: str) -> UserError:
    return located(kind, what, statement, 0, REMEDY)


def _call(statement: Statement) -> ex.Call | None:
    """Return the call that gives a statement all of its values; None if there is none."""
    node = statement.values[0] if statement.values and statement.verbatim is None else None
    if isinstance(node, ex.Component) and len(statement.values) == len(statement.assignees) > 1:
        node = node.aggregate
    return (
        node
        if isinstance(node, ex.Call) and len(set(map(_called, statement.values))) == 1
        else None
    )


def _called(node: Expression) -> Expression:
    return node.aggregate if isinstance(node, ex.Component) else node


def _check_no_part(statement: Statement, nodes: Sequence[Expression]) -> None:
    for node in nodes:
        for part in walk.subexpressions(node):
            if isinstance(part, ex.SubArrayRef):
                is_slice = f"[{part.swept_inames[0]}" not in statement.text
                if is_slice:
                    raise located(
                        MalformedInstruction,
                        f"':' makes a slice of '{ex.name_of(part)}', which only a call of a kernel "
                        "takes",
                        statement,
                        max(0, statement.text.find(":")),
                        "elsewhere there are no slices: write a[i], and let a domain say which i",
                    )
                raise located(
                    MalformedInstruction,
                    f"'{show_expression(part)}' is a part of an array, which only a kernel that is "
                    "called takes",
                    statement,
                    max(0, statement.text.find("[" + part.swept_inames[0])),
                    "write the call alone: [i]: y[i] = f([i]: x[i])",
                )
