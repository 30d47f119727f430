"""Instructions: from text, or as they are given, with ids and with what follows by default."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from polygen.errors import (
    InvalidArgument,
    NameTaken,
    UnknownIname,
    did_you_mean,
)
from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace
from polygen.ir.domain import Domain
from polygen.ir.expression import Expression
from polygen.ir.instruction import (
    Assigning,
    Assignment,
    Barrier,
    CInstruction,
    Instruction,
    KernelCall,
    MultiAssignment,
    NoOp,
)
from polygen.ir.kernel import Kernel
from polygen.ir.library_call import LibraryCall
from polygen.ir.show import mark_of, show_instruction
from polygen.ir.substitution import Rules, SubstitutionRule
from polygen.language.blocks import Blocks, is_block
from polygen.language.calls import with_calls
from polygen.language.conditions import check_conditions
from polygen.language.defaults import Defaults
from polygen.language.duplicates import check_duplicated, with_duplicated
from polygen.language.library_calls import library_call, library_of
from polygen.language.named_statement import NamedStatement
from polygen.language.parser import (
    is_rule,
    located,
    parse_rule,
    parse_statement,
    split_lines,
)
from polygen.language.reductions import resolve_reductions
from polygen.language.relations import parse_relation
from polygen.language.rules import expand_rules, make_rules, resolve_rules
from polygen.language.statement import Statement, Verbatim
from polygen.language.trees import pair_as_text, readable
from polygen.language.verbatim import without_texts
from polygen.source import SourceLocation, caller_location, written_at


def name_statements(
    instructions: object,
    domains: Sequence[Domain],
    kernels: Mapping[str, Kernel],
    own: Mapping[int, Sequence[str]],
) -> tuple[list[NamedStatement], tuple[SubstitutionRule, ...], tuple[Domain, ...]]:
    """Return the instructions that `instructions` stands for, each with an id, and the rules.

    And the domains, with inames that are duplicated for some instructions.

    Parameters:
        instructions: a text with one instruction a line, or several texts and `Assignment`.
        domains: the loop domains.
        kernels: those that may be called, by name.
        own: inames to duplicate besides, for instructions by their positions.

    Raises:
        MalformedInstruction: if a line is not in the language.
        InvalidArgument: if something is no instruction.
        UnknownIname: if ``inames=`` or a reduction names what no domain has.
        NameTaken: if two have the same id, or two rules the same name.
        UnknownRule, WrongArity, RuleCycle: if rules are not invoked as they are meant to be.
    """
    inames = [i for d in domains for i in d.inames]
    statements, rules = _statements(instructions, inames, kernels)
    taken: set[str] = set()
    for statement in statements:
        _check_inames(statement, inames)
        if statement.id is None:
            continue
        if statement.id in taken:
            raise located(
                NameTaken,
                f"two instructions have the id '{statement.id}'",
                statement,
                max(0, statement.text.rfind(statement.id)),
                "give one of them another id, or leave it out",
            )
        taken.add(statement.id)
    for position, olds in own.items():
        said = statements[position].duplicated
        more = (*said, *((old, None) for old in olds))
        statements[position] = replace(statements[position], duplicated=more)
    statements, domains = with_duplicated(statements, domains)
    ids = Ids(taken)
    named = [
        NamedStatement(said.id or ids.new(said), expand_rules(said, rules), said)
        for said in statements
    ]
    check_conditions([one.statement for one in named], rules)
    return named, tuple(rules.values()), tuple(domains)


def _check_inames(statement: Statement, inames: Sequence[str]) -> None:
    olds = (old for old, _ in statement.duplicated)
    for iname in sorted({*(statement.inames or ()), *statement.more_inames, *olds}):
        if iname not in inames:
            raise located(
                UnknownIname,
                f"no domain has an iname '{iname}'",
                statement,
                max(0, statement.text.rfind(iname)),
                did_you_mean(iname, inames),
            )


class Ids:
    """New ids: ``insn``, ``insn_0``, ..., or with another beginning (``id_prefix=``)."""

    def __init__(self, taken: Collection[str]) -> None:
        self._taken = taken
        self._new: dict[str, Iterator[str]] = {}

    def new(self, statement: Statement) -> str:
        """Return the next id for a statement."""
        prefix = statement.id_prefix or "insn"
        candidates = self._new.setdefault(prefix, _numbered(prefix))
        return next(c for c in candidates if c not in self._taken)


def _numbered(prefix: str) -> Iterator[str]:
    yield prefix
    yield from (f"{prefix}_{number}" for number in itertools.count())


def make_instructions(
    named: Sequence[NamedStatement],
    domains: Sequence[Domain],
    temporaries: Iterable[str],
    *,
    sequential: bool = False,
) -> tuple[Instruction, ...]:
    """Return the instructions with the inames and dependencies that follow by default.

    Parameters:
        named: the instructions.
        domains: the loop domains.
        temporaries: the names of all temporaries.
        sequential: whether they come in the order in which they are written.

    Raises:
        UserError: as `Defaults` does.
    """
    location = caller_location()
    defaults = Defaults(named, domains, frozenset(temporaries), sequential=sequential)
    made = tuple(
        [
            make_instruction(
                one.written_as,
                one.id,
                defaults.within_inames[one.id],
                defaults.depends_on[one.id],
                defaults.no_sync_with[one.id],
                one.statement.where or location,
            )
            for one in named
        ]
    )
    check_duplicated([one.statement for one in named], made)
    return made


def make_instruction(
    statement: Statement,
    insn_id: str,
    within_inames: frozenset[str],
    depends_on: frozenset[str],
    no_sync_with: frozenset[tuple[str, str]],
    location: SourceLocation | None,
) -> Instruction:
    """Return the instruction that a statement is, with inames and dependencies filled in."""
    common: dict[str, Any] = {
        "within_inames": within_inames,
        "depends_on": depends_on,
        "predicates": statement.predicates,
        "location": location,
        "tags": statement.tags,
        "groups": statement.groups,
        "conflicts_with_groups": statement.conflicts,
        "priority": statement.priority or 0,
        "no_sync_with": no_sync_with,
        "happens_after": frozenset([parse_relation(*related) for related in statement.related]),
    }
    if statement.mark == "nop":
        return NoOp(insn_id, **common)
    if statement.mark:
        return Barrier(insn_id, _SCOPES[statement.mark], **common)
    if statement.library is not None:
        return library_call(statement, statement.library, {"id": insn_id, **common})
    if statement.call:
        given = statement.values, statement.assignees
        return KernelCall(statement.call, *given, id=insn_id, **common)
    assignees = tuple([a for a in statement.assignees if isinstance(a, ex.Variable | ex.Subscript)])
    if statement.verbatim is not None:
        said = statement.verbatim
        names = tuple(zip(said.names, statement.values, strict=True))
        return CInstruction(names, said.code, said.reads, assignees, insn_id, **common)
    if assignees[1:]:
        return MultiAssignment(insn_id, assignees, statement.values, **common)
    pair = assignees[0], statement.values[0]
    common |= {"atomicity": statement.atomicity, "asynchronous": statement.asynchronous}
    return Assignment(insn_id, *pair, **common)


_SCOPES = {"lbarrier": AddressSpace.LOCAL, "gbarrier": AddressSpace.GLOBAL}


def _statements(
    instructions: object, inames: Sequence[str], kernels: Mapping[str, Kernel]
) -> tuple[list[Statement], dict[str, SubstitutionRule]]:
    """Return what the instructions say, and the rules that stand between them."""
    given: Any = instructions
    if isinstance(given, str | Instruction):
        given = [given]
    if not isinstance(given, Iterable):
        raise _no_instruction(instructions)
    written: list[Statement] = []
    defined: list[SubstitutionRule] = []
    blocks, lines = Blocks(), 0
    for part in cast("Iterable[object]", given):
        if isinstance(part, Instruction):
            blocks.check_can_hold(part)
            written.append(_as_statement(part))
        elif isinstance(part, Statement | tuple):
            written.append(_said(cast("Any", part)).inside(blocks.said))
        elif isinstance(part, str):
            for number, line in split_lines(part):
                if is_block(line):
                    blocks.read(line, lines + number)
                elif is_rule(line):
                    defined.append(parse_rule(line))
                else:
                    written.append(parse_statement(line).inside(blocks.said))
            lines += len(part.splitlines())
        else:
            raise _no_instruction(part)
    blocks.check_closed()
    blocks.check_inames(inames, {new for s in written for _, new in s.duplicated})
    rules = make_rules(defined, inames)
    written = with_calls(written, kernels)
    return [_resolved(statement, rules, inames) for statement in written], rules


def _resolved(statement: Statement, rules: Rules, inames: Sequence[str]) -> Statement:
    """Return a statement with the rules that it invokes, and its reductions, as such."""
    with written_at(statement.where):
        return resolve_reductions(resolve_rules(statement, rules), inames)


def _said(part: Statement | tuple[Any, ...]) -> Statement:
    """Return what an assignee and a value in parentheses say, or a draft's instruction."""
    return part if isinstance(part, Statement) else parse_statement(pair_as_text(part))


def _no_instruction(given: object) -> InvalidArgument:
    return InvalidArgument(
        f"{given!r} is no instruction",
        where=caller_location(),
        remedy='pass a text such as "out[i] = 2*a[i]", or a list of texts, or of an assignee and a '
        "value in parentheses",
    )


def _as_statement(insn: Instruction) -> Statement:
    """Return the statement that says all of what `insn` is, so that no default applies."""
    if not (insn.id.isascii() and insn.id.isidentifier()):
        raise InvalidArgument(
            f"'{insn.id}' cannot be the id of an instruction",
            where=caller_location(),
            remedy="use letters, digits and underscores",
        )
    if isinstance(insn, CInstruction):
        insn = without_texts(insn)
    insn = insn.map_expressions(lambda node: readable(node, f"instruction '{insn.id}'"))
    return Statement(
        assignees=insn.results if isinstance(insn, KernelCall) else insn.assignees,
        values=_values(insn),
        call=_called(insn),
        library=library_of(insn) if isinstance(insn, LibraryCall) else None,
        verbatim=_verbatim(insn),
        id=insn.id,
        dependencies=tuple(sorted(insn.depends_on)),
        exhaustive=True,
        inames=insn.within_inames,
        predicates=insn.predicates,
        atomicity=insn.atomicity if isinstance(insn, Assignment) else None,
        asynchronous=isinstance(insn, Assignment) and insn.asynchronous,
        tags=insn.tags,
        groups=insn.groups,
        conflicts=insn.conflicts_with_groups,
        priority=insn.priority,
        no_sync=tuple(sorted(insn.no_sync_with)),
        related=tuple(sorted([(r.first, str(r)) for r in insn.happens_after])),
        text=show_instruction(insn, tuple(sorted(insn.within_inames))),
        mark=mark_of(insn),
    )


def _called(insn: Instruction) -> str:
    """Return the name of the kernel that an instruction calls; nothing if it calls none."""
    is_library = isinstance(insn, LibraryCall)
    return insn.function if isinstance(insn, KernelCall) and not is_library else ""


def _values(insn: Instruction) -> tuple[Expression, ...]:
    if isinstance(insn, CInstruction):
        return tuple([value for _, value in insn.iname_exprs])
    if isinstance(insn, LibraryCall):
        return (*insn.operands(), *insn.numbers().values())
    if isinstance(insn, KernelCall):
        return insn.arguments
    return insn.values if isinstance(insn, Assigning) else ()


def _verbatim(insn: Instruction) -> Verbatim | None:
    if not isinstance(insn, CInstruction):
        return None
    names = tuple([name for name, _ in insn.iname_exprs])
    return Verbatim(names, insn.code, insn.read_variables)
