"""Loops that end where a flag is 0: nothing in them would be executed from there on.

That is so if each instruction in the loop is executed only where the flag is not 0: what writes the
flag in the loop is one of them.  Who asks the flag has to see what was written to it: the work item
itself, or the host, which waits for the launches before.
"""

from __future__ import annotations

from collections.abc import Mapping

from polygen.analysis.pairs.instance_pairs import users
from polygen.analysis.pairs.iteration_local import apart, passes_nothing
from polygen.errors import WrongLoopEnd
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, Assignment
from polygen.ir.sizes import open_ends
from polygen.lower.program import Barrier, Block, HostLoop, If, Loop, Shuffle
from polygen.validation.faults import fault
from polygen.validation.frames import Frame, Role, Storage
from polygen.validation.view import View
from polygen.validation.works import Works


def check_early_ends(view: View, works: Works) -> None:
    """Check the loops that a flag ends, and that all have an end.

    Raises:
        WrongLoopEnd: if one ends where something in it is still to be executed, or never.
    """
    ends = open_ends(view.kernel.derived_sizes)
    for frame in view.frames:
        node = frame.node
        runs = node.runs if isinstance(node, Loop | HostLoop) else None
        if runs is not None:
            for part in walk.conjuncts(runs):
                _check(view, works, frame, part)
        elif not ends.isdisjoint(walk.free_variables(frame.end)):
            if isinstance(node, Loop | HostLoop) and _has_other_end(frame.end, ends):
                continue
            raise fault(WrongLoopEnd, view.kernel, f"the loop of '{frame.name}' never ends")


def _has_other_end(end: Expression, ends: frozenset[str]) -> bool:
    parts = end.children if isinstance(end, ex.Min) else (end,)
    return any(ends.isdisjoint(walk.free_variables(part)) for part in parts)


def _check(view: View, works: Works, frame: Frame, flag: Expression) -> None:
    what = f"the loop of '{frame.name}' ends early"
    if not isinstance(flag, ex.Variable) or frame.role not in (Role.HOST, Role.LOOP):
        raise fault(WrongLoopEnd, view.kernel, f"{what}, and not as one flag says")
    _check_place(view, frame, flag.name, what)
    kernel = works.kernel
    found = [kernel.instructions_by_id.get(s.insn_id) for s in frame.statements()]
    inside = {insn.id: insn for insn in found if isinstance(insn, Assigning)}
    for insn in inside.values():
        if _asks(insn, flag):
            continue
        sets = flag.name in insn.written_names
        if sets or not _stays_inside(works, insn, inside, frame.name or ""):
            raise fault(
                WrongLoopEnd,
                view.kernel,
                f"{what}, where '{flag.name}' is 0, and instruction '{insn.id}' in it does not ask "
                "that",
                insn,
            )


def _stays_inside(
    works: Works, insn: Assigning, inside: Mapping[str, Assigning], iname: str
) -> bool:
    """Tell whether nothing that an instruction writes is read but in the same iteration."""
    kernel = works.kernel
    origins = {work.insn.id: work.origin.id for work in works.all}  # a reduction has several works
    around = insn.within_inames.intersection(*[i.within_inames for i in inside.values()])
    for name in insn.written_names:
        if not isinstance(kernel.variables[name], TemporaryVariable):
            return False
        loops = apart(kernel, name, around)
        if iname not in loops or not passes_nothing(kernel, name, loops):
            return False
        if any(origins.get(user, user) not in inside for user in users(kernel, name)):
            return False
    return True


def _asks(insn: Assigning, flag: ex.Variable) -> bool:
    """Tell whether an instruction changes nothing where a flag is 0."""
    if any(flag in set(walk.conjuncts(predicate)) for predicate in insn.predicates):
        return True
    if not isinstance(insn, Assignment) or insn.assignee != flag:
        return False
    value = insn.expression
    if isinstance(value, ex.If):
        return value.else_ == 0 and flag in set(walk.conjuncts(value.condition))
    return value == 0


def _check_place(view: View, frame: Frame, name: str, what: str) -> None:
    """Check that who asks a flag sees what was written to it last."""
    if frame.role is Role.HOST:
        if view.kernel.address_space(name) is not AddressSpace.GLOBAL:
            raise fault(WrongLoopEnd, view.kernel, f"{what}, and the host does not see '{name}'")
        return
    if isinstance(frame.node, Loop) and _synchronizes(frame.node.body):
        raise fault(WrongLoopEnd, view.kernel, f"{what}, and work items wait for each other in it")
    if not frame.axes:
        return
    try:
        meaning = frame.find(name)
    except KeyError:
        meaning = None
    if not (isinstance(meaning, Storage) and meaning.node.address_space is AddressSpace.PRIVATE):
        raise fault(WrongLoopEnd, view.kernel, f"{what}, and work items share '{name}'")


def _synchronizes(block: Block) -> bool:
    return any(
        isinstance(node, Barrier | Shuffle)
        or (isinstance(node, Loop | If) and _synchronizes(node.body))
        for node in block
    )
