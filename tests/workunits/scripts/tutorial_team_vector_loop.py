"""The tutorial's exercise on three levels: teams, their threads, and lanes."""

import numpy as np

import polygen.compat.pykokkos as pk

E, N, M = 6, 7, 9


@pk.workunit
def yAx(team_member: pk.TeamMember, acc: pk.Acc[pk.double], N: int, M: int,
        y: pk.View2D[pk.double], x: pk.View2D[pk.double], A: pk.View3D[pk.double]):  # fmt: skip
    e: int = team_member.league_rank()

    def team_reduce(j: int, team_acc: pk.Acc[pk.double]):
        def vector_reduce(i: int, vector_acc: pk.Acc[pk.double]):
            vector_acc += A[e][j][i] * x[e][i]

        tempM: float = pk.parallel_reduce(pk.ThreadVectorRange(team_member, M), vector_reduce)
        team_acc += y[e][j] * tempM

    tempN: float = pk.parallel_reduce(pk.TeamThreadRange(team_member, N), team_reduce)

    def single_closure():
        nonlocal acc
        acc += tempN

    pk.single(pk.PerTeam(team_member), single_closure)


def run():
    y, x = pk.View([E, N], pk.double), pk.View([E, M], pk.double)
    A = pk.View([E, N, M], pk.double)
    y.fill(1)
    x.fill(1)
    for e in range(E):
        A[e, :, :] = e + 1
    result = pk.parallel_reduce("yAx", pk.TeamPolicy(E, pk.AUTO, 32), yAx, N=N, M=M, y=y, x=x, A=A)
    return {"result": result}


def reference():
    return {"result": 1.0 * N * M * np.arange(1, E + 1).sum()}
