"""The arrays that a call returns, and those that it may leave out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from polygen.analysis.access.accesses import touched
from polygen.analysis.access.footprint import fully_written
from polygen.analysis.dataflow.read_sources import sources
from polygen.analysis.pairs.instance_pairs import users
from polygen.analysis.pairs.iteration_local import unwritten
from polygen.errors import InvalidArgument, WrongArgumentType
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import GlobalArg
from polygen.ir.empty import NO_NAMES
from polygen.ir.instruction import Assigning, CInstruction
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel
from polygen.runtime.arrays.separate_arrays import passed_arguments, whole
from polygen.source import caller_location


@per_kernel
def written_arrays(kernel: Kernel) -> tuple[str, ...]:
    """Return the array arguments that are written, in the order of the arguments."""
    return tuple(
        arg.name
        for arg in passed_arguments(kernel)
        if isinstance(arg, GlobalArg) and whole(kernel, arg.name) in kernel.writers
    )


def has_out(kernel: Kernel, args: Mapping[str, Any]) -> bool:
    """Tell whether a call passes what is written under the name ``out``, which no argument has."""
    return "out" in args and "out" not in kernel.variables


def with_named_outputs(kernel: Kernel, args: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a call passes with the names of arguments for what it passes as ``out=``.

    Raises:
        WrongArgumentType: if that are not as many arrays as are written.
        InvalidArgument: if one of them is passed by its name, too.
    """
    found, out = dict(args), args["out"]
    del found["out"]
    if out is None:
        return found
    names = list(dict.fromkeys(whole(kernel, name) for name in written_arrays(kernel)))
    given = cast("Sequence[Any]", out) if isinstance(out, tuple | list) else (out,)
    if len(given) != len(names):
        raise WrongArgumentType(
            f"kernel '{kernel.name}' was called with out=... for {len(given)} arrays, and writes "
            f"{len(names)}: {', '.join(names)}",
            where=caller_location(),
            remedy="pass a tuple with an array for each, or None for what is to be allocated",
        )
    for name, value in zip(names, given, strict=True):
        if value is not None and found.get(name) is not None:
            raise InvalidArgument(
                f"kernel '{kernel.name}' was called with two arrays for '{name}': as out=..., and "
                "by its name",
                where=caller_location(),
                remedy="pass one of them",
            )
        if value is not None:
            found[name] = value
    return found


@per_kernel
def is_fully_written(kernel: Kernel, name: str) -> bool:
    """Tell whether every element of an array that is passed under a name is written."""
    return fully_written(kernel, whole(kernel, name))


@per_kernel
def must_be_passed(kernel: Kernel, name: str) -> bool:
    """Tell whether an array argument may be read before the kernel has written it.

    An array that is read must have been written before by the kernel itself, for certain; where
    that does not follow from the dependencies, True is the answer.
    """
    name = whole(kernel, name)
    if name not in kernel.writers:
        return True
    readers = [insn for insn in kernel.assignments if name in insn.read_names]
    if all(_is_written_before(kernel, reader, name) for reader in readers):
        return False
    return not (
        _finds_what_is_written(kernel.expanded, name) or _all_is_written(kernel.expanded, name)
    )


def _all_is_written(kernel: Kernel, name: str) -> bool:
    """Tell whether each element of an array that is read was written before, by whatever."""
    reads = [a for i in users(kernel, name) for a in touched(kernel, i)[name] if not a.is_write]
    return all(unwritten(kernel, read).is_empty() for read in reads)


def _finds_what_is_written(kernel: Kernel, name: str) -> bool:
    """Tell whether every read of an array sees what an instruction wrote, instance by instance."""
    for insn_id in users(kernel, name):
        for access in touched(kernel, insn_id)[name]:
            if access.is_write:
                continue
            flow = None if access.reference is None else sources(kernel, access.reference)
            if flow is None or any(s.writer is None and not s.pairs.is_empty() for s in flow):
                return False
    return True


def _is_written_before(kernel: Kernel, reader: Assigning, name: str) -> bool:
    earlier = [
        writer
        for writer in kernel.writers[name]
        if name not in writer.read_names
        and writer.id in _all_before(kernel, reader)
        and not isinstance(writer, CInstruction)  # which may leave elements out
    ]
    if any(_writes_what_is_read(kernel, writer, reader, name) for writer in earlier):
        return True
    # If they share no loop, all of one comes before all of the other.
    shared = reader.within_inames | reader.reduction_inames
    separate = tuple(w for w in earlier if shared.isdisjoint(w.within_inames))
    return bool(separate) and fully_written(kernel.copy(instructions=separate), name)


def _all_before(kernel: Kernel, insn: Assigning) -> frozenset[str]:
    """Return the ids of all instructions that must come before `insn`."""
    found: set[str] = set()
    pending = list(insn.depends_on)
    while pending:
        insn_id = pending.pop()
        if insn_id not in found:
            found.add(insn_id)
            pending += kernel.instructions_by_id[insn_id].depends_on
    return frozenset(found)


def _writes_what_is_read(kernel: Kernel, writer: Assigning, reader: Assigning, name: str) -> bool:
    """Tell whether the reader reads only what the writer wrote in the same iteration."""
    if writer.predicates or not writer.within_inames <= reader.within_inames:
        return False
    written = [assignee for assignee in writer.assignees if ex.name_of(assignee) == name]
    names = NO_NAMES.union(*map(walk.free_variables, written))
    # A subscript that is data may have changed in between.
    if not (names - {name}).isdisjoint(kernel.writers):
        return False
    read = (access for expression in reader.reads for access in walk.accesses(expression))
    return all(access in written for access in read if ex.name_of(access) == name)
