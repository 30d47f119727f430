"""Rates of tensor cores, in bounds and forecasts."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.schedules.tensor_rates import reached_rate, tensor_rate, uses_tensor_cores
from tests.schedules.test_warp_tiles import NN, contraction

H200 = pg.Limits.named("H200")
TEXT = "c[i,j] = sum(k, a[i,k]*b[k,j])"


def product(dtype: str) -> pg.Kernel:
    return contraction(dtype, TEXT, NN, n=4096, m=4096, l=4096)


@pytest.mark.parametrize(
    ("dtype", "sums", "rate"),
    [
        ("float64", "float64", 67e12),
        ("float16", "float32", 989e12),
        ("bfloat16", "float32", 989e12),
        ("float32", "float32", 494e12),  # as TF32, which the option permits
        ("int32", "int32", None),
    ],
)
def test_rates(dtype: str, sums: str, rate: float | None) -> None:
    knl = product(dtype)
    assert tensor_rate(knl, ["insn"], sums, H200) == rate
    assert tensor_rate(knl.copy(target="opencl"), ["insn"], sums, H200) is None
    assert tensor_rate(knl, ["insn"], sums, pg.Limits(1e12, 1e12)) is None


def test_without_the_option() -> None:
    knl = pg.set_options(product("float32"), allow_tf32=False)
    assert tensor_rate(knl, ["insn"], "float32", H200) is None
    assert reached_rate(knl, ["insn"], "float32", H200) is None


@pytest.mark.more
@pytest.mark.parametrize(
    ("dtype", "measured"), [("float64", 2.677e-3), ("float16", 0.479e-3), ("float32", 0.984e-3)]
)
def test_forecasts_are_near_what_was_measured(dtype: str, measured: float) -> None:
    """Times of benchmarks/tensor_core_tiles.py on an H200."""
    knl = product(dtype)
    fast = pg.optimize(knl, H200)
    assert uses_tensor_cores(fast)
    assert not uses_tensor_cores(knl)
    lines = str(pg.explain(fast, H200)).splitlines()
    least, forecast = (_seconds(next(x for x in lines if x.startswith(w))) for w in WORDS)
    assert forecast == pytest.approx(measured, rel=0.1)
    assert least < measured


WORDS = ("least time: ", "forecast: ")


def _seconds(line: str) -> float:
    number, unit = line.split(": ")[1].split()
    return float(number) * {"ms": 1e-3, "us": 1e-6}[unit]
