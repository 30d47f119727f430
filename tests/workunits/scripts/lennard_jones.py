"""Lennard-Jones forces by neighbour lists: lists are made by one work unit, used by another."""

import numpy as np

import polygen.compat.pykokkos as pk

SIDE, MOST, CUTOFF = 3, 26, 1.6
N = SIDE**3
GRID = np.stack(np.meshgrid(*[np.arange(SIDE)] * 3, indexing="ij"), axis=-1).reshape(N, 3)
X = GRID * 1.1 + 0.05 * np.random.default_rng(11).random((N, 3))


@pk.functor
class Neighbors:
    def __init__(self, x):
        self.x: pk.View2D[pk.double] = x
        self.numneigh: pk.View1D[pk.int32] = pk.View([N], pk.int32)
        self.neighs: pk.View2D[pk.int32] = pk.View([N, MOST], pk.int32)
        self.cutsq: float = CUTOFF * CUTOFF

    @pk.workunit
    def fill(self, i: int):
        count: int = 0
        for j in range(N):
            if j != i:
                dx: float = self.x[i][0] - self.x[j][0]
                dy: float = self.x[i][1] - self.x[j][1]
                dz: float = self.x[i][2] - self.x[j][2]
                if dx * dx + dy * dy + dz * dz < self.cutsq:
                    self.neighs[i][count] = j
                    count += 1
        self.numneigh[i] = count


@pk.functor
class Force:
    def __init__(self, x, neighbors):
        self.x: pk.View2D[pk.double] = x
        self.f: pk.View2D[pk.double] = pk.View([N, 3], pk.double)
        self.numneigh: pk.View1D[pk.int32] = neighbors.numneigh
        self.neighs: pk.View2D[pk.int32] = neighbors.neighs
        self.cutsq: float = CUTOFF * CUTOFF
        self.lj1: float = 48.0
        self.lj2: float = 24.0

    @pk.workunit
    def compute(self, i: int):
        fx: float = 0.0
        fy: float = 0.0
        fz: float = 0.0
        for jj in range(self.numneigh[i]):
            j: int = self.neighs[i][jj]
            dx: float = self.x[i][0] - self.x[j][0]
            dy: float = self.x[i][1] - self.x[j][1]
            dz: float = self.x[i][2] - self.x[j][2]
            rsq: float = dx * dx + dy * dy + dz * dz
            if rsq < self.cutsq:
                r2inv: float = 1.0 / rsq
                r6inv: float = r2inv * r2inv * r2inv
                fpair: float = r6inv * (self.lj1 * r6inv - self.lj2) * r2inv
                fx += dx * fpair
                fy += dy * fpair
                fz += dz * fpair
        self.f[i][0] = fx
        self.f[i][1] = fy
        self.f[i][2] = fz

    @pk.workunit
    def energy(self, i: int, acc: pk.Acc[pk.double]):
        for jj in range(self.numneigh[i]):
            j: int = self.neighs[i][jj]
            rsq: float = 0.0
            for d in range(3):
                rsq += (self.x[i][d] - self.x[j][d]) * (self.x[i][d] - self.x[j][d])
            r6inv: float = 1.0 / (rsq * rsq * rsq)
            acc += 0.5 * 4.0 * r6inv * (r6inv - 1.0)


def run():
    x = pk.from_numpy(X)
    neighbors = Neighbors(x)
    pk.parallel_for("neighbors", N, neighbors.fill)
    force = Force(x, neighbors)
    pk.parallel_for("force", N, force.compute)
    return {
        "count": neighbors.numneigh,
        "f": force.f,
        "energy": pk.parallel_reduce("energy", N, force.energy),
    }


def reference():
    d = X[:, None, :] - X[None, :, :]
    r2 = (d**2).sum(axis=2) + np.eye(N) * 1e30
    near = r2 < CUTOFF**2
    r6 = np.where(near, 1.0 / r2**3, 0.0)
    f = ((r6 * (48 * r6 - 24) / r2)[:, :, None] * d).sum(axis=1)
    return {"count": near.sum(axis=1), "f": f, "energy": (2 * r6 * (r6 - 1)).sum()}
