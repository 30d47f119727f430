"""What reads the elements of a reduction is done in its loops: rows, or parts of a long sum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.few import few

H200 = pg.Limits.named("H200")


def steps(knl: Kernel) -> list[str]:
    return [step.name for step in knl.history]


def made(domain: str, text: str, shapes: dict[str, tuple[int, ...]]) -> Kernel:
    arrays = [pg.GlobalArg(name, "float32", shapes[name], alignment=16) for name in shapes]
    knl = pg.make_kernel(domain, text, [*arrays, "..."], silenced_warnings=["AmbiguousNesting"])
    knl = pg.optimize_reductions(knl, H200)
    pg.generate_code(knl, "cuda")
    return knl


def in_one_launch(knl: Kernel, *written: str) -> bool:
    """Tell whether one kernel of the CUDA code writes all of these."""
    _, *launches = str(pg.generate_code(knl, "cuda")).split('extern "C" __global__')
    return any(
        all(f" {name}[" in text or f"({name} +" in text for name in written) for text in launches
    )


@few(
    2,
    ("count", "divided"),
    [(1 << 18, True), (300_000, True), ((1 << 18) + 1, False), (1 << 16, False)],
)
def test_long_sums(count: int, divided: bool) -> None:
    """Where parts of a usual length fit."""
    knl = made(
        f"{{ [i,j]: 0<=i,j<{count} }}",
        "<> s = sum(i, x[i]*x[i])\ny[j] = 3*x[j]\nz[0] = s",
        {"x": (count,), "y": (count,), "z": (1,)},
    )
    assert ("reduce_in_parts" in steps(knl)) == divided
    assert ("share_rows" in steps(knl)) == divided
    x = np.random.default_rng(1).random(count, np.float32)
    _, (y, z) = knl.executor("c")(x=x)
    np.testing.assert_array_equal(y, 3 * x)
    np.testing.assert_allclose(z[0], (x.astype(float) ** 2).sum(), rtol=1e-6)


def test_long_sums_of_rows() -> None:
    """What is written across memory keeps loops of its own."""
    n, m = 512, 640
    knl = made(
        f"{{ [i,j,k,l,p,q]: 0<=i,k,p<{n} and 0<=j,l,q<{m} }}",
        "<> s = max((i,j), x[i,j])\ny[k,l] = x[k,l] + 1\nt[q,p] = -x[p,q]\nz[0] = s",
        {"x": (n, m), "y": (n, m), "t": (m, n), "z": (1,)},
    )
    assert in_one_launch(knl, "part_i_j_inner", "y")
    assert not in_one_launch(knl, "y", "t") or "share_rows" not in steps(knl)
    x = np.random.default_rng(2).random((n, m), np.float32)
    _, (y, t, z) = knl.executor("c")(x=x)
    np.testing.assert_array_equal(y, x + np.float32(1))
    np.testing.assert_array_equal(t, -x.T)
    assert z[0] == x.max()


@pytest.mark.parametrize(("extents", "together"), [((400, 96), True), ((20, 9000), False)])
def test_rows(extents: tuple[int, int], together: bool) -> None:
    """Not where there are fewer rows than units: others would have nothing to do."""
    n, m = extents
    knl = made(
        f"{{ [i,j,k,l]: 0<=i,k<{n} and 0<=j,l<{m} }}",
        "s[i] = sum(j, x[i,j])\ny[k,l] = exp(x[k,l])",
        {"x": (n, m), "y": (n, m), "s": (n,)},
    )
    assert ("share_rows" in steps(knl)) == together
    x = np.random.default_rng(3).random((n, m), np.float32)
    _, (y, s) = knl.executor("c")(x=x)
    np.testing.assert_allclose(s, x.sum(1), rtol=1e-5)
    np.testing.assert_allclose(y, np.exp(x), rtol=1e-6)


@pytest.mark.parametrize("shape", ["y[j] = s[j]/4", "y[j] = sqrt(s[j])\nz[j] = -s[j]"])
def test_what_uses_columns(shape: str) -> None:
    """Epilogues of columns are in the launch of these."""
    lines = shape.replace("[j]", "[p]").splitlines()
    names = [line[0] for line in lines]
    knl = made(
        "{ [i,j,p]: 0<=i<300 and 0<=j,p<700 }",
        "\n".join(["<> s[j] = sum(i, x[i,j])", *lines]),
        {"x": (300, 700), **dict.fromkeys(names, (700,))},
    )
    assert str(pg.generate_code(knl, "cuda")).count("__global__ void") == 1
    x = np.random.default_rng(4).random((300, 700), np.float32)
    found = dict(zip(names, knl.executor("c")(x=x)[1], strict=True))
    total = x.astype(float).sum(0)
    right: dict[str, Any] = {"y": total / 4 if len(names) == 1 else np.sqrt(total), "z": -total}
    for name, values in found.items():
        np.testing.assert_allclose(values, right[name], rtol=1e-5)


def test_trees_are_shuffles_in_launches_of_different_shapes() -> None:
    knl = made(
        "{ [i,j,k,l]: 0<=i<4096 and 0<=j<512 and 0<=k<100000 and 0<=l<4096 }",
        "s[i] = sum(j, x[i,j])\n<> t = sum(k, w[k])\n<> u = sum(l, s[l])\nz[0] = t + u",
        {"x": (4096, 512), "s": (4096,), "w": (100_000,), "z": (1,)},
    )
    _, *launches = str(pg.generate_code(knl, "cuda")).split('extern "C" __global__')
    shapes = {text.partition("(")[2].partition(")")[0] for text in launches}
    assert len(shapes) > 1
    assert all("__shfl_down_sync" in text for text in launches)


@pytest.mark.parametrize(("count", "unrolled"), [(1, True), (3, True), (4, True), (5, False)])
def test_very_few_values_need_no_launch(count: int, unrolled: bool) -> None:
    shapes = {"x": (300, count, 64), "y": (300, 64), "z": (300,)}
    knl = made(
        f"{{ [i,j,k,l,p,q]: 0<=i,l,p<300 and 0<=j<{count} and 0<=k,q<64 }}",
        "<> s[i,k] = sum(j, x[i,j,k])\ny[l,q] = exp(-s[l,q])\nz[p] = max(q, s[p,q])",
        shapes,
    )
    assert ("unroll_reduction" in steps(knl)) == unrolled
    x = np.random.default_rng(6).random(shapes["x"], np.float32)
    _, (y, z) = knl.executor("c")(x=x)
    np.testing.assert_allclose(y, np.exp(-x.sum(1)), rtol=1e-5)
    np.testing.assert_allclose(z, x.sum(1).max(1), rtol=1e-6)


def test_rows_of_few_values_stay_rows() -> None:
    """Of which each element is needed again."""
    knl = made(
        "{ [i,j,p,q]: 0<=i,p<900 and 0<=j,q<4 }",
        "<> s[i] = sum(j, exp(x[i,j]))\ny[p,q] = exp(x[p,q])/s[p]",
        {"x": (900, 4), "y": (900, 4)},
    )
    assert "unroll_reduction" not in steps(knl)
    x = np.random.default_rng(7).random((900, 4), np.float32)
    _, (y,) = knl.executor("c")(x=x)
    np.testing.assert_allclose(y, np.exp(x) / np.exp(x).sum(1, keepdims=True), rtol=1e-5)
