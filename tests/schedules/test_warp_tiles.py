"""Contractions on tensor cores: the steps keep what is computed, for all forms and sizes."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.dtype import to_dtype
from polygen.schedules.contractions import contraction_of
from polygen.schedules.nests import Extents
from polygen.schedules.register_tiles import Shape
from polygen.schedules.warp_tiles import in_warp_tiles

SHAPES = {
    "float64": Shape(16, 32, 16, (4, 8, 2), 2, in_warps=True),
    "float32": Shape(16, 32, 8, (4, 8, 2), 2, in_warps=True),
    "float16": Shape(16, 32, 32, (4, 8, 2), 2, in_warps=True),
    "bfloat16": Shape(32, 16, 16, (4, 16, 1), 2, in_warps=True),
}
LOOPS = {"i": "n", "j": "m", "k": "l", "e": "g"}
NN = {"a": "n, l", "b": "l, m", "c": "n, m"}


def contraction(
    dtype: str, text: str, shapes: dict[str, str], target: str = "cuda", **sizes: int
) -> pg.Kernel:
    """Return a contraction as a text, with arrays that begin where vectors do."""
    if dtype == "float16":
        text = re.sub(r"([ab]\[[^\]]*\])", r"float32(\1)", text)
    loops = [i for i in "eijk" if re.search(rf"\b{i}\b", text)]
    ends = " and ".join(f"0<={i}<{LOOPS[i]}" for i in loops)
    arrays = [pg.GlobalArg(x, dtype, s, alignment=16) for x, s in shapes.items()]
    knl = pg.make_kernel(
        f"{{ [{','.join(loops)}]: {ends} }}", text, [*arrays, "..."], name="product", target=target
    )
    return pg.set_options(pg.fix_parameters(knl, **sizes), allow_tf32=True)


def tiled(
    dtype: str,
    shape: Shape,
    text: str = "c[i,j] = sum(k, a[i,k]*b[k,j])",
    shapes: dict[str, str] = NN,
    target: str = "cuda",
    **sizes: int,
) -> pg.Kernel:
    """Return a contraction on tensor cores."""
    knl = contraction(dtype, text, shapes, target, **sizes)
    expected = {"n": 64, "m": 64, "l": 64, "g": 3} if not sizes else {}
    found = contraction_of(knl, "insn", Extents(knl, expected))
    return in_warp_tiles(knl, found, shape)


MOST = [
    pytest.param(dtype, marks=() if dtype in {"float64", "float16"} else pytest.mark.more)
    for dtype in SHAPES
]
FORMS: dict[str, tuple[str, dict[str, str], str]] = {
    "a b": ("c[i,j] = sum(k, a[i,k]*b[k,j])", NN, "ik,kj->ij"),
    "a^T b^T": (
        "c[i,j] = sum(k, a[k,i]*b[j,k])",
        {"a": "l, n", "b": "m, l", "c": "n, m"},
        "ki,jk->ij",
    ),
    "swapped": ("c[i,j] = sum(k, b[k,j]*a[i,k])", NN, "ik,kj->ij"),
    "batch": (
        "c[e,i,j] = sum(k, a[e,i,k]*b[e,k,j])",
        {"a": "g, n, l", "b": "g, l, m", "c": "g, n, m"},
        "eik,ekj->eij",
    ),
}


def run(knl: pg.Kernel, dtype: str, shapes: dict[str, str], form: str, **sizes: int) -> None:
    """Compare a kernel with NumPy's sums of small whole numbers."""
    rng = np.random.default_rng(sizes["n"])
    made: dict[str, Any] = {}
    for name in ("a", "b"):
        shape = [sizes[x.strip()] for x in shapes[name].split(",")]
        made[name] = rng.integers(-2, 3, shape).astype(to_dtype(dtype))
    _, (c,) = knl(**made)
    wide = [x.astype(np.float64) for x in made.values()]
    np.testing.assert_array_equal(c.astype(np.float64), np.einsum(form, *wide))


def _cases() -> list[Any]:
    """Return all types and forms, most of which are larger forms of the others."""
    few = {("float64", "batch")}
    every = [(dtype, name) for dtype in SHAPES for name in FORMS]
    return [pytest.param(*c, marks=() if c in few else pytest.mark.more) for c in every]


@pytest.mark.parametrize(("dtype", "name"), _cases())
def test_sizes_that_are_not_known(dtype: str, name: str) -> None:
    """On a processor, the same steps; what the hardware does is tested elsewhere."""
    text, shapes, form = FORMS[name]
    knl = tiled(dtype, SHAPES[dtype], text, shapes, "c")
    for n, m, l in ((1, 1, 1), (33, 17, 50), (16, 64, 32), (5, 40, 0)):  # noqa: E741
        run(knl, dtype, shapes, form, n=n, m=m, l=l, g=2)


@pytest.mark.parametrize("dtype", MOST)
def test_whole_tiles(dtype: str) -> None:
    knl = tiled(dtype, SHAPES[dtype], target="c", n=32, m=64, l=64)
    run(knl, dtype, NN, "ik,kj->ij", n=32, m=64, l=64)
    source = str(pg.generate_code(tiled(dtype, SHAPES[dtype], n=32, m=64, l=64)))
    assert source.count("pg_copy((pg_vector<") >= 4  # both tiles, first and next
    assert f"pg_multiply_{'tf32' if dtype == 'float32' else dtype}({{" in source


@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_the_last_tile_is_in_loops(dtype: str) -> None:
    source = str(pg.generate_code(tiled(dtype, SHAPES[dtype], n=32, m=64, l=70)))
    body = source[source.index('extern "C" __global__') :]
    assert body.count("pg_multiply_") == 1
    assert "acc_k[" in body[body.index("pg_multiply_") :]


def test_epilogues_and_computed_factors() -> None:
    text = "c[i,j] = fmax(2*sum(k, (a[i,k] + 1)*b[k,j]) + d[j], 0)"
    shapes = NN | {"d": "m"}
    knl = tiled("float64", SHAPES["float64"], text, shapes, "c", n=19, m=37, l=23)
    rng = np.random.default_rng(1)
    a, b, d = (rng.integers(-3, 4, s).astype(float) for s in ((19, 23), (23, 37), (37,)))
    _, (c,) = knl(a=a, b=b, d=d)
    np.testing.assert_array_equal(c, np.maximum(2 * ((a + 1) @ b) + d, 0))
    whole = tiled("float64", SHAPES["float64"], text, shapes, n=16, m=32, l=16)
    assert "pg_multiply_float64" in str(pg.generate_code(whole))


H200 = pg.Limits.named("H200")
ON_CORES = "on tensor cores"


@pytest.mark.parametrize(
    ("dtype", "options", "limits", "expected"),
    [
        ("float64", {}, H200, True),
        pytest.param("float16", {}, H200, True, marks=pytest.mark.more),
        pytest.param("bfloat16", {}, H200, True, marks=pytest.mark.more),
        pytest.param("float32", {"allow_tf32": True}, H200, True, marks=pytest.mark.more),
        ("float32", {"allow_tf32": False}, H200, False),
        ("float64", {"contract": "off"}, H200, False),
        ("float64", {"clusters": True}, H200, False),
        ("float64", {}, pg.Limits(4.8e12, {"float64": 34e12}, 132), False),
    ],
)
def test_optimize_takes_them_where_it_may(
    dtype: str, options: dict[str, Any], limits: pg.Limits, expected: bool
) -> None:
    text, shapes, _ = FORMS["a b"]
    knl = pg.set_options(contraction(dtype, text, shapes, n=256, m=512, l=256), **options)
    fast = pg.optimize(knl, limits)
    assert any(ON_CORES in c.what for c in fast.choices if c.is_taken) == expected
    assert ("pg_multiply_" in str(pg.generate_code(fast))) == expected


def test_short_sums_are_left() -> None:
    """Of fewer terms than a tile has, all would be loops: tiles in registers are faster."""
    text, shapes, _ = FORMS["a b"]
    fast = pg.optimize(contraction("float64", text, shapes, n=512, m=512, l=9), H200)
    assert not any(ON_CORES in c.what for c in fast.choices)
    assert any("in registers" in c.what for c in fast.choices if c.is_taken)


def test_opencl_has_none() -> None:
    text, shapes, _ = FORMS["a b"]
    knl = contraction("float64", text, shapes, "opencl", n=256, m=256, l=256)
    assert not any(ON_CORES in c.what for c in pg.optimize(knl, H200).choices)


def test_types_of_factors() -> None:
    def factors(text: str, dtype: str) -> str:
        knl = contraction(dtype, text, NN)
        return contraction_of(knl, "insn", Extents(knl, {})).factors.name

    assert factors("c[i,j] = sum(k, a[i,k]*b[k,j])", "bfloat16") == "bfloat16"
    assert factors("c[i,j] = sum(k, a[i,k]*b[k,j])", "float16") == "float16"
    assert factors("c[i,j] = sum(k, (a[i,k] + 1)*b[k,j])", "bfloat16") == "float32"
    assert factors("c[i,j] = sum(k, a[i,k]*b[k,j])", "float64") == "float64"


@pytest.mark.parametrize(
    "seed",
    [1, 2, *(pytest.param(n, marks=pytest.mark.more) for n in range(3, 23))],
)
def test_random_contractions(seed: int) -> None:
    """Random types, forms, tiles and sizes: right on C, and code for tensor cores."""
    shuffler = random.Random(seed)
    dtype, name = shuffler.choice([*SHAPES]), shuffler.choice([*FORMS])
    least = {"float64": 4, "float32": 4}.get(dtype, 16)
    down, blocks = shuffler.choice((1, 2)), shuffler.choice((1, 2, 3))
    shape = Shape(
        8 * down * shuffler.choice((2, 4)),
        8 * blocks * shuffler.choice((1, 2, 3)),
        least * shuffler.choice((1, 2, 3)),
        (4, 8 * down, blocks),
        2,
        ahead=shuffler.random() < 0.8,
        in_warps=True,
    )
    whole = shuffler.random() < 0.4
    _, shapes, form = FORMS[name]
    units = {"n": shape.rows, "m": shape.columns, "l": shape.depth, "g": 1}
    sizes = {
        size: (unit * shuffler.randint(1, 3) if whole else shuffler.randint(1, 3 * unit))
        for size, unit in units.items()
    }
    sizes["l"] = max(sizes["l"], shape.depth)  # a shorter sum is no product of such tiles
    used = {s: n for s, n in sizes.items() if any(s in x for x in shapes.values())}
    made = {target: _random_tiles(dtype, shape, name, target, used) for target in ("c", "cuda")}
    run(made["c"], dtype, shapes, form, **sizes)
    source = str(pg.generate_code(made["cuda"]))
    assert "pg_multiply_" in source


def _random_tiles(
    dtype: str, shape: Shape, name: str, target: str, sizes: dict[str, int]
) -> pg.Kernel:
    text, shapes, _ = FORMS[name]
    knl = contraction(dtype, text, shapes, target)
    knl = pg.fix_parameters(knl, **sizes)
    return in_warp_tiles(knl, contraction_of(knl, "insn", Extents(knl, {})), shape)
