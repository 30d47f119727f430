"""Bytes and operations: blocks of a three-dimensional view, in a league of teams."""

import numpy as np

import polygen.compat.pykokkos as pk

N, K, R = 5, 12, 3


@pk.workunit
def init(n: int, k: int, A: pk.View2D[pk.double], B: pk.View2D[pk.double]):
    A[n][k] = 1.5 + n
    B[n][k] = 2.5 + k


@pk.workunit
def benchmark(team: pk.TeamMember, A: pk.View2D[pk.double], B: pk.View2D[pk.double],
              C: pk.View2D[pk.double], R: int, K: int):  # fmt: skip
    n: int = team.league_rank()
    for _ in range(R):

        def element(i: int):
            a1: pk.double = A[n][i]
            b: pk.double = B[n][i]
            a1 = a1 * 0.5 + b
            C[n][i] += a1

        pk.parallel_for(pk.TeamThreadRange(team, 0, K), element)


def run():
    A, B, C = (pk.View([N, K], pk.double) for _ in range(3))
    pk.parallel_for(pk.MDRangePolicy([0, 0], [N, K]), init, A=A, B=B)
    pk.parallel_for(pk.TeamPolicy(N, pk.AUTO), benchmark, A=A, B=B, C=C, R=R, K=K)
    return {"C": C}


def reference():
    A, B = 1.5 + np.arange(N)[:, None] + np.zeros(K), 2.5 + np.arange(K) + np.zeros((N, 1))
    return {"C": R * (A * 0.5 + B)}
