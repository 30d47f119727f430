"""`permute_array_dims`: axes in another order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import polygen as pg
from polygen.ir.layout import element_strides
from tests.transforms.arrays.array_kernels import Numbers, plane

ORDERS: dict[tuple[int, int, int], Callable[[Numbers], Numbers]] = {
    (2, 0, 1): lambda a: np.moveaxis(a, 2, 0),
    (1, 0, 2): lambda a: a.swapaxes(0, 1),
}


@pytest.mark.parametrize("target", ["c", "opencl"])
@pytest.mark.parametrize("order", ORDERS)
def test_permuted_arguments(target: str, order: tuple[int, int, int]) -> None:
    new = pg.permute_array_dims(plane(), "a", order)
    for n in (0, 1, 5):
        a = np.random.default_rng(n).random((n, 6, 4))
        _, (out,) = new.executor(target)(a=np.ascontiguousarray(ORDERS[order](a)), n=n)
        np.testing.assert_array_equal(out, (a[:, ::-1, :] + a[:, :, ::-1]).transpose(0, 2, 1))


def test_structures_of_arrays_and_back() -> None:
    old = pg.make_kernel(
        "{ [i, k]: 0<=i<n and 0<=k<3 }",
        "x[i, k] += 2*v[i, k]",
        [pg.GlobalArg(name, "float64", "n, 3", dim_tags="N1, N0") for name in ("x", "v")] + ["..."],
        loop_priority="i, k",
    )
    planes = pg.permute_array_dims(old, "x, v", (1, 0))
    assert element_strides(planes.array("x")) == (1, 3)  # elements lie where they did
    assert pg.permute_array_dims(planes, "x, v", (1, 0)) == old
    soa = pg.tag_array_axes(planes, "x, v", "C")
    assert "x[k * n + i]" in str(pg.generate_code(soa, "c"))
    apart = pg.tag_inames(pg.tag_array_axes(planes, "x, v", "sep, N0"), {"k": "unr"})
    for target in ("c", "opencl"):
        for n in (0, 1, 7):
            x, v = np.random.default_rng(n).random((2, n, 3))
            wanted = x + 2 * v
            given = x.T.copy()
            soa.executor(target)(x=given, v=np.ascontiguousarray(v.T), n=n)
            np.testing.assert_allclose(given.T, wanted, rtol=1e-15)
            parts = tuple(x.T.copy())
            apart.executor(target)(x=parts, v=tuple(v.T.copy()), n=n)
            np.testing.assert_allclose(np.stack(parts, axis=1), wanted, rtol=1e-15)
