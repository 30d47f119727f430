"""Functions that show parts of a kernel, also of a program with one entry point."""

from __future__ import annotations

from os import PathLike
from typing import Any

import polygen as pg
from polygen.compat._table import entry
from polygen.errors import (
    InvalidArgument,
    NothingMatches,
    UnknownArgument,
    UnknownIname,
    UnknownInstruction,
    UnknownName,
)
from polygen.ir.public import public
from polygen.ir.tags import GroupTag, LocalTag
from polygen.language.within import matching
from polygen.source import caller_location

_OF_GRAPHS = frozenset(("callables_table", "iname_cluster", "use_insn_id"))


@public
def find_instructions(
    program: pg.Kernel | pg.TranslationUnit, insn_match: Any
) -> list[pg.Instruction]:
    """Return the instructions that a query means; see `polygen.find_instructions`.

    There may be none, also because there is no such iname, variable or tag.
    """
    try:
        return list(pg.find_instructions(entry(program), insn_match))
    except (NothingMatches, UnknownArgument, UnknownIname, UnknownInstruction, UnknownName):
        return []


@public
def find_unused_axis_tag(
    kernel: pg.Kernel | pg.TranslationUnit, kind: str | type, insn_match: Any = None
) -> GroupTag | LocalTag:
    """Return the tag of the first axis of the grid on which instructions have no iname.

    Parameters:
        kernel: the kernel or program.
        kind: ``"g"`` or ``"l"``, or the class of the tag.
        insn_match: the instructions; all if not given.

    Raises:
        InvalidArgument: if `kind` is something else, or all three axes are used.
    """
    knl = entry(kernel)
    make: Any = {"g": GroupTag, "l": LocalTag}.get(kind, kind) if isinstance(kind, str) else kind
    if make not in {GroupTag, LocalTag}:
        raise InvalidArgument(
            f"{kind!r} is no kind of axis", where=caller_location(), remedy="say 'g' or 'l'"
        )
    used = {knl.tags.get(i) for insn in matching(knl, insn_match) for i in insn.within_inames}
    for axis in range(3):
        if make(axis) not in used:
            found: GroupTag | LocalTag = make(axis)
            return found
    raise InvalidArgument(
        f"all axes {make(0)} to {make(2)} are used",
        where=caller_location(),
        remedy="join inames on one axis, or leave one of them a loop",
    )


@public
def show_dependency_graph(kernel: pg.Kernel | pg.TranslationUnit, *args: Any, **kwargs: Any) -> Any:
    """Draw the graph of dependencies; see `polygen.show_dependency_graph`.

    Parameters:
        kernel: the kernel or program.
        args, kwargs: those of `get_dot_dependency_graph`, or of `polygen.show_dependency_graph`.
    """
    ours: list[Any] = [a for a in args if a is None or isinstance(a, (str, PathLike))]
    named = {n: v for n, v in kwargs.items() if n not in _OF_GRAPHS}
    return pg.show_dependency_graph(entry(kernel), *ours, **named)


@public
def t_unit_to_python(
    t_unit: pg.Kernel | pg.TranslationUnit,
    *,
    var_name: str = "t_unit",
    return_preamble_and_body_separately: bool = False,
) -> str | tuple[str, str]:
    """Return a script that makes a program, of polygen's; see `polygen.kernel_to_python`.

    Parameters:
        t_unit: the kernel or program.
        var_name: the name under which the script makes it.
        return_preamble_and_body_separately: return the imports, and the rest.
    """
    text = pg.kernel_to_python(t_unit)
    if var_name != "knl":
        text += f"\n{var_name} = knl"
    if not return_preamble_and_body_separately:
        return text
    preamble, _, body = text.partition("\n\n")
    return preamble, body
