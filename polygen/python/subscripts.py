"""Subscripts as NumPy has them: integers, slices, ``...``, ``None``, masks, arrays of integers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.python.affine import Affine, number
from polygen.python.refused import Refused
from polygen.python.trace import Trace
from polygen.python.values import (
    BOOL,
    Arrayed,
    Constant,
    Index,
    Indices,
    Lazy,
    Masked,
    Number,
    View,
    index_sum,
    index_times,
)


@dataclass(frozen=True)
class Slice:
    """``start:stop:step``, as it was evaluated."""

    start: Any
    stop: Any
    step: Any


@dataclass(frozen=True)
class Strip:
    """The subscripts ``first, first + 1, ...``: `count` of them, as `polygen.vidx` gives.

    Attributes:
        first: the first one.
        count: how many there are.
        end: what all are below.
    """

    first: Affine
    count: Affine
    end: Affine


ELLIPSIS = Constant(...)
NEW_AXIS = Constant(None)


def subscripted(trace: Trace, array: Arrayed, keys: tuple[Any, ...]) -> Any:
    """Return ``array[keys]``: a view if it is one of an array in memory, as in NumPy.

    Raises:
        Refused: if NumPy has no such subscript, or kernels do not.
    """
    if len(keys) == 1 and _is_mask(keys[0]):
        return _masked(trace, array, keys[0])
    parts = _complete(array, keys)
    if any(isinstance(part, Lazy | View) for part in parts):
        return _gathered(trace, array, parts)
    has_strip = _check_strips(parts)
    axes = [_axis(trace, part, extent) for part, extent in _with_extents(array, parts)]
    shape = tuple([axis.extent for axis in axes if axis.extent is not None])

    def place(index: Indices) -> Indices:
        waiting = list(index)
        found: list[Index] = []
        for axis in axes:
            own = waiting.pop(0) if axis.extent is not None else None
            if not axis.is_new:
                found.append(axis.place(own))
        return tuple(found)

    if isinstance(array, View):
        inner = array.place
        added = tuple([axis.recipe for axis in axes])
        recipe = None if array.recipe is None else (*array.recipe, added)
        view = View(
            array.base,
            shape,
            lambda index: inner(place(index)),
            recipe=recipe,
            is_gather=array.is_gather or has_strip,
            part=array.part,
        )
        return view if shape else element_number(view)
    lazy = Lazy(array.dtype, shape, lambda index: array.element(place(index)), array.is_costly)
    return lazy if shape else element_number(lazy)


def element_number(value: Arrayed) -> Number:
    """Return the one element of a value without axes."""
    return Number(value.dtype, weak=False, tree=value.element(()))


@dataclass(frozen=True)
class _Axis:
    """An axis with a subscript; without an extent, none is left."""

    extent: Affine | None
    place: Callable[[Index | None], Index]
    recipe: Any = None
    is_new: bool = False


def _is_mask(key: Any) -> bool:
    return isinstance(key, Lazy | View) and key.dtype == BOOL


def _masked(trace: Trace, array: Arrayed, mask: Arrayed) -> Masked:
    if len(mask.shape) != len(array.shape):
        raise Refused("a mask has fewer axes than the array", "write the loop over the others")
    for one, other in zip(mask.shape, array.shape, strict=True):
        if not trace.extents_agree(one, other):
            raise Refused("a mask has another shape than the array")
    return Masked(array, mask)


def _complete(array: Arrayed, keys: tuple[Any, ...]) -> list[Any]:
    """Return a subscript for each axis, and for each new one."""
    used = sum(key not in (NEW_AXIS, ELLIPSIS) for key in keys)
    missing = len(array.shape) - used
    if missing < 0:
        raise Refused(f"an array of {len(array.shape)} axes has {used} subscripts")
    everything = [Slice(None, None, None)] * missing
    found: list[Any] = []
    for at, key in enumerate(keys):
        if key == ELLIPSIS:
            if ELLIPSIS in keys[:at]:
                raise Refused("there are two '...' among the subscripts")
            found += everything
        else:
            found.append(key)
    return found if ELLIPSIS in keys else [*found, *everything]


def _with_extents(array: Arrayed, parts: list[Any]) -> list[tuple[Any, Affine | None]]:
    waiting = list(array.shape)
    return [(part, None if part == NEW_AXIS else waiting.pop(0)) for part in parts]


def _axis(trace: Trace, part: Any, extent: Affine | None) -> _Axis:
    if extent is None:
        return _Axis(number(1), lambda _index: number(0), None, is_new=True)
    if isinstance(part, Slice):
        return _sliced(trace, part, extent)
    if isinstance(part, Strip):
        return _strip(trace, part, extent)
    if isinstance(part, Number):
        at = position(trace, part, extent)
        return _Axis(None, lambda _index: at, at)
    raise Refused("a subscript is neither an integer nor a slice")


def _check_strips(parts: list[Any]) -> bool:
    """Tell whether there is a strip; NumPy pairs several, and moves the axis of some to the front.

    Raises:
        Refused: if NumPy would.
    """
    strips = [at for at, part in enumerate(parts) if isinstance(part, Strip)]
    if not strips:
        return False
    chosen = [at for at, part in enumerate(parts) if isinstance(part, Strip | Number)]
    if len(strips) > 1 or chosen[-1] - chosen[0] >= len(chosen):
        raise Refused(
            "pg.vidx stands beside other subscripts so that NumPy would move axes",
            "use slices",
        )
    return True


def _strip(trace: Trace, part: Strip, extent: Affine) -> _Axis:
    facts = trace.facts
    is_inside = facts.is_never_negative(extent.minus(part.end))
    if not (facts.is_never_negative(part.first) and is_inside):
        raise Refused("what pg.vidx gives may be outside of the array", "pass bound=")
    recipe = (part.first, part.first.plus(part.count), 1)
    return _Axis(part.count, lambda index: index_sum(_given(index), part.first), recipe)


# --- integers


def position(trace: Trace, key: Number, extent: Affine) -> Index:
    """Return where a subscript is along an axis: a negative one counts from the end."""
    if key.dtype.kind not in "iu":
        raise Refused(f"a subscript is a {key.dtype}", "convert it with int()")
    if key.affine is not None:
        return affine_position(trace, key.affine, extent)
    tree = key.element()
    if trace.checks_at_call(tree, extent):
        return _wrapped(trace.frozen(key).element(), key.dtype, extent)
    tree = trace.frozen(key).element()
    return _checked(trace, tree, key.dtype, extent)


def affine_position(trace: Trace, form: Affine, extent: Affine) -> Index:
    """Return where a subscript is that sizes and loops tell."""
    facts = trace.facts
    if facts.is_never_negative(form):
        if not trace.depth and facts.is_always_negative(extent.minus(1).minus(form)):
            raise Refused("a subscript is outside of its array")
        if facts.is_never_negative(extent.minus(1).minus(form)):
            return form
        return _checked(trace, form.tree(), np.dtype("uint64"), extent)
    if facts.is_always_negative(form):
        if not trace.depth and facts.is_always_negative(form.plus(extent)):
            raise Refused("a subscript is outside of its array")
        if facts.is_never_negative(form.plus(extent)):
            return form.plus(extent)
    tree, is_inside = form.tree(), facts.is_never_negative(extent.minus(1).minus(form))
    if is_inside and facts.is_never_negative(form.plus(extent)):
        return _wrapped(tree, np.dtype("int64"), extent)
    return _checked(trace, tree, np.dtype("int64"), extent)


def _checked(trace: Trace, tree: Expression, dtype: np.dtype, extent: Affine) -> Expression:
    """Return a subscript that may be outside, which is an error: a place inside in any case."""
    trace.fault(_is_outside(tree, dtype, extent), IndexError)
    return _kept_inside(tree, dtype, extent)


def _kept_inside(tree: Expression, dtype: np.dtype, extent: Affine) -> Expression:
    inner = _wrapped(tree, dtype, extent)
    least = ex.Min((inner, extent.minus(1).tree()))
    return ex.Max((0, least))


def _is_outside(tree: Expression, dtype: np.dtype, extent: Affine) -> Expression:
    above = ex.Comparison(tree, ">=", extent.tree())
    if dtype.kind == "u":
        return above
    return ex.LogicalOr((above, ex.Comparison(tree, "<", extent.times(-1).tree())))


def _wrapped(tree: Expression, dtype: np.dtype, extent: Affine) -> Expression:
    if dtype.kind == "u":
        return tree
    from_end = ex.sum_of(tree, extent.tree())
    return ex.If(ex.Comparison(tree, "<", 0), from_end, tree)


# --- slices


def _sliced(trace: Trace, part: Slice, extent: Affine) -> _Axis:
    step = _step(part.step)
    if step > 0:
        start = _clipped(trace, part.start, extent, number(0), number(0), extent)
        stop = _clipped(trace, part.stop, extent, extent, number(0), extent)
        distance = stop.minus(start)
    else:
        last = extent.minus(1)
        start = _clipped(trace, part.start, extent, last, number(-1), last)
        stop = _clipped(trace, part.stop, extent, number(-1), number(-1), last)
        distance = start.minus(stop)
    count = distance.plus(abs(step) - 1).floor(abs(step))
    count = _not_negative(trace, distance, count)
    recipe = (start, stop, step)
    if start == number(0) and step == 1:
        return _Axis(count, _same, recipe)
    return _Axis(count, lambda index: index_sum(index_times(_given(index), step), start), recipe)


def _given(index: Index | None) -> Index:
    assert index is not None
    return index


def _same(index: Index | None) -> Index:
    return _given(index)


def _step(step: Any) -> int:
    if step is None:
        return 1
    if not (isinstance(step, Number) and step.is_constant and step.dtype.kind == "i"):
        raise Refused("the step of a slice is no constant")
    if step.value == 0:
        raise Refused("the step of a slice is 0")
    return int(step.value)


def _not_negative(trace: Trace, distance: Affine, count: Affine) -> Affine:
    """Return how many elements there are, where the end may be before the beginning."""
    if distance.is_constant:
        return number(max(0, count.constant)) if count.is_constant else count
    if trace.facts.is_never_negative(distance):
        return count
    if trace.facts.is_always_negative(distance):
        return number(0)
    zero: Expression = 0
    least = ex.Max((zero, count.tree()))
    high = trace.facts.least(count.times(-1))
    return trace.integer(least, number(0), None if high is None else high.times(-1), "count")


def _clipped(
    trace: Trace, bound: Any, extent: Affine, default: Affine, low: Affine, high: Affine
) -> Affine:
    """Return an end of a slice: negative ones count from the end, all are kept inside."""
    if bound is None:
        return default
    if not isinstance(bound, Number) or bound.dtype.kind not in "iu":
        raise Refused("an end of a slice is no integer")
    form = bound.affine
    if form is None:
        form = trace.frozen(bound).affine
        assert form is not None
    facts = trace.facts
    if facts.is_always_negative(form):
        form = form.plus(extent)
    elif not facts.is_never_negative(form):
        return _clipped_by_data(trace, form, extent, low, high)
    if facts.is_always_negative(form.minus(low)):
        return low
    if not facts.is_never_negative(form.minus(low)):
        return _clipped_by_data(trace, form, None, low, high)
    if facts.is_never_negative(high.minus(form)):
        return form
    if facts.is_always_negative(high.minus(form)):
        return high
    return _clipped_by_data(trace, form, None, low, high)


def _clipped_by_data(
    trace: Trace, form: Affine, extent: Affine | None, low: Affine, high: Affine
) -> Affine:
    tree: Any = form.tree()
    if extent is not None:
        tree = ex.If(ex.Comparison(tree, "<", 0), ex.sum_of(tree, extent.tree()), tree)
    tree = ex.Max((low.tree(), ex.Min((tree, high.tree()))))
    return trace.integer(tree, low, high, "end")


# --- gathers


def _for_gather(
    trace: Trace, key: Number | Arrayed, extent: Affine | None
) -> Callable[[Expression], Index]:
    """Return what makes a place of an element of an array of subscripts, and check all of them."""
    assert extent is not None
    if isinstance(key, Number):
        at = position(trace, key, extent)
        return lambda _tree: at
    names = tuple([Affine.of(f"?{axis}") for axis in range(len(key.shape))])
    if isinstance(key, View) and trace.checks_at_call(key.element(names), extent):
        return lambda tree: _wrapped(tree, key.dtype, extent)
    with trace.each(key.shape) as index:
        trace.fault(_is_outside(key.element(index), key.dtype, extent), IndexError)
    return lambda tree: _kept_inside(tree, key.dtype, extent)


def _gathered(trace: Trace, array: Arrayed, parts: list[Any]) -> Arrayed:
    """Return elements at places that arrays of integers tell, which go together."""
    pairs = _with_extents(array, parts)
    chosen = [at for at, (part, _) in enumerate(pairs) if not isinstance(part, Slice | Constant)]
    if any(isinstance(part, Constant) for part, _ in pairs):
        raise Refused("a new axis beside an array of subscripts", "add it in a subscript after")
    for at in chosen:
        if pairs[at][0].dtype.kind not in "iu":
            raise Refused("a mask is one of several subscripts", "write the loop")
    if chosen != list(range(chosen[0], chosen[-1] + 1)):
        raise Refused("arrays of subscripts with a slice between them", "write the loop")
    common = trace.broadcast([pairs[at][0].shape for at in chosen])
    axes = {
        at: _axis(trace, part, extent)
        for at, (part, extent) in enumerate(pairs)
        if at not in chosen
    }
    wrap = {at: _for_gather(trace, pairs[at][0], pairs[at][1]) for at in chosen}
    first, rank = chosen[0], len(common)
    before = [axes[at].extent for at in range(first)]
    after = [axes[at].extent for at in range(chosen[-1] + 1, len(pairs))]
    shape = tuple([e for e in (*before, *common, *after) if e is not None])

    def place(index: Indices) -> Indices:
        own = index[first : first + rank]
        found: list[Index] = [axes[at].place(index[at]) for at in range(first)]
        for at in chosen:
            found.append(wrap[at](trace.element_of(pairs[at][0], rank, own)))
        rest = index[first + rank :]
        found += [axes[chosen[-1] + 1 + k].place(i) for k, i in enumerate(rest)]
        return tuple(found)

    if isinstance(array, View):
        inner = array.place
        return View(
            array.base,
            shape,
            lambda index: inner(place(index)),
            recipe=None,
            is_gather=True,
            part=array.part,
        )
    return Lazy(array.dtype, shape, lambda index: array.element(place(index)), array.is_costly)
