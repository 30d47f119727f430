"""The Parallel Research Kernels' p2p: a wave front, one diagonal after the other."""

import numpy as np

import polygen.compat.pykokkos as pk

M, N, ITERATIONS = 12, 10, 2


@pk.workunit
def init(i: int, j: int, grid: pk.View2D[pk.double]):
    grid[i][j] = 0.0
    if i == 0:
        grid[i][j] = j
    if j == 0:
        grid[i][j] = i


@pk.workunit
def diagonal(j: int, d: int, grid: pk.View2D[pk.double]):
    i: int = d - j
    grid[i][j] = grid[i - 1][j] + grid[i][j - 1] - grid[i - 1][j - 1]


@pk.workunit
def corner(i: int, grid: pk.View2D[pk.double]):
    grid[0][0] = -grid[grid.extent(0) - 1][grid.extent(1) - 1]


@pk.workunit
def in_order(i: int, j: int, grid: pk.View2D[pk.double]):
    grid[i][j] = grid[i - 1][j] + grid[i][j - 1] - grid[i - 1][j - 1]


def run():
    grid, other = pk.View([M, N], pk.double), pk.View([M, N], pk.double)
    for one in (grid, other):
        pk.parallel_for(pk.MDRangePolicy([0, 0], [M, N]), init, grid=one)
    for _ in range(ITERATIONS):
        for d in range(2, M + N - 1):
            begin, end = max(1, d - M + 1), min(N, d)
            pk.parallel_for("diagonal", pk.RangePolicy(begin, end), diagonal, d=d, grid=grid)
        pk.parallel_for(1, corner, grid=grid)
    # The same by one policy races: it runs one point after the other only if it is told to.
    inside = pk.MDRangePolicy([1, 1], [M, N])
    pk.parallel_for(inside, in_order, unsafe=True, grid=other)
    return {"grid": grid, "other": other[M - 1][N - 1]}


def reference():
    grid = np.zeros((M, N))
    grid[0, :] = np.arange(N)
    grid[:, 0] = np.arange(M)
    for _ in range(ITERATIONS):
        for i in range(1, M):
            for j in range(1, N):
                grid[i, j] = grid[i - 1, j] + grid[i, j - 1] - grid[i - 1, j - 1]
        grid[0, 0] = -grid[M - 1, N - 1]
    return {"grid": grid, "other": M - 1.0 + N - 1.0}
