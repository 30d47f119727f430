"""Which instructions an argument such as ``within="id:load_*"`` means."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from polygen.errors import InvalidArgument, UnknownInstruction, did_you_mean
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.source import caller_location


def matching(kernel: Kernel, within: str | Sequence[str] | None) -> tuple[Instruction, ...]:
    """Return the instructions that are meant, in their order.

    Parameters:
        kernel: the kernel.
        within: an id, or a pattern of ids with ``*`` and ``?``, each with ``id:`` before it or
            not; several of these; or None for all instructions.

    Raises:
        UnknownInstruction: if one of them matches nothing.
        InvalidArgument: if it asks for something else than ids.
    """
    if within is None:
        return kernel.instructions
    found: set[str] = set()
    for given in [within] if isinstance(within, str) else within:
        pattern = given.strip().removeprefix("id:").strip()
        if ":" in pattern or " " in pattern:
            raise InvalidArgument(
                f"within={given!r} is no instruction id",
                where=caller_location(),
                remedy="write an id, a pattern such as 'load_*', or a list of these",
            )
        ids = [i.id for i in kernel.instructions if fnmatchcase(i.id, pattern)]
        if not ids:
            raise UnknownInstruction(
                f"kernel '{kernel.name}' has no instruction '{pattern}'",
                where=kernel.location,
                remedy=did_you_mean(pattern, kernel.instructions_by_id),
            )
        found.update(ids)
    return tuple([i for i in kernel.instructions if i.id in found])
