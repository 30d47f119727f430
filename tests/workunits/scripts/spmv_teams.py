"""A sparse matrix times a vector: a team has a block of rows, and lanes share a row."""

import numpy as np

import polygen.compat.pykokkos as pk

N, ROWS_PER_TEAM = 22, 4
RNG = np.random.default_rng(6)
LENGTHS = RNG.integers(0, 7, N)
OFFSETS = np.concatenate([[0], np.cumsum(LENGTHS)]).astype(np.int32)
COLUMNS = RNG.integers(0, N, OFFSETS[-1]).astype(np.int32)
VALUES = RNG.random(OFFSETS[-1])
X = RNG.random(N)


@pk.workunit
def spmv(team_member: pk.TeamMember, y: pk.View1D[pk.double], offsets: pk.View1D[pk.int32],
         columns: pk.View1D[pk.int32], values: pk.View1D[pk.double], x: pk.View1D[pk.double],
         rows_per_team: int):  # fmt: skip
    first_row: int = team_member.league_rank() * rows_per_team
    last_row: int = first_row + rows_per_team
    if last_row > y.extent(0):
        last_row = y.extent(0)

    def row(at: int):
        start: int = offsets[first_row + at]
        length: int = offsets[first_row + at + 1] - start

        def dot(i: int, acc: pk.Acc[pk.double]):
            acc += values[start + i] * x[columns[start + i]]

        total: float = pk.parallel_reduce(pk.ThreadVectorRange(team_member, length), dot)

        def write():
            y[first_row + at] = total

        pk.single(pk.PerThread(team_member), write)

    pk.parallel_for(pk.TeamThreadRange(team_member, last_row - first_row), row)


def run():
    y = pk.View([N], pk.double)
    league = (N + ROWS_PER_TEAM - 1) // ROWS_PER_TEAM
    pk.parallel_for(
        "spmv", pk.TeamPolicy(league, pk.AUTO, 8), spmv, y=y, offsets=pk.from_numpy(OFFSETS),
        columns=pk.from_numpy(COLUMNS), values=pk.from_numpy(VALUES), x=pk.from_numpy(X),
        rows_per_team=ROWS_PER_TEAM,
    )  # fmt: skip
    return {"y": y}


def reference():
    y = np.zeros(N)
    for i in range(N):
        part = slice(OFFSETS[i], OFFSETS[i + 1])
        y[i] = VALUES[part] @ X[COLUMNS[part]]
    return {"y": y}
