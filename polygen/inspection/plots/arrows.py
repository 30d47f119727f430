"""Dependences as arrows between the places of instances."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import islpy as isl

from polygen.analysis.dataflow.dependences import Dependence, dependences
from polygen.analysis.integers.isl_affine import to_val
from polygen.inspection.plots.shown_instances import Frame, Statement, Values, points_of
from polygen.ir import walk
from polygen.runtime.arrays.expression_values import value_of

KINDS = ("flow", "anti", "output")
_IN, _OUT, _PARAM = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.param


@dataclass(frozen=True)
class Arrow:
    """From the place of an instance of an instruction to that of one that depends on it."""

    kind: str
    source: str
    start: Values
    sink: str
    end: Values


def arrows(statements: Mapping[str, Statement], kinds: Collection[str]) -> list[Arrow]:
    """Return the direct dependences between what is drawn, each pair of places once.

    Parameters:
        statements: what is drawn, by the ids of the instructions.
        kinds: of the dependences that are wanted.
    """
    frame = next(iter(statements.values())).frame
    found = [
        arrow
        for dependence in dependences(frame.kernel)
        if dependence.kind in kinds
        and dependence.source in statements
        and dependence.sink in statements
        for arrow in _of(dependence, statements[dependence.source], statements[dependence.sink])
    ]
    return sorted(set(found), key=lambda a: (KINDS.index(a.kind), a.source, a.sink, a.start, a.end))


def _of(dependence: Dependence, source: Statement, sink: Statement) -> Iterator[Arrow]:
    relation = dependence.relation
    names = [_names(relation, kind) for kind in (_IN, _OUT)]
    if not all(_has_place(s.frame, n) for s, n in zip((source, sink), names, strict=True)):
        return  # it is between sums as wholes, and places are those of their terms
    relation = _fixed(relation, _PARAM, source.frame.sizes)
    relation = _fixed(relation, _IN, source.frame.at)
    relation = _fixed(relation, _OUT, sink.frame.at)
    count = len(names[0])
    for pair in points_of(relation.wrap().flatten()):
        start = _place(source.frame, names[0], pair[:count])
        end = _place(sink.frame, names[1], pair[count:])
        yield Arrow(dependence.kind, source.id, start, sink.id, end)


def _names(relation: isl.Map, kind: isl.dim_type) -> list[str]:
    """Return the inames of one side; those of the sink carry primes."""
    names = [relation.get_dim_name(kind, k) or "" for k in range(relation.dim(kind))]
    return [name.removesuffix("'") for name in names]


def _has_place(frame: Frame, names: Collection[str]) -> bool:
    used = frozenset[str]().union(*map(walk.free_variables, frame.axes))
    return used <= frame.sizes.keys() | set(names)


def _fixed(relation: isl.Map, kind: isl.dim_type, values: Mapping[str, int]) -> isl.Map:
    for position in range(relation.dim(kind)):
        name = (relation.get_dim_name(kind, position) or "").removesuffix("'")
        if name in values:
            relation = relation.fix_val(kind, position, to_val(values[name]))
    return relation


def _place(frame: Frame, names: Collection[str], instance: Values) -> Values:
    values = frame.sizes | dict(zip(names, instance, strict=True))
    return tuple(value_of(axis, values) for axis in frame.axes)
