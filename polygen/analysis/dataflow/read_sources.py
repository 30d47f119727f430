"""Value-based dataflow: finds the write that each read sees.

What a read sees is the last write of its element before it, in the same copy.  For a kernel of
which every two conflicting instances are ordered, that is the same in every permitted execution,
so any one of them will do: the loops as they are nested, what is on hardware axes in lockstep.
isl finds the last writes exactly, where all that touches the variable is affine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from types import MappingProxyType

import islpy as isl

from polygen.analysis.access.accesses import (
    Access,
    Reference,
    access_of,
    is_affine,
    references,
    touched,
)
from polygen.analysis.access.storage_copies import FIRST, Axis, axes, first_of
from polygen.analysis.dataflow.last_write import write_in_iteration
from polygen.analysis.dataflow.latest_instances import last_writes
from polygen.analysis.dataflow.outermost_nests import writers_in
from polygen.analysis.dataflow.write_order import READER, WRITER, Timed, WriteOrder, parameters_of
from polygen.analysis.integers.projected_facts import (
    Fact,
    ProjectedFacts,
    projected_assumptions,
    set_of_facts,
)
from polygen.analysis.integers.second_instance import OTHER
from polygen.analysis.order.reduction_statements import places
from polygen.analysis.pairs.instance_pairs import users
from polygen.ir.array import GlobalArg
from polygen.ir.changed import changed
from polygen.ir.domain import project_out
from polygen.ir.empty import new_dict
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel
from polygen.ir.tags import is_parallel

_PARAM = isl.dim_type.param
_IN = isl.dim_type.in_
_OUT = isl.dim_type.out

_ELEMENT, _COPY = "__element_", "__copy_"  # names of users do not begin so
_NO_AXES: Mapping[Axis, str] = MappingProxyType({})


@dataclass(frozen=True)
class Source:
    """The source of the value that a read sees.

    Attributes:
        writer: the id of the instruction that wrote it; None if it was there before the kernel.
        pairs: a flat set: the reader's inames and, with a suffix, the writer's.
        position: which of the writer's assignees it is.
        values: what the writer's inames are in terms of the reader's, if that is known.
    """

    writer: str | None
    pairs: isl.Set
    position: int = 0
    values: Mapping[str, Expression] = field(default_factory=new_dict)


@per_kernel
def sources(
    kernel: Kernel, reference: Reference, nest: int | None = None
) -> tuple[Source, ...] | None:
    """Return where what a read sees comes from; None if data decides.

    The sets of the sources are disjoint, and each instance of the reader has one of them.  If data
    says which instances there are, they hold what each one would see.

    Parameters:
        kernel: the kernel.
        reference: the read; or a write, as if it read what was there before.
        nest: the position of the outermost loop that it is in, if what was written before that
            begins is not told from what was there before the kernel.
    """
    if (reference.insn.id, reference.inames) not in places(kernel).of:
        return None
    access = access_of(kernel, reference)
    at_once = write_in_iteration(kernel, access)
    if at_once is not None:
        return (Source(at_once.writer, at_once.pairs, values=at_once.values),)
    return _searched(kernel, reference, _writers(kernel, reference.name, nest))


@per_kernel
def certain_sources(kernel: Kernel, reference: Reference) -> tuple[Source, ...] | None:
    """Return which of the writes that are certain to be made a read would see, were these all.

    For which others there are, see `vague_writers`.  None if data says which element is read.
    """
    return _searched(kernel, reference, _certain_writers(kernel, reference.name))


@per_kernel
def next_writes(
    kernel: Kernel, reference: Reference, nest: int | None = None
) -> tuple[Source, ...]:
    """Return which writes come next after each read: those that overwrite what is read.

    Parameters:
        kernel: the kernel.
        reference: a read whose `sources` are known.
        nest: as of `sources`.

    Returns:
        as sources, whose writers are those who write next; where a read is of several copies of a
        variable, for each of them
    """
    writers = _writers(kernel, reference.name, nest)
    assert writers is not None
    several = _several_copies(kernel, access_of(kernel, reference))
    reader = _reader(kernel, reference, several)
    assert reader is not None
    known = projected_assumptions(kernel)
    found = [s for s in _flow(reader, writers, known, following=True) if s.writer is not None]
    return tuple([changed(s, pairs=project_out(s.pairs, several.values())) for s in found])


def _searched(
    kernel: Kernel, reference: Reference, writers: WriteOrder | None
) -> tuple[Source, ...] | None:
    reader = None if writers is None else _reader(kernel, reference, {})
    if writers is None or reader is None:
        return None
    return tuple(_flow(reader, writers, projected_assumptions(kernel)))


def _reader(kernel: Kernel, reference: Reference, several: Mapping[Axis, str]) -> Timed | None:
    """Return which elements are read, and when; None if that is not known.

    Parameters:
        kernel: the kernel.
        reference: the read.
        several: for axes along which all copies are read, names of their numbers: each copy is read
            by an instance of its own.
    """
    place = places(kernel).of.get((reference.insn.id, reference.inames))
    if place is None or not is_affine(kernel, reference):
        return None
    relation = _with_copies(kernel, access_of(kernel, reference), several)
    if relation is None:
        return None
    if projected_assumptions(kernel) is None:
        relation = relation.intersect_params(kernel.assumptions.flat)
    inames, row = _time(kernel, place, reference.inames, is_write=False)
    inames += several.values()
    return Timed(reference.insn.id, _map(relation, inames, READER), inames, row)


def element_names(kernel: Kernel, name: str) -> tuple[str, ...]:
    """Return what the subscripts of an array are called in the sets of `final_sources`."""
    shape = kernel.array(name).shape
    return tuple(f"{_ELEMENT}{axis}" for axis in range(len(shape or ())))


@per_kernel
def final_sources(kernel: Kernel, name: str) -> tuple[Source, ...] | None:
    """Return what wrote each element of an array last; None if data decides.

    As if an instruction came after all others, with an iname for each axis.
    """
    return _searched_at_the_end(kernel, name, _writers(kernel, name))


@per_kernel
def certain_final_sources(kernel: Kernel, name: str) -> tuple[Source, ...] | None:
    """Return what wrote each element of an array last, of the writes that are certain."""
    return _searched_at_the_end(kernel, name, _certain_writers(kernel, name))


def _searched_at_the_end(
    kernel: Kernel, name: str, writers: WriteOrder | None
) -> tuple[Source, ...] | None:
    if writers is None:
        return None
    inames = element_names(kernel, name)
    text = ", ".join(inames)
    relation = isl.Map(f"{{ {READER}[{text}] -> [{text}] }}")
    known = projected_assumptions(kernel)
    if known is None:
        relation = relation.intersect_params(kernel.assumptions.flat)
    last = max((int(place[0]) for place in places(kernel).of.values()), default=0)
    row = [str(last + 1)] + ["0"] * (_width(kernel) - 1)
    reader = Timed("", relation, inames, row)
    return tuple(_flow(reader, writers, known))


def _flow(
    reader: Timed, order: WriteOrder, known: ProjectedFacts | None, *, following: bool = False
) -> Iterator[Source]:
    last, others = last_writes(reader, order, known, following=following)
    for number, pairs in last.items():
        writer = order.writers[number]
        named = _named(pairs, _OUT, [i + OTHER for i in writer.inames])
        flat = _flat(_named(named, _IN, reader.inames))
        yield Source(writer.insn_id, flat, writer.position)
    if others is not None and not others.is_empty():
        named = _named(isl.Map.from_domain(others), _IN, reader.inames)
        yield Source(None, _flat(named))


@per_kernel
def vague_writers(kernel: Kernel, name: str) -> tuple[str, ...]:
    """Return those who write a variable where data says whether, or which of its elements."""
    return tuple(
        [
            insn.id
            for insn in kernel.writers.get(name, ())
            if not all(a.exact for a in touched(kernel, insn.id)[name] if a.is_write)
        ]
    )


@per_kernel
def _certain_writers(kernel: Kernel, name: str) -> WriteOrder | None:
    return _timed(kernel, name, frozenset(vague_writers(kernel, name)))


@per_kernel
def _writers(kernel: Kernel, name: str, nest: int | None = None) -> WriteOrder | None:
    """Return who writes a variable, which elements, and when; None if data decides."""
    return _timed(kernel, name, frozenset(), nest)


def _timed(
    kernel: Kernel, name: str, ignored: frozenset[str], nest: int | None = None
) -> WriteOrder | None:
    found: list[Timed] = []
    writers = kernel.writers.get(name, ())
    for insn in writers if nest is None else writers_in(kernel, name, nest):
        if insn.id in ignored:
            continue
        writes = [r for r in references(insn) if r.is_write]
        for position, reference in enumerate(writes):
            if reference.name != name:
                continue
            if reference.update:
                return None  # in whatever order these come
            access = access_of(kernel, reference)
            relation = _with_copies(kernel, access)
            if not access.exact or relation is None:
                return None
            place = places(kernel).of[insn.id, insn.within_inames]
            inames, row = _time(kernel, place, insn.within_inames, is_write=True)
            timed = Timed(insn.id, _map(relation, inames, WRITER), inames, row, position)
            found.append(_with_facts(timed, projected_assumptions(kernel)))
    return WriteOrder(found)


def _with_facts(timed: Timed, known: ProjectedFacts | None) -> Timed:
    facts = frozenset[Fact]() if known is None else known.about(parameters_of(timed))
    if not facts:
        return timed
    return changed(timed, elements=timed.elements.intersect_params(set_of_facts(facts)))


@per_kernel
def _axes(kernel: Kernel, name: str) -> tuple[Axis, ...]:
    """Return the axes along which a variable has copies."""
    found = {tag for insn in users(kernel, name) for tag in axes(kernel, insn, name)}
    return tuple(sorted(found, key=str))


@per_kernel
def _by_iname(kernel: Kernel, name: str, tag: Axis) -> bool:
    """Tell whether the inames on an axis are one and the same in all that touches a variable."""
    found = {axes(kernel, insn, name).get(tag) for insn in users(kernel, name)}
    return len(found) == 1


def _several_copies(kernel: Kernel, access: Access) -> dict[Axis, str]:
    """Return names for the numbers of copies along the axes that an access lacks."""
    here = axes(kernel, access.insn_id, access.name)
    missing = [tag for tag in _axes(kernel, access.name) if tag not in here]
    return {tag: f"{_COPY}{number}" for number, tag in enumerate(missing)}


def _with_copies(
    kernel: Kernel, access: Access, several: Mapping[Axis, str] = _NO_AXES
) -> isl.Set | None:
    """Return the elements that are touched, with the number of the copy along each axis.

    What lacks an axis touches all copies along it.  None if it is not known which, or if a reader
    would see several of which the numbers have no names.
    """
    relation = access.relation
    here = axes(kernel, access.insn_id, access.name)
    for tag in _axes(kernel, access.name):
        if tag in several:
            number = isl.Set(f"[{several[tag]}] -> {{ [{several[tag]}] }}")
            relation = relation.flat_product(number)
            continue
        if tag not in here:
            if not access.is_write:
                return None
            relation = relation.flat_product(_ANY)
            continue
        iname = here[tag]
        if _by_iname(kernel, access.name, tag):
            number = isl.Set(f"[{iname}] -> {{ [{iname}] }}")
        else:
            values, first = first_of(kernel, iname), FIRST + iname
            if values is None:
                return None
            number = isl.Set(f"[{iname}, {first}] -> {{ [{iname} - {first}] }}")
            number = number.intersect_params(values)
            position = number.find_dim_by_name(_PARAM, first)
            number = number.project_out(_PARAM, position, 1)
        relation = relation.flat_product(number)
    return relation


_ANY = isl.Set("{ [copy] }")


# --- an instance's elements, and its time


def _map(relation: isl.Set, inames: Sequence[str], label: str) -> isl.Map:
    """Return the map from instances to elements that a relation with inames as parameters is."""
    result = isl.Map.from_range(relation)
    for position, iname in enumerate(inames):
        source = result.find_dim_by_name(_PARAM, iname)
        if source < 0:
            result = result.add_dims(_IN, 1)
        else:
            result = result.move_dims(_IN, position, _PARAM, source, 1)
    return result.set_tuple_name(_IN, label)


def _time(
    kernel: Kernel, place: Sequence[int | str], within: frozenset[str], *, is_write: bool
) -> tuple[list[str], list[str]]:
    """Return the inames of an instance, loops first, and when it is executed.

    Reads come before the write.
    """
    row = [str(p) for p in place]
    inames = [p for p in place if isinstance(p, str)]
    inames += sorted(within.difference(inames))
    # What is written last by equal times is not asked for: such writes are of other elements.
    parallel = sorted([i for i in within if is_parallel(kernel.tags.get(i))])
    free = _width(kernel) - len(row) - 1 - len(parallel)
    return inames, row + ["0"] * free + parallel + [str(int(is_write))]


@per_kernel
def _width(kernel: Kernel) -> int:
    """Return how many numbers a time has."""
    most = max((len(i.within_inames | i.reduction_inames) for i in kernel.instructions), default=0)
    return places(kernel).depth + most + 1


def _named(pairs: isl.Map, kind: isl.dim_type, names: Sequence[str]) -> isl.Map:
    def name(result: isl.Map, numbered: tuple[int, str]) -> isl.Map:
        return result.set_dim_name(kind, *numbered)

    return reduce(name, enumerate(names), pairs)


def _flat(pairs: isl.Map) -> isl.Set:
    """Return a map with named dimensions as a set in which all of them are parameters."""
    for kind in (_IN, _OUT):
        count = pairs.dim(kind)
        named = all(pairs.has_dim_name(kind, position) for position in range(count))
        if count and named:
            pairs = pairs.move_dims(_PARAM, pairs.dim(_PARAM), kind, 0, count)
    return pairs.params()


# --- what data decides


def readers_tell(kernel: Kernel, name: str) -> bool:
    """Tell whether it is known, of all that touch a variable, which elements these are.

    Whether they are touched may be data.  Then whoever reads them tells whether the same ones are
    written in two kernels: an instance that writes others is not the one that is read.
    """
    accesses = (a for insn in users(kernel, name) for a in touched(kernel, insn)[name])
    return all(a.exact or _is_known(kernel, a) for a in accesses)


def _is_known(kernel: Kernel, access: Access) -> bool:
    """Tell whether it is known which element is touched, if one is."""
    of = access.reference
    return of is None or (not of.vague and is_affine(kernel, of))  # a bound is a scalar


def overlapping(kernel: Kernel, name: str) -> tuple[str, ...]:
    """Return the names of the arrays that may share memory with a variable; its own first."""
    array = kernel.variables[name]
    if not isinstance(array, GlobalArg):
        return (name,)
    others = [a for a in kernel.arguments if isinstance(a, GlobalArg) and a is not array]
    return (name, *(a.name for a in others if array.may_alias or a.may_alias))
