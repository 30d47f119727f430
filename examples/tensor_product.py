"""Matrix product on the tensor cores of a GPU, by transformations alone.

    python examples/tensor_product.py

As in fast_product.py, a group computes a tile of c, and copies tiles of a and b to local memory
while it multiplies those before.  Here, the 32 work items of a warp, 4 along columns and 8 along
rows, hold pieces of c together: tensor cores execute loops tagged ``mma`` for all of them.  Where
there are none, these are loops as any.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import polygen as pg


@dataclass(frozen=True)
class Shape:
    """How work is divided.

    Attributes:
        rows, columns: those of c that a group computes.
        depth: how many columns of a, and rows of b, are in local memory at a time.
        warps: along rows, and along columns.
        step: how many columns of a are multiplied at once: 4, 8 or 16.
        resident: how many groups a multiprocessor is to run at once.
    """

    rows: int = 128
    columns: int = 128
    depth: int = 16
    warps: tuple[int, int] = (2, 4)
    step: int = 8
    resident: int = 1

    @property
    def items(self) -> tuple[int, int, int]:
        """The work items of a group, along each axis."""
        return 4, 8 * self.warps[0], self.warps[1]


GROUP, ITEMS = "i_group, j_group, k_tile", "i_item, j_item, j_block"
OWN = ("i_part", "j_part", "j_lane")  # the loops over what an item holds
SWEPT = {"a": f"{ITEMS}, i_part, k_step, k_inner", "b": f"{ITEMS}, j_part, j_lane, k_step, k_inner"}


def make_product(dtype: str) -> pg.Kernel:
    """Return the product as loops; numbers of 16 bits are multiplied and added up as float32."""
    shapes = {"a": "n, l", "b": "l, m", "c": "n, m"}
    sums = "float32" if dtype.endswith("16") else dtype
    a, b = (f"float32({x})" if dtype == "float16" else x for x in ("a[i, k]", "b[k, j]"))
    return pg.make_kernel(
        ["{ [i, j]: 0<=i<n and 0<=j<m }", "{ [k]: 0<=k<l }"],
        f"""
        for i, j
            <{sums}> acc = 0  {{id=clear}}
            for k
                acc = acc + {a}*{b}  {{id=add, dep=clear}}
            end
            c[i, j] = acc  {{id=store, dep=add}}
        end
        """,
        [*(pg.GlobalArg(name, dtype, s, alignment=16) for name, s in shapes.items()), "..."],
        name="product",
    )


def in_warps(knl: pg.Kernel, s: Shape) -> pg.Kernel:
    """Divide rows and columns: a tile for each group, rows and pairs of columns for each item."""
    across, down, blocks = s.items
    parts = s.columns // (8 * blocks)
    for iname, length, outer, inner, tags in (
        ("i", s.rows, "i_group", "i_tile", ("g.1", None)),
        ("i_tile", down, "i_part", "i_item", (None, "l.1")),
        ("j", s.columns, "j_group", "j_tile", ("g.0", None)),
        ("j_tile", 2, "j_rest", "j_lane", (None, None)),
        ("j_rest", across, "j_parts", "j_item", (None, "l.0")),
        ("j_parts", parts, "j_block", "j_part", ("l.2", None)),
        ("k", s.depth, "k_tile", "k_rest", (None, None)),
        ("k_rest", s.step, "k_step", "k_inner", ("unr_hint", None)),
    ):
        outer_tag, inner_tag = tags
        knl = pg.split_iname(
            knl,
            iname,
            length,
            outer_iname=outer,
            inner_iname=inner,
            outer_tag=outer_tag,
            inner_tag=inner_tag,
        )
    return knl


def with_sums(knl: pg.Kernel) -> pg.Kernel:
    """Let an item hold the sums of all of its elements, and the warp add to all at once."""
    knl = pg.privatize_temporaries_with_inames(knl, ", ".join(OWN))
    for insn in ("clear", "store"):
        knl = pg.duplicate_inames(knl, ", ".join(OWN), within=f"id:{insn}", suffix=f"_{insn}")
        others = [f"{iname}_{insn}" for iname in OWN]
        tags = dict.fromkeys(others, "unr") | ({"j_lane_store": "vec"} if insn == "store" else {})
        knl = pg.tag_inames(pg.prioritize_loops(knl, ", ".join(others)), tags)
    knl = pg.prioritize_loops(knl, "k_tile, k_step, k_inner, i_part, j_part, j_lane")
    return pg.use_tensor_cores(knl, "add", "k_inner, i_part, j_part, j_lane")


def with_tiles(knl: pg.Kernel, s: Shape) -> pg.Kernel:
    """Let the items of a group copy tiles of a and b to local memory, ahead of their use."""
    dtype = np.dtype(knl.array("a").dtype)
    width, sizes = 16 // dtype.itemsize, {"a": s.depth, "b": s.columns}
    for array, dims in (("a", "a_row, a_k"), ("b", "b_k, b_column")):
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
        knl = pg.add_dtypes(knl, {f"{array}_tile": dtype})
        # Room at the ends of rows, for other banks.
        room = (32 if dtype.itemsize > 2 else 16) // dtype.itemsize
        knl = pg.add_padding(knl, f"{array}_tile", 0, dtype.itemsize * (sizes[array] + room))
    axes = {"a_k_outer": (0,), "a_row": (1, 2), "b_k": (1,), "b_column_outer": (0, 2)}
    for iname, along in axes.items():
        rest = iname
        for axis in along:
            outer = f"{iname}_{axis}"
            knl = pg.split_iname(knl, rest, s.items[axis], outer_iname=outer, inner_tag=f"l.{axis}")
            rest = outer
        knl = pg.tag_inames(knl, {rest: "unr"})
    return pg.double_buffer(knl, "a_tile, b_tile", "k_tile")


def recipe(dtype: str, s: Shape, **sizes: int) -> pg.Kernel:
    """Return the product of matrices whose sizes (n, m and l) are multiples of the tiles'."""
    knl = pg.fix_parameters(make_product(dtype), **sizes)
    if not sizes:
        multiples = f"n mod {s.rows} = 0 and m mod {s.columns} = 0 and l mod {s.depth} = 0"
        knl = pg.assume(knl, multiples)
    knl = with_tiles(with_sums(in_warps(knl, s)), s)
    return pg.set_options(knl, resident_groups=s.resident)


def main() -> None:
    knl = recipe("float64", Shape(rows=16, columns=32, depth=8, warps=(1, 2)))
    print(pg.generate_code(knl, "cuda").source.partition('extern "C"')[2])
    rng = np.random.default_rng(1)
    a, b = rng.random((32, 24)), rng.random((24, 64))
    for target in ("opencl", "c"):  # where loops tagged mma are loops
        _, (c,) = knl.executor(target)(a=a, b=b)
        np.testing.assert_allclose(c, a @ b, rtol=1e-14)
        print(f"{target}: as NumPy")


if __name__ == "__main__":
    main()
