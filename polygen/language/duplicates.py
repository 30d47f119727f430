"""``dup=i:j->k``: loops that one instruction has for itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from polygen.analysis.access.instance_map import at_new_instance
from polygen.analysis.order.empty_loops import used_inames
from polygen.errors import InameNeeded, InameNotUsed, NameTaken, UserError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import Domain, with_duplicates
from polygen.ir.empty import NO_NAMES
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.names import check_name
from polygen.language.parser import located
from polygen.language.rules import mapped
from polygen.language.statement import Statement


def with_duplicated(
    statements: Sequence[Statement], domains: Sequence[Domain]
) -> tuple[list[Statement], tuple[Domain, ...]]:
    """Return instructions with loops of their own where ``dup=`` says so, and the domains then.

    Raises:
        InameNotUsed: if an instruction does not mention what it duplicates.
        NameTaken, ReservedName: if the new name cannot be used.
    """
    taken = {name for domain in domains for name in (*domain.inames, *domain.parameters)}
    taken = taken.union(*(_names(statement) for statement in statements))
    found: list[Statement] = []
    for statement in statements:
        renamed: dict[str, str] = {}
        for old, given in statement.duplicated:
            _check_used(statement, old)
            new = _fresh(old, taken) if given is None else given
            check_name(new)
            if given is not None and new in taken:
                raise _error(NameTaken, f"'{new}' is used already", statement, "take another name")
            taken.add(new)
            renamed[old] = new
        domains = [d for domain in domains for d in with_duplicates(domain, renamed)]
        found.append(_renamed(statement, renamed) if renamed else statement)
    return found, tuple(domains)


def check_duplicated(statements: Iterable[Statement], insns: Iterable[Instruction]) -> None:
    """Check that no instruction is left in a loop that it duplicates.

    Raises:
        InameNeeded: if one is, because the bounds of another loop mention the old iname.
    """
    for statement, insn in zip(statements, insns, strict=True):
        for old, _ in statement.duplicated:
            if old in insn.within_inames | insn.reduction_inames:
                raise _error(
                    InameNeeded,
                    f"'{insn.id}' duplicates '{old}', and is within it still: the bounds of "
                    "another of its inames, or a rule, need it",
                    statement,
                    "duplicate that one, too",
                )


def without_left(kernel: Kernel, statements: Iterable[Statement]) -> Kernel:
    """Return a kernel without the loops that all that was in them has duplicated."""
    old = {old for statement in statements for old, _ in statement.duplicated}
    gone = frozenset(old - used_inames(kernel)) if old else NO_NAMES
    gone = frozenset([i for d in kernel.domains if gone.issuperset(d.inames) for i in d.inames])
    while needed := gone.intersection(
        p for d in kernel.domains if not gone.issuperset(d.inames) for p in d.parameters
    ):
        gone = frozenset([i for i in gone if needed.isdisjoint(kernel.home_domains[i].inames)])
    if not gone:
        return kernel
    priorities = (tuple([i for i in p if i not in gone]) for p in kernel.priorities)
    return kernel.copy(
        domains=tuple([d for d in kernel.domains if not gone.issuperset(d.inames)]),
        priorities=tuple([p for p in priorities if len(p) > 1]),
    )


def _names(statement: Statement) -> set[str]:
    found: set[str] = set(statement.inames or ()) | statement.more_inames
    for expression in statement.expressions:
        found |= walk.free_variables(expression) | walk.reduction_inames(expression)
    return found


def _check_used(statement: Statement, iname: str) -> None:
    if iname not in _names(statement):
        raise _error(
            InameNotUsed,
            f"'{iname}' is to be duplicated for an instruction that does not mention it",
            statement,
            "write dup= at an instruction that uses the iname",
        )


def _fresh(like: str, taken: set[str]) -> str:
    count = 0
    while f"{like}_{count}" in taken:
        count += 1
    return f"{like}_{count}"


def _renamed(statement: Statement, renamed: dict[str, str]) -> Statement:
    values: dict[str, ex.Expression] = {old: ex.Variable(new) for old, new in renamed.items()}
    known = tuple(renamed.values())

    def names(inames: frozenset[str]) -> frozenset[str]:
        return frozenset(renamed.get(i, i) for i in inames)

    moved = mapped(statement, lambda e: at_new_instance(e, frozenset(), values, known))
    return replace(
        moved,
        inames=None if moved.inames is None else names(moved.inames),
        more_inames=names(moved.more_inames),
    )


def _error(kind: type[UserError], what: str, statement: Statement, remedy: str) -> UserError:
    return located(kind, what, statement, max(0, statement.text.find("dup")), remedy)
