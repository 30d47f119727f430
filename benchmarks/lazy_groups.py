"""Groups of calls for `lazy_calls`: work units, what calls them, and the same with NumPy."""

# What annotations of views and accumulators mean, polygen knows.
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
# mypy: no-warn-unused-ignores
# mypy: disable-error-code="arg-type,attr-defined,index,misc,operator,type-arg,valid-type"

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import polygen.workunits as pk


@dataclass(frozen=True)
class Group:
    """Calls that are made one behind the other.

    Attributes:
        name: what they compute.
        calls: how many they are.
        rank: the number of subscripts of the largest array.
        make: returns the arrays for a size.
        run: makes the calls on views.
        expected: does the same with arrays of NumPy's.
    """

    name: str
    calls: int
    rank: int
    make: Callable[[int, np.random.Generator], list[Any]]
    run: Callable[..., None]
    expected: Callable[..., None]


def vectors(count: int) -> Callable[[int, np.random.Generator], list[Any]]:
    """Return what makes arrays of one subscript."""
    return lambda n, generator: [generator.random(n) for _ in range(count)]


@pk.workunit
def copied(i: int, x: pk.View1D[pk.double], y: pk.View1D[pk.double]):
    y[i] = x[i]


@pk.workunit
def scaled(i: int, x: pk.View1D[pk.double], y: pk.View1D[pk.double], s: float):
    y[i] = s * x[i]


@pk.workunit
def summed(i: int, x: pk.View1D[pk.double], y: pk.View1D[pk.double], z: pk.View1D[pk.double]):
    z[i] = x[i] + y[i]


@pk.workunit
def triad(
    i: int, x: pk.View1D[pk.double], y: pk.View1D[pk.double], z: pk.View1D[pk.double], s: float
):
    z[i] = x[i] + s * y[i]


@pk.workunit
def nstream(
    i: int, x: pk.View1D[pk.double], y: pk.View1D[pk.double], z: pk.View1D[pk.double], s: float
):
    z[i] += x[i] + s * y[i]


@pk.workunit
def axpy(i: int, x: pk.View1D[pk.double], y: pk.View1D[pk.double], s: float):
    y[i] += s * x[i]


@pk.workunit
def xpay(i: int, x: pk.View1D[pk.double], y: pk.View1D[pk.double], s: float):
    y[i] = x[i] + s * y[i]


@pk.workunit
def dot(i: int, acc: pk.Acc[pk.double], x: pk.View1D[pk.double], y: pk.View1D[pk.double]):
    acc += x[i] * y[i]


def run_babel(a: Any, b: Any, c: Any) -> None:
    n = a.extent(0)
    pk.parallel_for(n, copied, x=a, y=c)
    pk.parallel_for(n, scaled, x=c, y=b, s=0.4)
    pk.parallel_for(n, summed, x=a, y=b, z=c)
    pk.parallel_for(n, triad, x=b, y=c, z=a, s=0.4)


def expected_babel(a: Any, b: Any, c: Any) -> None:
    c[:] = a
    b[:] = 0.4 * c
    c[:] = a + b
    a[:] = b + 0.4 * c


def run_nstream(a: Any, b: Any, c: Any) -> None:
    n = a.extent(0)
    for _ in range(50):
        pk.parallel_for(n, nstream, x=b, y=c, z=a, s=3.0)


def expected_nstream(a: Any, b: Any, c: Any) -> None:
    for _ in range(50):
        a += b + 3.0 * c


# --- stencils


@pk.workunit
def smoothed(i: int, x: pk.View1D[pk.double], y: pk.View1D[pk.double]):
    y[i] = 0.33333 * (x[i - 1] + x[i] + x[i + 1])


@pk.workunit
def squared_difference(
    i: int, acc: pk.Acc[pk.double], x: pk.View1D[pk.double], y: pk.View1D[pk.double]
):
    acc += (x[i] - y[i]) * (x[i] - y[i])


def run_jacobi(a: Any, b: Any) -> None:
    inner = pk.RangePolicy(1, a.extent(0) - 1)
    for _ in range(2):
        pk.parallel_for(inner, smoothed, x=a, y=b)
        pk.parallel_for(inner, smoothed, x=b, y=a)


def expected_jacobi(a: Any, b: Any) -> None:
    for _ in range(2):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])


def run_residual(a: Any, b: Any, r: Any) -> None:
    n = a.extent(0)
    pk.parallel_for(pk.RangePolicy(1, n - 1), smoothed, x=a, y=b)
    found = pk.parallel_reduce(n, squared_difference, x=a, y=b)
    pk.parallel_for(n, copied, x=b, y=a)
    r[0] = float(found)


def expected_residual(a: Any, b: Any, r: Any) -> None:
    b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
    r[0] = ((a - b) ** 2).sum()
    a[:] = b


@pk.workunit
def first_row(j: int, ey: pk.View2D[pk.double], value: float):
    ey[0][j] = value


@pk.workunit
def update_ey(i: int, j: int, ey: pk.View2D[pk.double], hz: pk.View2D[pk.double]):
    ey[i][j] -= 0.5 * (hz[i][j] - hz[i - 1][j])


@pk.workunit
def update_ex(i: int, j: int, ex: pk.View2D[pk.double], hz: pk.View2D[pk.double]):
    ex[i][j] -= 0.5 * (hz[i][j] - hz[i][j - 1])


@pk.workunit
def update_hz(
    i: int, j: int, ex: pk.View2D[pk.double], ey: pk.View2D[pk.double], hz: pk.View2D[pk.double]
):
    hz[i][j] -= 0.7 * (ex[i][j + 1] - ex[i][j] + ey[i + 1][j] - ey[i][j])


def run_fdtd(ex: Any, ey: Any, hz: Any) -> None:
    n = ex.extent(0)
    pk.parallel_for(n, first_row, ey=ey, value=1.5)
    pk.parallel_for(pk.MDRangePolicy([1, 0], [n, n]), update_ey, ey=ey, hz=hz)
    pk.parallel_for(pk.MDRangePolicy([0, 1], [n, n]), update_ex, ex=ex, hz=hz)
    pk.parallel_for(pk.MDRangePolicy([0, 0], [n - 1, n - 1]), update_hz, ex=ex, ey=ey, hz=hz)


def expected_fdtd(ex: Any, ey: Any, hz: Any) -> None:
    ey[0] = 1.5
    ey[1:] -= 0.5 * (hz[1:] - hz[:-1])
    ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
    hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


def squares(count: int, *rows: int) -> Callable[[int, np.random.Generator], list[Any]]:
    """Return what makes square arrays, and behind them arrays of one subscript."""
    return lambda n, generator: [
        *[generator.random((n, n)) for _ in range(count)],
        *[generator.random(n) for _ in rows],
    ]


# --- rows: what a group of adi does behind each other


@pk.workunit
def adi_start(i: int, p: pk.View2D[pk.double], q: pk.View2D[pk.double], v: pk.View2D[pk.double]):
    v[0][i] = 1.0
    p[i][0] = 0.0
    q[i][0] = v[0][i]


@pk.workunit
def adi_p(i: int, p: pk.View2D[pk.double], j: int):
    p[i][j] = 0.25 / (2.0 - 0.25 * p[i][j - 1])


@pk.workunit
def adi_q(
    i: int, p: pk.View2D[pk.double], q: pk.View2D[pk.double], u: pk.View2D[pk.double], j: int
):
    q[i][j] = (u[j][i] + 0.25 * q[i][j - 1]) / (2.0 - 0.25 * p[i][j - 1])


@pk.workunit
def adi_v(
    i: int, p: pk.View2D[pk.double], q: pk.View2D[pk.double], v: pk.View2D[pk.double], j: int
):
    v[j][i] = p[i][j] * v[j + 1][i] + q[i][j]


def run_adi(p: Any, q: Any, u: Any, v: Any) -> None:
    n = p.extent(0)
    pk.parallel_for(n, adi_start, p=p, q=q, v=v)
    for j in range(1, 4):
        pk.parallel_for(n, adi_p, p=p, j=j)
        pk.parallel_for(n, adi_q, p=p, q=q, u=u, j=j)
    for j in range(3, 0, -1):
        pk.parallel_for(n, adi_v, p=p, q=q, v=v, j=j)


def expected_adi(p: Any, q: Any, u: Any, v: Any) -> None:
    v[0] = 1.0
    p[:, 0] = 0.0
    q[:, 0] = v[0]
    for j in range(1, 4):
        p[:, j] = 0.25 / (2.0 - 0.25 * p[:, j - 1])
        q[:, j] = (u[j] + 0.25 * q[:, j - 1]) / (2.0 - 0.25 * p[:, j - 1])
    for j in range(3, 0, -1):
        v[j] = p[:, j] * v[j + 1] + q[:, j]


# --- matrices


@pk.workunit
def row_product(i: int, a: pk.View2D[pk.double], x: pk.View1D[pk.double], y: pk.View1D[pk.double]):
    t: float = 0
    for j in range(a.extent(1)):
        t += a[i][j] * x[j]
    y[i] += t


def run_mvt(a: Any, x: Any, y: Any, v: Any, w: Any) -> None:
    n = a.extent(0)
    pk.parallel_for(n, row_product, a=a, x=v, y=x)
    pk.parallel_for(n, row_product, a=a, x=w, y=y)


def expected_mvt(a: Any, x: Any, y: Any, v: Any, w: Any) -> None:
    x += a @ v
    y += a @ w


@pk.workunit
def scaled_row(j: int, c: pk.View2D[pk.double], i: int, beta: float):
    c[i][j] *= beta


@pk.workunit
def scaled_2d(i: int, j: int, c: pk.View2D[pk.double], beta: float):
    c[i][j] *= beta


@pk.workunit
def rank_one(
    i: int, j: int, c: pk.View2D[pk.double], a: pk.View2D[pk.double], k: int, alpha: float
):
    c[i][j] += alpha * a[i][k] * a[j][k]


@pk.workunit
def rank_two(
    i: int, j: int, c: pk.View2D[pk.double], a: pk.View2D[pk.double], b: pk.View2D[pk.double],
    k: int, alpha: float,
):  # fmt: skip
    c[i][j] += alpha * (a[j][k] * b[i][k] + b[j][k] * a[i][k])


def run_syrk(c: Any, a: Any) -> None:
    n = c.extent(0)
    square = pk.MDRangePolicy([0, 0], [n, n])
    pk.parallel_for(square, scaled_2d, c=c, beta=1.2)
    for k in range(2):
        pk.parallel_for(square, rank_one, c=c, a=a, k=k, alpha=1.5)


def expected_syrk(c: Any, a: Any) -> None:
    c *= 1.2
    for k in range(2):
        c += 1.5 * np.outer(a[:, k], a[:, k])


def run_syr2k(c: Any, a: Any, b: Any) -> None:
    n = c.extent(0)
    square = pk.MDRangePolicy([0, 0], [n, n])
    pk.parallel_for(square, scaled_2d, c=c, beta=1.2)
    for k in range(3):
        pk.parallel_for(square, rank_two, c=c, a=a, b=b, k=k, alpha=1.5)


def expected_syr2k(c: Any, a: Any, b: Any) -> None:
    c *= 1.2
    for k in range(3):
        c += 1.5 * (np.outer(b[:, k], a[:, k]) + np.outer(a[:, k], b[:, k]))


@pk.workunit
def column_mean(j: int, a: pk.View2D[pk.double], mean: pk.View1D[pk.double]):
    t: float = 0
    for i in range(a.extent(0)):
        t += a[i][j]
    mean[j] = t / a.extent(0)


@pk.workunit
def centred(i: int, j: int, a: pk.View2D[pk.double], mean: pk.View1D[pk.double]):
    a[i][j] -= mean[j]


@pk.workunit
def column_square(j: int, a: pk.View2D[pk.double], out: pk.View1D[pk.double]):
    t: float = 0
    for i in range(a.extent(0)):
        t += a[i][j] * a[i][j]
    out[j] = t / (a.extent(0) - 1)


def run_covariance(a: Any, mean: Any, out: Any) -> None:
    n = a.extent(0)
    pk.parallel_for(n, column_mean, a=a, mean=mean)
    pk.parallel_for(pk.MDRangePolicy([0, 0], [n, n]), centred, a=a, mean=mean)
    pk.parallel_for(n, column_square, a=a, out=out)


def expected_covariance(a: Any, mean: Any, out: Any) -> None:
    mean[:] = a.mean(0)
    a -= mean
    out[:] = (a * a).sum(0) / (len(a) - 1)


# --- data decide


@pk.workunit
def gather_update(
    i: int, table: pk.View1D[pk.int64], places: pk.View1D[pk.int64], bits: pk.View1D[pk.int64]
):
    bits[i] = table[places[i]] ^ bits[i]


def run_gups(table: Any, places: Any, bits: Any) -> None:
    n = places.extent(0)
    pk.parallel_for(n, gather_update, table=table, places=places, bits=bits)
    pk.parallel_for(n, gather_update, table=table, places=places, bits=bits)


def expected_gups(table: Any, places: Any, bits: Any) -> None:
    for _ in range(2):
        bits ^= table[places]


def make_gups(n: int, generator: np.random.Generator) -> list[Any]:
    return [generator.integers(0, 1 << 40, n), generator.integers(0, n, n), np.arange(n)]


@pk.workunit
def difference(
    i: int, j: int, x: pk.View2D[pk.double], m: pk.View1D[pk.double], y: pk.View2D[pk.double]
):
    y[i][j] = x[i][j] - m[j]


@pk.workunit
def squared(i: int, j: int, y: pk.View2D[pk.double]):
    y[i][j] = y[i][j] * y[i][j]


@pk.workunit
def divided(i: int, j: int, y: pk.View2D[pk.double], v: pk.View1D[pk.double]):
    y[i][j] = y[i][j] / v[j]


@pk.workunit
def row_sum(i: int, y: pk.View2D[pk.double], out: pk.View1D[pk.double]):
    t: float = 0
    for j in range(y.extent(1)):
        t += y[i][j]
    out[i] = -0.5 * t


@pk.workunit
def shifted(i: int, out: pk.View1D[pk.double], s: float):
    out[i] += s


def run_bayes(x: Any, m: Any, v: Any, out: Any) -> None:
    n, k = x.shape
    box = pk.MDRangePolicy([0, 0], [n, k])
    y = pk.View([n, k])
    pk.parallel_for(box, difference, x=x, m=m, y=y)
    pk.parallel_for(box, squared, y=y)
    pk.parallel_for(box, divided, y=y, v=v)
    pk.parallel_for(n, row_sum, y=y, out=out)
    del y
    pk.parallel_for(n, shifted, out=out, s=0.7)


def expected_bayes(x: Any, m: Any, v: Any, out: Any) -> None:
    out[:] = -0.5 * ((x - m) ** 2 / v).sum(1) + 0.7


def make_bayes(n: int, generator: np.random.Generator) -> list[Any]:
    rows = max(n // 32, 8)
    return [generator.random((rows, 32)), generator.random(32), generator.random(32) + 1,
            np.zeros(rows)]  # fmt: skip


# --- particles


@pk.workunit
def kicked(i: int, v: pk.View1D[pk.double], f: pk.View1D[pk.double], dt: float):
    v[i] += dt * f[i]


@pk.workunit
def drifted(i: int, x: pk.View1D[pk.double], v: pk.View1D[pk.double], dt: float):
    x[i] += dt * v[i]


@pk.workunit
def reflected(i: int, x: pk.View1D[pk.double], v: pk.View1D[pk.double]):
    if x[i] > 1.0:
        x[i] = 2.0 - x[i]
        v[i] = -v[i]


@pk.workunit
def force(i: int, x: pk.View1D[pk.double], f: pk.View1D[pk.double]):
    f[i] = -4.0 * (x[i] - 0.5)


def run_particles(x: Any, v: Any, f: Any, e: Any) -> None:
    n = x.extent(0)
    pk.parallel_for(n, kicked, v=v, f=f, dt=0.005)
    pk.parallel_for(n, drifted, x=x, v=v, dt=0.01)
    pk.parallel_for(n, reflected, x=x, v=v)
    pk.parallel_for(n, force, x=x, f=f)
    pk.parallel_for(n, kicked, v=v, f=f, dt=0.005)
    e[0] = float(pk.parallel_reduce(n, dot, x=v, y=v))


def expected_particles(x: Any, v: Any, f: Any, e: Any) -> None:
    v += 0.005 * f
    x += 0.01 * v
    outside = x > 1.0
    x[outside] = 2.0 - x[outside]
    v[outside] *= -1
    f[:] = -4.0 * (x - 0.5)
    v += 0.005 * f
    e[0] = v @ v


@pk.workunit
def relative(
    i: int, u: pk.View1D[pk.double], v: pk.View1D[pk.double], w: pk.View1D[pk.double],
    r: pk.View1D[pk.double], at: pk.View1D[pk.int64],
):  # fmt: skip
    j = at[i]
    r[i] = math.sqrt((u[i] - u[j]) ** 2 + (v[i] - v[j]) ** 2 + (w[i] - w[j]) ** 2)


@pk.workunit
def accepted(
    i: int, r: pk.View1D[pk.double], draw: pk.View1D[pk.double], hit: pk.View1D[pk.double]
):
    hit[i] = 1.0 if r[i] > draw[i] else 0.0


@pk.workunit
def collided(i: int, r: pk.View1D[pk.double], hit: pk.View1D[pk.double], out: pk.View1D[pk.double]):
    if hit[i] > 0.5:
        out[i] = 0.5 * r[i]


def run_dsmc(u: Any, v: Any, w: Any, draw: Any, out: Any, at: Any) -> None:
    n = u.extent(0)
    r, hit = pk.View([n]), pk.View([n])
    pk.parallel_for(n, relative, u=u, v=v, w=w, r=r, at=at)
    pk.parallel_for(n, accepted, r=r, draw=draw, hit=hit)
    pk.parallel_for(n, collided, r=r, hit=hit, out=out)


def expected_dsmc(u: Any, v: Any, w: Any, draw: Any, out: Any, at: Any) -> None:
    r = np.sqrt((u - u[at]) ** 2 + (v - v[at]) ** 2 + (w - w[at]) ** 2)
    out[r > draw] = 0.5 * r[r > draw]


def make_dsmc(n: int, generator: np.random.Generator) -> list[Any]:
    return [
        *[generator.random(n) for _ in range(5)],
        np.arange(n) ^ 1 if n % 2 == 0 else np.arange(n),
    ]


# --- conjugate gradients


@pk.workunit
def laplace(i: int, p: pk.View1D[pk.double], q: pk.View1D[pk.double], n: int):
    t = 2.5 * p[i]
    if i > 0:
        t -= p[i - 1]
    if i < n - 1:
        t -= p[i + 1]
    q[i] = t


def run_cg(b: Any, x: Any, r: Any, p: Any, q: Any) -> None:
    n = x.extent(0)
    pk.parallel_for(n, scaled, x=b, y=x, s=0.0)
    pk.parallel_for(n, copied, x=b, y=r)
    pk.parallel_for(n, copied, x=b, y=p)
    rho = pk.parallel_reduce(n, dot, x=r, y=r)
    for _ in range(3):
        pk.parallel_for(n, laplace, p=p, q=q, n=n)
        alpha = rho / pk.parallel_reduce(n, dot, x=p, y=q)
        pk.parallel_for(n, axpy, x=p, y=x, s=alpha)
        pk.parallel_for(n, axpy, x=q, y=r, s=-alpha)
        before, rho = rho, pk.parallel_reduce(n, dot, x=r, y=r)
        pk.parallel_for(n, xpay, x=r, y=p, s=rho / before)


def expected_cg(b: Any, x: Any, r: Any, p: Any, q: Any) -> None:
    x[:] = 0
    r[:] = b
    p[:] = b
    rho = r @ r
    for _ in range(3):
        q[:] = 2.5 * p
        q[1:] -= p[:-1]
        q[:-1] -= p[1:]
        alpha = rho / (p @ q)
        x += alpha * p
        r -= alpha * q
        before, rho = rho, r @ r
        p[:] = r + rho / before * p


GROUPS = (
    Group("adi", 10, 2, squares(4), run_adi, expected_adi),
    Group("covariance", 3, 2, squares(1, 1, 1), run_covariance, expected_covariance),
    Group("fdtd_2d", 4, 2, squares(3), run_fdtd, expected_fdtd),
    Group("jacobi_1d", 4, 1, vectors(2), run_jacobi, expected_jacobi),
    Group("mvt", 2, 2, squares(1, 1, 1, 1, 1), run_mvt, expected_mvt),
    Group("syrk", 3, 2, squares(2), run_syrk, expected_syrk),
    Group("syr2k", 4, 2, squares(3), run_syr2k, expected_syr2k),
    Group("babelstream", 4, 1, vectors(3), run_babel, expected_babel),
    Group("gups", 2, 1, make_gups, run_gups, expected_gups),
    Group("naive_bayes", 5, 1, make_bayes, run_bayes, expected_bayes),
    Group("dsmc", 3, 1, make_dsmc, run_dsmc, expected_dsmc),
    Group("nstream_50", 50, 1, vectors(3), run_nstream, expected_nstream),
    Group("cg", 22, 1, vectors(5), run_cg, expected_cg),
    Group("jacobi_residual", 3, 1, vectors(3), run_residual, expected_residual),
    Group("particles", 6, 1, vectors(4), run_particles, expected_particles),
)
