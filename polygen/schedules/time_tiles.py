"""Tiles loops of time and of rows where the arrays of a step do not stay in a core's cache.

    for t:                              for tiles of t, and of i + 2*t:
        for i: b[i] = f(a[i-1 ... i+1])      for t: for i:      (the rows of a tile)
        for p: a[p] = f(b[p-1 ... p+1])          b[i - 2*t] = ...
                                                 a[i - 2*t - 1] = ...

Each step of time moves all rows through the cache.  In a tile, some rows go through some steps
while they are there.  Rows need their neighbours of the step before, so that tiles lean: they are
skewed by as many rows as a step reaches.  Where rows are too long for that, tiles are of parts of
rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

from polygen.analysis.access.accesses import Reference
from polygen.analysis.integers.affine_forms import linear_form
from polygen.errors import UserError
from polygen.ir import walk
from polygen.ir.dtype import to_dtype
from polygen.ir.kernel import Kernel
from polygen.schedules.nests import Extents, Nest, nests_of
from polygen.schedules.plan import Plan
from polygen.transforms.fusion.fuse_loops import fuse_loops
from polygen.transforms.loops.skew import skew
from polygen.transforms.loops.wavefront import wavefront
from polygen.transforms.splitting.tile import tile
from polygen.tuning.neighbours import shared_uses

_LEAST_CACHE = 1 << 18  # bytes of a core's cache: the limits of GPUs say less
_PAST = 4  # times that cache, all rows have at least: else it helps by itself
_LEAST_STEPS = 4
_MOST_NESTS = 3  # in a step
_MOST_ROWS, _MOST_STEPS = 64, 16  # of a tile
_GAIN = 1.75  # times that a row is used again in a tile, at least
_TILES = 4  # tiles for each thread, at least
_MOST_SKEW = 4
_ITEM = 8  # bytes of an element whose type is not known


@dataclass(frozen=True)
class _Steps:
    """A loop of time, and the loops over rows in it.

    Attributes:
        time: the loop.
        nests: the loops of each nest in it, outermost first.
        ids: the instructions.
    """

    time: str
    nests: tuple[tuple[str, ...], ...]
    ids: tuple[str, ...]


@dataclass(frozen=True)
class _Shape:
    """The shape of tiles.

    Attributes:
        steps: how many of time.
        points: how many of each loop over rows, and over parts of these.
        factor: by how much these are skewed.
    """

    steps: int
    points: tuple[int, ...]
    factor: int


def in_time_tiles(plan: Plan) -> None:
    """Tile steps of time, where each of them moves more than caches hold."""
    for nest in nests_of(plan.kernel):
        found = _steps(plan, nest)
        shape = None if found is None else _shape(plan, found)
        if found is None or shape is None:
            continue
        labels = "tiles", "none"
        work = Extents(plan.kernel, plan.request.sizes).work(nest)
        if plan.pick(f"tiles of '{found.time}'", labels, work):
            continue
        rows = " and ".join(
            f"{n} of '{i}'" for n, i in zip(shape.points, found.nests[0], strict=False)
        )
        plan.take(
            found.ids,
            f"tiles of {shape.steps} iterations of '{found.time}' and {rows}",
            "each iteration moves more than a cache holds: those of a tile find it there",
            partial(_tiled, steps=found, shape=shape, units=plan.request.units),
        )


# --- whether there are any


def _steps(plan: Plan, nest: Nest) -> _Steps | None:
    """Return the steps of time that a nest is, with nothing but loops over rows in each."""
    time, *rows = nest.loops
    kernel, extents = plan.kernel, Extents(plan.kernel, plan.request.sizes)
    if extents.of(time) < _LEAST_STEPS or any(map(kernel.tags.get, nest.inames)):
        return None
    if any(i.reductions or i.predicates or i.id in plan.settled for i in nest.instructions):
        return None
    nests: list[tuple[str, ...]] = []
    if rows and nest.is_perfect:
        nests = [tuple(rows)]
    elif not rows and len(nest.inner) == len(nest.body) and all(n.is_perfect for n in nest.inner):
        nests = [one.loops for one in nest.inner]
    least = 1 if len(nests) == 1 else 2  # in a row, statements of several nests would take turns
    if not 0 < len(nests) <= _MOST_NESTS or any(len(loops) < least for loops in nests):
        return None
    return _Steps(time, tuple(nests), nest.ids)


def _shape(plan: Plan, found: _Steps) -> _Shape | None:
    """Return how large tiles are; None if they would not pay."""
    plain, extents = plan.kernel.expanded, Extents(plan.kernel, plan.request.sizes)
    uses = shared_uses(plain, found.ids)
    cache = max(plan.request.limits.local_bytes, _LEAST_CACHE)
    moved = bytes_of_step(plain, extents, uses, found.time)
    if moved <= _PAST * cache * plan.request.units:
        return None
    first = found.nests[0]
    for count in range(1, min(map(len, found.nests)) + (len(found.nests) == 1)):
        factor = _reach(plain, found, uses, count)
        if factor is None or factor > _MOST_SKEW:
            return None
        lengths = [extents.of(iname) for iname in first[:count]]
        shape = _fitting(cache * prod(lengths) // moved, lengths, factor, extents.of(found.time))
        tiles = shape and lengths[0] // shape.points[0]
        if shape and (plan.request.units == 1 or (tiles or 0) >= _TILES * plan.request.units):
            return shape
    return None


def bytes_of_step(kernel: Kernel, extents: Extents, uses: Sequence[Reference], time: str) -> int:
    """Return how many bytes a step of time touches, of each array once.

    Parameters:
        kernel: the kernel, rules expanded.
        extents: those of its loops.
        uses: what the step reads and writes.
        time: the loop of time.
    """
    found: dict[str, int] = {}
    for use in uses:
        loops = set[str]().union(*map(walk.free_variables, use.index)) & set(kernel.inames)
        dtype = kernel.array(use.name).dtype
        item = _ITEM if dtype is None else int(to_dtype(dtype).itemsize)
        found[use.name] = max(
            found.get(use.name, 0), item * extents.instances(frozenset(loops - {time}))
        )
    return sum(found.values())


def _fitting(room: int, lengths: Sequence[int], factor: int, steps: int) -> _Shape | None:
    """Return tiles that stay in a cache.

    Parameters:
        room: how many rows, or parts of them, the cache holds.
        lengths: how many there are, along each loop.
        factor: how many rows a step reaches.
        steps: how many steps of time there are.
    """
    best: tuple[float, _Shape] | None = None
    points = 4
    while points <= _MOST_ROWS and all(points <= length // 2 for length in lengths):
        count = 2
        while count <= min(_MOST_STEPS, steps):
            touched = (points + factor * count) ** len(lengths)
            again = count * points ** len(lengths) / touched
            if touched <= room and again >= _GAIN and (best is None or again > best[0]):
                best = again, _Shape(count, (points,) * len(lengths), factor)
            count *= 2
        points *= 2
    return best and best[1]


def _reach(kernel: Kernel, found: _Steps, uses: Sequence[Reference], count: int) -> int | None:
    """Return by how many rows a step of time reaches, through all nests; None if by no constant.

    Parameters:
        kernel: the kernel, rules expanded.
        found: the steps.
        uses: what they read and write.
        count: of how many loops tiles are.
    """
    written = {use.name for use in uses if use.is_write}
    most = 0
    for place in range(count):
        near = {loops[place] for loops in found.nests}
        axes: dict[str, set[int]] = {}
        ends: dict[tuple[str, bool], set[int]] = {}
        for use in [use for use in uses if use.name in written]:
            along = _along(kernel, use, near)
            if along is None:
                return None
            axis, constant = along
            axes.setdefault(use.name, set()).add(axis)
            ends.setdefault((use.name, use.is_write), set()).add(constant)
        if any(len(found) > 1 for found in axes.values()):
            return None
        for (name, is_write), constants in ends.items():
            if not is_write:
                far = [abs(r - w) for r in constants for w in ends[name, True]]
                most = max([most, *far])
    return most * len(found.nests) or None


def _along(kernel: Kernel, use: Reference, near: set[str]) -> tuple[int, int] | None:
    """Return which subscript counts rows, and what is added to the row's number there."""
    names = {*kernel.inames, *kernel.parameters}
    counting = [
        (axis, linear_form(index, names))
        for axis, index in enumerate(use.index)
        if not near.isdisjoint(walk.free_variables(index))
    ]
    if len(counting) != 1:
        return None
    ((axis, form),) = counting
    if form is None or list(form.terms.values()) != [1]:
        return None
    return axis, form.constant


# --- the steps


def _tiled(kernel: Kernel, steps: _Steps, shape: _Shape, units: int) -> Kernel:
    first, *others = steps.nests
    count = len(shape.points)
    for place, other in enumerate(others, 1):
        kernel = _fused(kernel, first[:count], other[:count], place)
    for iname in first[:count]:
        kernel = skew(kernel, steps.time, iname, shape.factor)
    sizes: Mapping[str, int] = {
        steps.time: shape.steps,
        **dict(zip(first, shape.points, strict=False)),
    }
    kernel = tile(kernel, sizes)
    if units == 1:
        return kernel
    return wavefront(kernel, f"{steps.time}_outer", f"{first[0]}_outer")


def _fused(kernel: Kernel, first: Sequence[str], other: Sequence[str], place: int) -> Kernel:
    """Return the kernel with one loop for two of each nest, the second later by some rows."""
    for by in range(place, _MOST_SKEW + 1):
        try:
            new = kernel
            for one, two in zip(first, other, strict=True):
                new = fuse_loops(new, one, two, by)
        except UserError:
            if by == _MOST_SKEW:
                raise
        else:
            return new
    return kernel
