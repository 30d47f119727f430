"""Heat in three dimensions, with views that are swapped; boundaries are insulated."""

import numpy as np

import polygen.compat.pykokkos as pk

N, STEPS, C = 7, 4, 0.1
START = np.random.default_rng(18).random((N, N, N))


@pk.workunit
def step(i: int, j: int, k: int, t: pk.View3D[pk.double], new: pk.View3D[pk.double], c: float):
    n: int = t.extent(0)
    here: float = t[i][j][k]
    change: float = 0.0
    if i > 0:
        change += t[i - 1][j][k] - here
    if i < n - 1:
        change += t[i + 1][j][k] - here
    if j > 0:
        change += t[i][j - 1][k] - here
    if j < n - 1:
        change += t[i][j + 1][k] - here
    if k > 0:
        change += t[i][j][k - 1] - here
    if k < n - 1:
        change += t[i][j][k + 1] - here
    new[i][j][k] = here + c * change


@pk.workunit
def energy(i: int, j: int, k: int, acc: pk.Acc[pk.double], t: pk.View3D[pk.double]):
    acc += t[i][j][k]


def run():
    t, new = pk.from_numpy(START.copy()), pk.View([N, N, N], pk.double)
    policy = pk.MDRangePolicy([0, 0, 0], [N, N, N], [2, 2, 4])
    before = pk.parallel_reduce(policy, energy, t=t)
    for _ in range(STEPS):
        pk.parallel_for("step", policy, step, t=t, new=new, c=C)
        t, new = new, t
    return {"t": t, "kept": pk.parallel_reduce(policy, energy, t=t) - before}


def reference():
    t = START
    for _ in range(STEPS):
        p = np.pad(t, 1, "edge")
        t = t + C * (
            p[:-2, 1:-1, 1:-1] + p[2:, 1:-1, 1:-1] + p[1:-1, :-2, 1:-1] + p[1:-1, 2:, 1:-1]
            + p[1:-1, 1:-1, :-2] + p[1:-1, 1:-1, 2:] - 6 * t
        )  # fmt: skip
    return {"t": t, "kept": 0.0}
