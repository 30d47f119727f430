"""The tutorial's exercise on teams: rows are teams, and their threads share the columns."""

import numpy as np

import polygen.compat.pykokkos as pk

N, M = 17, 23


@pk.workunit
def yAx(team_member: pk.TeamMember, acc: pk.Acc[pk.double], M: int, y: pk.View1D[pk.double],
        x: pk.View1D[pk.double], A: pk.View2D[pk.double]):  # fmt: skip
    j: int = team_member.league_rank()

    def inner_reduce(i: int, inner_acc: pk.Acc[pk.double]):
        inner_acc += A[j][i] * x[i]

    temp2: float = pk.parallel_reduce(pk.TeamThreadRange(team_member, M), inner_reduce)

    if team_member.team_rank() == 0:
        acc += y[j] * temp2


def run():
    y, x = pk.View([N], pk.double), pk.View([M], pk.double)
    A = pk.View([N, M], pk.double)
    y.fill(1)
    x.fill(3)
    for j in range(N):
        A[j, :] = j
    automatic = pk.TeamPolicy(pk.Default, N, pk.AUTO)
    sized = pk.TeamPolicy(N, 4)
    return {
        "automatic": pk.parallel_reduce(automatic, yAx, M=M, y=y, x=x, A=A),
        "sized": pk.parallel_reduce("yAx", sized, yAx, M=M, y=y, x=x, A=A),
    }


def reference():
    expected = 3.0 * M * np.arange(N).sum()
    return {"automatic": expected, "sized": expected}
