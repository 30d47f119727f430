"""The tutorial's first exercise: y^T A x, by plain functions and a number of iterations."""

import numpy as np

import polygen.compat.pykokkos as pk

N, M = 24, 10


@pk.workunit
def init_y(i: int, y: pk.View1D[pk.double]):
    y[i] = 1


@pk.workunit
def init_x(i: int, x: pk.View1D[pk.double]):
    x[i] = 1


@pk.workunit
def init_a(j: int, m: int, a: pk.View2D[pk.double]):
    for i in range(m):
        a[j][i] = j + 2 * i


@pk.workunit
def yax(j: int, acc: pk.Acc[pk.double], m: int, y: pk.View1D[pk.double],
        x: pk.View1D[pk.double], a: pk.View2D[pk.double]):  # fmt: skip
    temp2: float = 0
    for i in range(m):
        temp2 += a[j][i] * x[i]
    acc += y[j] * temp2


def run():
    y = pk.View([N], pk.double)
    x = pk.View([M], pk.double)
    a = pk.View([N, M], pk.double)
    pk.parallel_for("init_y", N, init_y, y=y)
    pk.parallel_for("init_x", M, init_x, x=x)
    pk.parallel_for("init_A", N, init_a, m=M, a=a)
    result = 0.0
    for _ in range(3):
        result = pk.parallel_reduce("yAx", N, yax, m=M, y=y, x=x, a=a)
    return {"result": result, "a": a}


def reference():
    a = np.arange(N)[:, None] + 2.0 * np.arange(M)
    return {"result": a.sum(), "a": a}
