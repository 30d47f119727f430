"""A matrix product in single precision by transformations alone, beside cuBLAS (TF32 off).

    python benchmarks/cuda_product.py

A group of 16 x 16 work items computes 128 x 128 elements, 8 x 8 of them an item: two by two pieces
of 4 x 4.  Tiles of both matrices, 32 deep, are in local memory, that of the first transposed, so
that an item reads four neighbours of either at a time; its rows are padded by four.
"""

from __future__ import annotations

import warnings
from statistics import median
from typing import Any

import polygen as pg

TILE, ITEMS, LANES, DEPTH, PADDING = 128, 16, 4, 32, 4
SIZES = (2048, 4096, 8192)


def product() -> pg.Kernel:
    matrices = [pg.GlobalArg(name, "float32", "n, n") for name in "abc"]
    return pg.make_kernel(
        ["{ [i, j]: 0<=i<n and 0<=j<n }", "{ [k]: 0<=k<n }"],
        """
        for i, j
            <> acc = 0  {id=clear}
            for k
                acc = acc + a[i, k]*b[k, j]  {id=add, dep=clear}
            end
            c[i, j] = acc  {id=store, dep=add}
        end
        """,
        [*matrices, "..."],
        name="product",
    )


def tiled(knl: pg.Kernel) -> pg.Kernel:
    """Cut c into tiles for groups, these into pieces of four for items."""
    for iname, axis in (("i", 1), ("j", 0)):
        rest = f"{iname}_rest"
        knl = pg.split_iname(knl, iname, TILE, outer_tag=f"g.{axis}")
        knl = pg.split_iname(
            knl, f"{iname}_inner", LANES, outer_iname=rest, inner_iname=f"{iname}_lane"
        )
        part, item = f"{iname}_part", f"{iname}_item"
        knl = pg.split_iname(
            knl, rest, ITEMS, outer_iname=part, inner_iname=item, inner_tag=f"l.{axis}"
        )
    return pg.prioritize_loops(pg.split_iname(knl, "k", DEPTH), "k_outer, k_inner")


def with_registers(knl: pg.Kernel) -> pg.Kernel:
    """Let an item add to all of its elements for each k."""
    own = ("i_part", "i_lane", "j_part", "j_lane")
    knl = pg.privatize_temporaries_with_inames(knl, ", ".join(own))
    tags = dict.fromkeys((*own, "k_inner"), "unr")
    for insn in ("clear", "store"):
        knl = pg.duplicate_inames(knl, ", ".join(own), within=f"id:{insn}", suffix=f"_{insn}")
        others = [f"{iname}_{insn}" for iname in own]
        knl = pg.prioritize_loops(knl, ", ".join(others))
        tags |= dict.fromkeys(others, "unr")
    knl = pg.prioritize_loops(knl, ", ".join(("k_outer", "k_inner", *own)))
    return pg.tag_inames(knl, tags)


def prefetched(knl: pg.Kernel) -> pg.Kernel:
    """Let the items of a group load tiles together, and each what it needs of these."""
    group = "i_outer, j_outer, k_outer"
    swept = {"a": "i_part, i_item, i_lane, k_inner", "b": "k_inner, j_part, j_item, j_lane"}
    for array, inames in swept.items():
        tile = f"{array}_tile"
        knl = pg.add_prefetch(knl, array, inames, temporary_name=tile, fetch_outer_inames=group)
    knl = pg.permute_array_dims(knl, "a_tile", (1, 0))
    knl = pg.add_padding(
        pg.add_dtypes(knl, {"a_tile": "float32"}), "a_tile", 0, 4 * (TILE + PADDING)
    )
    for array, iname in (("a", "i"), ("b", "j")):
        knl = pg.split_array_dim(knl, (f"{array}_tile", 1), LANES, auto_split_inames=False)
        knl = pg.add_prefetch(
            knl,
            f"{array}_tile",
            f"{iname}_part, {iname}_lane",
            temporary_name=f"{array}_own",
            fetch_outer_inames=f"{group}, k_inner, i_item, j_item",
            default_tag="unr",
        )
    return knl


def recipe(n: int) -> pg.Kernel:
    """Return the product of matrices of one size, which the tiles divide."""
    return prefetched(with_registers(tiled(pg.fix_parameters(product(), n=n))))


def milliseconds(run: Any, cupy: Any, times: int = 20) -> float:
    for _ in range(3):
        run()
    events = [(cupy.cuda.Event(), cupy.cuda.Event()) for _ in range(times)]
    for start, end in events:
        start.record()
        run()
        end.record()
    cupy.cuda.Device().synchronize()
    return float(median(cupy.cuda.get_elapsed_time(*pair) for pair in events))


def main() -> None:
    import cupy  # noqa: PLC0415  (the recipe needs none)

    warnings.simplefilter("ignore")
    print(cupy.cuda.runtime.getDeviceProperties(0)["name"].decode())
    print("n      cuBLAS             polygen            ratio of times")
    for n in SIZES:
        a, b = (cupy.random.rand(n, n, dtype="float32") for _ in range(2))
        c, expected = cupy.empty_like(a), a @ b
        knl = recipe(n)
        theirs = milliseconds(lambda: cupy.matmul(a, b, out=c), cupy)  # noqa: B023
        c[:] = 0
        ours = milliseconds(lambda: knl(a=a, b=b, c=c), cupy)  # noqa: B023
        assert float(abs(c - expected).max() / expected.max()) < 1e-5
        rates = [f"{ms:7.3f} ms {2 * n**3 / ms / 1e9:5.1f} TF" for ms in (theirs, ours)]
        print(f"{n:5}  {rates[0]}  {rates[1]}  {ours / theirs:.3f}")


if __name__ == "__main__":
    main()
