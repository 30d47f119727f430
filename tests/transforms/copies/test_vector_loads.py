"""`add_prefetch(..., vector_width=)`: whole vectors at once, what is left at the rim one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import InvalidArgument, NotVectorizable
from polygen.ir.kernel import Kernel
from tests.few import few
from tests.oracle.cases import Step, agree_in_arrays, kernel

SIZES = (0, 1, 3, 4, 7, 16, 33)


def product(tile: int, *, whole: bool, **options: Any) -> Kernel:
    knl = pg.make_kernel(
        ["{ [i, j]: 0<=i<n and 0<=j<m }", "{ [k]: 0<=k<l }"],
        "c[i, j] = sum(k, a[i, k] * b[k, j])",
        [
            pg.GlobalArg("a", "float32", "n, l"),
            pg.GlobalArg("b", "float32", "l, m"),
            pg.GlobalArg("c", "float32", "n, m"),
            "...",
        ],
    )
    if whole:
        knl = pg.assume(knl, " and ".join(f"{size} mod {tile} = 0" for size in "nml"))
    knl = pg.split_iname(knl, "i", tile, outer_tag="g.1", inner_tag="l.1")
    knl = pg.split_iname(knl, "j", tile, outer_tag="g.0", inner_tag="l.0")
    knl = pg.split_iname(knl, "k", tile)
    knl = pg.add_prefetch(knl, "a", ["i_inner", "k_inner"], **options)
    return pg.add_prefetch(knl, "b", ["k_inner", "j_inner"], **options)


@few(1, "whole", [False, True])
def test_a_product_of_tiles(whole: bool) -> None:
    knl = product(8, whole=whole, vector_width=4)
    assert len(knl.instructions) == (3 if whole else 5)
    code = str(pg.generate_code(knl, "opencl"))
    assert code.count(") = vload4(0, ") == code.count("*(__local float4 *) (") == 2
    assert code.count("for (") == (2 if whole else 4)
    assert code.count("barrier(") == 2
    shapes = [(8, 16, 8), (24, 8, 16), (8, 8, 0)]
    if not whole:
        shapes += [(1, 1, 1), (9, 7, 5), (3, 17, 12), (0, 4, 4), (10, 11, 9)]
    for n, m, l in shapes:  # noqa: E741
        rng = np.random.default_rng(n)
        a = rng.integers(-9, 9, (n, l)).astype(np.float32)
        b = rng.integers(-9, 9, (l, m)).astype(np.float32)
        for target in ("c", "opencl"):
            _, (c,) = knl.executor(target)(a=a, b=b)
            np.testing.assert_array_equal(c, a @ b)


def rows(dtype: str = "float32", extent: int = 10, **array: Any) -> Kernel:
    """Return a kernel that adds neighbours in parts of rows."""
    knl = kernel(
        "{ [i, j]: 0<=i<n and 0<=j<n }",
        "out[i, j] = a[i, j] + a[i, j + 1]",
        pg.GlobalArg("a", dtype, "n, n + 1", **array),
        pg.GlobalArg("out", dtype, "n, n"),
        loop_priority="i, j",
    )
    return pg.split_iname(knl, "j", extent)


def check(knl: Kernel, dtype: str) -> None:
    assert pg.parse_kernel(str(knl)) == knl
    assert knl.original is not None
    assert pg.replay(knl.original, knl.history) == knl
    for n in SIZES:
        a = np.random.default_rng(n).integers(-99, 99, (n, n + 1)).astype(dtype)
        for target in ("c", "opencl"):
            _, (out,) = knl.executor(target)(a=a, n=n)
            np.testing.assert_array_equal(out, a[:, :-1] + a[:, 1:])


@few(
    1,
    ("dtype", "width"),
    [
        ("float32", 2),
        ("float64", 4),
        ("int32", 8),
        pytest.param("float32", 4, marks=pytest.mark.more),
        pytest.param("int64", 2, marks=pytest.mark.more),
    ],
)
def test_parts_of_rows(dtype: str, width: int) -> None:
    """A tile has one element more than ten: it ends with a part of a vector."""
    knl = pg.add_prefetch(rows(dtype), "a", "j_inner", default_tag=None, vector_width=width)
    assert f"vload{width}(0, a" in str(pg.generate_code(knl, "opencl"))
    check(knl, dtype)


def test_groups_copy_together() -> None:
    knl = pg.tag_inames(rows(), {"i": "g.0", "j_outer": "g.1", "j_inner": "l.0"})
    knl = pg.add_prefetch(knl, "a", "j_inner", vector_width=4)
    code = str(pg.generate_code(knl, "opencl"))
    assert code.count("*(__local float4 *) (a_fetch + 4 * j_inner) = vload4(0, a") == 1
    assert code.count("barrier(") == 1
    check(knl, "float32")


ALIGNED, NOT = "*(__global float4 const *) (a", "vload4(0, a"


@few(
    5,
    ("shape", "assumed", "shift", "layout", "wanted"),
    [
        ("n, 32", "", 0, {}, ALIGNED),  # rows of constant length
        ("n, 33", "", 0, {}, NOT),
        ("n, 40", "", 3, {}, ALIGNED),  # from the second element on
        ("n, 40", "", 4, {}, ALIGNED),
        ("n, m + 16", "m mod 4 = 0 and m >= 16", 0, {}, ALIGNED),  # of assumed length
        ("n, m + 16", "m mod 2 = 0 and m >= 16", 0, {}, NOT),
        ("n, m + 17", "m mod 4 = 0 and m >= 16", 0, {}, NOT),
        ("n, m + 16", "m >= 16", 0, {"dim_tags": "N1, N0(pad_to=8)"}, ALIGNED),  # padded
        ("n, m + 16", "m >= 16", 0, {"dim_tags": "N1, N0(pad_to=2)"}, NOT),
        ("n, 32", "", 0, {"alignment": 8}, NOT),
    ],
)
def test_what_is_aligned(
    shape: str, assumed: str, shift: int, layout: dict[str, Any], wanted: str
) -> None:
    given: dict[str, Any] = {"alignment": 16, **layout}
    knl = kernel(
        "{ [i, j]: 0<=i<n and 0<=j<32 }",
        f"out[i, j] = 2*a[i, j + {shift}]",
        pg.GlobalArg("a", "float32", shape, **given),
        pg.GlobalArg("out", "float32", "n, 32"),
        *(["m"] if "m" in shape else []),
        assumptions=assumed or "n >= 0",
    )
    knl = pg.split_iname(knl, "j", 16, outer_tag="g.0", inner_tag="l.0")
    knl = pg.add_prefetch(pg.tag_inames(knl, "i: g.1"), "a", "j_inner", vector_width=4)
    text = str(pg.generate_code(knl, "opencl"))
    assert text.count(wanted) == 1
    tile = "__local float a_fetch[16] __attribute__((aligned(16)));"
    assert (tile in text) == (shift % 4 == 0)
    columns = {"m + 16": 36, "m + 17": 37}.get(shape[3:]) or int(shape[3:])
    length = 40 if "N0(pad_to=8)" in str(layout) else columns
    a = np.arange(5 * length, dtype=np.float32).reshape(5, length)[:, :columns]
    _, (out,) = knl.executor("opencl")(a=a, **({"m": 20} if "m" in shape else {}))
    np.testing.assert_array_equal(out, 2 * a[:, shift : shift + 32])


def test_a_work_item_loads_neighbours_on_both_sides_one_by_one() -> None:
    """What is in between is a vector that is aligned, kept in registers."""
    knl = kernel(
        "{ [i, j]: 0<=i<n and 0<=j<m }",
        "out[i, j] = a[i, j+3] + 2*a[i, j+4] + 3*a[i, j+5] + a[i+2, j+4]",
        pg.GlobalArg("a", "float32", "n+2, m+8", alignment=16),
        pg.GlobalArg("out", "float32", "n, m", alignment=16),
        "...",
        assumptions="m mod 8 = 0 and n >= 0",
    )
    knl = pg.split_iname(knl, "j", 4, outer_tag="l.0", inner_tag="vec")
    knl = pg.split_iname(pg.fix_parameters(knl, m=16), "i", 2, inner_tag="unr")
    knl = pg.add_prefetch(
        knl,
        "a",
        "i_inner, j_inner",
        default_tag="unr",
        temporary_address_space=pg.AddressSpace.PRIVATE,
        vector_width=4,
    )
    text = str(pg.generate_code(pg.assume(knl, "n mod 2 = 0"), "opencl"))
    assert text.count(ALIGNED) == 4  # a row each
    assert text.count("= a[") == 8
    a = np.random.default_rng(1).random((7, 24), np.float32)
    _, (out,) = knl.executor("opencl")(a=a)
    middle = a[:5, 3:19] + 2 * a[:5, 4:20] + 3 * a[:5, 5:21] + a[2:, 4:20]
    np.testing.assert_allclose(out, middle, rtol=1e-6)


def test_tiles_of_which_rows_begin_anywhere() -> None:
    """A row of nine in local memory: vectors are stored where they are not aligned."""
    knl = pg.fix_parameters(rows(extent=8), n=8)
    knl = pg.add_prefetch(knl, "a", "i, j_inner", default_tag=None, vector_width=4)
    text = str(pg.generate_code(knl, "opencl"))
    assert "vstore4(vload4(0, a" in text
    assert "aligned" not in text


def in_vectors(width: int) -> Step:
    options: dict[str, Any] = {"default_tag": None, "temporary_name": "t", "vector_width": width}
    return lambda knl: pg.add_prefetch(knl, "a", "j_inner", **options)


def test_every_element_is_copied_once() -> None:
    sizes = [{"n": n} for n in (0, 1, 5, 9)]
    agree_in_arrays(rows(extent=6), sizes, in_vectors(2), in_vectors(4))


def test_what_is_no_vector() -> None:
    with pytest.raises(NotVectorizable, match="does not copy elements that are next to each other"):
        pg.add_prefetch(rows(order="F"), "a", "j_inner", vector_width=4)
    with pytest.raises(NotVectorizable, match="does not copy elements that are next to each other"):
        one = kernel("{ [i, j]: 0<=i<n and 0<=j<4 }", "out[i, j] = x[i] + j")
        pg.add_prefetch(one, "x", vector_width=2)
    with pytest.raises(NotVectorizable, match="never copies 16 elements that are next to each"):
        pg.add_prefetch(rows(), "a", "j_inner", vector_width=16)
    every_other = kernel(
        "{ [i, j]: 0<=i<n and 0<=j<8 }",
        "out[i, j] = a[i, 2*j]",
        pg.GlobalArg("a", "float32", "n, 16"),
    )
    with pytest.raises(NotVectorizable, match="does not copy elements that are next to each other"):
        pg.add_prefetch(every_other, "a", "j", vector_width=4)
    unfit: list[Any] = [0, -4, 2.0, "4"]
    for wrong in unfit:
        with pytest.raises(InvalidArgument, match="vector_width"):
            pg.add_prefetch(rows(), "a", "j_inner", vector_width=wrong)
