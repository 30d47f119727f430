"""Tiles of contractions: as the model says, and as local memory has room."""

from __future__ import annotations

from math import ceil

import pytest

import polygen as pg
from polygen.schedules.register_tiles import Shape
from polygen.schedules.tile_shapes import Extent, Tiles, best_tiles

H200 = pg.Limits.named("H200")
ROOM = 227 * 1024


def chosen(rows: int, columns: int, depth: int, batch: int = 1, itemsize: int = 4) -> Tiles:
    return best_tiles(Extent(rows, columns, depth, batch, itemsize), H200, 132, ROOM)


@pytest.mark.parametrize(
    ("extents", "measured"),
    [
        ((4096, 4096, 4096), 2.86e-3),
        ((2048, 2048, 2048), 0.375e-3),
        ((4096, 4096, 64), 61e-6),
        ((4096, 64, 4096), 64e-6),
        ((512, 512, 512, 64), 0.373e-3),
        ((4096, 4096, 4096, 1, 8), 5.7e-3),
    ],
)
def test_the_model_is_near_what_was_measured(extents: tuple[int, ...], measured: float) -> None:
    """Times of benchmarks/schedules_on_gpu.py on an H200."""
    assert chosen(*extents).seconds == pytest.approx(measured, rel=0.15)


def test_few_results_have_their_sums_in_parts() -> None:
    assert chosen(64, 64, 4096).parts > 8
    assert chosen(64, 64, 64).parts == 1
    assert chosen(4096, 4096, 4096).parts == 1


def test_small_results_have_small_tiles() -> None:
    small, large = chosen(256, 256, 256).shape, chosen(4096, 4096, 4096).shape
    assert small.rows * small.columns < large.rows * large.columns


@pytest.mark.parametrize("rows", [33, 100, 1000, 2049, 4093])
def test_groups_are_counted(rows: int) -> None:
    found = chosen(rows, 77, 500, 3)
    shape = found.shape
    assert found.groups == 3 * ceil(rows / shape.rows) * ceil(77 / shape.columns)


@pytest.mark.parametrize("itemsize", [4, 8])
@pytest.mark.parametrize("room", [16 * 1024, 48 * 1024, ROOM])
def test_tiles_fit_into_local_memory(itemsize: int, room: int) -> None:
    for n in (40, 500, 4096):
        shape = best_tiles(Extent(n, n, n, 1, itemsize), H200, 132, room).shape
        assert shape.local_bytes(itemsize) <= max(room, 48 * 1024)


def test_bytes_of_a_shape() -> None:
    """Rows of a tile have room for other banks: 8 more numbers, or as many as lanes."""
    shape = Shape(32, 64, 8, (4, 8, 1), 4, ahead=False)
    assert shape.threads == 32
    assert shape.local_bytes(4) == (32 + 64 + 2 * 4) * 8 * 4
    assert Shape(32, 64, 8, (4, 8, 1), 4).local_bytes(4) == 2 * shape.local_bytes(4)


@pytest.mark.parametrize(
    ("kind", "itemsize", "measured"),
    [("float64", 8, 2.677e-3), ("float16", 2, 0.479e-3), ("tf32", 4, 0.984e-3)],
)
def test_tiles_on_tensor_cores(kind: str, itemsize: int, measured: float) -> None:
    """Times of benchmarks/tensor_core_tiles.py on an H200."""
    extent = Extent(4096, 4096, 4096, 1, itemsize, kind)
    found = best_tiles(extent, H200, 132, ROOM)
    assert found.seconds == pytest.approx(measured, rel=0.05)
    assert found.shape.in_warps
    across, down, _ = found.shape.items
    assert (across, down % 8) == (4, 0)
    for room in (16 * 1024, 48 * 1024):
        small = best_tiles(extent, H200, 132, room).shape
        assert small.local_bytes(itemsize) <= 48 * 1024
