"""The sizes and scalars for which loops carry dependences, found once for all of their values.

    for i in range(n): a[i + k] = a[i] + b[i]

carries a true dependence if 0 < k < n, an anti-dependence if -n < k < 0, and none otherwise.  These
are the dependences of `dependences`, each projected onto the parameters.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce

import islpy as isl

from polygen.analysis.access.domains import domain_of
from polygen.analysis.dataflow.dependences import Dependence, carried_dependences, dependences
from polygen.analysis.integers.isl_affine import condition_set, is_bounded
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.integers.second_instance import OTHER
from polygen.analysis.integers.size_conditions import SizeCondition
from polygen.analysis.order.instance_order import order_of
from polygen.analysis.pairs.instance_pairs import equal, renamed
from polygen.ir import expression as ex
from polygen.ir.domain import flat_names, project_out
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel

_IN = isl.dim_type.in_
_OUT = isl.dim_type.out


@dataclass(frozen=True)
class ConditionalDependence:
    """A dependence that a loop carries, and when there is one.

    Attributes:
        dependence: the dependence.
        when: the sizes and scalars for which any two instances have it.
        distance: for each of its loops, in how many more values of it the sink comes, as a text:
            a number, a formula of sizes and scalars, or ``"<"``, ``">"`` or ``"*"``.
    """

    dependence: Dependence
    when: SizeCondition
    distance: tuple[str, ...]

    def __str__(self) -> str:
        plain = f"distance ({', '.join(map(str, self.dependence.distance))})"
        text = str(self.dependence).replace(plain, f"distance ({', '.join(self.distance)})", 1)
        return text if self.when.is_always else f"{text}, if {self.when}"


@dataclass(frozen=True)
class LoopConditions:
    """The dependences of a loop, and for which sizes and scalars it carries none.

    Attributes:
        iname: the iname of the loop.
        carried: the dependences that it carries for some sizes.
        parallel: the sizes for which it carries none: its iterations may come in any order, those
            of the loops around it being in theirs.  What data decides counts as a dependence.
            Like the others, this is for sizes for which the loop has two iterations.
        unless_data: the same, if of what data decides nothing is a dependence.
        with_old_values: the sizes for which all that it carries is anti-dependences: its iterations
            may come in any order if they read copies of what was there before the loop.
    """

    iname: str
    carried: tuple[ConditionalDependence, ...]
    parallel: SizeCondition
    unless_data: SizeCondition
    with_old_values: SizeCondition

    @property
    def only_with_old_values(self) -> SizeCondition:
        """The sizes for which copies of old values are needed, and suffice."""
        return self.with_old_values & ~self.parallel

    @property
    def overwritten(self) -> Mapping[str, tuple[str, ...]]:
        """The arrays of which later iterations overwrite what earlier ones read, with the readers.

        These are ids of instructions.
        """
        found: dict[str, dict[str, None]] = {}
        for c in self.carried:
            if _is_anti(c):
                found.setdefault(c.dependence.array, {})[c.dependence.source] = None
        return {array: tuple(readers) for array, readers in found.items()}


@per_kernel
def carried_conditions(kernel: Kernel) -> Mapping[str, LoopConditions]:
    """Return what each loop carries, and when.

    Raises:
        NoLoopNest, DependencyCycle: if there is no order at all.
        ProofLimit: if isl has more to do than is reasonable.
    """
    found = carried_dependences(kernel)
    return {iname: _of_loop(kernel, iname, found.get(iname, ())) for iname in kernel.inames}


@per_kernel
def conditional_dependences(kernel: Kernel) -> tuple[ConditionalDependence, ...]:
    """Return all dependences of a kernel, those that no loop carries too, and when they are.

    Raises what `carried_conditions` raises.
    """
    known = known_parameters(kernel)
    return tuple([_conditional(known, dependence) for dependence in dependences(kernel)])


@per_kernel
def sizes_with_iterations(kernel: Kernel, iname: str, distance: int = 1) -> isl.Set:
    """Return the sizes for which a loop has two iterations: else nothing needs to be known of it.

    Data that bounds mention may be anything.

    Parameters:
        kernel: the kernel.
        iname: the iname of the loop.
        distance: how far apart the two are, at least.
    """
    known = known_parameters(kernel)
    insns = [kernel.instructions[n] for n in kernel.numbers_of_loops.get(iname, ())]
    if not insns:
        return known
    order = order_of(kernel).loops(insns[0].id)
    outer = order[: order.index(iname)] if iname in order else ()
    inside = [domain_of(kernel, insn.within_inames | {iname}) for insn in insns]
    every = _onto(reduce(isl.Set.union, inside), {*outer, iname, *kernel.parameters})
    later = ex.Comparison(ex.Variable(iname + OTHER), ">=", ex.sum_of(ex.Variable(iname), distance))
    apart = condition_set(later)
    assert apart is not None
    both = every.intersect(renamed(every, kernel.home_domains)).intersect(apart)
    return known.intersect(
        _onto(reduce(isl.Set.intersect, map(equal, outer), both), kernel.parameters)
    )


def _onto(flat: isl.Set, names: Container[str]) -> isl.Set:
    return project_out(flat, [name for name in flat_names(flat) if name not in names])


def _of_loop(kernel: Kernel, iname: str, found: tuple[Dependence, ...]) -> LoopConditions:
    known = sizes_with_iterations(kernel, iname)
    carried = tuple([_conditional(known, dependence) for dependence in found])
    certain = [c for c in carried if c.dependence.certain]
    kept = [c for c in carried if not _is_anti(c)]
    return LoopConditions(
        iname,
        carried,
        _without(known, carried),
        _without(known, certain),
        _without(known, kept),
    )


def _is_anti(conditional: ConditionalDependence) -> bool:
    dependence = conditional.dependence
    return dependence.kind == "anti" and dependence.sink_array is None


def _conditional(known: isl.Set, dependence: Dependence) -> ConditionalDependence:
    when = SizeCondition(dependence.relation.params(), known)
    return ConditionalDependence(dependence, when, symbolic_distance(dependence))


def _without(known: isl.Set, carried: Iterable[ConditionalDependence]) -> SizeCondition:
    """Return the sizes for which there is none of some dependences."""
    there = [c.dependence.relation.params() for c in carried]
    return SizeCondition(reduce(isl.Set.subtract, there, known), known)


def symbolic_distance(dependence: Dependence) -> tuple[str, ...]:
    """Return the distance of a dependence, with formulas where it depends on sizes and scalars."""
    return tuple(
        [
            _formula(dependence.relation, loop) or str(known)
            if isinstance(known, str)
            else str(known)
            for loop, known in zip(dependence.loops, dependence.distance, strict=True)
        ]
    )


def _formula(relation: isl.Map, loop: str) -> str | None:
    """Return by how much a loop's value is greater in the second instance, if that is one form."""
    sides: list[int] = []
    for kind, name in ((_IN, loop), (_OUT, f"{loop}'")):
        position = relation.find_dim_by_name(kind, name)
        if position < 0:
            return None
        sides.append(position)
    pairs = _only(_only(relation, _IN, sides[0]), _OUT, sides[1])
    moved = pairs.reset_tuple_id(_IN).reset_tuple_id(_OUT).deltas()
    if not (is_bounded(moved, above=False) and is_bounded(moved, above=True)):
        return None
    least, most = moved.dim_min(0), moved.dim_max(0)
    pieces = least.get_pieces()
    if len(pieces) != 1 or not least.is_equal(most):
        return None
    found = _VALUE.search(str(pieces[0][1].to_str()))
    return found and found.group(1)


_VALUE = re.compile(r"\{ \[\(?([^\[\]]*?)\)?\][^\[\]]*\}$")  # of a function as isl prints it


def _only(relation: isl.Map, kind: isl.dim_type, position: int) -> isl.Map:
    count = relation.dim(kind)
    relation = relation.project_out(kind, position + 1, count - position - 1)
    return relation.project_out(kind, 0, position)
