"""Short forms for tables of kernels and of what is done to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

import polygen as pg
from polygen.ir.kernel import Kernel
from polygen.lower.lower import Model, lower
from polygen.lower.program import (
    Barrier,
    Block,
    HostLoop,
    HostNode,
    If,
    Launch,
    Loop,
    LoopProgram,
    Node,
)
from tests.oracle.compare import (
    Lowered,
    check_lowered,
    check_lowered_arrays,
    lowered_for_all,
    make_arguments,
    typed,
)
from tests.oracle.trace import Traced, traced

Step: TypeAlias = Callable[[Kernel], Kernel]

SIZES = tuple({"n": n} for n in (0, 1, 3, 5, 8, 9))
QUIET = ("AmbiguousNesting", "ComputedAnew", "PriorityIgnored", "UnusedGroup", "UnusedIname")


def kernel(domains: Any, instructions: str, *data: Any, **options: Any) -> Kernel:
    """Return a kernel that does not warn; `data` are arguments and temporaries to declare."""
    given = [*data, "..."] if data else None
    return pg.make_kernel(domains, instructions, given, silenced_warnings=QUIET, **options)


def same(knl: Kernel) -> Kernel:
    """Return the kernel as it is."""
    return knl


def split(iname: str, length: int, **options: Any) -> Step:
    """Return the step that splits an iname."""
    return lambda knl: pg.split_iname(knl, iname, length, **options)


def grid(iname: str, length: int, axis: int = 0) -> Step:
    """Return the step that splits an iname and maps it to an axis of groups and work items."""
    return split(iname, length, outer_tag=f"g.{axis}", inner_tag=f"l.{axis}")


def tag(**tags: str) -> Step:
    """Return the step that tags inames."""
    return lambda knl: pg.tag_inames(knl, tags)


def prior(order: str) -> Step:
    """Return the step that gives loops a priority."""
    return lambda knl: pg.prioritize_loops(knl, order)


def steps(*parts: Step) -> Step:
    """Return the step that takes several, one after the other."""

    def apply(knl: Kernel) -> Kernel:
        for part in parts:
            knl = part(knl)
        return knl

    return apply


def agree(knl: Kernel, sizes: Iterable[Mapping[str, int]], *variants: Step, **given: Any) -> None:
    """Check a kernel, and what steps make of it, against what the kernel means.

    Parameters:
        knl: the kernel.
        sizes: of each of several calls.
        variants: each makes another kernel that must do the same.
        given: functions from sizes to an array, for arguments that are not just any numbers.
    """
    made: dict[Kernel, tuple[Traced, list[Lowered]]] = {}  # one, but for types that sizes decide
    for seed, call in enumerate(sizes):
        arrays = {name: np.asarray(make(call)) for name, make in given.items()}
        arguments = make_arguments(knl, call, seed, **arrays)
        start = typed(knl, arguments)
        if start not in made:
            marked = traced(start)
            made[start] = marked, [lowered_for_all(v(marked.kernel)) for v in (same, *variants)]
        marked, kernels = made[start]
        check_lowered(marked, arguments, kernels, seed)


def agree_in_arrays(
    knl: Kernel, sizes: Iterable[Mapping[str, int]], *variants: Step, **given: Any
) -> None:
    """Check what steps make of a kernel, where they add, drop or repeat instances.

    Parameters are those of `agree`.
    """
    made: dict[Kernel, list[Lowered]] = {}
    for seed, call in enumerate(sizes):
        arrays = {name: np.asarray(make(call)) for name, make in given.items()}
        arguments = make_arguments(knl, call, seed, **arrays)
        start = typed(knl, arguments)
        if start not in made:
            made[start] = [lowered_for_all(v(start)) for v in variants]
        check_lowered_arrays(start, arguments, made[start], seed)


def lowered(knl: Kernel, model: Model = Model.GRID, dtype: Any = np.float32) -> LoopProgram:
    """Return the loop program of a kernel, arrays of unknown type being of `dtype`."""
    inputs = {
        a.name: dtype for a in knl.arguments if isinstance(a, pg.GlobalArg) and a.dtype is None
    }
    return lower(pg.add_dtypes(knl, inputs), model)


def nodes(program: LoopProgram) -> list[Node]:
    """Return all nodes of a loop program, in order."""
    found: list[Node] = []

    def visit(block: Block) -> None:
        for node in block:
            found.append(node)
            if isinstance(node, Loop | If):
                visit(node.body)

    for launch in launches(program):
        visit(launch.body)
    return found


def launches(program: LoopProgram) -> list[Launch]:
    """Return the launches of a loop program, in order."""

    def inside(node: HostNode) -> list[Launch]:
        return [node] if isinstance(node, Launch) else [x for n in node.body for x in inside(n)]

    return [launch for node in program.host for launch in inside(node)]


def host_loops(program: LoopProgram) -> list[HostLoop]:
    """Return the outermost loops on the host."""
    return [node for node in program.host if isinstance(node, HostLoop)]


def guards(program: LoopProgram) -> list[If]:
    """Return the guards."""
    return [node for node in nodes(program) if isinstance(node, If)]


def loops(program: LoopProgram) -> list[Loop]:
    """Return the loops on the device."""
    return [node for node in nodes(program) if isinstance(node, Loop)]


def barriers(program: LoopProgram) -> list[Barrier]:
    """Return the barriers."""
    return [node for node in nodes(program) if isinstance(node, Barrier)]
