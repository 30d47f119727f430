"""The tutorial's exercise on MDRangePolicy: a matrix is set by two indices, with tiles."""

import numpy as np

import polygen.compat.pykokkos as pk

N, M = 21, 13


@pk.workunit
def matrix_init(i: int, j: int, A: pk.View2D[pk.double]):
    A[i][j] = i * 100 + j


@pk.workunit
def yAx(j: int, acc: pk.Acc[pk.double], y: pk.View1D[pk.double], x: pk.View1D[pk.double],
        A: pk.View2D[pk.double]):  # fmt: skip
    temp2: float = 0
    for i in range(A.extent(1)):
        temp2 += A[j][i] * x[i]
    acc += y[j] * temp2


def run():
    y, x = pk.View([N], pk.double), pk.View([M], pk.double)
    A = pk.View([N, M], pk.double)
    y.fill(1)
    x.fill(1)
    inner = pk.Rank(2, pk.Iterate.Left, pk.Iterate.Right)
    policy = pk.MDRangePolicy([0, 0], [N, M], [4, 8], rank=inner)
    pk.parallel_for(policy, matrix_init, A=A)
    return {"A": A, "result": pk.parallel_reduce(N, yAx, y=y, x=x, A=A)}


def reference():
    A = np.arange(N)[:, None] * 100.0 + np.arange(M)
    return {"A": A, "result": A.sum()}
