"""The stages that turn a kernel into a loop program."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import islpy as isl
import numpy as np

from polygen.analysis.access.domains import domain_of
from polygen.analysis.access.parts_of_blocks import parts_of_blocks
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.order.dependency_relations import with_plain_dependencies
from polygen.analysis.order.ignored_priorities import ignored_priorities, tell_ignored
from polygen.analysis.order.loop_tree import BarrierNode, LoopNode, TreeNode, assignments, loop_tree
from polygen.analysis.order.shuffled_arrays import shuffles_of
from polygen.analysis.pairs.automatic_spaces import with_spaces
from polygen.analysis.typing.call_arguments import functions_of
from polygen.analysis.typing.explicit_types import bounding, with_explicit_types
from polygen.analysis.typing.inference import infer_types, kinds
from polygen.errors import BarrierNotPossible, InternalError, PrivateAcrossLaunches
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, Argument, GlobalArg, TemporaryVariable, ValueArg
from polygen.ir.domain import project_out
from polygen.ir.dtype import DType
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.layout import USUAL_VECTOR_BYTES, VECTOR_BYTES, storage_count, vector_length
from polygen.ir.remembered import answer_of
from polygen.ir.sizes import products
from polygen.ir.tags import AutoLocalTag, LocalTag
from polygen.ir.verify import excerpt
from polygen.ir.verify_extents import check_room
from polygen.lower.across_launches import placed, with_values_kept
from polygen.lower.asynchronous import (
    check_asynchronous,
    check_sources,
    place_waits,
    without_asynchronous,
)
from polygen.lower.automatic import assign_axes
from polygen.lower.barriers import place_barriers
from polygen.lower.bounds import Bounds, loop_bounds
from polygen.lower.calls import Functions, with_functions
from polygen.lower.carried_scans import with_carried_scans
from polygen.lower.dead_accumulators import without_unread
from polygen.lower.declare import mentioned, place_declarations
from polygen.lower.early_ends import runs_on_host
from polygen.lower.emit import Emitter
from polygen.lower.lanes import known_multiples, with_lane_axes, with_lane_loops, with_vectors
from polygen.lower.launches import Axis, grid_of, host_loops, host_parts
from polygen.lower.library_functions import library_functions
from polygen.lower.lifetimes import carries
from polygen.lower.program import (
    Block,
    Declare,
    HardwareAxis,
    HostLoop,
    HostNode,
    Launch,
    LoopProgram,
)
from polygen.lower.reductions import realize_reductions
from polygen.lower.separate import check_separations
from polygen.lower.shared_reductions import with_shared_reductions
from polygen.lower.shared_scans import with_shared_scans
from polygen.lower.sizes import with_size_arguments, without_size_arguments
from polygen.lower.spaces import declared_auto
from polygen.lower.vectors import shared_vectors
from polygen.lower.waits import exchanged
from polygen.lower.work_items import as_loops, without_barriers

INT32 = np.dtype(np.int32)


class Model(enum.Enum):
    """A target's model of execution: a grid of work items, or ordinary loops."""

    GRID = "grid"
    LOOPS = "loops"

    @property
    def vector_bytes(self) -> int:
        """The size of the largest vectors that it computes with."""
        return max(VECTOR_BYTES) if self is Model.LOOPS else USUAL_VECTOR_BYTES


def lower(kernel: Kernel, model: Model, index_dtype: DType = INT32) -> LoopProgram:
    """Return the loop program of a kernel.

    Parameters:
        kernel: the types of its inputs are known.
        model: what the target executes.
        index_dtype: the type of loop counters and subscripts.

    Raises:
        UserError: the subclass that says why there is no such program.
    """
    prepared = prepare(kernel, index_dtype)
    program = lower_prepared(prepared, model, index_dtype)
    return without_size_arguments(program, prepared)


def prepare(kernel: Kernel, index_dtype: DType = INT32) -> Kernel:
    """Return the kernel that is lowered: with all that it leaves open chosen.

    Parameters and errors are those of `lower`.
    """
    kernel = _with_sub_groups(kernel)  # as large as they are on its target
    kernel = kernel.without_rules  # what substitution rules stand for
    kernel = with_lane_axes(kernel)  # elements for what each lane has for itself
    if kernel.calls:  # functions for kernels that are called
        kernel = with_functions(kernel, index_dtype, Functions.of(kernel))
    kernel = with_plain_dependencies(kernel)  # of instructions, not of instances
    auto = declared_auto(kernel)
    kernel = with_spaces(kernel)  # an address space for each temporary declared auto
    check_room(kernel)
    kernel = assign_axes(kernel)  # an axis for each iname tagged l.auto
    kernel = infer_types(kernel, index_dtype)  # every variable has a type
    kernel = with_explicit_types(kernel, index_dtype)  # where inames decide them
    kernel = with_size_arguments(kernel, index_dtype)  # for products of sizes
    kernel, carried = with_carried_scans(kernel)  # what an iteration passes on to the next
    kernel, shared = with_shared_scans(kernel)  # stages in local memory
    kernel = with_shared_reductions(kernel)  # trees in local memory
    kernel = with_values_kept(kernel, auto | carried | shared).kernel  # for later launches
    return with_vectors(kernel)  # of lanes


def _with_sub_groups(kernel: Kernel) -> Kernel:
    """Return the kernel with the number of work items that read each other's registers."""
    size = kernel.options.shuffling_on(kernel.target)
    if size == (kernel.options.sub_group_size or 0) or not any(
        isinstance(tag, LocalTag | AutoLocalTag) for tag in kernel.tags.values()
    ):
        return kernel
    return kernel.copy(options=replace(kernel.options, sub_group_size=size))


def lower_prepared(
    kernel: Kernel,
    model: Model,
    index_dtype: DType = INT32,
    *,
    on_grid: bool = False,
) -> LoopProgram:
    """Return the loop program of a kernel that `prepare` has returned.

    Other parameters, and errors, are those of `lower`.

    Parameters:
        on_grid: whether it is a function that the work items of a grid call.
    """
    if model is Model.LOOPS and kernel.options.sub_group_size:  # it has no work items
        kernel = kernel.copy(options=replace(kernel.options, sub_group_size=0))
    check_separations(kernel)
    check_asynchronous(kernel)
    if model is Model.LOOPS:  # there, copies are made where they stand
        kernel = without_asynchronous(kernel)
    realized = _realized(kernel)  # accumulators and their updates
    tell_ignored(realized, ignored_priorities(realized))
    tree = loop_tree(realized)  # one loop an iname; siblings in order
    realized, tree = _with_barriers(kernel, realized, tree)  # where work items wait
    if model is Model.GRID:
        tree = place_waits(realized, tree)  # for asynchronous copies
    tree = with_lane_loops(realized, tree)  # innermost, around each instruction
    # Launches, guards, declarations.
    own = frozenset(kernel.variables)
    on_grid = on_grid or model is Model.GRID
    return _Host(realized, model, index_dtype, own, on_grid=on_grid).program(tree)


def _realized(
    kernel: Kernel, *, quiet: bool = False, waiting: frozenset[str] = frozenset()
) -> Kernel:
    """Return the kernel without reductions; lanes have accumulators of their own."""
    realized = realize_reductions(kernel, quiet=quiet, host_loops=waiting)
    return realized if realized is kernel else with_vectors(with_lane_axes(realized))


def _with_barriers(
    kernel: Kernel, realized: Kernel, tree: tuple[TreeNode, ...]
) -> tuple[Kernel, tuple[TreeNode, ...]]:
    """Return the kernel without reductions, and its loop tree with barriers."""
    known = answer_of(kernel, placed)  # to find what is kept from one launch to the next
    tree = place_barriers(realized, tree) if known is None else known[2]
    waiting = host_loops(tree)
    if waiting:  # accumulators are private, and cannot be carried through these
        realized = _realized(kernel, quiet=True, waiting=waiting)
        if known is None:
            tree = place_barriers(realized, loop_tree(realized, quiet=True))
    return realized, tree if known is None else tuple(_with_lanes(realized, tree))


def _with_lanes(kernel: Kernel, nodes: Sequence[TreeNode]) -> Iterator[TreeNode]:
    """Yield nodes of the same kernel, with instructions in which lanes have accumulators."""
    for node in nodes:
        if isinstance(node, LoopNode):
            yield LoopNode(node.iname, tuple(_with_lanes(kernel, node.children)))
        elif isinstance(node, Instruction):
            yield kernel.instruction(node.id)
        else:
            yield node


class _Host:
    """Builds the launches, and the loops around them."""

    def __init__(
        self,
        kernel: Kernel,
        model: Model,
        index_dtype: DType,
        own: frozenset[str],
        *,
        on_grid: bool,
    ) -> None:
        self._kernel = kernel
        self._accumulators = frozenset(kernel.variables.keys() - own)
        self._model = model
        self._on_grid = on_grid
        self._index_dtype = index_dtype
        self._nonnegative = {
            extent.name
            for arg in kernel.arguments
            if isinstance(arg, GlobalArg)
            for extent in arg.shape or ()
            if isinstance(extent, ex.Variable)
        }
        # What each launch mentions, and the loops around it.
        self._launches: dict[str, tuple[frozenset[str], frozenset[str]]] = {}

    def program(self, tree: Sequence[TreeNode]) -> LoopProgram:
        known = self._kernel.assumptions.flat
        if self._kernel.separations:  # there are more bounds, of which fewer should be asked
            known = known_parameters(self._kernel)
        self._nonnegative |= {
            name for name in self._kernel.assumptions.parameters if _is_nonnegative(name, known)
        }
        self._nonnegative |= {size.name for size in products(self._kernel.derived_sizes)}
        host = self._nodes(tree, (), known)
        self._check_lifetimes()
        return LoopProgram(
            name=self._kernel.name,
            arguments=self._kernel.arguments,
            global_temporaries=tuple(self._temporaries(AddressSpace.GLOBAL)),
            host=host,
            index_dtype=self._index_dtype,
            nonnegative=frozenset(self._nonnegative),
            dtypes=kinds(self._kernel),
            options=self._kernel.options,
            shared_vectors=shared_vectors(self._kernel),
            tables=tuple(t for t in self._kernel.temporaries if t.read_only),
            functions=tuple(self._functions()),
            libraries=library_functions(self._kernel),
            preambles=self._kernel.preambles,
            multiples=known_multiples(self._kernel, known),
            bounding=bounding(self._kernel),
        )

    def _functions(self) -> Iterator[LoopProgram]:
        for kernel in functions_of(self._kernel):
            yield lower_prepared(kernel, Model.LOOPS, self._index_dtype, on_grid=self._on_grid)

    def _temporaries(self, *spaces: AddressSpace) -> list[TemporaryVariable]:
        own = (t for t in self._kernel.temporaries if not t.read_only)
        return [t for t in own if t.address_space in spaces]

    def _nodes(
        self, nodes: Sequence[TreeNode], outer: tuple[str, ...], known: isl.Set
    ) -> tuple[HostNode, ...]:
        parts = list(host_parts(nodes))
        return tuple(
            self._loop(part, outer, known)
            if isinstance(part, LoopNode)
            else self._launch(part, outer, known, alone=not outer and len(parts) == 1)
            for part in parts
        )

    def _loop(self, node: LoopNode, outer: tuple[str, ...], known: isl.Set) -> HostLoop:
        values = [
            _keep(domain_of(self._kernel, inames), inames, (*outer, node.iname))
            for inames in dict.fromkeys(s.within_inames for s in assignments(node.children))
        ]
        union = values[0]
        for other in values[1:]:
            union = union.union(other)
        bounds = loop_bounds(node.iname, union.coalesce(), known)
        self._check_host_bounds(node, bounds)
        if isinstance(bounds.lower, int) and bounds.lower >= 0:
            self._nonnegative.add(node.iname)
        inner = known.intersect(bounds.held)
        body = self._nodes(node.children, (*outer, node.iname), inner)
        runs = runs_on_host(self._kernel, node)
        return HostLoop(node.iname, bounds.lower, bounds.upper, body, bounds.step, runs)

    def _check_host_bounds(self, node: LoopNode, bounds: Bounds) -> None:
        names = walk.free_variables(bounds.lower) | walk.free_variables(bounds.upper)
        for name in sorted(names):
            if isinstance(self._kernel.variables.get(name), TemporaryVariable):
                inside = list(assignments(node.children))
                raise BarrierNotPossible(
                    f"the whole grid has to wait inside the loop of '{node.iname}', so it runs on "
                    f"the host; but its bounds depend on '{name}', which the kernel computes",
                    where=inside[0].location,
                    excerpt=excerpt(self._kernel, *(insn.id for insn in inside)),
                    remedy=f"compute '{name}' in an earlier kernel and pass it as an argument, or "
                    "map fewer inames to groups, so that nobody has to wait",
                )

    def _launch(
        self, nodes: Sequence[TreeNode], outer: tuple[str, ...], known: isl.Set, *, alone: bool
    ) -> Launch:
        insns = list(assignments(nodes))
        check_sources(self._kernel, insns)
        grid = grid_of(self._kernel, insns, outer, known)
        emitter = Emitter(
            self._kernel,
            grid,
            self._model.vector_bytes,
            ends_partial_tiles=not self._on_grid,
        )
        self._note_nonnegative(grid.axes, emitter)
        if self._model is Model.GRID and any(map(_has_barrier, nodes)):
            emitter.exchanged = exchanged(self._kernel, nodes)
        body = emitter.block(nodes, outer, grid.known)
        body = without_unread(body, self._kernel, insns, self._accumulators)
        self._nonnegative |= emitter.nonnegative
        name = self._kernel.name if alone else f"{self._kernel.name}_{len(self._launches)}"
        names = mentioned(body)
        self._launches[name] = names, frozenset(outer)
        body, axes = self._finish(body, grid.axes, frozenset(outer))
        if self._model is Model.LOOPS:
            names = mentioned(body)  # the sizes of the grid, too
        return Launch(name, self._passed(names, axes, outer), axes, body)

    def _note_nonnegative(self, axes: Sequence[Axis], emitter: Emitter) -> None:
        emitter.nonnegative |= self._nonnegative
        for axis in axes:
            for iname, first in axis.inames:
                if isinstance(first, int) and first >= 0:
                    emitter.nonnegative.add(iname)

    def _finish(
        self, body: Block, axes: Sequence[Axis], outer: frozenset[str]
    ) -> tuple[Block, tuple[HardwareAxis, ...]]:
        """Declare the temporaries; turn the grid into loops if the target has none."""
        if not any(isinstance(axis.tag, LocalTag) for axis in axes):
            body = without_barriers(body)
        wanted = {
            t.name: self._declaration(t)
            for t in self._temporaries(AddressSpace.PRIVATE, AddressSpace.LOCAL)
        }
        carried = partial(carries, self._kernel)
        if self._model is Model.LOOPS:
            within = {i: insn.within_inames for i, insn in self._kernel.instructions_by_id.items()}
            return as_loops(body, axes, wanted, self._index_dtype, carried, within), ()

        reduced = self._reduced()

        def carried_here(name: str, loops: frozenset[str]) -> bool:
            # What a reduction reads was there before its loop, which others may share.
            return not reduced.isdisjoint(loops) or carried(name, loops | outer)

        return place_declarations(body, wanted, carries=carried_here), tuple(
            HardwareAxis(axis.tag, axis.size, axis.inames) for axis in axes
        )

    def _reduced(self) -> frozenset[str]:
        """Return the inames of loops that reductions run over."""
        found: set[str] = set()
        for name in self._accumulators:
            first, *others = [w.within_inames for w in self._kernel.writers.get(name, ())]
            found |= first.union(*others) - first.intersection(*others)
        return frozenset(found)

    def _declaration(self, temporary: TemporaryVariable) -> Declare:
        if temporary.dtype is None or not all(isinstance(e, int) for e in temporary.shape):
            raise InternalError(f"temporary '{temporary.name}' has no type or constant size")
        count = storage_count(temporary) if temporary.shape else None
        space, vector = temporary.address_space, vector_length(temporary)
        declared = Declare(temporary.name, temporary.dtype, count, space, vector=vector)
        if temporary.name in shuffles_of(self._kernel).names:
            return replace(declared, in_registers=True)
        parts = parts_of_blocks(self._kernel, temporary) if self._model is Model.GRID else None
        declared = replace(declared, parts=parts) if parts is not None else declared
        return replace(declared, alignment=temporary.alignment) if temporary.alignment else declared

    def _passed(
        self, names: frozenset[str], axes: Sequence[HardwareAxis], outer: Sequence[str]
    ) -> tuple[Argument, ...]:
        firsts = (first for axis in axes for _, first in axis.inames)
        names = names.union(*map(walk.free_variables, firsts))
        arguments: list[Argument] = [a for a in self._kernel.arguments if a.name in names]
        arguments += [
            t.as_argument() for t in self._temporaries(AddressSpace.GLOBAL) if t.name in names
        ]
        arguments += [ValueArg(i, self._index_dtype) for i in outer if i in names]
        return tuple(arguments)

    def _check_lifetimes(self) -> None:
        for temporary in self._temporaries(AddressSpace.PRIVATE, AddressSpace.LOCAL):
            homes = [loops for names, loops in self._launches.values() if temporary.name in names]
            if len(homes) > 1 or any(
                loops and carries(self._kernel, temporary.name, loops) for loops in homes
            ):
                users = [
                    insn.id
                    for insn in self._kernel.assignments
                    if temporary.name in insn.read_names.union(insn.written_names)
                ]
                raise PrivateAcrossLaunches(
                    f"'{temporary.name}' is {temporary.address_space.value}, but its value is "
                    "needed on both sides of a point where the whole grid has to wait",
                    where=self._kernel.location,
                    excerpt=excerpt(self._kernel, *users),
                    remedy=f"set_temporary_address_space(kernel, '{temporary.name}', 'auto') lets "
                    "it be in global memory; save_and_reload_temporaries(kernel) keeps it in a "
                    "global temporary; or compute it again",
                )


def _has_barrier(node: TreeNode) -> bool:
    if isinstance(node, LoopNode):
        return any(map(_has_barrier, node.children))
    return isinstance(node, BarrierNode)


def _is_nonnegative(name: str, known: isl.Set) -> bool:
    negative = condition_set(ex.Comparison(ex.Variable(name), "<", 0))
    return negative is not None and known.is_disjoint(negative)


def _keep(flat: isl.Set, inames: frozenset[str], kept: Sequence[str]) -> isl.Set:
    return project_out(flat, sorted(inames.difference(kept)))
