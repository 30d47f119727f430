"""The tutorial's fourth exercise: layouts, traits and memory spaces of views."""

import numpy as np

import polygen.compat.pykokkos as pk

N, M = 18, 14


@pk.workunit(
    y=pk.ViewTypeInfo(trait=pk.Trait.RandomAccess),
    A=pk.ViewTypeInfo(layout=pk.Layout.LayoutLeft),
)
def yAx(j: int, acc: pk.Acc[pk.double], M: int, y: pk.View1D[pk.double],
        x: pk.View1D[pk.double], A: pk.View2D[pk.double]):  # fmt: skip
    temp2: float = 0
    for i in range(M):
        temp2 += A[j][i] * x[i]
    acc += y[j] * temp2


def run():
    y = pk.View([N], pk.double, trait=pk.Trait.RandomAccess)
    x = pk.View([M], pk.double, space=pk.HostSpace)
    A = pk.View([N, M], pk.double, layout=pk.Layout.LayoutLeft)
    for i in range(N):
        y[i] = i
        for j in range(M):
            A[i][j] = i - j
    x.fill(1)
    result = pk.parallel_reduce("yAx", pk.RangePolicy(0, N), yAx, M=M, y=y, x=x, A=A)
    return {"result": result, "is_left": A.layout is pk.LayoutLeft}


def reference():
    A = np.arange(N)[:, None] - 1.0 * np.arange(M)
    return {"result": np.arange(N) @ A @ np.ones(M), "is_left": True}
