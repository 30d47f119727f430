"""The Parallel Research Kernels' nstream: a[i] += b[i] + scalar*c[i], repeated."""

import numpy as np

import polygen.compat.pykokkos as pk

N, ITERATIONS = 101, 3


@pk.workunit
def init(i: int, A: pk.View1D[pk.double], B: pk.View1D[pk.double], C: pk.View1D[pk.double]):
    A[i] = 0.0
    B[i] = 2.0
    C[i] = 2.0


@pk.workunit
def nstream(i: int, A: pk.View1D[pk.double], B: pk.View1D[pk.double], C: pk.View1D[pk.double],
            scalar: pk.double):  # fmt: skip
    A[i] += B[i] + scalar * C[i]


@pk.workunit
def checksum(i: int, acc: pk.Acc[pk.double], A: pk.View1D[pk.double]):
    acc += abs(A[i])


def run():
    A, B, C = (pk.View([N], pk.double) for _ in range(3))
    policy = pk.RangePolicy(pk.Default, 0, N)
    pk.parallel_for("init", policy, init, A=A, B=B, C=C)
    timer = pk.Timer()
    for _ in range(ITERATIONS + 1):
        pk.parallel_for("nstream", policy, nstream, A=A, B=B, C=C, scalar=3.0)
    pk.fence()
    assert timer.seconds() >= 0
    return {"A": A, "sum": pk.parallel_reduce(policy, checksum, A=A)}


def reference():
    value = (ITERATIONS + 1) * (2 + 3 * 2.0)
    return {"A": np.full(N, value), "sum": N * value}
