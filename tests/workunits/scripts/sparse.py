"""The Parallel Research Kernels' sparse: a matrix of compressed rows times a vector."""

import numpy as np

import polygen.compat.pykokkos as pk

N, PER_ROW = 32, 5
RNG = np.random.default_rng(2)
COLUMNS = np.sort(RNG.integers(0, N, (N, PER_ROW)), axis=1).astype(np.int32)
VALUES = RNG.random((N, PER_ROW))


@pk.workunit
def product(row: int, values: pk.View1D[pk.double], columns: pk.View1D[pk.int32],
            x: pk.View1D[pk.double], y: pk.View1D[pk.double], per_row: int):  # fmt: skip
    total: pk.double = 0
    for at in range(per_row * row, per_row * row + per_row):
        total += values[at] * x[columns[at]]
    y[row] += total


@pk.workunit
def add_one(i: int, x: pk.View1D[pk.double]):
    x[i] += 1.0


def run():
    values, columns = pk.from_numpy(VALUES.ravel()), pk.from_numpy(COLUMNS.ravel())
    x, y = pk.View([N], pk.double), pk.View([N], pk.double)
    for _ in range(3):
        pk.parallel_for(N, add_one, x=x)
        pk.parallel_for(
            "sparse", N, product, values=values, columns=columns, x=x, y=y, per_row=PER_ROW
        )
    return {"y": y}


def reference():
    dense = np.zeros((N, N))
    for row in range(N):
        np.add.at(dense[row], COLUMNS[row], VALUES[row])
    return {"y": dense @ np.full(N, 1.0 + 2.0 + 3.0)}
