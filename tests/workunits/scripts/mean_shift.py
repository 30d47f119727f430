"""Mean shift: each point moves to the weighted mean of all points, with a Gaussian kernel."""

import numpy as np

import polygen.compat.pykokkos as pk

N, STEPS, WIDTH = 24, 3, 0.7
RNG = np.random.default_rng(16)
POINTS = np.concatenate([RNG.normal(0, 0.3, (N // 2, 2)), RNG.normal(2, 0.3, (N // 2, 2))])


@pk.workunit
def shift(i: int, fixed: pk.View2D[pk.double], points: pk.View2D[pk.double],
          new: pk.View2D[pk.double], width: float):  # fmt: skip
    weight: float = 0.0
    sx: float = 0.0
    sy: float = 0.0
    for j in range(fixed.extent(0)):
        dx: float = points[i][0] - fixed[j][0]
        dy: float = points[i][1] - fixed[j][1]
        k: float = pk.exp(-(dx * dx + dy * dy) / (2.0 * width * width))
        weight += k
        sx += k * fixed[j][0]
        sy += k * fixed[j][1]
    new[i][0] = sx / weight
    new[i][1] = sy / weight


@pk.workunit
def moved(i: int, acc: pk.Acc[pk.double], a: pk.View2D[pk.double], b: pk.View2D[pk.double]):
    acc += abs(a[i][0] - b[i][0]) + abs(a[i][1] - b[i][1])


def run():
    fixed, points = pk.from_numpy(POINTS), pk.from_numpy(POINTS.copy())
    new = pk.View([N, 2], pk.double)
    distance = 0.0
    for _ in range(STEPS):
        pk.parallel_for("shift", N, shift, fixed=fixed, points=points, new=new, width=WIDTH)
        distance = pk.parallel_reduce("moved", N, moved, a=points, b=new)
        points, new = new, points
    return {"points": points, "distance": distance}


def reference():
    points, old = POINTS, POINTS
    for _ in range(STEPS):
        old = points
        d2 = ((points[:, None] - POINTS[None]) ** 2).sum(axis=2)
        k = np.exp(-d2 / (2 * WIDTH**2))
        points = k @ POINTS / k.sum(axis=1)[:, None]
    return {"points": points, "distance": np.abs(points - old).sum()}
