"""Lanes: inames tagged ``ilp`` or ``vec``, whose iterations are executed side by side.

Each instruction is executed for all lanes before the next one is: it alone is in a loop over them,
inside of all other loops.  What a lane has for itself becomes an element, of an array or of a
vector: temporaries that have a copy for each lane get an axis for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import islpy as isl

from polygen.analysis.access.accesses import references_by_name
from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.access.storage_copies import lanes_of
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.order.loop_tree import LoopNode, TreeNode
from polygen.errors import LanesNotConstant, VerbatimNotPossible
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.domain import flat_names, project_out, unflatten
from polygen.ir.dtype import DType, is_real
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, CInstruction, Instruction, KernelCall
from polygen.ir.kernel import Kernel
from polygen.ir.layout import (
    COMPUTED_BYTES,
    VECTOR_BYTES,
    Nested,
    Vector,
    has_vectors,
    with_outer_axes,
)
from polygen.ir.tags import VectorTag, is_lane
from polygen.ir.verify import excerpt
from polygen.lower.bounds import constant_bounds


def is_vector(dtype: DType, count: int, most_bytes: int = max(VECTOR_BYTES)) -> bool:
    """Tell whether so many numbers of a type are a vector that is computed with.

    Parameters:
        dtype: the type.
        count: how many.
        most_bytes: the size of the largest vectors of the target.
    """
    size = count * max(dtype.itemsize, COMPUTED_BYTES)
    return count > 1 and is_real(dtype) and size in VECTOR_BYTES and size <= most_bytes


def has_lanes(kernel: Kernel) -> bool:
    """Tell whether inames are tagged ``ilp`` or ``vec``."""
    return any(map(is_lane, kernel.tags.values()))


# --- temporaries


def with_lane_axes(kernel: Kernel) -> Kernel:
    """Return the kernel with an axis for the lanes of each temporary that has a copy for each.

    Raises:
        LanesNotConstant: if it is not known how many that are.
        VerbatimNotPossible: if verbatim C mentions one of them.
    """
    if not has_lanes(kernel):
        return kernel
    found = {t.name: lanes_of(kernel, t.name) for t in kernel.temporaries}
    values = {i: _values(kernel, i) for i in dict.fromkeys(i for x in found.values() for i in x)}
    lanes = {
        name: kept
        for name, inames in found.items()
        if (kept := tuple([i for i in inames if len(values[i]) > 1]))
    }
    if not lanes:
        return kernel
    extents = {name: [len(values[i]) for i in inames] for name, inames in lanes.items()}
    elements = {
        name: tuple([_from_zero(i, values[i]) for i in inames]) for name, inames in lanes.items()
    }
    return kernel.copy(
        instructions=tuple(
            [_with_elements(kernel, insn, elements) for insn in kernel.instructions]
        ),
        temporaries=tuple(
            [
                _with_axes(t, lanes.get(t.name, ()), extents.get(t.name, ()))
                for t in kernel.temporaries
            ]
        ),
    )


def _values(kernel: Kernel, iname: str) -> range:
    """Return the values from the least to the largest."""
    values = domain_of(kernel, with_surrounding(kernel, (iname,)))
    others = [name for name in flat_names(values) if name != iname]
    alone = unflatten(project_out(values, others), [iname])
    if alone.is_empty():
        return range(1)
    least, most = alone.dim_min_val(0), alone.dim_max_val(0)
    if least.is_int() and most.is_int():
        return range(least.to_python(), most.to_python() + 1)
    insns = [insn for insn in kernel.instructions if iname in insn.within_inames]
    raise LanesNotConstant(
        f"'{iname}' is tagged {kernel.tags[iname]}, but how many lanes there are is not a "
        "constant, and each has temporaries of its own",
        where=insns[0].location,
        excerpt=excerpt(kernel, *(insn.id for insn in insns)),
        remedy=f"split '{iname}' by a constant and tag the inner part, or fix the parameters",
    )


def _from_zero(iname: str, values: range) -> Expression:
    if values.start == 0:
        return ex.Variable(iname)
    return ex.sum_of(ex.Variable(iname), -values.start)


def _with_axes(
    temporary: TemporaryVariable, inames: Sequence[str], extents: Sequence[int]
) -> TemporaryVariable:
    if not inames:
        return temporary
    names = temporary.dim_names
    return replace(
        temporary,
        shape=(*temporary.shape, *extents),
        dim_tags=with_outer_axes(temporary, extents),
        dim_names=None if names is None else (*names, *inames),
    )


def _with_elements(
    kernel: Kernel, insn: Instruction, elements: Mapping[str, tuple[Expression, ...]]
) -> Instruction:
    names = insn.read_names.union(insn.written_names)
    if names.isdisjoint(elements):
        return insn
    if isinstance(insn, CInstruction):
        name = min(names & elements.keys())
        raise VerbatimNotPossible(
            f"verbatim C in '{insn.id}' mentions '{name}', of which each lane has one for itself: "
            "it becomes an array",
            where=insn.location,
            excerpt=excerpt(kernel, insn.id),
            remedy=f"make '{name}' an array with an element for each lane, or write the "
            "instruction without verbatim C",
        )

    def rule(node: Expression) -> Expression:
        # Outermost first: the array of a subscript is a variable, too.
        if isinstance(node, ex.Subscript | ex.Variable) and ex.name_of(node) in elements:
            index = ex.index_tuple(node) if isinstance(node, ex.Subscript) else ()
            all_of_it = (*map(rule, index), *elements[ex.name_of(node)])
            return ex.element(ex.Variable(ex.name_of(node)), all_of_it)
        return walk.rebuild(node, tuple([rule(part) for part in walk.parts(node)]))

    return insn.map_expressions(rule)


def with_vectors(kernel: Kernel) -> Kernel:
    """Return the kernel with vectors for temporaries whose last subscript is a lane everywhere.

    Parameters:
        kernel: with types.
    """
    inames = [i for i, tag in kernel.tags.items() if isinstance(tag, VectorTag)]
    if not inames:
        return kernel
    counts = {i: _count(kernel, i) for i in inames}
    new = tuple([_as_vector(kernel, t, counts) for t in kernel.temporaries])
    return kernel.copy(temporaries=new)


def _count(kernel: Kernel, iname: str) -> int | None:
    """Return how many lanes there are if their numbers begin with 0, else None."""
    bounds = constant_bounds(iname, domain_of(kernel, with_surrounding(kernel, (iname,))))
    values = None if bounds is None else bounds.constant
    return len(values) if values and values == range(len(values)) else None


def _as_vector(
    kernel: Kernel, temporary: TemporaryVariable, counts: Mapping[str, int | None]
) -> TemporaryVariable:
    shape, name = temporary.shape, temporary.name
    if (
        not shape
        or temporary.dim_tags is not None
        or temporary.dtype is None
        or not has_vectors(temporary.dtype)
        or not is_vector(temporary.dtype, shape[-1] if isinstance(shape[-1], int) else 0)
        or kernel.address_space(name) is not AddressSpace.PRIVATE
    ):
        return temporary
    uses = references_by_name(kernel).get(name, ())
    last = {use.index[-1] if use.index else None for use in uses}
    lanes = [i for i, count in counts.items() if last == {ex.Variable(i)} and count == shape[-1]]
    pasted = any(isinstance(use.insn, CInstruction | KernelCall) for use in uses)
    if pasted or not lanes:
        return temporary
    axes = len(shape) - 1
    return replace(temporary, dim_tags=(*map(Nested, reversed(range(axes))), Vector()))


_MULTIPLES = (32, 16, 8, 4, 2)  # of the numbers of lanes


def known_multiples(kernel: Kernel, known: isl.Set) -> dict[str, int]:
    """Return the parameters of which it is known that they are multiples, and of what.

    Parameters:
        kernel: which has lanes in vectors, else nothing is looked for.
        known: what holds, a flat set.
    """
    if not any(isinstance(tag, VectorTag) for tag in kernel.tags.values()):
        return {}
    found: dict[str, int] = {}
    for name in sorted(kernel.assumptions.parameters):
        for number in _MULTIPLES:
            rest = ex.Remainder(ex.Variable(name), number)
            where = condition_set(ex.Comparison(rest, "==", 0))
            if where is not None and known.is_subset(where):
                found[name] = number
                break
    return found


# --- loops


def with_lane_loops(kernel: Kernel, tree: Sequence[TreeNode]) -> tuple[TreeNode, ...]:
    """Return a loop tree with loops over the lanes around each instruction, vectors innermost."""
    if not has_lanes(kernel):
        return tuple(tree)
    lanes = [i for i in kernel.inames if is_lane(kernel.tags.get(i))]
    lanes.sort(key=lambda i: isinstance(kernel.tags[i], VectorTag))
    return tuple(_with_loops(tree, lanes))


def _with_loops(nodes: Sequence[TreeNode], lanes: Sequence[str]) -> Iterator[TreeNode]:
    for node in nodes:
        if isinstance(node, LoopNode):
            yield LoopNode(node.iname, tuple(_with_loops(node.children, lanes)))
            continue
        result: TreeNode = node
        if isinstance(node, Assigning):
            for iname in reversed(lanes):
                if iname in node.within_inames:
                    result = LoopNode(iname, (result,))
        yield result
