"""`optimize_reductions` on small graphs: groups repeat a whole reduction, in one launch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.few import few
from tests.tuning.test_whole_kernels import H200, largest_group

KERNELS = {
    "a scalar": ("{ [i,j]: 0<=i,j<%d }", "<> s = sum(i, x[i])\ny[j] = s - x[j]"),
    "an output that is read": (
        "{ [i,j]: 0<=i,j<%d }",
        "s[0] = sum(i, x[i])\nt[0] = 2*s[0]\ny[j] = if(x[j] < s[0], x[j], 0.5*s[0])",
    ),
    "a reduction that reads another one's result": (
        "{ [i,j,k]: 0<=i,j,k<%d }",
        "<> m = max(i, x[i])\n<> s = sum(j, exp(x[j] - m))\ny[k] = exp(x[k] - m)/s",
    ),
    "two sums that are one": (
        "{ [i,j,k]: 0<=i,j,k<%d }",
        "<> s = sum(i, x[i]*x[i])\nt[0] = sum(j, x[j]*x[j])\ny[k] = x[k]*s + t[0]",
    ),
}


def wanted(name: str, x: Any) -> dict[str, Any]:
    if name == "a scalar":
        return {"y": x.sum() - x}
    if name == "an output that is read":
        s = x.sum()
        return {"s": s, "t": 2 * s, "y": np.where(x < s, x, s / 2)}
    if name == "two sums that are one":
        s = (x * x).sum()
        return {"t": s, "y": x * s + s}
    power = np.exp(x - x.max())
    return {"y": power / power.sum()}


def made(name: str, length: int, **options: Any) -> Kernel:
    domains, text = KERNELS[name]
    knl = pg.make_kernel(domains % length, text, **options)
    outputs = [a.name for a in knl.arguments if a.name in knl.writers]
    return pg.add_dtypes(knl, dict.fromkeys(["x", *outputs], "float64"))


def launches(knl: Kernel) -> int:
    return str(pg.generate_code(knl, "cuda")).count("__global__")


def check(knl: Kernel, name: str, length: int) -> None:
    x: Any = np.random.default_rng(length).random(length)
    _, found = knl.executor("c")(x=x)
    outputs = [a.name for a in knl.arguments if a.name in knl.writers]
    for array, value in zip(outputs, found, strict=True):
        right = np.asarray(wanted(name, x)[array]).reshape(value.shape)
        np.testing.assert_allclose(value, right, rtol=1e-12, err_msg=array)


CASES = [
    ("a scalar", 257),
    ("an output that is read", 4097),
    ("a reduction that reads another one's result", 1000),
    ("two sums that are one", 31),
]


@few(2, ("name", "length"), CASES)
def test_one_launch(name: str, length: int) -> None:
    knl = pg.optimize_reductions(made(name, length), H200)
    assert launches(knl) == 1
    assert largest_group(knl) <= 1024
    check(knl, name, length)


@pytest.mark.deep
@pytest.mark.parametrize("length", [1, 2, 7, 31, 33, 255, 256, 1023, 1025, 4096, 4099, 20011])
@pytest.mark.parametrize("name", KERNELS)
def test_other_lengths(name: str, length: int) -> None:
    check(pg.optimize_reductions(made(name, length), H200), name, length)


def test_groups_of_opencl() -> None:
    knl = pg.optimize_reductions(made("a scalar", 1000, target="opencl"), H200)
    x: Any = np.random.default_rng(3).random(1000)
    np.testing.assert_allclose(knl.executor("opencl")(x=x)[1][0], x.sum() - x, rtol=1e-12)


def test_a_long_sum_is_not_repeated() -> None:
    assert launches(pg.optimize_reductions(made("a scalar", 1 << 18), H200)) > 1


def test_equal_sums_are_computed_once() -> None:
    knl = pg.optimize_reductions(made("two sums that are one", 1000), H200)
    assert sum(1 for insn in knl.instructions if "x" in insn.read_names and insn.reductions) == 1


def test_what_comes_between_needs_launches() -> None:
    # y needs s; column sums need all of y; and z needs both.
    knl = pg.make_kernel(
        "{ [i,j,k,l,m,n,p,q]: 0<=i,k,m,p<64 and 0<=j,l,n,q<32 }",
        """
        <> s = sum((i,j), x[i,j])
        y[k,l] = exp(x[k,l] - s)
        t[n] = sum(m, y[m,n])
        z[p,q] = y[p,q]*t[q] + s
        """,
        silenced_warnings=["AmbiguousNesting"],
    )
    knl = pg.add_dtypes(knl, dict.fromkeys("xytz", "float64"))
    x: Any = np.random.default_rng(5).random((64, 32)) / 1024
    _, (t, y, z) = pg.optimize_reductions(knl, H200).executor("c")(x=x)
    power: Any = np.exp(x - x.sum())
    np.testing.assert_allclose(y, power, rtol=1e-12)
    np.testing.assert_allclose(t, power.sum(0), rtol=1e-12)
    np.testing.assert_allclose(z, power * power.sum(0) + x.sum(), rtol=1e-12)
