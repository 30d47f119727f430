"""Collects facts about the names in a loop program, before any of it is printed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from polygen.analysis.typing.kinds import Kind, is_index
from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import (
    AddressSpace,
    Argument,
    Array,
    ConstantArg,
    GlobalArg,
    ImageArg,
    TemporaryVariable,
    ValueArg,
)
from polygen.ir.dtype import DType
from polygen.ir.empty import NO_NAMES
from polygen.ir.layout import Separate, Vector, constant_axes, vector_length
from polygen.ir.names import check_declared
from polygen.ir.parts import parts
from polygen.lower.calls import PartArg
from polygen.lower.declare import expressions, mentioned
from polygen.lower.program import (
    ENDLESS,
    Call,
    Declare,
    HostLoop,
    HostNode,
    Launch,
    Loop,
    LoopProgram,
    Node,
    Shuffle,
    Verbatim,
)
from polygen.targets.expressions.name_facts import Choice, Names
from polygen.targets.expressions.typed_terms import promoted
from polygen.targets.lanes.lane_accesses import begins_at_multiple
from polygen.targets.languages.target import BOOL, FLOAT16, INT32, INT64, Target
from polygen.targets.programs.nodes import all_nodes
from polygen.targets.statements.aliases import copied


def names_of(program: LoopProgram, launches: Iterable[Launch], target: Target) -> Names:
    """Return what is known of all names in the program."""
    dtypes: dict[str, DType] = {}
    variables = (*program.arguments, *program.global_temporaries, *program.tables)
    for variable in (*variables, *passed_for(program.arguments)):
        if variable.dtype is None:
            raise InternalError(f"'{variable.name}' has no type in a loop program")
        dtypes[variable.name] = variable.dtype
    nodes = [node for launch in launches for node in all_nodes(launch.body)]
    declared = [node for node in nodes if isinstance(node, Declare)]
    for node in declared:
        dtypes[node.name] = node.dtype
    dtypes |= {node.name: node.dtype for node in nodes if isinstance(node, Shuffle)}
    known = {name: int if is_index(kind) else kind for name, kind in program.dtypes.items()}
    kinds = {**dict.fromkeys(_counters(program.host), int), **dtypes, **known}
    if program.index_dtype == INT32:
        dtypes |= dict.fromkeys(_wide_counters(nodes, dtypes, kinds), INT64)
    stored = frozenset(
        [a.name for a in program.arguments if _is_stored(a)]
        + [t.name for t in program.global_temporaries]
        + [node.name for node in declared if target.half_arrays and _is_half_array(node)]
        + [node.name for node in declared if node.is_short]
    )
    images = frozenset(a.name for a in program.arguments if isinstance(a, ImageArg))
    arrays = [a for a in program.arguments if isinstance(a, GlobalArg)]
    for name in kinds:
        check_declared(name)
    return Names(
        kinds,
        dtypes,
        program.index_dtype,
        program.nonnegative,
        stored,
        images,
        _choices(program, variables, declared),
        overlapping=_overlapping(program.arguments),
        extents=tuple([e for a in arrays for e in a.shape or () if isinstance(e, ex.Sum)]),
        alignments=_alignments(program, declared, target)
        | (_own_alignments(program, nodes, declared) if target.load_aligned else {}),
        multiples=program.multiples,
        copied=_copied(nodes, declared),
        bounding=program.bounding,
        wide=_wide(nodes, declared) if target.wide_registers else NO_NAMES,
    )


def _wide_counters(
    nodes: Iterable[Node], dtypes: Mapping[str, DType], kinds: Mapping[str, Kind]
) -> frozenset[str]:
    """Return the counters of loops whose bounds are data that 32 bits do not hold."""
    wide = {n for n, t in dtypes.items() if kinds.get(n) is not int and not np.can_cast(t, INT32)}
    around: dict[str, set[str]] = {}
    for node in nodes:
        if isinstance(node, Loop):
            read = walk.free_variables(node.lower) | walk.free_variables(node.upper)
            around.setdefault(node.iname, set()).update(read)
    loops = (node for node in nodes if isinstance(node, Loop))
    found = {loop.iname for loop in loops if loop.upper == ENDLESS}
    while new := {i for i, read in around.items() if i not in found and read & (wide | found)}:
        found |= new
    return frozenset(found)


def _choices(
    program: LoopProgram,
    variables: Iterable[Argument | TemporaryVariable],
    declared: Iterable[Declare],
) -> dict[str, Choice]:
    """Return what constant subscripts choose from, of each variable that has axes for them."""
    choices: dict[str, Choice] = {}
    for node in declared:
        if node.vector is not None:
            component = None if node.vector == 1 else 0
            shared = node.address_space if node.name in program.shared_vectors else None
            alone = node.extent == 1
            choices[node.name] = Choice((), component, alone, shared, node.vector)
    for array in variables:
        if not isinstance(array, ValueArg) and constant_axes(array):
            shared = AddressSpace.GLOBAL if array.name in program.shared_vectors else None
            choices[array.name] = replace(_choice(array), space=shared)
    return choices


def _wide(nodes: Iterable[Node], declared: Iterable[Declare]) -> frozenset[str]:
    """Return the vectors of small integers that a work item keeps in registers of 32 bits."""
    own = [n for n in declared if n.vector and n.address_space is AddressSpace.PRIVATE]
    small = frozenset(n.name for n in own if promoted(n.dtype) == INT32 != n.dtype != BOOL)
    return small - mentioned([n for n in nodes if isinstance(n, Verbatim | Call)])


def _is_half_array(node: Declare) -> bool:
    """Tell whether a variable is an array of halves that a work item has to itself."""
    is_array = node.extent is not None and node.vector is None
    return is_array and node.dtype == FLOAT16 and node.address_space is AddressSpace.PRIVATE


def _counters(nodes: Iterable[HostNode]) -> Iterator[str]:
    """Yield the names of loop counters and of indices along the hardware's axes."""
    for node in nodes:
        if isinstance(node, HostLoop):
            yield node.iname
            yield from _counters(node.body)
        else:
            yield from (iname for axis in node.axes for iname, _ in axis.inames)
            yield from (n.iname for n in all_nodes(node.body) if isinstance(n, Loop))


def _copied(nodes: Iterable[Node], declared: Iterable[Declare]) -> frozenset[str]:
    """Return the scalars of which there may be a copy that can take their place."""
    copies = {name for node in declared if (name := copied(node)) is not None}
    if not copies:
        return frozenset()
    return frozenset(copies) - mentioned([n for n in nodes if isinstance(n, Verbatim | Call)])


def _alignments(
    program: LoopProgram, declared: Iterable[Declare], target: Target
) -> dict[str, tuple[int, AddressSpace]]:
    """Return what arrays begin at a multiple of, in bytes, and where they are."""
    others = (ConstantArg, PartArg)
    found: dict[str, tuple[int, AddressSpace]] = {}
    if target.memory_begins > 1:
        for t in program.global_temporaries:
            found[t.name] = max(t.alignment or 1, target.memory_begins), AddressSpace.GLOBAL
    for a in program.arguments:
        if isinstance(a, GlobalArg) and not isinstance(a, others) and a.alignment is not None:
            found[a.name] = a.alignment, AddressSpace.GLOBAL
    for node in declared:
        if node.alignment is not None:
            found[node.name] = node.alignment, node.address_space
    return found


def _own_alignments(
    program: LoopProgram, nodes: Iterable[Node], declared: Iterable[Declare]
) -> dict[str, tuple[int, AddressSpace]]:
    """Return the same for those own arrays that then are accessed where vectors begin."""
    lanes = [node for node in nodes if isinstance(node, Loop) and node.at_once]
    if not lanes:
        return {}
    own = {
        d.name: d
        for d in declared
        if d.extent and d.vector is None and (d.dtype.kind in "iuf" or d.is_short)
    }
    found: dict[str, tuple[int, AddressSpace]] = {}
    for loop in lanes:
        for node in _elements(loop):
            array, count = own.get(ex.name_of(node)), loop.upper
            if array is None or not isinstance(count, int):
                continue
            if begins_at_multiple(node, loop.iname, count, program.multiples):
                others = array.alignment or 1, found.get(array.name, (1,))[0]
                size = max(count * array.dtype.itemsize, *others)
                found[array.name] = size, array.address_space
    return found


def _elements(loop: Loop) -> Iterator[ex.Subscript]:
    """Yield the elements that a statement touches in lanes."""
    for node in loop.body:
        for expression in expressions(node):
            for part in walk.subexpressions(expression):
                if isinstance(part, ex.Subscript) and loop.iname in walk.free_variables(part):
                    yield part


def _overlapping(arguments: Iterable[Argument]) -> dict[str, frozenset[str]]:
    """Return, for each array, the names of the others that it may overlap."""
    arrays = [a for a in arguments if isinstance(a, GlobalArg)]
    if not any(a.may_alias for a in arrays):
        return {}
    return {
        a.name: frozenset(b.name for b in arrays if b is not a and (a.may_alias or b.may_alias))
        for a in arrays
    }


def _is_stored(argument: Argument) -> bool:
    """Tell whether an argument is an array whose elements have the type that is said of them."""
    return isinstance(argument, GlobalArg) and not isinstance(argument, PartArg)


def _choice(array: Array) -> Choice:
    tags = [(array.dim_tags or ())[axis] for axis in constant_axes(array)]
    arrays = tuple([n for n, tag in enumerate(tags) if isinstance(tag, Separate)])
    of_one = vector_length(array) in (None, 1)
    component = None if of_one else next(n for n, t in enumerate(tags) if isinstance(t, Vector))
    return Choice(arrays, component, length=vector_length(array))


def passed_for(arguments: Iterable[Argument]) -> tuple[Argument, ...]:
    """Return what functions are passed for some arguments: the parts of those that have some."""
    found: list[Argument] = []
    for argument in arguments:
        found += parts(argument) if isinstance(argument, GlobalArg) else (argument,)
    return tuple(found)
