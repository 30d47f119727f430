"""`CInstruction` as users may write it: with texts for inames and for what is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from polygen.errors import MalformedInstruction
from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.ir.instruction import CInstruction
from polygen.language.parser import parse_expression
from polygen.source import caller_location


def without_texts(insn: CInstruction) -> CInstruction:
    """Return an instruction with pairs and expressions in place of texts.

    ``"i, j"`` or ``("i", "j")`` stands for inames that the text mentions by their names: it is
    within these loops.  ``"a[i]; b"`` or ``("a[i]", "b")`` stands for what it writes.

    Raises:
        MalformedInstruction: if something is neither a text nor what it may stand for.
        MalformedExpression: if what is written is no expression.
    """
    inames: Any = insn.iname_exprs
    written: Any = insn.assignees
    inames = inames.split(",") if isinstance(inames, str) else inames
    written = written.split(";") if isinstance(written, str) else written
    mentioned = [each.strip() for each in inames if isinstance(each, str)]
    assignees: list[Any] = [parse_expression(e) if isinstance(e, str) else e for e in written]
    return replace(
        insn,
        iname_exprs=tuple([_named(insn, each) for each in inames]),
        assignees=tuple(assignees),
        read_variables=frozenset(insn.read_variables),
        depends_on=frozenset(insn.depends_on),
        within_inames=frozenset(insn.within_inames).union(mentioned),
    )


def _named(insn: CInstruction, given: Any) -> tuple[str, Expression]:
    if isinstance(given, str):
        return given.strip(), ex.Variable(given.strip())
    pair = cast("Sequence[Any]", given) if isinstance(given, tuple) else ()
    if len(pair) == 2 and isinstance(pair[0], str):
        return pair[0], pair[1]
    raise MalformedInstruction(
        f"the iname_exprs of instruction '{insn.id}' have {given!r} among them",
        where=caller_location(),
        remedy="pass inames, as in 'i, j', or pairs of a name and an expression of inames",
    )
