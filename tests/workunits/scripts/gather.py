"""Gathers through a table of connections: many reads, a few operations for each."""

import numpy as np

import polygen.compat.pykokkos as pk

N, K, D = 30, 8, 4
RNG = np.random.default_rng(4)
CONNECTIONS = RNG.integers(0, N, (N, K)).astype(np.int32)
A = RNG.random(N)


@pk.functor
class Benchmark_double_8:
    def __init__(self):
        self.connections: pk.View2D[pk.int32] = pk.from_numpy(CONNECTIONS)
        self.A: pk.View1D[pk.double] = pk.from_numpy(A)
        self.B: pk.View1D[pk.double] = pk.View([N], pk.double)
        self.C: pk.View1D[pk.double] = pk.View([N], pk.double)
        self.C.fill(1.5)

    @pk.workunit
    def benchmark(self, i: int):
        c: pk.double = 0.0
        for jj in range(K):
            j: int = self.connections[i][jj]
            a: pk.double = self.A[j]
            for _ in range(D):
                a = a * 0.5 + self.C[i]
            c += a
        self.B[i] = c


def run():
    work = Benchmark_double_8()
    pk.parallel_for("gather", pk.RangePolicy(pk.Default, 0, N), work.benchmark)
    return {"B": work.B}


def reference():
    a = A[CONNECTIONS]
    for _ in range(D):
        a = a * 0.5 + 1.5
    return {"B": a.sum(axis=1)}
