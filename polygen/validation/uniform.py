"""All work items of a group reach the same barriers, and read each other's registers together.

Where a target has no grid, conditions and bounds around the loops over work items are asked once
for all of them: these have to be the same for all, too.
"""

from __future__ import annotations

from collections.abc import Iterator

from polygen.errors import DivergentBarrier
from polygen.ir import walk
from polygen.ir.array import AddressSpace
from polygen.lower.program import Barrier, Shuffle
from polygen.validation.faults import fault
from polygen.validation.frames import Frame, Role, Statement, Storage, head_names
from polygen.validation.view import View


def check_uniform(view: View) -> None:
    """Check what is around barriers, and around loops over work items.

    Raises:
        DivergentBarrier: if it may differ between the work items of a group.
    """
    for launch in view.frames:
        if launch.role is Role.LAUNCH:
            for meeting, what in ((Barrier, "barriers"), (Shuffle, "shuffles")):
                heads = dict.fromkeys(_shared_heads(view, launch, meeting))
                if heads:
                    _check(view, launch, heads, what)


def _shared_heads(view: View, launch: Frame, meeting: type[Barrier | Shuffle]) -> Iterator[Frame]:
    """Yield the frames whose conditions and bounds all work items of a group have in common."""
    for frame in launch.inside():
        if any(isinstance(node, meeting) for node in frame.block):
            yield from _heads(frame)
        if frame.role is Role.ITEM and frame.parent is not None and view.items(launch):
            yield from _heads(frame.parent)


def _heads(frame: Frame) -> Iterator[Frame]:
    for around in frame.outwards():
        if around.role is Role.LAUNCH:
            return
        if around.role in (Role.LOOP, Role.BRANCH):
            yield around


def _check(view: View, launch: Frame, heads: dict[Frame, None], what: str) -> None:
    varying = _varying(launch)
    for frame in heads:
        for name in sorted(head_names(frame) & varying):
            by_id = view.kernel.instructions_by_id
            around = (*frame.statements(), *launch.statements())
            insns = [by_id[s.insn_id] for s in around if s.insn_id in by_id]
            raise fault(
                DivergentBarrier,
                view.kernel,
                f"not all work items of a group reach the same {what}, for '{name}' differs "
                f"between them where {_shown(frame)} is decided",
                *insns[:1],
            )


def _shown(frame: Frame) -> str:
    return "a condition" if frame.role is Role.BRANCH else f"the loop of '{frame.name}'"


def _varying(launch: Frame) -> frozenset[str]:
    """Return the names that may have other values in other work items of a group."""
    varying = {
        name
        for frame in launch.inside()
        if frame.role is Role.ITEM
        for name, meaning in frame.bound.items()
        if not isinstance(meaning, Storage)
    }
    # For each private variable, what its values depend on.
    needs: dict[str, set[str]] = {}
    for statement in launch.statements():
        for name in statement.written_names:
            meaning = statement.frame.find(name)
            if isinstance(meaning, Storage) and meaning.node.address_space is AddressSpace.PRIVATE:
                needs.setdefault(name, set()).update(_sources(statement))
    while True:
        new = {name for name, names in needs.items() if not names.isdisjoint(varying)}
        if new <= varying:
            return frozenset(varying)
        varying |= new


def _sources(statement: Statement) -> Iterator[str]:
    if statement.verbatim is not None:
        yield from statement.verbatim.reads
        for _, value in statement.verbatim.names:
            yield from walk.free_variables(value)
    for _, value in statement.pairs:
        yield from walk.free_variables(value)
    for frame in statement.frame.outwards():
        if frame.role is Role.LAUNCH:
            return
        if frame.role in (Role.LOOP, Role.BRANCH):
            yield from head_names(frame)
            if frame.name is not None:
                yield frame.name
