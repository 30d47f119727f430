"""`polygen.replace_instruction_ids`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, cast

from polygen.errors import NameTaken
from polygen.ir.ids import with_ids
from polygen.ir.kernel import Kernel
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import Kind, is_instruction, is_name, to_id, transformation


def _are_ids(kernel: Kernel, value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    given = cast("Mapping[Any, object]", value)
    if not all(is_instruction(kernel, old) for old in given):
        return False
    # One instruction gets one id.
    once = len({to_id(kernel, old) for old in given}) == len(given)
    return once and all(is_name(kernel, _single(new)) for new in given.values())


def _single(new: object) -> object:
    """Return the name that is given alone, or in a sequence, as Loo.py has it."""
    if not isinstance(new, tuple | list):
        return new
    items = cast("Sequence[object]", new)
    return items[0] if len(items) == 1 else None


Replacements = Annotated[
    Mapping[str, str | Sequence[str]],
    Kind("a dictionary from ids to new ids, such as {'insn': 'load'}", _are_ids),
]


@transformation
def replace_instruction_ids(kernel: Kernel, replacements: Replacements) -> Rearranged:
    """Give instructions other ids, wherever these are mentioned.

    Kind: order and storage; nothing changes but names.

    Requires:
        1. No two instructions have one id afterwards.

    Parameters:
        replacements: the new id of each instruction that gets one; ids may be exchanged.  A
            sequence of one id is the same as that id.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i]: 0<=i<n }", ["b[i] = 2*a[i]  {id=one}", "c[i] = b[i] + 1  {id=two}"]
        ... )
        >>> knl = pg.replace_instruction_ids(knl, {"one": "twice", "two": "add"})
        >>> for line in str(knl).splitlines()[-3:-1]:
        ...     print(line)
        [i] b[i] = 2*a[i]  {id=twice}
        [i] c[i] = b[i] + 1  {id=add, dep=twice}

    Raises:
        UnknownInstruction: if the kernel has no such instruction.
        NameTaken: if 1 does not hold.
        InvalidArgument: if a new id is no name.

    Source: Loo.py's transformation of this name.
    """
    ids = {insn.id: insn.id for insn in kernel.instructions}
    ids |= {to_id(kernel, old): str(_single(new)) for old, new in replacements.items()}
    owners: dict[str, str] = {}
    for old, new in ids.items():
        if new in owners:
            raise NameTaken(
                f"replace_instruction_ids: '{owners[new]}' and '{old}' would both be '{new}'",
                where=caller_location(),
                remedy=f"'{kernel.new_name(new)}' is free",
            )
        owners[new] = old
    return Rearranged(with_ids(kernel, ids), ids=ids)
