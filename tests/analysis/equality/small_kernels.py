"""Small kernels, values in them, and where executions of two of them agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import islpy as isl
import numpy as np

import polygen as pg
from polygen.analysis.dataflow.comparison_context import Frame
from polygen.analysis.dataflow.computed_difference import END
from polygen.analysis.dataflow.read_sources import element_names
from polygen.analysis.equality.compared_values import Value
from polygen.ir import expression as ex
from polygen.ir.domain import unflatten
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel
from polygen.language.parser import parse_expression
from tests.oracle.compare import make_arguments
from tests.oracle.interpreter import interpret

LINE = "{ [i]: 0<=i<n }"
SUMMED = ["{ [i]: 0<=i<n }", "{ [k]: 0<=k<m }"]
_RUNS = 6


def ordered(domains: Any, text: Any, *data: Any, **options: Any) -> Kernel:
    """Return a kernel whose instructions come one after the other, of arrays of float64."""
    knl = pg.make_kernel(domains, text, [*data, "..."], seq_dependencies=True, **options)
    untyped = [a for a in knl.arguments if isinstance(a, pg.GlobalArg) and a.dtype is None]
    return pg.add_dtypes(knl, {a.name: "float64" for a in untyped})


def numbers(name: str, dtype: str, *shape: str) -> pg.GlobalArg:
    """Return an array of some type."""
    return pg.GlobalArg(name, dtype, ", ".join(shape))


def value(knl: Kernel, insn_id: str, text: str | None = None, **names: str) -> Value:
    """Return what an instruction assigns, or another expression, at instances of these names."""
    insn = knl.assignment(insn_id)
    assert isinstance(insn, Assignment)
    node = insn.expression if text is None else parse_expression(text)
    return Value(node, Frame(knl, insn, names))


def at_end(knl: Kernel, name: str, called: str = "__e") -> Value:
    """Return the element of an array with one axis that is there in the end."""
    axes = element_names(knl, name)
    element = ex.element(ex.Variable(name), tuple([ex.Variable(axis) for axis in axes]))
    return Value(element, Frame(knl, END, dict.fromkeys(axes, called)))


def agreeing(
    first: Kernel, second: Kernel, name: str, sizes: Sequence[Mapping[str, int]]
) -> set[tuple[int, ...]]:
    """Return the sizes and elements at which executions of two kernels leave the same."""
    found: set[tuple[int, ...]] = set()
    for given in sizes:
        runs = [_data(first, given, seed) for seed in range(_RUNS)]
        pairs = [[interpret(k, run).arrays[name] for k in (first, second)] for run in runs]
        for element in range(len(pairs[0][0])):
            if all(a[element] == b[element] for a, b in pairs):
                found.add((*given.values(), element))
    return found


def _data(knl: Kernel, sizes: Mapping[str, int], seed: int) -> dict[str, Any]:
    """Return few different numbers, so that rare cases come; integers are subscripts."""
    found, random = make_arguments(knl, sizes, seed), np.random.default_rng(seed)
    for array in knl.arguments:
        if isinstance(array, pg.GlobalArg):
            is_index = str(array.dtype).startswith("int")
            low, high = (0, max(1, min(sizes.values()))) if is_index else (-2, 3)
            shape = np.shape(found[array.name])
            found[array.name] = random.integers(low, high, shape).astype(array.dtype)
    return found


def at_sizes(
    flat: isl.Set, names: Sequence[str], sizes: Sequence[Mapping[str, int]]
) -> set[tuple[int, ...]]:
    """Return the sizes and the points of a flat set over these names."""
    found: set[tuple[int, ...]] = set()
    for given in sizes:
        whole = flat
        for name, size in given.items():
            position = whole.find_dim_by_name(isl.dim_type.param, name)
            if position >= 0:
                whole = whole.fix_val(isl.dim_type.param, position, isl.Val(size))
        box = unflatten(whole, names).project_out_all_params()
        listed: list[isl.Point] = []
        box.foreach_point(listed.append)
        for point in listed:
            values = [
                point.get_coordinate_val(isl.dim_type.set, position).to_python()
                for position in range(len(names))
            ]
            found.add((*given.values(), *values))
    return found
