"""Gravity between all pairs of bodies, softened, and steps of leapfrog."""

import numpy as np

import polygen.compat.pykokkos as pk

N, STEPS, DT, SOFTENING = 16, 3, 0.01, 0.1
RNG = np.random.default_rng(10)
X, V, MASS = RNG.normal(size=(N, 3)), RNG.normal(size=(N, 3)), RNG.random(N)


@pk.workunit
def accelerations(i: int, x: pk.View2D[pk.double], mass: pk.View1D[pk.double],
                  a: pk.View2D[pk.double], softening: float):  # fmt: skip
    ax: float = 0.0
    ay: float = 0.0
    az: float = 0.0
    for j in range(x.extent(0)):
        dx: float = x[j][0] - x[i][0]
        dy: float = x[j][1] - x[i][1]
        dz: float = x[j][2] - x[i][2]
        r2: float = dx * dx + dy * dy + dz * dz + softening * softening
        f: float = mass[j] / (r2 * pk.sqrt(r2))
        ax += f * dx
        ay += f * dy
        az += f * dz
    a[i][0] = ax
    a[i][1] = ay
    a[i][2] = az


@pk.workunit
def kick(i: int, d: int, v: pk.View2D[pk.double], a: pk.View2D[pk.double], dt: float):
    v[i][d] += dt * a[i][d]


@pk.workunit
def drift(i: int, d: int, x: pk.View2D[pk.double], v: pk.View2D[pk.double], dt: float):
    x[i][d] += dt * v[i][d]


@pk.workunit
def kinetic(i: int, acc: pk.Acc[pk.double], v: pk.View2D[pk.double], mass: pk.View1D[pk.double]):
    v2: float = 0.0
    for d in range(3):
        v2 += v[i][d] * v[i][d]
    acc += 0.5 * mass[i] * v2


def run():
    x, v, mass = pk.from_numpy(X.copy()), pk.from_numpy(V.copy()), pk.from_numpy(MASS)
    a = pk.View([N, 3], pk.double)
    each = pk.MDRangePolicy([0, 0], [N, 3])
    for _ in range(STEPS):
        pk.parallel_for("forces", N, accelerations, x=x, mass=mass, a=a, softening=SOFTENING)
        pk.parallel_for(each, kick, v=v, a=a, dt=DT)
        pk.parallel_for(each, drift, x=x, v=v, dt=DT)
    return {"x": x, "v": v, "energy": pk.parallel_reduce(N, kinetic, v=v, mass=mass)}


def reference():
    x, v = X.copy(), V.copy()
    for _ in range(STEPS):
        d = x[None, :, :] - x[:, None, :]
        r2 = (d**2).sum(axis=2) + SOFTENING**2
        v += DT * (MASS / r2**1.5)[:, :, None].transpose(0, 1, 2).__mul__(d).sum(axis=1)
        x += DT * v
    return {"x": x, "v": v, "energy": (0.5 * MASS * (v**2).sum(axis=1)).sum()}
