"""Jacobi's iteration for Laplace's equation, until the residual is small."""

import numpy as np

import polygen.compat.pykokkos as pk

N, TOLERANCE = 10, 1e-2


@pk.workunit
def sweep(i: int, j: int, u: pk.View2D[pk.double], new: pk.View2D[pk.double]):
    new[i][j] = 0.25 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1])


@pk.workunit
def residual(i: int, j: int, acc: pk.Acc[pk.double], u: pk.View2D[pk.double],
             new: pk.View2D[pk.double]):  # fmt: skip
    acc += (new[i][j] - u[i][j]) * (new[i][j] - u[i][j])


def run():
    u, new = pk.View([N, N], pk.double), pk.View([N, N], pk.double)
    u[0, :] = 1.0
    new[0, :] = 1.0
    inside = pk.MDRangePolicy([1, 1], [N - 1, N - 1])
    iterations = 0
    while True:
        pk.parallel_for("sweep", inside, sweep, u=u, new=new)
        change = pk.parallel_reduce("residual", inside, residual, u=u, new=new)
        u, new = new, u
        iterations += 1
        if change < TOLERANCE**2:
            break
    return {"u": u, "iterations": iterations}


def reference():
    u = np.zeros((N, N))
    u[0, :] = 1.0
    iterations = 0
    while True:
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        change = ((new - u) ** 2).sum()
        u = new
        iterations += 1
        if change < TOLERANCE**2:
            return {"u": u, "iterations": iterations}
