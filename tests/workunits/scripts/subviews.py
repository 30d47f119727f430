"""Subviews: rows, columns, blocks, steps, and overlapping parts of one view."""

import numpy as np

import polygen.compat.pykokkos as pk

N, M = 9, 11


@pk.workunit
def set_to(i: int, v: pk.View1D[pk.double], value: float):
    v[i] = value + i


@pk.workunit
def scaled(i: int, j: int, v: pk.View2D[pk.double], by: float):
    v[i][j] *= by


@pk.workunit
def shifted(i: int, source: pk.View1D[pk.double], target: pk.View1D[pk.double]):
    target[i] += source[i]


def run():
    a = pk.View([N, M], pk.double)
    pk.parallel_for(M, set_to, v=a[2, :], value=1.0)
    pk.parallel_for(N, set_to, v=pk.Subview(a, (slice(None), 4)), value=100.0)
    pk.parallel_for(pk.MDRangePolicy([0, 0], [3, 4]), scaled, v=a[1:4, 2:6], by=2.0)
    pk.parallel_for((M + 1) // 2, set_to, v=a[5, ::2], value=-7.0)
    halves = pk.View([2 * N], pk.double)
    halves.fill(1)
    pk.parallel_for(N, set_to, v=halves[:N], value=0.0)
    pk.parallel_for(N, shifted, source=halves[:N], target=halves[N:])
    return {"a": a, "halves": halves}


def reference():
    a = np.zeros((N, M))
    a[2, :] = 1 + np.arange(M)
    a[:, 4] = 100 + np.arange(N)
    a[1:4, 2:6] *= 2
    a[5, ::2] = -7 + np.arange((M + 1) // 2)
    halves = np.ones(2 * N)
    halves[:N] = np.arange(N)
    halves[N:] += halves[:N]
    return {"a": a, "halves": halves}
