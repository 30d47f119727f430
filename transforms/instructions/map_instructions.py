"""`polygen.map_instructions`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from polygen.errors import InvalidArgument
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.language.within import matching
from polygen.source import caller_location
from polygen.transformation import Kind, Within, transformation

Rewriting = Annotated[
    Callable[[Instruction], Any],
    Kind("a function from an instruction to an instruction", lambda _, value: callable(value)),
]


@transformation
def map_instructions(kernel: Kernel, insn_match: Within, f: Rewriting) -> Kernel:
    """Replace each of some instructions by what a function makes of it.

    Kind: order and storage, or expression rewrite: what the function does is proved.

    Requires:
        1. The function returns an instruction, of the same id.
        2. The kernel computes the same with it.

    Parameters:
        insn_match: the instructions: an id, a pattern, a query, or several of these.
        f: takes an instruction and returns one, `insn.copy(...)` say.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i]: 0<=i<n }", ["b[i] = 2*a[i]  {id=twice}", "c[i] = a[i]  {dep=twice}"]
        ... )
        >>> knl = pg.map_instructions(knl, "writes:c", lambda i: i.copy(depends_on=frozenset()))
        >>> print(str(knl).splitlines()[-2])
        [i] c[i] = a[i]  {id=insn}

    Raises:
        MalformedQuery, UnknownInstruction, UnknownIname, UnknownArgument, UnknownName,
            NothingMatches: if `insn_match` means no instruction.
        InvalidArgument: if 1 does not hold.
        IllegalStep, CannotProve, NotTheSame, NewObligation: if 2 does not hold.

    Source: Loo.py's transformation of this name.
    """
    meant = {insn.id for insn in matching(kernel, insn_match)}
    return kernel.copy(
        instructions=tuple([_mapped(i, f) if i.id in meant else i for i in kernel.instructions])
    )


def _mapped(insn: Instruction, f: Callable[[Instruction], Any]) -> Instruction:
    new = f(insn)
    if isinstance(new, Instruction) and new.id == insn.id:
        return new
    made = f"one called '{new.id}'" if isinstance(new, Instruction) else f"{new!r}"
    raise InvalidArgument(
        f"map_instructions: of instruction '{insn.id}', the function made {made}",
        where=caller_location(),
        remedy="return insn.copy(...); replace_instruction_ids changes ids",
    )
