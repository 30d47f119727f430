"""Dependences found by executing a kernel, and listing who touches what in which order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

import islpy as isl

import polygen as pg
from polygen.analysis.access.accesses import touched
from polygen.analysis.dataflow.dependences import Dependence
from polygen.analysis.pairs.instance_pairs import users
from polygen.ir.kernel import Kernel
from polygen.ir.tags import GroupTag
from tests.oracle.compare import typed
from tests.proof.judge import arguments_of
from tests.proof.trace import Instance, Trace, trace

# kind, variable, source, sink
Found = tuple[str, str, Instance, Instance]


def is_decided(knl: Kernel, name: str) -> bool:
    """No data says which elements are touched: then the dependences are exact."""
    return all(a.exact for insn in users(knl, name) for a in touched(knl, insn)[name])


def runs(
    kernel: Kernel, sizes: Mapping[str, int], limits: Mapping[str, int], count: int
) -> list[Trace]:
    """Execute a kernel in several permitted orders."""
    arguments = arguments_of(kernel, sizes, 0, limits)
    with pg.without_proofs():
        knl = typed(kernel, arguments)
    return [trace(knl, arguments, seed) for seed in range(count)]


def every_pair(kernel: Kernel, traces: Sequence[Trace]) -> set[Found]:
    """Return all pairs that come in one order in each run and touch one element."""
    places = [{x: at for at, x in enumerate(t.order)} for t in traces]
    found: set[Found] = set()
    for x, y in combinations(traces[0].order, 2):
        if all(p[x] < p[y] for p in places):
            found |= {(kind, name, x, y) for kind, name in _touch(kernel, traces[0], x, y)}
    return found


def _touch(kernel: Kernel, run: Trace, x: Instance, y: Instance) -> Iterator[tuple[str, str]]:
    for (name, index, writes), (other, at, overwrites) in product(run.touched[x], run.touched[y]):
        meet = (name, index) == (other, at) and (writes or overwrites)
        if meet and _one_copy(kernel, name, run.items[x], run.items[y]):
            yield ("output" if overwrites else "flow") if writes else "anti", name


def _one_copy(kernel: Kernel, name: str, a: Mapping[Any, int], b: Mapping[Any, int]) -> bool:
    """Tell whether two work items share a variable; who lacks an axis touches all copies along."""
    variable = kernel.variables[name]
    space = getattr(variable, "address_space", pg.AddressSpace.GLOBAL)
    if space is pg.AddressSpace.GLOBAL:
        return True
    both = a.keys() & b.keys()
    if space is pg.AddressSpace.LOCAL:
        both = {tag for tag in both if isinstance(tag, GroupTag)}
    return all(a[tag] == b[tag] for tag in both)


def direct_pairs(run: Trace) -> set[Found]:
    """Return the pairs without a write in between; for kernels without parallel inames."""
    writes: dict[Any, Instance] = {}
    reads: dict[Any, set[Instance]] = defaultdict(set)
    found: set[Found] = set()
    for x in run.order:
        cells = {(name, index, written) for name, index, written in run.touched[x]}
        for name, index, written in sorted(cells, key=lambda cell: cell[2]):
            cell = name, index
            if cell in writes:
                found.add(("output" if written else "flow", name, writes[cell], x))
            if not written:
                reads[cell].add(x)
                continue
            found |= {("anti", name, y, x) for y in reads.pop(cell, set()) if y != x}
            writes[cell] = x
    return found


def listed(dependences: Sequence[Dependence], sizes: Mapping[str, int]) -> set[Found]:
    """Return the pairs of instances that dependences speak of."""
    return {
        (d.kind, d.array, source, sink)
        for d in dependences
        for source, sink in instances(d.relation, sizes)
    }


def instances(relation: isl.Map, sizes: Mapping[str, int]) -> Iterator[tuple[Instance, Instance]]:
    """Yield the pairs of a relation; every dimension is bounded."""
    for position, name in enumerate(_names(relation, isl.dim_type.param)):
        relation = relation.fix_val(isl.dim_type.param, position, isl.Val(sizes[name]))
    (source, first), (sink, second) = (
        (str(relation.get_tuple_name(kind)), [n.rstrip("'") for n in _names(relation, kind)])
        for kind in (isl.dim_type.in_, isl.dim_type.out)
    )
    points: list[isl.Point] = []
    relation.project_out_all_params().wrap().foreach_point(points.append)
    for values in map(_coordinates, points):
        yield (
            (source, tuple(sorted(zip(first, values[: len(first)], strict=True)))),
            (sink, tuple(sorted(zip(second, values[len(first) :], strict=True)))),
        )


def _names(relation: isl.Map, kind: isl.dim_type) -> list[str]:
    return [str(relation.get_dim_name(kind, p)) for p in range(relation.dim(kind))]


def _coordinates(point: isl.Point) -> list[int]:
    count = point.get_space().dim(isl.dim_type.set)
    return [point.get_coordinate_val(isl.dim_type.set, p).to_python() for p in range(count)]
