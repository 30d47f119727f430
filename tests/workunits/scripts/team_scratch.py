"""A convolution by teams: each team copies its block and a halo into scratch memory."""

import numpy as np

import polygen.compat.pykokkos as pk

N, BLOCK, R, TEAM = 48, 8, 2, 4
X = np.random.default_rng(14).random(N)
W = np.array([0.1, 0.2, 0.4, 0.2, 0.1])


@pk.workunit
def convolve(team: pk.TeamMember, x: pk.View1D[pk.double], w: pk.View1D[pk.double],
             y: pk.View1D[pk.double], block: int, radius: int):  # fmt: skip
    begin: int = team.league_rank() * block
    tile: pk.ScratchView1D[float] = pk.ScratchView1D(team.team_scratch(0), block + 2 * radius)

    def load(i: int):
        at: int = begin + i - radius
        if at >= 0 and at < x.extent(0):
            tile[i] = x[at]
        else:
            tile[i] = 0.0

    pk.parallel_for(pk.TeamThreadRange(team, block + 2 * radius), load)
    team.team_barrier()

    def point(i: int):
        total: float = 0.0
        for k in range(2 * radius + 1):
            total += w[k] * tile[i + k]
        y[begin + i] = total

    pk.parallel_for(pk.TeamThreadRange(team, block), point)


def run():
    x, w = pk.from_numpy(X), pk.from_numpy(W)
    found = {}
    size = pk.ScratchView1D[pk.double].shmem_size(BLOCK + 2 * R)
    for name, team_size in (("automatic", pk.AUTO), ("sized", TEAM)):
        y = pk.View([N], pk.double)
        policy = pk.TeamPolicy(N // BLOCK, team_size)
        policy.set_scratch_size(0, pk.PerTeam(size))
        pk.parallel_for("convolution", policy, convolve, x=x, w=w, y=y, block=BLOCK, radius=R)
        found[name] = y
    return found


def reference():
    y = np.convolve(X, W[::-1], "same")
    return {"automatic": y, "sized": y}
