"""Finds the instructions that an argument such as ``within="writes:a and not id:load_*"`` means."""

from __future__ import annotations

from collections.abc import Sequence

from polygen.errors import InvalidArgument, MalformedQuery
from polygen.ir.empty import NO_NAMES
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.language.queries import Described, find
from polygen.source import caller_location


def matching(kernel: Kernel, within: str | Sequence[str] | None) -> tuple[Instruction, ...]:
    """Return the instructions that are meant, in their order.

    Parameters:
        kernel: the kernel.
        within: a query (`polygen.language.queries`); several of these, any of which will do; or
            None for all instructions.

    Raises:
        MalformedQuery: if one is no query.
        UnknownInstruction, UnknownIname, UnknownArgument, UnknownName: if the kernel has no such
            id, iname, variable or tag.
        NothingMatches: if a query matches no instruction.
    """
    if within is None:
        return kernel.instructions
    queries = [within] if isinstance(within, str) else within
    for query in queries:
        _check_text(query)
    described = [_described(kernel, insn) for insn in kernel.without_rules.instructions]
    who = f"kernel '{kernel.name}'"
    found = NO_NAMES.union(
        *(find(query, described, kernel.variables, kernel.inames, who) for query in queries)
    )
    return tuple([i for i in kernel.instructions if i.id in found])


def one_id(kernel: Kernel, query: str) -> str:
    """Return the id of the one instruction that is meant.

    Parameters:
        kernel: the kernel.
        query: an id, as it is or in another form of query, such as ``"id:load"``.

    Raises:
        MalformedQuery, UnknownInstruction, NothingMatches, ...: as `matching` does.
        InvalidArgument: if it means several instructions.
    """
    if query in kernel.instructions_by_id:
        return query
    found = matching(kernel, query)
    if len(found) == 1:
        return found[0].id
    raise InvalidArgument(
        f"'{query}' means {len(found)} instructions of kernel '{kernel.name}', and one is wanted",
        where=caller_location(),
        remedy=f"name one of them: {', '.join(insn.id for insn in found)}",
    )


def _check_text(query: object) -> None:
    if not isinstance(query, str):
        raise MalformedQuery(
            f"{query!r} is no query of instructions, which is a text",
            where=caller_location(),
            remedy="write an id, a pattern such as 'load_*', or 'writes:a and not iname:j'",
        )


def _described(kernel: Kernel, insn: Instruction) -> Described:
    return Described(
        id=frozenset((insn.id,)),
        tag=insn.tags,
        reads=insn.read_names.intersection(kernel.variables),
        writes=frozenset(insn.written_names),
        iname=insn.within_inames,
    )
