"""The launches of a program: how large they are, and what they write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace
from polygen.ir.empty import NO_NAMES
from polygen.ir.tags import GroupTag, LocalTag
from polygen.lower.program import (
    Assign,
    Barrier,
    Block,
    Call,
    HostNode,
    If,
    Launch,
    LoopProgram,
    Verbatim,
)
from polygen.targets.languages.target import Target
from polygen.targets.programs.early_launches import begins_early
from polygen.targets.programs.nodes import all_nodes, hoist_local
from polygen.targets.programs.program import DeviceFunction
from polygen.targets.programs.program_names import passed_for
from polygen.targets.programs.shared_memory import local_bytes, shared_bytes


def launches_of(nodes: Iterable[HostNode]) -> Iterator[Launch]:
    """Yield the launches, those in loops on the host too."""
    for node in nodes:
        if isinstance(node, Launch):
            yield node
        else:
            yield from launches_of(node.body)


def calls_library(launch: Launch, program: LoopProgram) -> bool:
    """Tell whether a launch is a call of a library: then it is nothing else."""
    names = {function.name for function in program.libraries}
    return any(isinstance(n, Call) and n.function in names for n in all_nodes(launch.body))


def _sizes(launch: Launch, tag: type[GroupTag | LocalTag]) -> tuple[ex.Expression, ...]:
    sizes = {axis.tag.axis: axis.size for axis in launch.axes if isinstance(axis.tag, tag)}
    count = 1 + max((axis.tag.axis for axis in launch.axes), default=0)
    return tuple([sizes.get(axis, 1) for axis in range(count)])


def local_size_of(launch: Launch) -> tuple[int, ...]:
    """Return how many work items a group has along each axis."""
    sizes = _sizes(launch, LocalTag)
    constants = tuple([size for size in sizes if isinstance(size, int)])
    if len(constants) < len(sizes):
        raise InternalError(f"the work-group size of '{launch.name}' is no constant")
    return constants


def device_function(launch: Launch, program: LoopProgram, target: Target) -> DeviceFunction:
    """Return what the host knows of the function for a launch.

    Parameters:
        launch: the launch.
        program: the program that it is part of.
        target: the language.
    """
    if calls_library(launch, program):
        return DeviceFunction(launch.name, passed_for(launch.arguments), calls_library=True)
    groups, size = _sizes(launch, GroupTag), local_size_of(launch)
    local = hoist_local(launch.body)[0]
    shared = shared_bytes(local, target)
    arguments = passed_for(launch.arguments)
    waits = bool(target.launch_begin) and begins_early(launch, program, groups, size)
    axis = target.blocks_along
    if axis is not None and len(size) > axis:
        groups = (ex.product_of(size[axis], groups[0]), *groups[1:])
        size = tuple([1 if n == axis else count for n, count in enumerate(size)])
    return DeviceFunction(launch.name, arguments, groups, size, shared, waits, local_bytes(local))


def written_in(block: Block) -> frozenset[str]:
    """Return the names of the variables that are written, as the kernel calls them."""
    nodes = list(all_nodes(block))
    assigns = [n for n in nodes if isinstance(n, Assign)]
    others = [n for n in nodes if isinstance(n, Verbatim | Call)]
    verbatim = frozenset(name for n in others for name in n.writes)
    return verbatim | frozenset(ex.name_of(target) for n in assigns for target, _ in n.pairs)


def exchanged_in(block: Block) -> frozenset[str]:
    """Return the arrays that work items change and wait for each other about.

    Of a pointer that is the only way to an array, compilers think that no barrier changes what is
    behind it: they load ahead of it what another work item stores.
    """
    waits = [n for n in all_nodes(block) if isinstance(n, Barrier)]
    if not any(AddressSpace.GLOBAL in wait.address_spaces for wait in waits):
        return NO_NAMES
    return written_in(block) & _read(block)


def _read(block: Block) -> frozenset[str]:
    """Return the names of the variables that are read."""
    found: set[str] = set()
    for node in all_nodes(block):
        if isinstance(node, Assign):
            index = (i for target, _ in node.pairs for i in ex.index_of(target))
            found.update(*map(walk.free_variables, (*(v for _, v in node.pairs), *index)))
        elif isinstance(node, If):
            found.update(walk.free_variables(node.condition))
        elif isinstance(node, Verbatim | Call):
            found.update(node.reads)
    return frozenset(found)
