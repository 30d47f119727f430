"""Slices in calls: ``y[:, i] = f(x[:, i])`` is ``[_0]: y[_0, i] = f([_0]: x[_0, i])``.

A slice with an end says how many elements the part of the array has, ``[_0 < 7]: x[5*_0 + 5]`` for
``x[5:40:5]``: of these alone, the kernel that is called may use any.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from polygen.analysis.integers.affine_forms import linear_form
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.language.refused import Refused

_BY_HAND = "write '[j]: x[2*j + 1]' for such a part, with a name j that no domain has"


@dataclass(frozen=True)
class Slice:
    """``begin:end:step`` in a subscript.

    Attributes:
        begin, end, step: what stands there, or None.
    """

    begin: Expression | None = None
    end: Expression | None = None
    step: Expression | None = None


def sliced(name: Any, index: list[Any]) -> ex.SubArrayRef:
    """Return the part of an array that subscripts stand for of which some are slices.

    Parameters:
        name: the token that names the array.
        index: expressions, and slices.

    Raises:
        Refused: if a slice does not go upwards in steps of a constant, from the front.
    """
    taken = walk.free_variables(ex.Subscript(ex.Variable(name.value), tuple(_expressions(index))))
    axes: list[str] = []
    extents: list[tuple[str, Expression]] = []
    subscript: list[Expression] = []
    for part in index:
        if not isinstance(part, Slice):
            subscript.append(part)
            continue
        axis = next(n for n in (f"_{k}" for k in range(len(axes), 99)) if n not in taken)
        axes.append(axis)
        begin, step = _begin(name, part), _step(name, part)
        along = ex.Variable(axis) if step == 1 else ex.product_of(step, ex.Variable(axis))
        subscript.append(along if begin == 0 else ex.sum_of(along, begin))
        if part.end is not None:
            extents.append((axis, _extent(name, begin, part.end, step)))
    element = ex.element(ex.Variable(name.value), tuple(subscript))
    return ex.SubArrayRef(tuple(axes), element, tuple(extents))


def _expressions(index: list[Any]) -> list[Expression]:
    parts = [(p.begin, p.end) if isinstance(p, Slice) else (p,) for p in index]
    return [node for several in parts for node in several if node is not None]


def _begin(name: Any, part: Slice) -> Expression:
    begin = 0 if part.begin is None else part.begin
    for what, node in (("begins", begin), ("ends", part.end)):
        if isinstance(node, int) and node < 0:
            raise Refused(
                f"a slice {what} at {node}, and subscripts count from the front",
                name.start_pos,
                _BY_HAND,
            )
    return begin


def _step(name: Any, part: Slice) -> int:
    step = 1 if part.step is None else part.step
    if isinstance(step, int) and step > 0:
        return step
    raise Refused("the step of a slice is no positive number", name.start_pos, _BY_HAND)


def _extent(name: Any, begin: Expression, end: Expression, step: int) -> Expression:
    form = linear_form(ex.sum_of(end, step - 1, ex.negated(begin)))
    if form is None:
        raise _unknown_extent(name)
    count = form.expression()
    if isinstance(count, int):
        return count // step
    return count if step == 1 else ex.floor_quotient(count, step)


def check_extent(extent: Expression, place: Any) -> None:
    """Refuse ``[j < p[i]]: x[i, j]``: how long a part is follows from loops and sizes.

    Parameters:
        extent: how long it is.
        place: the token to show.
    """
    if linear_form(extent) is None:
        raise _unknown_extent(place)


def _unknown_extent(place: Any) -> Refused:
    return Refused(
        "how many elements a part of an array has depends on more than loops and sizes",
        place.start_pos,
        _BY_HAND,
    )
