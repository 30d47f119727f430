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
from polygen.python.strided_ranges import count_either_way, place_of, strided_count
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
    Strip,
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


ELLIPSIS = Constant(...)
_NO_RECIPE = "data decides"
NEW_AXIS = Constant(None)


def subscripted(trace: Trace, array: Arrayed, keys: tuple[Any, ...]) -> Any:
    """Return ``array[keys]``: a view if it is one of an array in memory, as in NumPy.

    Raises:
        Refused: if NumPy has no such subscript, or kernels do not.
    """
    if len(keys) == 1 and _is_mask(keys[0]):
        return _masked(trace, array, keys[0])
    parts = _complete(array, keys)
    if any(isinstance(part, Lazy | View) and not isinstance(part, Strip) for part in parts):
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
        is_known = array.recipe is not None and _NO_RECIPE not in added
        recipe = (*array.recipe, added) if is_known and array.recipe is not None else None
        view = View(
            array.base,
            shape,
            lambda index: inner(place(index)),
            recipe=recipe,
            is_gather=array.is_gather or has_strip,
            part=array.part,
        )
        return view if shape else element_number(view)
    lazy = Lazy(
        array.dtype,
        shape,
        lambda index: array.element(place(index)),
        array.is_costly,
        form=_form_at(array.form, place),
    )
    return lazy if shape else element_number(lazy)


def _form_at(
    form: Callable[[Indices], Affine | None] | None, place: Callable[[Indices], Indices]
) -> Callable[[Indices], Affine | None] | None:
    return None if form is None else lambda index: form(place(index))


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
    rows = len(array.shape) - len(mask.shape)
    if rows < 0:
        raise Refused("a mask has more axes than the array")
    for one, other in zip(mask.shape, array.shape, strict=False):
        if not trace.extents_agree(one, other):
            raise Refused("a mask has another shape than the array")
    if not rows:
        return Masked(array, mask)
    rank = len(mask.shape)
    wide = Lazy(BOOL, array.shape, lambda index: mask.element(index[:rank]), mask.is_costly)
    return Masked(array, wide, rows)


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
    count = part.shape[0]
    recipe = (part.first, part.first.plus(count), 1)
    return _Axis(count, lambda index: index_sum(_given(index), part.first), recipe)


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
    if _varies(part.step):
        return _strided(trace, part, extent)
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


def _varies(step: Any) -> bool:
    return isinstance(step, Number) and not step.is_constant and step.dtype.kind in "iu"


def _is_positive(trace: Trace, step: Affine) -> bool:
    """Tell whether a step is positive: in all calls, or in all of this variant."""
    if trace.facts.is_never_negative(step.minus(1)):
        return True
    is_size = all(symbol in trace.facts.values for symbol in step.symbols())
    return is_size and trace.facts.holds(step.minus(1)) is True


def _strided(trace: Trace, part: Slice, extent: Affine) -> _Axis:
    """Return a slice whose step is known as the call runs, and positive."""
    form = part.step.affine if part.step.cell is None else None
    step = form if form is not None else trace.frozen(part.step).affine
    assert step is not None
    if _is_positive(trace, step.times(-1)):
        return _strided_down(trace, part, extent, step)
    if not _is_positive(trace, step):
        return _strided_either_way(trace, part, extent, step)
    start = _clipped(trace, part.start, extent, number(0), number(0), extent)
    stop = _clipped(trace, part.stop, extent, extent, number(0), extent)
    count = strided_count(trace, stop.minus(start), step)
    recipe = (start, stop, step)
    return _Axis(count, lambda index: place_of(_given(index), start, step), recipe)


def _strided_down(trace: Trace, part: Slice, extent: Affine, step: Affine) -> _Axis:
    last = extent.minus(1)
    start = _clipped(trace, part.start, extent, last, number(-1), last)
    stop = _clipped(trace, part.stop, extent, number(-1), number(-1), last)
    count = strided_count(trace, start.minus(stop), step.times(-1))
    recipe = (start, stop, step)
    return _Axis(count, lambda index: place_of(_given(index), start, step), recipe)


def _strided_either_way(trace: Trace, part: Slice, extent: Affine, step: Affine) -> _Axis:
    """Return a slice whose step has a sign that the call finds out, as `slice.indices` has it."""
    by = step.tree("int64")
    trace.fault(ex.Comparison(by, "==", 0), ValueError, "slice step cannot be zero")
    is_down = ex.Comparison(by, "<", 0)
    last = extent.minus(1).tree("int64")
    low: Expression = ex.If(is_down, -1, 0)
    high = ex.If(is_down, last, extent.tree("int64"))
    start = _end_either_way(trace, part.start, extent, (low, high), ex.If(is_down, last, 0))
    stop = _end_either_way(
        trace, part.stop, extent, (low, high), ex.If(is_down, -1, extent.tree("int64"))
    )
    count = count_either_way(trace, start, stop, step)
    return _Axis(count, lambda index: place_of(_given(index), start, step), _NO_RECIPE)


def _end_either_way(
    trace: Trace,
    bound: Any,
    extent: Affine,
    limits: tuple[Expression, Expression],
    default: Expression,
) -> Affine:
    if bound is None:
        return trace.integer(default, None, None, "end")
    if not isinstance(bound, Number) or bound.dtype.kind not in "iu":
        raise Refused("an end of a slice is no integer")
    low, high = limits
    tree = trace.frozen(bound).element()
    from_end = ex.sum_of(tree, extent.tree("int64"))
    place = ex.If(ex.Comparison(tree, "<", 0), from_end, tree)
    return trace.integer(ex.Max((low, ex.Min((place, high)))), None, None, "end")


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
) -> Callable[[Indices], Index]:
    """Return the place for a subscript of an array of subscripts, and check all of them."""
    assert extent is not None
    if isinstance(key, Number):
        at = position(trace, key, extent)
        return lambda _index: at
    names = tuple([Affine.of(f"?{axis}") for axis in range(len(key.shape))])
    if isinstance(key, View) and trace.checks_at_call(key.element(names), extent):
        return lambda index: _wrapped(key.element(index), key.dtype, extent)
    form = key.form if isinstance(key, Lazy) else None
    with trace.each(key.shape) as index:
        if form is not None and _is_inside(trace, form(index), extent):
            return lambda index: _given(form(index))
        trace.fault(_is_outside(key.element(index), key.dtype, extent), IndexError)
    return lambda index: _kept_inside(key.element(index), key.dtype, extent)


def _is_inside(trace: Trace, form: Affine | None, extent: Affine) -> bool:
    """Tell whether a subscript that sizes and loops tell is never negative, and inside."""
    if form is None:
        return False
    facts = trace.facts
    return facts.is_never_negative(form) and facts.is_never_negative(extent.minus(1).minus(form))


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
            found.append(wrap[at](trace.index_of(pairs[at][0], own)))
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
