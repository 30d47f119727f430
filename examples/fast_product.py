"""Matrix product at nearly the speed of a GPU's own library, by transformations alone.

    python examples/fast_product.py

Work items compute pieces of c in registers, of 16 x 8 elements, say: a group a tile of 128 x 256.
While they multiply what is in local memory, tiles of a and b are on their way into its other half.
Tiles of sizes that divide the matrices' are copied as they are, rows of b as vectors.  Otherwise
loops run on to multiples of the tiles' sizes, where zeros are copied.
"""

from dataclasses import dataclass

import numpy as np

import polygen as pg


@dataclass(frozen=True)
class Shape:
    """How work is divided.

    Attributes:
        rows, columns: those of c that a group computes.
        depth: how many columns of a, and rows of b, are in local memory at a time.
        items: the work items of a group: along columns, along rows, blocks of columns.
        lanes: how many neighbours a work item reads at once.
        ahead: whether there is room for a second pair of tiles, copied while the first is used.
        resident: how many groups a multiprocessor is to run at once.
    """

    rows: int = 128
    columns: int = 256
    depth: int = 32
    items: tuple[int, int, int] = (8, 8, 4)
    lanes: int = 4
    ahead: bool = True
    resident: int = 1


ITEMS, GROUP = "i_item, j_item, j_block", "i_group, j_group, k_tile"
SWEPT = {"a": f"{ITEMS}, i_part, i_lane, k_inner", "b": f"{ITEMS}, j_part, j_lane, k_inner"}
OWN = ("i_part", "i_lane", "j_part", "j_lane")  # the loops over an item's elements


def make_product(dtype: str = "float32") -> pg.Kernel:
    shapes = {"a": "n, l", "b": "l, m", "c": "n, m"}
    return pg.make_kernel(
        ["{ [i, j]: 0<=i<n and 0<=j<m }", "{ [k]: 0<=k<l }"],
        """
        for i, j
            <> acc = 0  {id=clear}
            for k
                acc = acc + a[i, k]*b[k, j]  {id=add, dep=clear}
            end
            c[i, j] = acc  {id=store, dep=add}
        end
        """,
        [*(pg.GlobalArg(name, dtype, s, alignment=16) for name, s in shapes.items()), "..."],
        name="product",
    )


def in_tiles(knl: pg.Kernel, s: Shape) -> pg.Kernel:
    """Divide rows and columns: a tile for each group, in it pieces of a few lanes for each item."""
    for x, axis, size in (("i", 1, s.rows), ("j", 0, s.columns)):
        tile, rest, item, lane = (f"{x}_{name}" for name in ("tile", "rest", "item", "lane"))
        knl = pg.split_iname(
            knl, x, size, outer_iname=f"{x}_group", inner_iname=tile, outer_tag=f"g.{axis}"
        )
        knl = pg.split_iname(knl, tile, s.lanes, outer_iname=rest, inner_iname=lane)
        outer = f"{x}_part" if x == "i" else "j_parts"
        knl = pg.split_iname(
            knl, rest, s.items[axis], outer_iname=outer, inner_iname=item, inner_tag=f"l.{axis}"
        )
    parts = s.columns // (s.lanes * s.items[0] * s.items[2])
    knl = pg.split_iname(
        knl, "j_parts", parts, outer_iname="j_block", inner_iname="j_part", outer_tag="l.2"
    )
    return pg.split_iname(knl, "k", s.depth, outer_iname="k_tile")


def with_registers(knl: pg.Kernel) -> pg.Kernel:
    """Let an item add to all of its elements for each k: the loops over them go inside."""
    knl = pg.privatize_temporaries_with_inames(knl, ", ".join(OWN))
    tags = dict.fromkeys((*OWN, "k_inner"), "unr")
    for insn in ("clear", "store"):
        knl = pg.duplicate_inames(knl, ", ".join(OWN), within=f"id:{insn}", suffix=f"_{insn}")
        others = [f"{iname}_{insn}" for iname in OWN]
        knl = pg.prioritize_loops(knl, ", ".join(others))
        tags |= dict.fromkeys(others, "unr")
    knl = pg.prioritize_loops(knl, "k_tile, k_inner, j_part, j_lane, i_part, i_lane")
    return pg.tag_inames(knl, tags)


def with_tiles(knl: pg.Kernel, s: Shape) -> pg.Kernel:
    """Let the items of a group copy tiles of a and b to local memory, ahead of their use."""
    for array, dims, width in (("a", "a_row, a_k", None), ("b", "b_k, b_column", s.lanes)):
        knl = pg.add_prefetch(
            knl,
            array,
            SWEPT[array],
            dims,
            default_tag=None,
            temporary_name=f"{array}_tile",
            temporary_address_space="local",
            fetch_outer_inames=GROUP,
            vector_width=width,
            asynchronous=True,
        )
    knl = pg.tag_inames(knl, {"j_lane_store": "vec"}, force=True)
    knl = copied_together(knl, s, "b_column_outer")
    return used_in_turn(read_in_vectors(knl, s), s)


def padded(knl: pg.Kernel, s: Shape) -> pg.Kernel:
    """Let loops over rows and columns run on to whole tiles, with zeros for what is not there."""
    knl = pg.pad_iname(pg.pad_iname(knl, "i", s.rows), "j", s.columns)
    rows, columns = knl.array("c").shape or ()
    for array, place, count in (("a", "row", rows), ("b", "column", columns)):
        end = f"<= {count - 1}" if isinstance(count, int) else f"< {count}"
        choice = f"if({place} {end}, {array}[row, column], 0)"
        knl = pg.extract_subst(knl, f"{array}_or_0", choice, "row, column")
    return knl


def with_padded_tiles(knl: pg.Kernel, s: Shape) -> pg.Kernel:
    """Let the items of a group copy tiles of a and b to local memory, or zeros."""
    for array, dims in (("a", "a_row, a_k"), ("b", "b_k, b_column")):
        knl = pg.precompute(
            knl,
            f"{array}_or_0",
            SWEPT[array],
            precompute_inames=dims,
            default_tag=None,
            temporary_name=f"{array}_tile",
            temporary_address_space="local",
            precompute_outer_inames=GROUP,
            asynchronous=True,
        )
    return used_in_turn(read_in_vectors(copied_together(knl, s, "b_column"), s), s)


def copied_together(knl: pg.Kernel, s: Shape, along_b: str) -> pg.Kernel:
    """Spread the loops that copy tiles over the axes of items; what is left of them is unrolled."""
    for iname, axes in (("a_k", (0,)), ("a_row", (1, 2)), ("b_k", (1,)), (along_b, (0, 2))):
        rest = iname
        for axis in axes:
            outer = f"{iname}_{axis}"
            knl = pg.split_iname(knl, rest, s.items[axis], outer_iname=outer, inner_tag=f"l.{axis}")
            rest = outer
        knl = pg.tag_inames(knl, {rest: "unr"})
    return knl


def read_in_vectors(knl: pg.Kernel, s: Shape) -> pg.Kernel:
    """Let an item read what it needs for a k from the tiles at once, neighbours as vectors.

    The tile of a is transposed, with room at the ends of its rows, for other banks.
    """
    size = np.dtype(knl.array("a").dtype).itemsize
    knl = pg.add_dtypes(knl, {f"{array}_tile": knl.array("a").dtype for array in "ab"})
    knl = pg.permute_array_dims(knl, "a_tile", (1, 0))
    knl = pg.add_padding(knl, "a_tile", 0, size * (s.rows + s.lanes))
    for array, x in (("a", "i"), ("b", "j")):
        tile = f"{array}_tile"
        knl = pg.split_array_dim(knl, (tile, 1), s.lanes, auto_split_inames=False)
        knl = pg.add_prefetch(
            knl,
            tile,
            f"{x}_part, {x}_lane",
            temporary_name=f"{array}_own",
            fetch_outer_inames=f"{GROUP}, k_inner, {ITEMS}",
            default_tag="unr",
            vector_width=s.lanes,
        )
    return knl


def used_in_turn(knl: pg.Kernel, s: Shape) -> pg.Kernel:
    """Let tiles have two halves: one is copied while the other one is read."""
    return pg.double_buffer(knl, "a_tile, b_tile", "k_tile") if s.ahead else knl


def recipe(dtype: str, s: Shape, **sizes: int) -> pg.Kernel:
    """Return the product of matrices whose sizes (n, m and l) are multiples of the tiles'."""
    knl = pg.fix_parameters(make_product(dtype), **sizes)
    if not sizes:
        multiples = f"n mod {s.rows} = 0 and m mod {s.columns} = 0 and l mod {s.depth} = 0"
        knl = pg.assume(knl, multiples)
    knl = with_tiles(with_registers(in_tiles(knl, s)), s)
    return pg.set_options(knl, resident_groups=s.resident)


def padded_recipe(dtype: str, s: Shape, **sizes: int) -> pg.Kernel:
    """Return the product of matrices of any sizes."""
    knl = padded(pg.fix_parameters(make_product(dtype), **sizes), s)
    knl = with_padded_tiles(with_registers(in_tiles(knl, s)), s)
    return pg.set_options(knl, resident_groups=s.resident)


def check(knl: pg.Kernel, target: str, n: int, m: int, l: int) -> None:  # noqa: E741
    rng = np.random.default_rng(seed=n)
    # Sums of small integers: there is nothing to round.
    a = rng.integers(-9, 9, size=(n, l)).astype(np.float32)
    b = rng.integers(-9, 9, size=(l, m)).astype(np.float32)
    _, (c,) = knl.executor(target)(a=a, b=b)
    np.testing.assert_array_equal(c, a @ b)


def main() -> None:
    small = Shape(rows=16, columns=16, depth=4, items=(2, 4, 2), lanes=2)
    whole, any_size = recipe("float32", small), padded_recipe("float32", small)
    known = padded_recipe("float32", small, n=31, m=33, l=7)
    print(pg.generate_code(whole, "cuda"))
    for target in ("opencl", "c"):
        check(whole, target, 32, 48, 12)
        for n, m, l in ((1, 1, 1), (31, 33, 7)):  # noqa: E741
            check(any_size, target, n, m, l)
        check(known, target, 31, 33, 7)
        print(f"{target}: as NumPy")


if __name__ == "__main__":
    main()
