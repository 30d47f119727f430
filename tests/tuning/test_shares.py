"""What one work item has of an element-wise nest: vectors, several in turn, tiles; and what is done
along with rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from polygen.transforms.loops.size_estimates import likely_extent
from tests.few import few

ONE_UNIT = replace(pg.Limits.named("H200"), compute_units=1)


def beside_a_sum(
    text: str, extents: tuple[int, ...], dtypes: dict[str, str], alignment: int | None = 16
) -> Kernel:
    """Return an element-wise nest over `i`, `j` behind a sum that it uses, spread."""
    n, m = extents
    domain = f"{{ [p,i,j]: 0<=p<400 and 0<=i<{n} and 0<=j<{m} }}"
    shapes = {"a": (n, m), "b": (m, n), "r": (n,), "c": (m,), "o": (n, m), "u": (m, n)}
    used = [name for name in shapes if f"{name}[" in text]
    arrays = [pg.GlobalArg(name, dtypes[name], shapes[name], alignment=alignment) for name in used]
    lines = ["<> s = sum(p, w[p])", *text.splitlines()]
    knl = pg.make_kernel(domain, lines, [*arrays, pg.GlobalArg("w", "float64", (400,)), "..."])
    return pg.optimize_reductions(knl, ONE_UNIT)


def tags(knl: Kernel) -> set[str]:
    return {str(tag) for tag in knl.tags.values()}


def run(knl: Kernel, dtypes: dict[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return random arrays, and what a kernel made of them, in C; the CUDA code is made, too."""
    pg.generate_code(knl, "cuda")
    rng = np.random.default_rng(5)
    given: dict[str, Any] = {}
    for argument in knl.arguments:
        if isinstance(argument, pg.GlobalArg) and argument.name in dtypes.keys() - {"o", "u"}:
            shape: Any = argument.shape
            given[argument.name] = rng.integers(-40, 40, shape).astype(dtypes[argument.name])
    given["w"] = rng.random(400)
    names = [name for name in ("o", "u") if name in dtypes]
    _, found = knl.executor("c")(**given)
    return given, dict(zip(names, found, strict=True))


PLAIN = "o[i,j] = a[i,j] + r[i]*c[j] + s"


@few(2, "dtype", ["float16", "float32", "float64", "int64", "uint8", "bool", "complex64"])
def test_neighbours_are_read_as_vectors(dtype: str) -> None:
    """But complex numbers, which no vectors are made of."""
    is_complex = dtype == "complex64"
    result = "complex64" if is_complex else "float64"
    dtypes = {"a": dtype, "r": "float32", "c": "float64", "o": result}
    knl = beside_a_sum(PLAIN, (48, 64), dtypes)
    assert ("vec" in tags(knl)) != is_complex
    given, found = run(knl, dtypes)
    right = given["a"] + given["r"][:, None].astype(float) * given["c"] + given["w"].sum()
    np.testing.assert_allclose(found["o"], right, rtol=1e-5 if is_complex else 1e-12)


@pytest.mark.parametrize(("read", "lanes"), [("a", {4}), ("b", {4, 8})])
def test_nests_that_read_an_array_have_the_same_elements(read: str, lanes: set[int]) -> None:
    """So that an item reads these once, whatever vectors each nest by itself would have."""
    knl = pg.make_kernel(
        "{ [p,i,j]: 0<=p<400 and 0<=i,j<8192 }",
        f"<> s = sum(p, w[p])\no[i] = a[i] + s\nu[j] = {read}[j]*s",
        [
            pg.GlobalArg(f"a, o{', b' if read == 'b' else ''}", "float16", 8192, alignment=16),
            pg.GlobalArg("u", "float32", 8192, alignment=16),
            pg.GlobalArg("w", "float32", 400),
        ],
    )
    knl = pg.optimize_reductions(knl, ONE_UNIT)
    vectors = [iname for iname, tag in knl.tags.items() if str(tag) == "vec"]
    assert {likely_extent(knl, iname) for iname in vectors} == lanes
    rng = np.random.default_rng(2)
    given: dict[str, Any] = {n: rng.integers(0, 9, 8192).astype("float16") for n in {"a", read}}
    given["w"] = rng.integers(0, 3, 400).astype("float32")
    _, (o, u) = knl.executor("c")(**given)
    np.testing.assert_array_equal(o, (given["a"] + given["w"].sum()).astype("float16"))
    np.testing.assert_array_equal(u, given[read].astype("float32") * given["w"].sum())


@few(
    2, ("extents", "alignment"), [((48, 64), None), ((48, 63), 16), ((47, 61), 16), ((1, 6001), 16)]
)
def test_elsewhere_items_have_several_in_turn(
    extents: tuple[int, int], alignment: int | None
) -> None:
    """Vectors would not begin where those of memory do."""
    dtypes = {"a": "float32", "r": "float32", "c": "float32", "o": "float64"}
    knl = beside_a_sum(PLAIN, extents, dtypes, alignment)
    assert "vec" not in tags(knl)
    assert "unr" in tags(knl)
    given, found = run(knl, dtypes)
    right = given["a"] + given["r"][:, None] * given["c"] + given["w"].sum()
    np.testing.assert_allclose(found["o"], right, rtol=1e-12)


@pytest.mark.parametrize("count", [1 << 22, 1_000])
def test_what_is_used_several_times_at_one_place_is_computed_there(count: int) -> None:
    """Compilers compute it once, and no array is written and read, in a launch more."""
    knl = pg.make_kernel(
        f"{{ [p,i,j]: 0<=p<400 and 0<=i,j<{count} }}",
        """
        <> s = sum(p, w[p])
        t[i] = a[i]*a[i]*a[i]/(2 + a[i]*a[i]) + s
        o[j] = if(t[j] < 1, t[j]*t[j], t[j])
        """,
        [
            pg.GlobalArg("a, o", "float32", count, alignment=16),
            pg.GlobalArg("w", "float32", 400),
            pg.TemporaryVariable("t", "float32", count),
        ],
    )
    knl = pg.optimize_reductions(knl, pg.Limits.named("H200"))
    assert "t" not in knl.variables
    launches = str(pg.generate_code(knl, "cuda")).count("__global__ void")
    assert launches == (2 if count > 1_000 else 1)  # a short sum is repeated by all groups
    if count > 1_000:
        return
    rng = np.random.default_rng(3)
    a, w = (rng.random(n, np.float32) for n in (count, 400))
    t = a.astype(float) ** 3 / (2 + a.astype(float) ** 2) + w.sum()
    _, (o,) = knl.executor("c")(a=a, w=w)
    np.testing.assert_allclose(o, np.where(t < 1, t * t, t), rtol=1e-5)


def test_small_nests_have_an_item_for_each_element() -> None:
    dtypes = {"a": "float32", "r": "float32", "c": "float32", "o": "float64"}
    knl = beside_a_sum(PLAIN, (8, 100), dtypes)
    inside = knl.assignments[-1].within_inames
    assert not {str(knl.tags.get(iname)) for iname in inside} & {"vec", "unr"}


@few(2, "extents", [(64, 64), (65, 64), (37, 97), (200, 12)])
def test_tiles(extents: tuple[int, int]) -> None:
    """A nest that writes its own array along one loop, and reads another one along the other."""
    dtypes = {"b": "float32", "o": "float64"}
    knl = beside_a_sum("o[i,j] = 2*b[j,i] + s", extents, dtypes)
    given, found = run(knl, dtypes)
    np.testing.assert_allclose(found["o"], 2 * given["b"].T + given["w"].sum(), rtol=1e-12)


def test_scalars_and_conditions_in_vectors() -> None:
    dtypes = {"a": "float32", "o": "float64", "u": "int32", "b": "int32"}
    text = "<> t = if(a[i,j] < s, a[i,j], -s)\no[i,j] = t*t\nu[j,i] = b[j,i] // 3"
    knl = beside_a_sum(text, (64, 64), dtypes)
    given, found = run(knl, dtypes)
    total = given["w"].sum()
    a: Any = given["a"]
    least = a * (a < total) - total * (a >= total)
    np.testing.assert_allclose(found["o"], least * least, rtol=1e-12)
    np.testing.assert_array_equal(found["u"], given["b"] // 3)
