"""Instructions: from text, or as they are given, with ids and with what follows by default."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from polygen.ir.empty import new_dict
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
from polygen.ir.public import is_a
from polygen.ir.show import mark_of, show_instruction
from polygen.ir.substitution import Rules, SubstitutionRule
from polygen.language.blocks import Blocks, is_block
from polygen.language.calls import with_calls
from polygen.language.conditions import check_conditions
from polygen.language.defaults import Defaults
from polygen.language.duplicates import check_duplicated, with_duplicated
from polygen.language.fetch_statements import with_fetch
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
from polygen.language.vectors import has_vectors, without_vectors
from polygen.language.verbatim import without_texts
from polygen.language.while_loops import Part, with_flags
from polygen.source import SourceLocation, caller_location, written_at


@dataclass(frozen=True)
class Written:
    """The statements of a kernel, and its rules.

    Attributes:
        statements: the instructions, in order, with beginnings and ends of loops.
        defined: the substitution rules.
        blocks: those that the statements stand in, of which the inames are still to be checked.
        called: kernels that are called, as far as they are given with the calls, by name.
    """

    statements: Sequence[Part]
    defined: Sequence[SubstitutionRule] = ()
    blocks: Blocks = field(default_factory=Blocks)
    called: Mapping[str, Kernel] = field(default_factory=new_dict)


def read_statements(instructions: object) -> Written:
    """Return what `instructions` stands for.

    Parameters:
        instructions: a text with one instruction a line, or several texts, trees and `Instruction`.

    Raises:
        MalformedInstruction: if a line is not in the language.
        InvalidArgument: if something is no instruction.
    """
    given: Any = instructions
    if isinstance(given, str | Instruction):
        given = [given]
    if not is_a(given, (Iterable,)):
        raise _no_instruction(instructions)
    read = _Reader()
    for part in cast("Iterable[object]", given):
        read.add(part)
    read.blocks.check_closed()
    if read.with_vectors:
        read.statements = [*_without_vectors(read.statements)]
    return Written(read.statements, read.defined, read.blocks, read.called)


@dataclass
class _Reader:
    """A reader of instructions, with the statements and rules so far."""

    statements: list[Part] = field(default_factory=list[Part])
    defined: list[SubstitutionRule] = field(default_factory=list[SubstitutionRule])
    blocks: Blocks = field(default_factory=Blocks)
    called: dict[str, Kernel] = field(default_factory=new_dict)
    lines: int = 0
    with_vectors: bool = False

    def add(self, part: object) -> None:
        """Read a text, a pair of trees, or an instruction."""
        if isinstance(part, Instruction):
            self.blocks.check_can_hold(part)
            self.statements.append(_as_statement(part))
            if isinstance(part, KernelCall) and part.callee is not None:
                self.called[part.function] = part.callee
        elif isinstance(part, tuple):
            self._add_statement(pair_as_text(cast("Any", part)))
        elif isinstance(part, str):
            for number, line in split_lines(part):
                self._add_line(self.lines + number, line)
            self.lines += len(part.splitlines())
        else:
            raise _no_instruction(part)

    def _add_line(self, number: int, line: str) -> None:
        if is_block(line):
            found = self.blocks.read(line, number)
            self.statements += [] if found is None else [found]
        elif is_rule(line):
            self.defined.append(parse_rule(line))
        else:
            self._add_statement(line)

    def _add_statement(self, line: str) -> None:
        self.with_vectors = self.with_vectors or has_vectors(line)
        self.statements.append(parse_statement(line).inside(self.blocks.said))


def _without_vectors(parts: Sequence[Part]) -> Iterator[Part]:
    """Yield statements without vectors, and the beginnings and ends of loops between them."""
    numbers = iter(without_vectors([part for part in parts if isinstance(part, Statement)]))
    for part in parts:
        yield next(numbers) if isinstance(part, Statement) else part


def resolved(
    written: Written,
    inames: Sequence[str],
    kernels: Mapping[str, Kernel],
    taken_names: Collection[str] = (),
) -> tuple[list[Statement], dict[str, SubstitutionRule]]:
    """Return statements in which rules, reductions and calls of kernels are such, and the rules.

    Parameters:
        written: the statements.
        inames: those of all loop domains.
        kernels: those that may be called, by name.
        taken_names: names beside the inames that flags of loops must not have.

    Raises:
        UnknownIname: if ``inames=`` or a reduction names what no domain has.
        NameTaken: if two have the same id, or two rules the same name.
        UnknownRule, WrongArity, RuleCycle: if rules are not invoked as they are meant to be.
    """
    statements = with_flags(written.statements, (*inames, *taken_names), _new_id())
    written.blocks.check_inames(inames, {new for s in statements for _, new in s.duplicated})
    rules = make_rules(written.defined, inames)
    found = [_resolved(one, rules, inames) for one in with_calls(statements, kernels)]
    taken: set[str] = set()
    for statement in found:
        _check_inames(statement, inames)
        if statement.id in taken:
            raise located(
                NameTaken,
                f"two instructions have the id '{statement.id}'",
                statement,
                max(0, statement.text.rfind(statement.id)),
                "give one of them another id, or leave it out",
            )
        if statement.id is not None:
            taken.add(statement.id)
    return found, rules


def name_statements(
    statements: Sequence[Statement],
    rules: Rules,
    domains: Sequence[Domain],
    own: Mapping[int, Sequence[str]],
) -> tuple[list[NamedStatement], tuple[Domain, ...]]:
    """Return statements, each with an id, and the domains with inames that some duplicate.

    Parameters:
        statements: resolved.
        rules: those that they may invoke.
        domains: the loop domains.
        own: inames to duplicate besides, for statements by their positions.

    Raises:
        UserError: as `with_duplicated` and `check_conditions` do.
    """
    statements = list(statements)
    for position, olds in own.items():
        said = statements[position].duplicated
        more = (*said, *((old, None) for old in olds))
        statements[position] = replace(statements[position], duplicated=more)
    statements, domains = with_duplicated(statements, domains)
    ids = Ids({statement.id for statement in statements if statement.id is not None})
    named = [
        NamedStatement(said.id or ids.new(said), expand_rules(said, rules), said)
        for said in statements
    ]
    check_conditions([one.statement for one in named], rules)
    return named, tuple(domains)


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
        common["atomicity"] = statement.atomicity
        return CInstruction(names, said.code, said.reads, assignees, insn_id, **common)
    if assignees[1:]:
        common["atomicity"] = statement.atomicity
        return MultiAssignment(insn_id, assignees, statement.values, **common)
    pair = assignees[0], statement.values[0]
    common |= {"atomicity": statement.atomicity, "asynchronous": statement.asynchronous}
    return Assignment(insn_id, *pair, **common)


_SCOPES = {"lbarrier": AddressSpace.LOCAL, "gbarrier": AddressSpace.GLOBAL}


def _new_id() -> Callable[[Statement, set[str]], str]:
    """Return what gives ids to statements in order."""
    found: list[Ids] = []

    def new(statement: Statement, taken: set[str]) -> str:
        if not found:
            found.append(Ids(taken))
        return found[0].new(statement)

    return new


def _resolved(statement: Statement, rules: Rules, inames: Sequence[str]) -> Statement:
    """Return a statement with the rules that it invokes, and its reductions, as such."""
    with written_at(statement.where):
        return resolve_reductions(with_fetch(resolve_rules(statement, rules)), inames)


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
        atomicity=insn.atomicity if isinstance(insn, Assigning) else None,
        asynchronous=isinstance(insn, Assignment) and insn.asynchronous,
        tags=insn.tags,
        groups=insn.groups,
        conflicts=insn.conflicts_with_groups,
        priority=insn.priority,
        no_sync=tuple(sorted(insn.no_sync_with)),
        related=tuple(sorted([(r.first, str(r)) for r in insn.happens_after])),
        line=show_instruction(insn, tuple(sorted(insn.within_inames))),
        mark=mark_of(insn),
    )


def _called(insn: Instruction) -> str:
    """Return the name of the kernel that an instruction calls, or an empty one."""
    if isinstance(insn, LibraryCall) or not isinstance(insn, KernelCall):
        return ""
    return insn.function


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
