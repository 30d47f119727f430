"""A statement as what carries out a work: what the inames of the work stand for there."""

from __future__ import annotations

from dataclasses import dataclass

from polygen.errors import WrongStatement
from polygen.validation.faults import fault
from polygen.validation.frames import Statement
from polygen.validation.polynomial import Polynomial
from polygen.validation.readings import KernelTerms
from polygen.validation.view import View


@dataclass(eq=False, slots=True)
class Copy:
    """A statement that carries out a work.

    Attributes:
        statement: the statement.
        values: what the inames of the work stand for there, in terms of the program.
        stated: those of the inames that are no loop there.
        terms: of the kernel, for these values.
    """

    statement: Statement
    values: dict[str, Polynomial]
    stated: tuple[str, ...]
    terms: KernelTerms


def copy_of(view: View, statement: Statement, inames: frozenset[str]) -> Copy:
    """Return a statement as a copy of a work within these inames.

    Raises:
        WrongStatement: if one of them has no value there.
    """
    terms = view.terms(statement.frame)
    values: dict[str, Polynomial] = {}
    stated: list[str] = []
    for iname in inames:
        value = terms.bound(iname)
        if value is None:
            stated.append(iname)
            if iname not in statement.values:
                raise fault(
                    WrongStatement,
                    view.kernel,
                    f"'{iname}' has no value where instruction '{statement.insn_id}', which is "
                    "within it, is carried out",
                )
            value = terms.stated(statement.values[iname])
        values[iname] = value
    return Copy(statement, values, tuple(stated), KernelTerms(view.layouts, values))
