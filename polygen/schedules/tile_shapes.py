"""Chooses the tiles of a contraction on a grid, by a model of the device.

Large tiles read least of global and local memory for each multiplication; small ones leave fewer
units without a group, and less of a tile beyond the ends of rows and columns.  The time of a shape
is that of the unit with the most groups: groups, times the products of a tile, divided by how near
the shape comes to what the arithmetic could do.  That is measured, on an H200
(`docs/benchmarks.md`); what few work items lose on a unit is modelled by the square root of how
many are missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil, sqrt

from polygen.schedules.register_tiles import Shape

_SINGLE = 4  # bytes of a number
_ENOUGH = 256  # work items of a unit that hide what each waits for
_SMALL_LOCAL = 48 * 1024  # bytes, of which all devices have as many
_START = 24  # iterations of the sum that beginning and ending a tile takes

_SHAPES: tuple[tuple[float, Shape], ...] = (
    (1.00, Shape(128, 256, 32, (8, 8, 4), 4)),
    (0.93, Shape(128, 128, 32, (8, 16, 2), 4)),
    (0.87, Shape(96, 128, 16, (8, 8, 2), 4)),
    (0.80, Shape(128, 64, 16, (8, 16, 1), 4)),
    (0.80, Shape(64, 128, 16, (8, 8, 2), 4)),
    (0.75, Shape(64, 64, 16, (8, 8, 1), 4)),
    (0.55, Shape(32, 64, 16, (8, 8, 1), 4)),
    (0.55, Shape(64, 32, 16, (8, 8, 1), 4)),
    (0.42, Shape(32, 32, 16, (8, 8, 1), 4)),
)
_SHAPES_OF_DOUBLES: tuple[tuple[float, Shape], ...] = (
    (0.95, Shape(128, 64, 16, (8, 16, 1), 2)),
    (1.00, Shape(64, 64, 16, (4, 8, 2), 2)),
    (0.85, Shape(32, 64, 16, (4, 8, 2), 2)),
    (0.70, Shape(32, 32, 16, (4, 8, 2), 2)),
)


@dataclass(frozen=True)
class Extent:
    """How large a contraction is expected to be.

    Attributes:
        rows: of the result.
        columns: of the result.
        depth: terms of a sum.
        batch: results.
        itemsize: bytes of a number.
    """

    rows: int
    columns: int
    depth: int
    batch: int
    itemsize: int


@dataclass(frozen=True)
class Tiles:
    """The choice made for a contraction.

    Attributes:
        shape: of tiles.
        groups: how many tiles there are.
        parts: in how many parts sums are divided; 1 if they are not.
        seconds: the time, in units that only compare.
    """

    shape: Shape
    groups: int
    parts: int
    seconds: float


def best_tiles(extent: Extent, units: int, local_bytes: int) -> Tiles:
    """Return the tiles that take the least time.

    Parameters:
        extent: how large the contraction is.
        units: how many compute units there are.
        local_bytes: how much local memory a group may have.
    """
    found = [
        _timed(extent, units, rate, fitting)
        for rate, shape in (_SHAPES if extent.itemsize <= _SINGLE else _SHAPES_OF_DOUBLES)
        for fitting in _fitting(shape, extent, local_bytes)
    ]
    return min(found, key=lambda tiles: tiles.seconds)


def _fitting(shape: Shape, extent: Extent, local_bytes: int) -> Iterator[Shape]:
    """Yield a shape as local memory has room for it, if it has."""
    for depth in (shape.depth, 16, 8):
        for ahead in (True, False):
            new = replace(shape, depth=min(depth, shape.depth), ahead=ahead)
            if new.local_bytes(extent.itemsize) <= max(local_bytes, _SMALL_LOCAL):
                yield new
                return


def _timed(extent: Extent, units: int, rate: float, shape: Shape) -> Tiles:
    groups = ceil(extent.rows / shape.rows) * ceil(extent.columns / shape.columns) * extent.batch
    parts = _parts(extent, units, groups, shape)
    busiest = ceil(groups * parts / units)
    alone = min(1.0, sqrt(busiest * shape.threads / _ENOUGH))
    each = shape.rows * shape.columns * (ceil(extent.depth / parts) + _START)
    if parts > 1:  # what parts come to is written and read again
        each += _START * shape.rows * shape.columns
    rate *= 1.0 if shape.ahead else 0.9
    return Tiles(shape, groups, parts, busiest * each / (rate * alone))


_LEAST_PART = 256  # terms: shorter sums take less time than adding up what parts come to
_MOST_PARTS = 64


def _parts(extent: Extent, units: int, groups: int, shape: Shape) -> int:
    """Return in how many parts sums are divided, so that each unit has a group."""
    if 2 * groups > units:
        return 1
    wanted = min(units // groups, extent.depth // _LEAST_PART, _MOST_PARTS)
    if wanted < 2:
        return 1
    length = ceil(ceil(extent.depth / wanted) / shape.depth) * shape.depth
    return ceil(extent.depth / length)
