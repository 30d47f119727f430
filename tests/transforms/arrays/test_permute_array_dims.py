"""`permute_array_dims`: axes in another order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import polygen as pg
from polygen.errors import AxisNotPossible, UnknownArgument
from polygen.ir.layout import Nested, element_strides
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


def test_each_subscript_goes_with_its_axis() -> None:
    knl = pg.make_kernel(
        "{ [i, j, k]: 0<=i,j<n and 0<=k<3 }",
        "a[i, j + 1, 2 - k] = b[k, i, j]",
        [
            pg.GlobalArg("a", "float64", "n, n + 1, 3", dim_tags="N0, N2, N1", dim_names="x, y, z"),
            pg.GlobalArg("b", "float64", "3, n, n"),
            "...",
        ],
        loop_priority="i, j, k",
    )
    new = pg.permute_array_dims(knl, "a, b", (2, 0, 1))
    assert "a[2 - k, i, j + 1] = b[j, k, i]" in str(new)
    a = new.array("a")
    assert str(a.shape) == str((3, *(knl.array("a").shape or ())[:2]))
    assert a.dim_tags == (Nested(1), Nested(0), Nested(2))
    assert a.dim_names == ("z", "x", "y")
    assert new.array("b").dim_tags is None
    assert pg.permute_array_dims(new, ["a", "b"], [1, 2, 0]) == knl
    assert pg.permute_array_dims(knl, "a, b", (0, 1, 2)) is knl


def test_orders_that_are_none() -> None:
    for order in ((0,), (0, 1), (0, 1, 1), (0, 1, 3), (-1, 0, 1), (0, 1, 2, 3), ()):
        with pytest.raises(AxisNotPossible, match=r"'a' has 3 axes: .* is no order of them"):
            pg.permute_array_dims(plane(), "a", order)
    with pytest.raises(UnknownArgument, match="no argument or temporary 'u'"):
        pg.permute_array_dims(plane(), "a, u", (1, 0, 2))
