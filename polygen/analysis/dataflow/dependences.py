"""The dependences of a kernel: which instances must come before which, through what, and how far.

Two instances depend on each other if both touch one element of a variable, in one copy of it, and
one of them writes; the one that comes first is the source.  Each dependence is one pair of
references of two instructions, as far as one loop carries it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import islpy as isl

from polygen.analysis.dataflow.conflicting_instances import Related, direct_pairs, ordered_pairs
from polygen.analysis.dataflow.outermost_nests import outermost_nests
from polygen.analysis.expansion.call_origins import calls_of_parts
from polygen.analysis.integers.proving import limited
from polygen.analysis.integers.second_instance import OTHER
from polygen.analysis.order.access_times import moments
from polygen.analysis.order.instance_order import order_of
from polygen.analysis.order.instance_text import shown_pair
from polygen.analysis.pairs.instance_pairs import piece_set
from polygen.ir.collection import without_collection
from polygen.ir.domain import project_out, unflatten
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.ir.remembered import per_kernel
from polygen.ir.tags import is_parallel

_IN = isl.dim_type.in_
_OUT = isl.dim_type.out
_PARAM = isl.dim_type.param
_KINDS = ("flow", "anti", "output")


@dataclass(frozen=True, repr=False)
class Dependence:
    """Pairs of instances of two instructions, of which the first must come before the second.

    Attributes:
        source: the id of the instruction whose instances come first.
        sink: the id of the other one; it may be the same.
        kind: ``"flow"`` (written, then read), ``"anti"`` (read, then written) or ``"output"``
            (written, then overwritten).
        array: the variable through which they depend on each other.
        relation: an isl map from source to sink instances: ``{ s[i] -> s[i' = 1 + i] : ... }``.
            The tuples are named as the instructions; their dimensions are the inames, loops
            from the outermost inwards before inames on hardware axes.  Inames that both
            instructions have carry a prime in the sink.
        loops: the sequential loops that both instructions are in, outermost first; a reduction
            that reads the element is in the loops of its inames, if other instructions are, too.
        distance: for each of these loops, in how many more values of it the sink comes: an
            integer where it is always the same, else ``"<"`` (the source's value is less),
            ``">"`` or ``"*"`` (it varies).
        carried_by: the outermost loop in which the two differ; None if the dependence is
            loop-independent: both are in the same iteration of all loops.
        certain: whether both touch the element for certain; otherwise data decides.
        sink_array: the variable that the sink touches, if it is another array that may overlap.
        source_call, sink_call: the ids of the calls of kernels that the instructions are part of,
            if they are.
    """

    source: str
    sink: str
    kind: str
    array: str
    relation: isl.Map = field(hash=False)  # isl takes long for many constraints
    loops: tuple[str, ...]
    distance: tuple[int | str, ...]
    carried_by: str | None
    certain: bool
    sink_array: str | None
    source_call: str | None = None
    sink_call: str | None = None

    @property
    def direction(self) -> tuple[str, ...]:
        """For each loop: ``"<"`` if the source's value is less, ``"="``, ``">"``, or ``"*"``."""
        return tuple(d if isinstance(d, str) else "=<>"[(d > 0) - (d < 0)] for d in self.distance)

    def __str__(self) -> str:
        through = self.array
        if self.sink_array is not None:
            through += f" and {self.sink_array}, which may overlap"
        parts = [f"{self.kind:6} {shown_pair(self.relation)}  through {through}"]
        if self.loops:
            parts.append(f"distance ({', '.join(map(str, self.distance))})")
        if self.carried_by is None:
            parts.append("loop-independent")
        else:
            parts.append(f"carried by {self.carried_by}")
        certain = "" if self.certain else "; may be: data decides"
        return ", ".join(parts) + certain + self._calls()

    def _calls(self) -> str:
        if self.source_call is not None and self.source_call == self.sink_call:
            return f"; in the call '{self.source_call}'"
        ends = (("from", self.source_call), ("to", self.sink_call))
        said = " ".join(f"{end} the call '{call}'" for end, call in ends if call is not None)
        return said and f"; {said}"

    def __repr__(self) -> str:
        return f"<{' '.join(str(self).split())}>"


@public
@without_collection
def dependences(kernel: Kernel, *, memory: bool = False) -> tuple[Dependence, ...]:
    """Return which instances of a kernel must come before which, and through what.

    What is returned are *direct* dependences: a read depends on the last write before it, a write
    on the last write before it and on the reads since then.  All others follow from these.
    Temporaries that are written anew in each iteration of a loop before they are read there
    order its iterations by accident only: such dependences are left out, as those through
    temporaries that nothing reads.

    Where data decides which elements are touched (a subscript that is read from an array, say),
    every pair that may be one counts, and `Dependence.certain` is False.

    Parameters:
        kernel: the kernel.
        memory: return every pair of instances that touch one element instead, however many
            writes there are in between, and those of all temporaries.

    Returns:
        One dependence for each pair of references and each loop that carries it, in the order of
        the instructions.

    Raises:
        NoLoopNest, DependencyCycle: if there is no order at all.
        ProofLimit: if isl has more to do than is reasonable.

    >>> import polygen as pg
    >>> knl = pg.make_kernel(
    ...     "{ [i,j]: 1<=i<n and 0<=j<n-1 }", "a[i,j] = a[i-1,j+1] + 1  {id=update}",
    ...     loop_priority="i, j",
    ... )
    >>> for dependence in pg.dependences(knl):
    ...     print(dependence)
    flow   update[i, j] -> update[i + 1, j - 1]  through a, distance (1, -1), carried by i

    Source: Allen and Kennedy, Optimizing Compilers for Modern Architectures (2001), chapter 2;
    direct (value-based) dependences: Feautrier, Dataflow analysis of array and scalar
    references (1991).
    """
    with limited(
        kernel,
        f"the dependences of kernel '{kernel.name}' could not be found",
        "dependences(..., memory=True) takes less work",
    ):
        found = dependences_in(kernel.expanded, None, memory)
    return _with_calls(kernel, found)


def carried_dependences(kernel: Kernel) -> Mapping[str, tuple[Dependence, ...]]:
    """Return the direct dependences that loops carry, by the loop.

    Those that `dependences` returns; but each is looked for in its outermost loop alone, so that
    the work is linear in the number of these.  Raises what `dependences` raises.
    """
    found: dict[str, list[Dependence]] = {}
    expanded = kernel.expanded
    for nest in outermost_nests(expanded):
        with limited(
            expanded,
            f"what the loops of kernel '{kernel.name}' carry could not be found",
            "dependences(..., memory=True) takes less work",
        ):
            for dependence in _with_calls(kernel, dependences_in(expanded, nest)):
                if dependence.carried_by is not None:
                    found.setdefault(dependence.carried_by, []).append(dependence)
    return {iname: tuple(carried) for iname, carried in found.items()}


def _with_calls(kernel: Kernel, found: tuple[Dependence, ...]) -> tuple[Dependence, ...]:
    ids = {part: call.id for part, call in calls_of_parts(kernel).items()}
    if not ids:
        return found
    return tuple(
        [replace(d, source_call=ids.get(d.source), sink_call=ids.get(d.sink)) for d in found]
    )


@per_kernel
def dependences_in(
    kernel: Kernel, nest: int | None, memory: bool = False
) -> tuple[Dependence, ...]:
    """Return the dependences that are in one outermost loop: all that loops in it carry.

    Parameters:
        kernel: the kernel, without calls and rules.
        nest: the position of the loop (`outermost_nests`); None for all of the kernel.
        memory: as of `dependences`.
    """
    found = [
        dependence
        for related in (ordered_pairs if memory else direct_pairs)(kernel, nest)
        for dependence in _by_loop(kernel, related)
    ]
    position = _positions(kernel)

    def key(d: Dependence) -> tuple[object, ...]:
        depth = len(d.loops) if d.carried_by is None else d.loops.index(d.carried_by)
        return (position[d.source], position[d.sink], d.array, _KINDS.index(d.kind), depth)

    return tuple(sorted(dict.fromkeys(found), key=key))


@per_kernel
def _positions(kernel: Kernel) -> Mapping[str, int]:
    return {insn.id: p for p, insn in enumerate(kernel.instructions)}


def _by_loop(kernel: Kernel, related: Related) -> Iterator[Dependence]:
    """Yield what of some pairs each loop carries, and what none does."""
    first, second = related.first, related.second
    loops = moments(kernel).loops(first, second)
    for piece in moments(kernel).before(first, second):
        pairs = piece_set(related.pairs, piece)
        if pairs.is_empty():
            continue
        depth = len(loops) if piece.less is None else loops.index(piece.less)
        distance: list[int | str] = [0] * depth
        if piece.less is not None:
            distance += _distances(pairs, loops[depth:])
        yield Dependence(
            first.insn_id,
            second.insn_id,
            related.kind,
            first.name,
            _relation(kernel, related, pairs),
            loops,
            tuple(distance),
            piece.less,
            related.certain,
            None if first.name == second.name else second.name,
        )


def _distances(pairs: isl.Set, loops: Sequence[str]) -> Iterator[int | str]:
    """Yield for each loop by how much its value is greater in the second instances."""
    both = unflatten(pairs, [*loops, *(i + OTHER for i in loops)])
    both = both.project_out(_PARAM, 0, both.dim(_PARAM))
    count = len(loops)
    moved = isl.Map.from_range(both).move_dims(_IN, 0, _OUT, 0, count).deltas()
    for axis in range(count):
        least, most = moved.dim_min_val(axis), moved.dim_max_val(axis)
        if least.is_int() and least.eq(most):
            yield least.to_python()
        elif least.is_pos():
            yield "<"
        elif most.is_neg():
            yield ">"
        else:
            yield "*"


def _relation(kernel: Kernel, related: Related, pairs: isl.Set) -> isl.Map:
    insns = related.first.insn_id, related.second.insn_id
    first, second = (_instance_inames(kernel, insn_id) for insn_id in insns)
    # The inames of reductions tell no instances apart.
    pairs = project_out(pairs, (i for i in related.first.inames if i not in first))
    pairs = project_out(pairs, (i + OTHER for i in related.second.inames if i not in second))
    both = unflatten(pairs, [*first, *(i + OTHER for i in second)])
    result = isl.Map.from_range(both).move_dims(_IN, 0, _OUT, 0, len(first))
    for position, iname in enumerate(second):
        result = result.set_dim_name(_OUT, position, f"{iname}'" if iname in first else iname)
    result = result.set_tuple_name(_IN, insns[0]).set_tuple_name(_OUT, insns[1])
    return _without_unused_parameters(result.coalesce())


@per_kernel
def _instance_inames(kernel: Kernel, insn_id: str) -> tuple[str, ...]:
    """Return the inames of an instruction: loops from the outermost inwards, then the others."""
    within = kernel.instruction(insn_id).within_inames
    others = [i for i in kernel.inames if i in within and is_parallel(kernel.tags.get(i))]
    return (*order_of(kernel).loops(insn_id), *others)


def _without_unused_parameters(relation: isl.Map) -> isl.Map:
    for position in reversed(range(relation.dim(_PARAM))):
        if not relation.involves_dims(_PARAM, position, 1):
            relation = relation.project_out(_PARAM, position, 1)
    return relation
