"""Stencils with tiles in registers: five points of a plate (2D), 27 points of a block (3D).

    python examples/register_stencils.py

Arrays that are read have a rim: a cell on each side, or four columns, of which one is used, so that
the cells of a row begin at a multiple of 16 bytes.  A work item computes four columns of some rows.
It loads four cells at once, and their two neighbours one by one.  In the block it goes through the
layers: it loads a layer, computes what that was the last one for, and keeps the two layers before.
"""

from itertools import product

import numpy as np
import scipy.ndimage
from numpy.typing import NDArray

import polygen as pg

LANES = RIM = 4


def make_plate() -> pg.Kernel:
    return pg.make_kernel(
        "{ [i, j]: 0<=i<n and 0<=j<m }",
        "out[i,j] = 0.25*(a[i,j+4] + a[i+2,j+4] + a[i+1,j+3] + a[i+1,j+5]) - a[i+1,j+4]",
        [
            pg.GlobalArg("a", "float32", "n + 2, m + 8", alignment=16),
            pg.GlobalArg("out", "float32", "n, m", alignment=16),
            "...",
        ],
        name="plate",
    )


def make_block() -> pg.Kernel:
    """Weigh the cell itself, those that share a face with it, an edge, and a corner."""
    cells: dict[int, list[str]] = {0: [], 1: [], 2: [], 3: []}
    for h, i, j in product((0, 1, 2), repeat=3):
        kind = (h != 1) + (i != 1) + (j != 1)
        cells[kind].append(f"a[h+{h}, i+{i}, j+{j + RIM - 1}]")
    terms = [f"w[{kind}]*({' + '.join(them)})" for kind, them in cells.items()]
    return pg.make_kernel(
        "{ [h, i, j]: 0<=h<l and 0<=i<n and 0<=j<m }",
        f"out[h,i,j] = {' + '.join(terms)}",
        [
            pg.GlobalArg("a", "float32", "l + 2, n + 2, m + 8", alignment=16),
            pg.GlobalArg("w", "float32", 4),
            pg.GlobalArg("out", "float32", "l, n, m", alignment=16),
            "...",
        ],
        name="block",
    )


def in_tiles(knl: pg.Kernel, rows: int, across: int) -> pg.Kernel:
    """Give four columns of some rows to each work item."""
    knl = pg.split_iname(knl, "j", LANES * across, outer_tag="g.0")
    knl = pg.split_iname(knl, "j_inner", LANES, outer_tag="l.0", inner_tag="vec")
    return pg.split_iname(knl, "i", rows, inner_tag="unr")


def with_own_cells(knl: pg.Kernel, swept: str, names: tuple[str, ...]) -> pg.Kernel:
    """Let each work item load the cells that it needs to registers."""
    return pg.add_prefetch(
        knl,
        "a",
        f"{swept}i_inner, j_inner_inner",
        dim_arg_names=names,
        temporary_address_space=pg.AddressSpace.PRIVATE,
        default_tag="unr",
        fetch_bounding_box=True,
        vector_width=LANES,
    )


def plate(rows: int = 4, across: int = 512, groups: int = 2) -> pg.Kernel:
    """Return the stencil of a plate, with registers for so many groups on a multiprocessor."""
    knl = pg.tag_inames(in_tiles(make_plate(), rows, across), "i_outer: g.1")
    knl = with_own_cells(knl, "", ("row", "column"))
    return pg.set_options(knl, resident_groups=groups)


def block(rows: int = 4, items: tuple[int, int] = (64, 2), layers: int = 8) -> pg.Kernel:
    """Return the stencil of a block that tiles divide, of so many layers."""
    across, down = items
    tile = {"l": layers, "n": rows * down, "m": LANES * across}
    whole = " and ".join(f"{size} mod {length} = 0" for size, length in tile.items())
    knl = in_tiles(pg.assume(make_block(), whole), rows, across)
    knl = pg.split_iname(knl, "i_outer", down, outer_tag="g.1", inner_tag="l.1")
    knl = pg.split_iname(knl, "h", layers)
    knl = with_own_cells(knl, "h_inner, ", ("layer", "row", "column"))
    knl = pg.untag_inames(pg.untag_inames(knl, "layer"), "layer_rim")
    knl = pg.fuse_loops(knl, "layer", "layer_rim")
    knl = pg.fuse_loops(knl, "layer", "h_inner", 2)  # two layers later all three are there
    return pg.tag_inames(knl, "layer: unr, h_outer: g.2")


def rim(shape: tuple[int, ...]) -> tuple[slice, ...]:
    """Return where the cells are that are not of the rim."""
    return (*(slice(1, -1) for _ in shape[1:]), slice(RIM, -RIM))


def weighed(a: NDArray[np.float32], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(scipy.ndimage.correlate(a.astype(np.float64), weights)[rim(a.shape)])


def check_plate(knl: pg.Kernel, target: str, n: int, m: int) -> None:
    a = np.random.default_rng(n).random((n + 2, m + 8), np.float32)
    _, (out,) = knl.executor(target)(a=a)
    weights = np.array([[0, 0.25, 0], [0.25, -1, 0.25], [0, 0.25, 0]])
    np.testing.assert_allclose(out, weighed(a, weights), rtol=1e-5, atol=1e-6)


def check_block(knl: pg.Kernel, target: str, shape: tuple[int, int, int]) -> None:
    a = np.random.default_rng(1).random((shape[0] + 2, shape[1] + 2, shape[2] + 8), np.float32)
    w = np.array([0.5, 0.1, 0.02, 0.01], np.float32)
    _, (out,) = knl.executor(target)(a=a, w=w)
    away = np.abs(np.indices((3, 3, 3)) - 1).sum(axis=0)
    np.testing.assert_allclose(out, weighed(a, w[away]), rtol=1e-5)


def main() -> None:
    flat, deep = plate(rows=2, across=8), block(rows=2, items=(4, 2), layers=2)
    for knl in (flat, deep):
        print(pg.generate_code(knl, "opencl"))
    for target in ("opencl", "c"):
        for n, m in ((4, 32), (5, 33)):
            check_plate(flat, target, n, m)
        check_block(deep, target, (4, 8, 32))
        print(f"{target}: as SciPy")


if __name__ == "__main__":
    main()
