"""Bytes as work items are mapped: sectors and turns, counted item by item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.inspection.counts.traffic import traffic_of

_N = 64
_GROUP = tuple[int, ...]


def warps(groups: int, group: _GROUP) -> Iterator[list[tuple[int, ...]]]:
    """Yield the work items of each warp: group, and place along each axis."""
    for g in range(groups):
        items = [item[::-1] for item in product(*(range(n) for n in reversed(group)))]
        for first in range(0, len(items), 32):
            yield [(g, *item) for item in items[first : first + 32]]


def sector_bytes(groups: int, group: _GROUP, size: int, *at: Callable[..., list[int]]) -> int:
    total = 0
    for warp in warps(groups, group):
        for access in at:
            places = [place for item in warp for place in access(*item)]
            touched = {(place * size + byte) // 32 for place in places for byte in range(size)}
            total += 32 * len(touched)
    return total


def turn_bytes(groups: int, group: _GROUP, size: int, *at: Callable[..., list[int]]) -> int:
    total = 0
    for warp in warps(groups, group):
        for access in at:
            words = {
                (place * size + byte) // 4
                for item in warp
                for place in access(*item)
                for byte in range(size)
            }
            total += 128 * max(Counter(word % 32 for word in words).values())
    return total


def line(text: str, dtype: Any = np.float32, items: int = 64) -> pg.Kernel:
    knl = pg.make_kernel("{ [i]: 0<=i<256 }", text, [pg.GlobalArg("a", dtype, 2048), "..."])
    return pg.split_iname(knl, "i", items, outer_tag="g.0", inner_tag="l.0")


LINES: dict[str, tuple[pg.Kernel, int]] = {
    "neighbours": (line("b[i] = a[i]"), 2 * 4 * 256),
    "doubles": (line("b[i] = a[i]", np.float64), 2 * 8 * 256),
    "bytes": (line("b[i] = a[i]", np.int8), 2 * 256),
    "every third": (
        line("b[i] = a[3*i]"),
        4 * 256 + sector_bytes(4, (64,), 4, lambda g, i: [3 * (64 * g + i)]),
    ),
    "far apart": (line("b[i] = a[8*i]"), 4 * 256 + 32 * 256),
    "backwards": (line("b[i] = a[255 - i]"), 2 * 4 * 256),
    "the same": (line("b[i] = a[5]"), 4 * 256 + 8 * 32),
    "groups of 16": (line("b[i] = a[2*i]", items=16), 4 * 256 + 16 * 4 * 32),
    "without a grid": (pg.make_kernel("{ [i]: 0<=i<9 }", "b[i] = 1.5*i"), 8 * 9),
}


@pytest.mark.parametrize("name", LINES)
def test_lines(name: str) -> None:
    knl, expected = LINES[name]
    assert traffic_of(knl, {}).mapped == expected


def tile(local: int, vectors: bool = False) -> pg.Kernel:
    """Transpose through local memory with rows of a certain length."""
    knl = pg.make_kernel(
        "{ [g,y,x,v,w]: 0<=g<4 and 0<=y,x,v,w<16 }",
        "t[y,x] = a[g,y,x]  {id=load}\nb[g,v,w] = t[w,v]  {dep=load}",
        [
            pg.GlobalArg("a", np.float32, (4, 16, 16)),
            pg.TemporaryVariable("t", np.float32, (16, local), address_space=pg.AddressSpace.LOCAL),
            "...",
        ],
    )
    return pg.tag_inames(knl, {"g": "g.0", "y": "l.1", "x": "l.0", "v": "l.1", "w": "l.0"})


@pytest.mark.parametrize("rows", [16, 17, 20, 32])
def test_tiles(rows: int) -> None:
    found = traffic_of(tile(rows), {})
    assert (found.accessed, found.mapped) == (2 * 4 * 1024, 2 * 4 * 1024)
    assert found.local == turn_bytes(
        4,
        (16, 16),
        4,
        lambda _, x, y: [rows * y + x],
        lambda _, w, v: [rows * w + v],
    )


def test_strides_that_sizes_decide() -> None:
    knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<64 }", "b[i,j] = a[j,i]")
    knl = pg.tag_inames(pg.add_dtypes(knl, {"a": np.float32}), {"i": "g.0", "j": "l.0"})
    for n in (2, 7, 8, 33):
        columns = sector_bytes(1, (64,), 4, lambda _, j, n=n: [n * j])
        assert traffic_of(knl, {"n": n}).mapped == n * (columns + 4 * 64)


def test_what_data_decides_is_in_sectors_of_its_own() -> None:
    knl = line("b[i] = a[c[i]]")
    knl = pg.add_dtypes(knl, {"c": np.int32})
    assert traffic_of(knl, {}).mapped == 2 * 4 * 256 + 32 * 256


def test_vectors_are_read_at_once() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<512 }", "b[i] = a[i]")
    knl = pg.split_iname(pg.add_dtypes(knl, {"a": np.float32}), "i", 4, inner_tag="vec")
    knl = pg.split_iname(knl, "i_outer", 64, outer_tag="g.0", inner_tag="l.0")
    assert traffic_of(knl, {}).mapped == 2 * 4 * 512
