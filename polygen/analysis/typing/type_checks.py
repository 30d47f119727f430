"""Checks of the types of what instructions compute, and of what they call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from polygen.analysis.typing.expression_types import type_of
from polygen.analysis.typing.functions import check_call, check_results, is_known
from polygen.analysis.typing.kinds import Kind, can_assign, default_dtype, kind_name, letter
from polygen.errors import TypeMismatch, UserError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from polygen.ir.verify import excerpt


def check_types(
    kernel: Kernel,
    instructions: Iterable[Instruction],
    known: Mapping[str, Kind],
    values: Mapping[tuple[str, int], Kind],
) -> None:
    """Check that every operation and every assignment exists for its operands' types.

    Parameters:
        kernel: the kernel.
        instructions: those of its instructions that are looked at.
        known: the types of names.
        values: of some instructions, the type of the value at each position.

    Raises:
        TypeMismatch: if one does not.
    """
    for domain in (*kernel.domains, kernel.assumptions):
        for name in domain.parameters:
            kind = known.get(name, int)
            if letter(kind) not in "iu":
                what = "assumption" if domain is kernel.assumptions else "domain"
                raise TypeMismatch(
                    f"the {what} {domain} mentions '{name}', which is of type '{kind_name(kind)}'",
                    where=kernel.location,
                    remedy="bounds of loops, and what is assumed of sizes, are integers",
                )
    for insn in instructions:
        with Located(kernel, insn):
            for predicate in insn.predicates:
                type_of(predicate, known)
            if not isinstance(insn, Assigning):
                continue
            for position, (assignee, node) in enumerate(insn.pairs):
                value = values.get((insn.id, position))
                if value is None:
                    value = type_of(node, known)
                _check_assignee(kernel, insn, assignee, known, value)


def _check_assignee(
    kernel: Kernel, insn: Assigning, assignee: Expression, known: Mapping[str, Kind], value: Kind
) -> None:
    type_of(assignee, known)
    name = ex.name_of(assignee)
    target = known[name]
    is_plain = insn.atomicity is None or insn.atomicity.init
    converts = kernel.options.convert_stores and is_plain and letter(value) != "c"
    if not (converts or can_assign(value, default_dtype(target))):
        raise TypeMismatch(
            f"instruction '{insn.id}' writes a value of type '{kind_name(value)}' to "
            f"'{name}', whose type is '{kind_name(target)}'",
            remedy=f"convert it on purpose: {kind_name(target)}(...)"
            if letter(target) != "b"
            else "write a comparison, such as x != 0",
        )


def check_calls(kernel: Kernel) -> None:
    """Check what is wrong with calls and subscripts whatever the types of variables are.

    Functions that are known take as many arguments as they are given, and subscripts are integers.

    Raises:
        WrongArity: if a function does not.
        TypeMismatch: if a subscript is certainly none.
    """
    for insn in kernel.expanded.instructions:
        with Located(kernel, insn):
            for assignee in insn.assignees:
                _check_subscripts(assignee)
            for node in insn.reads:
                for part in walk.subexpressions(node):
                    if isinstance(part, ex.Call) and is_known(part):
                        check_call(part)
                    elif isinstance(part, ex.Subscript):
                        _check_subscripts(part)
                check_results(node)


def _check_subscripts(node: Expression) -> None:
    for index in ex.index_of(node):
        if isinstance(index, bool | _TRUTH) or _is_fraction(index):
            raise TypeMismatch(
                f"'{show_expression(node)}' has a subscript that is no integer: "
                f"'{show_expression(index)}'",
                remedy="subscripts are integers: use // to divide, or convert: int64(...)",
            )


_TRUTH = ex.Comparison | ex.LogicalAnd | ex.LogicalOr | ex.LogicalNot


def _is_fraction(node: Expression) -> bool:
    """Tell whether an expression is of no integer type, whatever it reads."""
    if isinstance(node, ex.Sum | ex.Product | ex.Min | ex.Max):
        return any(map(_is_fraction, node.children))
    return isinstance(node, ex.Quotient | float | complex)


def check_functions_are_known(kernel: Kernel) -> None:
    """Check that it is known which functions instructions call.

    Raises:
        UnknownFunction: if it is not.
    """
    for insn in kernel.expanded.instructions:
        with Located(kernel.expanded, insn):
            for part in (p for node in insn.reads for p in walk.subexpressions(node)):
                if isinstance(part, ex.Call):
                    check_call(part)


class Located:
    """Adds the instruction to errors that are raised within."""

    def __init__(self, kernel: Kernel, insn: Instruction) -> None:
        self._kernel = kernel
        self._insn = insn

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, UserError) and error.where is None and error.excerpt is None:
            raise type(error)(
                error.what,
                where=self._insn.location,
                excerpt=excerpt(self._kernel, self._insn.id),
                remedy=error.remedy,
            ) from None
