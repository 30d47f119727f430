"""A product of matrices by two indices, and by teams that share a row."""

import numpy as np

import polygen.compat.pykokkos as pk

N, M, K = 11, 9, 14
RNG = np.random.default_rng(1)
A, B = RNG.random((N, K)), RNG.random((K, M))


@pk.workunit
def by_points(i: int, j: int, A: pk.View2D[pk.double], B: pk.View2D[pk.double],
              C: pk.View2D[pk.double], alpha: float, beta: float):  # fmt: skip
    total: pk.double = 0.0
    for k in range(A.extent(1)):
        total += A[i][k] * B[k][j]
    C[i][j] = alpha * total + beta * C[i][j]


@pk.workunit
def by_teams(member: pk.TeamMember, A: pk.View2D[pk.double], B: pk.View2D[pk.double],
             C: pk.View2D[pk.double]):  # fmt: skip
    i: int = member.league_rank()

    def column(j: int):
        def product(k: int, acc: pk.Acc[pk.double]):
            acc += A[i][k] * B[k][j]

        C[i][j] = pk.parallel_reduce(pk.ThreadVectorRange(member, A.extent(1)), product)

    pk.parallel_for(pk.TeamThreadRange(member, B.extent(1)), column)


def run():
    a, b = pk.from_numpy(A), pk.from_numpy(B)
    c, d = pk.View([N, M], pk.double), pk.View([N, M], pk.double)
    c.fill(1)
    pk.parallel_for(pk.MDRangePolicy([0, 0], [N, M]), by_points, A=a, B=b, C=c, alpha=2.0, beta=3.0)
    pk.parallel_for(pk.TeamPolicy(N, pk.AUTO), by_teams, A=a, B=b, C=d)
    return {"c": c, "d": d}


def reference():
    return {"c": 2 * A @ B + 3, "d": A @ B}
