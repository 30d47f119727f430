"""The Parallel Research Kernels' transpose: b += a^T; a += 1."""

import numpy as np

import polygen.compat.pykokkos as pk

N, ITERATIONS = 19, 3


@pk.functor
class Transpose:
    def __init__(self, n: int):
        self.A: pk.View2D[pk.double] = pk.View([n, n], pk.double)
        self.B: pk.View2D[pk.double] = pk.View([n, n], pk.double)
        self.order: int = n

    @pk.workunit
    def init(self, i: int, j: int):
        self.A[i][j] = i * self.order + j
        self.B[i][j] = 0

    @pk.workunit
    def transposed(self, i: int, j: int):
        self.B[i][j] += self.A[j][i]
        self.A[j][i] += 1.0

    @pk.workunit
    def error(self, i: int, j: int, acc: pk.Acc[pk.double], addit: float):
        acc += abs(self.B[i][j] - (ITERATIONS * (i + self.order * j) + addit))


def run():
    work = Transpose(N)
    policy = pk.MDRangePolicy([0, 0], [N, N], [8, 8])
    pk.parallel_for(policy, work.init)
    for _ in range(ITERATIONS):
        pk.parallel_for(policy, work.transposed)
    addit = ITERATIONS * (ITERATIONS - 1) / 2
    return {"B": work.B, "error": pk.parallel_reduce(policy, work.error, addit=addit)}


def reference():
    A = np.arange(N * N, dtype=float).reshape(N, N)
    return {"B": ITERATIONS * A.T + ITERATIONS * (ITERATIONS - 1) / 2, "error": 0.0}
