"""Numbers that are read from tables of constants: which values they have, and where."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any

import islpy as isl
import numpy as np

from polygen.analysis.access.accesses import Reference, known_names, loop_domain
from polygen.analysis.access.domains import domain_of, domain_temporaries
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.integers.unknowns import Unknowns
from polygen.ir import expression as ex
from polygen.ir.array import TemporaryVariable
from polygen.ir.domain import project_out, universe
from polygen.ir.dtype import is_integer
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel

_MOST_RUNS = 200  # isl's work grows with them; of a table that has more, only the range is known
_PLACE = "__place_"  # names of users do not begin so


def values_in_tables(kernel: Kernel, unknowns: Unknowns) -> tuple[isl.Set, bool]:
    """Return which values the unknowns have, and whether that is all that can be said of them.

    Parameters:
        kernel: the kernel.
        unknowns: those of an instance.

    Returns:
        A flat set over inames, parameters and the unknowns.  It says all if each unknown is an
        element of a table of constants, at a place that is affine in the others.
    """
    found, exact, seen = universe(), True, 0
    while len(unknowns.names) > seen:  # subscripts of tables may be data in turn
        for node, name in list(unknowns.names.items())[seen:]:
            seen += 1
            values, all_is_said = _values(kernel, unknowns, node, name)
            found, exact = found.intersect(values), exact and all_is_said
    return found, exact


def _values(
    kernel: Kernel, unknowns: Unknowns, node: Expression, name: str
) -> tuple[isl.Set, bool]:
    """Return the values of one unknown, which stands for `node`."""
    table = _elements(kernel, node)
    if table is None or not table.size:
        return universe(), False
    runs = _runs(kernel, ex.name_of(node))
    index = [unknowns.abstract(i) for i in ex.index_of(node)]
    places = [f"{_PLACE}{axis}" for axis in range(len(index))]
    here = [
        condition_set(ex.Comparison(ex.Variable(place), "==", i))
        for place, i in zip(places, index, strict=True)
    ]
    known = [at for at in here if at is not None]
    if runs is None or len(known) < len(here):
        return isl.Set(f"[{name}] -> {{ : {table.min()} <= {name} <= {table.max()} }}"), False
    pieces = " or ".join(_run_text(run, places, name) for run in runs)
    relation = isl.Set(f"[{', '.join([name, *places])}] -> {{ : {pieces} }}")
    return project_out(reduce(isl.Set.intersect, known, relation), places), True


def _elements(kernel: Kernel, node: Expression) -> np.ndarray[Any, Any] | None:
    """Return the integers of the table that an expression is an element of."""
    if not isinstance(node, ex.Subscript | ex.Variable):
        return None
    table = kernel.variables.get(ex.name_of(node))
    if not isinstance(table, TemporaryVariable) or not table.read_only:
        return None
    elements = table.initializer
    return elements if elements is not None and is_integer(elements.dtype) else None


# The subscripts of the first, how many there are, its value, and by how much each is larger.
_Run = tuple[tuple[int, ...], int, int, int]


@per_kernel
def _runs(kernel: Kernel, name: str) -> list[_Run] | None:
    """Return a table as runs along its last axis in which values grow evenly; None if too many."""
    table = kernel.variables[name]
    assert isinstance(table, TemporaryVariable)
    assert table.initializer is not None
    elements = table.initializer
    if not elements.shape:
        return [((), 1, int(elements), 0)]
    found: list[_Run] = []
    for row in np.ndindex(elements.shape[:-1]):
        for start, count, value, step in _runs_of_row(elements[row].tolist()):
            found.append(((*row, start), count, value, step))
            if len(found) > _MOST_RUNS:
                return None
    return found


def _runs_of_row(row: list[int]) -> Iterator[tuple[int, int, int, int]]:
    start = 0
    while start < len(row):
        end, step = start + 1, 0
        if end < len(row):
            step = row[end] - row[start]
            while end < len(row) and row[end] - row[end - 1] == step:
                end += 1
        yield start, end - start, row[start], step if end - start > 1 else 0
        start = end


def _run_text(run: _Run, places: list[str], name: str) -> str:
    place, count, value, step = run
    if not places:
        return f"{name} = {value}"
    *rows, last = places
    *row, start = place
    parts = [f"{at} = {number}" for at, number in zip(rows, row, strict=True)]
    parts.append(f"{start} <= {last} < {start + count}")
    parts.append(f"{name} = {value} + {step}*({last} - {start})")
    return f"({' and '.join(parts)})"


# --- temporaries that are given such values


def possible_values(kernel: Kernel, reference: Reference) -> isl.Set:
    """Return values of inames and parameters for which a reference may be reached.

    As `reference_domain` does, with what is known of temporaries that bound loops around it.
    """
    bounds = sorted(domain_temporaries(kernel, reference.inames))
    held = [_held(kernel, name) for name in bounds]
    found = reduce(isl.Set.intersect, held, domain_of(kernel, reference.inames))
    found = project_out(found, bounds).intersect(known_parameters(kernel))
    conditions = [condition_set(c, known_names(kernel, reference)) for c in reference.conditions]
    return reduce(isl.Set.intersect, [c for c in conditions if c is not None], found)


@per_kernel
def _held(kernel: Kernel, name: str) -> isl.Set:
    """Return the values that a scalar may have when it is read: those that are written to it."""
    own = Unknowns(NO_NAMES)
    if _elements(kernel, ex.Variable(name)) is not None:
        own.names[ex.Variable(name)] = name
        return values_in_tables(kernel, own)[0]
    written = [_written(kernel, w, name) for w in kernel.expanded.writers.get(name, ())]
    known = [values for values in written if values is not None]
    if not known or len(known) < len(written):
        return universe()
    return reduce(isl.Set.union, known)


def _written(kernel: Kernel, writer: Assigning, name: str) -> isl.Set | None:
    """Return the values that a writer may give to a scalar; None if they are not known."""
    value = next((v for a, v in writer.pairs if ex.name_of(a) == name), None)
    table = None if value is None else _elements(kernel, value)
    dtype = kernel.variables[name].dtype
    if value is None or table is None or (dtype and not np.can_cast(table.dtype, dtype)):
        return None
    inames = writer.within_inames
    unknowns = Unknowns(inames | frozenset(kernel.parameters))
    unknowns.names[value] = name
    values, _ = values_in_tables(kernel, unknowns)
    others = [n for n in unknowns.names.values() if n != name]
    domain, _ = loop_domain(kernel, inames)
    reached = values.intersect(domain).intersect(known_parameters(kernel))
    return project_out(reached, [*inames, *others])
