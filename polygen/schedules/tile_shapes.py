"""Chooses the tiles of a contraction on a grid, by a model of the device.

Large tiles read least of global and local memory for each multiplication; small ones leave fewer
units without a group, and less of a tile beyond the ends of rows and columns.  The time of a shape
is that of the unit with the most groups: groups, times the products of a tile, divided by how near
the shape comes to what the arithmetic could do.  That was measured on an H200, as was how long it
takes to begin and to end a tile; what few work items lose on a unit is modelled by the square root
of how many are missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil, sqrt

from polygen.inspection.devices.limits import Limits
from polygen.schedules.register_tiles import Shape

_SINGLE = 4  # bytes of a number
_PEAK = 0.77  # of the operations that a device could do: what the fastest library's products do
_ENOUGH = 256  # work items of a unit that hide what each waits for; of large groups, two are needed
_BEGIN_SMALL, _BEGIN = 24, 72  # terms of a sum that beginning and ending a tile takes
_LARGE = 256  # work items of a group
_SECOND = 9e-6  # seconds that a second launch takes, for sums in parts
_LEAST_PART = 128  # terms: shorter sums take less time than adding up what parts come to
_PARTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
_SMALL_LOCAL = 48 * 1024  # bytes, of which all devices have as many

_SHAPES: tuple[tuple[float, Shape], ...] = (
    (0.96, Shape(128, 128, 16, (16, 16, 1), 4)),
    (0.92, Shape(64, 128, 16, (8, 8, 2), 4)),
    (0.90, Shape(128, 64, 16, (8, 16, 1), 4)),
    (0.88, Shape(96, 128, 16, (8, 8, 2), 4)),
    (0.87, Shape(64, 64, 16, (8, 8, 1), 4)),
    (0.70, Shape(32, 64, 16, (8, 8, 1), 4)),
    (0.70, Shape(64, 32, 16, (8, 8, 1), 4)),
    (0.50, Shape(32, 32, 16, (8, 8, 1), 4)),
)
_SHAPES_OF_DOUBLES: tuple[tuple[float, Shape], ...] = (
    (0.92, Shape(64, 64, 16, (8, 8, 1), 2)),
    (0.86, Shape(128, 64, 16, (8, 16, 1), 2)),
    (0.65, Shape(32, 64, 16, (8, 8, 1), 2)),
    (0.65, Shape(64, 32, 16, (8, 8, 1), 2)),
    (0.50, Shape(32, 32, 16, (8, 8, 1), 2)),
)


def _in_warps(rows: int, columns: int, depth: int, down: int, blocks: int) -> Shape:
    """Return tiles for tensor cores: 8 rows of work items for each warp that is side by side."""
    return Shape(rows, columns, depth, (4, 8 * down, blocks), 2, in_warps=True)


_OF_DOUBLES = (
    (0.80, _in_warps(128, 128, 16, 2, 4)),
    (0.76, _in_warps(128, 64, 16, 2, 2)),
    (0.75, _in_warps(64, 128, 16, 1, 4)),
    (0.74, _in_warps(64, 64, 16, 1, 2)),
    (0.60, _in_warps(32, 64, 16, 1, 2)),
    (0.45, _in_warps(32, 32, 16, 1, 2)),
)
_OF_SHORTS = (
    (0.30, _in_warps(128, 128, 64, 2, 2)),
    (0.29, _in_warps(128, 256, 64, 2, 4)),
    (0.24, _in_warps(64, 128, 64, 1, 4)),
    (0.18, _in_warps(64, 64, 64, 1, 2)),
    (0.08, _in_warps(32, 32, 64, 1, 2)),
)
_OF_SINGLES = (
    (0.30, _in_warps(128, 128, 32, 2, 4)),
    (0.27, _in_warps(64, 128, 32, 1, 4)),
    (0.26, _in_warps(128, 64, 32, 2, 2)),
    (0.22, _in_warps(64, 64, 32, 1, 2)),
    (0.12, _in_warps(32, 32, 32, 1, 2)),
)
# Parts of what tensor cores could do (benchmarks/tensor_core_tiles.py, on an H200).
_ON_TENSOR_CORES: Mapping[str, tuple[tuple[float, Shape], ...]] = {
    "float64": _OF_DOUBLES,
    "float16": _OF_SHORTS,
    "bfloat16": _OF_SHORTS,
    "tf32": _OF_SINGLES,
}


@dataclass(frozen=True)
class Extent:
    """The sizes that a contraction is expected to have.

    Attributes:
        rows: of the result.
        columns: of the result.
        depth: terms of a sum.
        batch: results.
        itemsize: bytes of a number.
        kind: what tensor cores multiply, as `Limits` has it; nothing if others compute it.
    """

    rows: int
    columns: int
    depth: int
    batch: int
    itemsize: int
    kind: str = ""

    @property
    def dtype(self) -> str:
        """The type of numbers of this size, for rates of devices."""
        return "float32" if self.itemsize <= _SINGLE else "float64"


@dataclass(frozen=True)
class Tiles:
    """The choice made for a contraction.

    Attributes:
        shape: of tiles.
        groups: how many tiles there are.
        parts: in how many parts sums are divided; 1 if they are not.
        seconds: the time that the model expects.
    """

    shape: Shape
    groups: int
    parts: int
    seconds: float


def best_tiles(
    extent: Extent, limits: Limits, units: int, local_bytes: int, *, is_divisible: bool = True
) -> Tiles:
    """Return the tiles that take the least time.

    Parameters:
        extent: how large the contraction is.
        limits: those of the device.
        units: how many compute units there are.
        local_bytes: how much local memory a group may have.
        is_divisible: whether sums may be divided in parts.
    """
    shapes = _SHAPES if extent.itemsize <= _SINGLE else _SHAPES_OF_DOUBLES
    shapes = _ON_TENSOR_CORES[extent.kind] if extent.kind else shapes
    found = [
        _timed(extent, limits, units, rate * (1.0 if fitting.ahead else 0.9), fitting, parts)
        for rate, shape in shapes
        for fitting in _fitting(shape, extent, local_bytes)
        for parts in _PARTS
        if parts == 1 or (is_divisible and extent.depth >= parts * _LEAST_PART)
    ]
    return min(found, key=lambda tiles: tiles.seconds)


def _fitting(shape: Shape, extent: Extent, local_bytes: int) -> Iterator[Shape]:
    """Yield a shape as local memory has room for it, if it has."""
    for depth in (shape.depth, shape.depth // 2 if shape.in_warps else 8):
        for ahead in (True, False):
            new = replace(shape, depth=depth, ahead=ahead)
            if new.local_bytes(extent.itemsize) <= max(local_bytes, _SMALL_LOCAL):
                yield new
                return


def _timed(
    extent: Extent, limits: Limits, units: int, rate: float, shape: Shape, parts: int
) -> Tiles:
    groups = ceil(extent.rows / shape.rows) * ceil(extent.columns / shape.columns) * extent.batch
    is_large = shape.threads >= _LARGE
    busiest = ceil(groups * parts / units)
    enough = 2 * shape.threads if is_large else _ENOUGH
    busy = min(1.0, sqrt(busiest * shape.threads / enough))
    terms = ceil(extent.depth / parts) + (_BEGIN if is_large else _BEGIN_SMALL)
    products = busiest * shape.rows * shape.columns * terms
    if extent.kind:
        operations = limits.tensor_operations_per_second[extent.kind]
    else:
        operations = _PEAK * (limits.rate_of(extent.dtype) or limits.rate_of("float32") or 1.0)
    seconds = 2 * products * units / (operations * rate * busy)
    if parts > 1:  # what parts come to is written, and read again
        results = extent.rows * extent.columns * extent.batch * extent.itemsize
        seconds += _SECOND + (2 * parts + 1) * results / limits.bytes_per_second
    return Tiles(shape, groups, parts, seconds)
