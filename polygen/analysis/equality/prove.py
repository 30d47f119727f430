"""Proves that two kernels compute the same, without a map between them.

Both kernels' dataflow is followed backward from what each array argument holds in the end, in lock
step: `polygen.analysis.equality.compare`.  What instructions, loops and temporaries are called does
not matter, nor how values are stored on their way.  Sums are compared as bags of what they add up.
"""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polygen.analysis.dataflow.comparison_context import Frame
from polygen.analysis.dataflow.computed_difference import END
from polygen.analysis.dataflow.read_sources import element_names
from polygen.analysis.equality.compare import Comparison
from polygen.analysis.equality.compared_values import Value
from polygen.analysis.equality.unconditional_writes import total
from polygen.analysis.integers.integer_parameters import integer_parameters
from polygen.analysis.integers.isl_affine import condition_set
from polygen.ir import expression as ex
from polygen.ir.array import GlobalArg
from polygen.ir.domain import universe
from polygen.ir.kernel import Kernel


@dataclass(frozen=True)
class Unproved:
    """Elements of an array of which it is not proved that both kernels leave the same there.

    Attributes:
        name: the array.
        axes: what its subscripts are called in `points`.
        points: the elements, and the sizes.
        obstacles: what stood in the way of a proof.
    """

    name: str
    axes: tuple[str, ...]
    points: isl.Set
    obstacles: tuple[str, ...]


def unproved(first: Kernel, second: Kernel, *, reorders: bool) -> tuple[Unproved, ...]:
    """Return what could not be proved to be the same; nothing if two kernels compute the same.

    Parameters:
        first: a kernel whose arguments all have types, without calls and rules; of every two of its
            instances that touch one element, one writing, it is known which comes first.
        second: another one, with arguments of the same names, types and shapes.
        reorders: whether sums may be added up in another order.
    """
    first, second = total(first), total(second)
    known = first.assumptions.flat.intersect(second.assumptions.flat)
    found: list[Unproved] = []
    for name in sorted({*first.writers, *second.writers}):
        array = first.variables.get(name)
        if not isinstance(array, GlobalArg):
            continue
        axes = element_names(first, name)
        inside = known.intersect(_inside(first, array, axes))
        comparison = Comparison(first, reorders=reorders)
        names = comparison.flow.names.fresh(axes)
        index = tuple([ex.Variable(axis) for axis in axes])
        element = ex.element(ex.Variable(name), index)
        ends = [Value(element, Frame(kernel, END, names)) for kernel in (first, second)]
        points = _renamed(inside, names)
        left = points.subtract(comparison.same(ends[0], ends[1], points))
        if not left.is_empty():
            obstacles = tuple(comparison.flow.obstacles)
            found.append(Unproved(name, tuple([names[a] for a in axes]), left, obstacles))
    return tuple(found)


def _inside(kernel: Kernel, array: GlobalArg, axes: tuple[str, ...]) -> isl.Set:
    """Return where elements are in an array, as far as that is affine."""
    found, names = universe(), {*axes, *integer_parameters(kernel)}
    for axis, extent in zip(axes, array.shape or (), strict=True):
        bounds = (
            ex.Comparison(0, "<=", ex.Variable(axis)),
            ex.Comparison(ex.Variable(axis), "<", extent),
        )
        for bound in bounds:
            holds = condition_set(bound, names)
            found = found if holds is None else found.intersect(holds)
    return found


def _renamed(points: isl.Set, names: dict[str, str]) -> isl.Set:
    for old, new in names.items():
        position = points.find_dim_by_name(isl.dim_type.param, old)
        if position >= 0:
            points = points.set_dim_name(isl.dim_type.param, position, new)
    return points
