"""Mathematical functions by name in work units, beside plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np

import polygen.workunits as pk
from tests.workunits.agreement import agree

RNG = np.random.default_rng(6)
X, Y = RNG.random(9) * 0.9 + 0.05, RNG.random(9) + 1.1


@pk.workunit
def all_of(i: int, x: pk.View1D[pk.double], y: pk.View1D[pk.double], z: Any) -> None:
    a = x[i]
    b = y[i]
    z[i, 0] = pk.abs(-a) + pk.fabs(-b) + pk.sqrt(a) + pk.cbrt(b) + pk.hypot(a, b)
    z[i, 1] = pk.exp(a) + pk.exp2(a) + pk.expm1(a) + pk.log(a) + pk.log2(a)
    z[i, 2] = pk.log10(a) + pk.log1p(a) + pk.pow(a, b) + pk.fmod(b, a) + pk.remainder(b, a)
    z[i, 3] = pk.sin(a) + pk.cos(a) + pk.tan(a) + pk.asin(a) + pk.acos(a)
    z[i, 4] = pk.atan(a) + pk.atan2(a, b) + pk.sinh(a) + pk.cosh(a) + pk.tanh(a)
    z[i, 5] = pk.asinh(a) + pk.acosh(b) + pk.atanh(a) + pk.erf(a) + pk.erfc(a)
    z[i, 6] = pk.tgamma(b) + pk.lgamma(b) + pk.floor(b) + pk.ceil(b) + pk.trunc(b)
    z[i, 7] = pk.round(b * 3) + pk.nearbyint(b) + pk.copysign(a, -b) + pk.fmin(a, b)
    z[i, 8] = pk.fmax(a, b) + pk.isnan(a) + pk.isinf(b) + pk.isfinite(a) + pk.fdim(b, a)
    z[i, 9] = max(a, b) - min(a, b) + pk.nextafter(a, b) + pk.signbit(-a)


def test_functions() -> None:
    """The 44 functions of PyKokkos, and more: ten sums of them, by NumPy's and the package's."""
    columns = np.empty((9, 10))
    a, b = X, Y
    columns[:, 0] = abs(-a) + abs(-b) + np.sqrt(a) + np.cbrt(b) + np.hypot(a, b)
    columns[:, 1] = np.exp(a) + 2**a + np.expm1(a) + np.log(a) + np.log2(a)
    columns[:, 2] = np.log10(a) + np.log1p(a) + a**b + np.fmod(b, a) + b % a
    columns[:, 3] = np.sin(a) + np.cos(a) + np.tan(a) + np.arcsin(a) + np.arccos(a)
    columns[:, 4] = np.arctan(a) + np.arctan2(a, b) + np.sinh(a) + np.cosh(a) + np.tanh(a)
    columns[:, 5] = np.arcsinh(a) + np.arccosh(b) + np.arctanh(a) + 1
    columns[:, 6] = (
        np.asarray(pk.tgamma(b)) + np.log(np.asarray(pk.tgamma(b)))
        + np.floor(b) + np.ceil(b) + np.floor(b)
    )  # fmt: skip
    columns[:, 7] = np.rint(b * 3) + np.rint(b) - a + a
    columns[:, 8] = b + 1 + b - a
    columns[:, 9] = b - a + a + 1

    def run(space: Any) -> Any:
        z = np.zeros((9, 10))
        pk.parallel_for(pk.RangePolicy(space, 0, 9), all_of, x=X, y=Y, z=z)
        return z

    agree(run, columns)
