"""A sparse matrix times a vector, a row for each index: rows of different lengths."""

import numpy as np

import polygen.compat.pykokkos as pk

N = 20
RNG = np.random.default_rng(5)
LENGTHS = RNG.integers(0, 6, N)
OFFSETS = np.concatenate([[0], np.cumsum(LENGTHS)]).astype(np.int64)
COLUMNS = RNG.integers(0, N, OFFSETS[-1]).astype(np.int64)
VALUES = RNG.random(OFFSETS[-1])
X = RNG.random(N)


@pk.workunit
def spmv(i: int, y: pk.View1D[pk.double], A_row_offsets: pk.View1D[pk.int64],
         A_cids: pk.View1D[pk.int64], A_values: pk.View1D[pk.double],
         x: pk.View1D[pk.double]):  # fmt: skip
    s: float = 0.0
    for j in range(A_row_offsets[i], A_row_offsets[i + 1]):
        s += A_values[j] * x[A_cids[j]]
    y[i] = s


def run():
    y = pk.View([N], pk.double)
    pk.parallel_for(
        "spmv", N, spmv, y=y, A_row_offsets=pk.from_numpy(OFFSETS), A_cids=pk.from_numpy(COLUMNS),
        A_values=pk.from_numpy(VALUES), x=pk.from_numpy(X),
    )  # fmt: skip
    return {"y": y}


def reference():
    y = np.zeros(N)
    for i in range(N):
        part = slice(OFFSETS[i], OFFSETS[i + 1])
        y[i] = VALUES[part] @ X[COLUMNS[part]]
    return {"y": y}
