"""Each statement computes, and writes, what its instruction says."""

from __future__ import annotations

from polygen.errors import WrongStatement
from polygen.ir.instruction import CInstruction, KernelCall
from polygen.ir.show_expression import show_expression
from polygen.validation.agreement import agree
from polygen.validation.calls import check_call
from polygen.validation.copy_of import Copy
from polygen.validation.faults import fault
from polygen.validation.terms import key
from polygen.validation.view import View
from polygen.validation.works import Work


def check_statements(view: View, work: Work) -> None:
    """Check the statements that carry out a work.

    Raises:
        WrongStatement: if one writes another element, or another value.
    """
    for copy in work.copies:
        _check(view, work, copy)


def _check(view: View, work: Work, copy: Copy) -> None:
    statement = copy.statement
    if statement.verbatim is not None or isinstance(work.insn, CInstruction):
        _check_verbatim(view, work, copy)
        return
    if statement.call is not None or isinstance(work.insn, KernelCall):
        check_call(view, work, copy)
        return
    if len(statement.pairs) != len(work.insn.pairs):
        raise fault(
            WrongStatement,
            view.kernel,
            f"for {work.what}, a statement writes {len(statement.pairs)} variables instead of "
            f"{len(work.insn.pairs)}",
            work.origin,
        )
    if statement.atomicity != work.insn.atomicity:
        raise fault(
            WrongStatement,
            view.kernel,
            f"for {work.what}, a statement is not atomic as it should be",
            work.origin,
        )
    if statement.asynchronous and not work.insn.asynchronous:
        raise fault(
            WrongStatement,
            view.kernel,
            f"for {work.what}, a statement is asynchronous, which it should not be",
            work.origin,
        )
    parts = [
        part
        for found, wanted in zip(statement.pairs, work.insn.pairs, strict=True)
        for part in zip(("writes", "computes"), found, wanted, strict=True)
    ]
    for verb, found, wanted in parts:
        if not agree(view, copy, found, wanted):
            raise fault(
                WrongStatement,
                view.kernel,
                f"for {work.what}, a statement {verb} '{show_expression(found)}', which is not "
                f"'{show_expression(wanted)}'",
                work.origin,
            )


def _check_verbatim(view: View, work: Work, copy: Copy) -> None:
    found, insn = copy.statement.verbatim, work.insn
    terms = view.terms(copy.statement.frame)
    if found is not None and isinstance(insn, CInstruction):
        wanted = {name: key(copy.terms.value(value)) for name, value in insn.iname_exprs}
        names = {name: key(terms.value(value)) for name, value in found.names}
        touched = (frozenset(found.reads), frozenset(found.writes))
        declared = (insn.read_variables, frozenset(insn.written_names))
        if (found.code, names, touched) == (insn.code, wanted, declared):
            return
    raise fault(
        WrongStatement,
        view.kernel,
        f"for {work.what}, other C is there than was written",
        work.origin,
    )
