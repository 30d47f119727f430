"""Class types: small objects with methods, made in work units."""

import numpy as np

import polygen.compat.pykokkos as pk

N = 25
X = np.random.default_rng(21).normal(size=(N, 3))


@pk.classtype
class Vector:
    def __init__(self, x: pk.double, y: pk.double, z: pk.double):
        self.x: pk.double = x
        self.y: pk.double = y
        self.z: pk.double = z

    def dot(self, other: "Vector") -> pk.double:
        return self.x * other.x + self.y * other.y + self.z * other.z

    def scale(self, by: pk.double) -> "Vector":
        return Vector(self.x * by, self.y * by, self.z * by)


@pk.workunit
def normalized(i: int, x: pk.View2D[pk.double], out: pk.View2D[pk.double]):
    v: Vector = Vector(x[i][0], x[i][1], x[i][2])
    w: Vector = v.scale(1.0 / pk.sqrt(v.dot(v)))
    out[i][0] = w.x
    out[i][1] = w.y
    out[i][2] = w.z


def run():
    out = pk.View([N, 3], pk.double)
    pk.parallel_for(N, normalized, x=pk.from_numpy(X), out=out)
    return {"out": out}


def reference():
    return {"out": X / np.sqrt((X**2).sum(axis=1))[:, None]}
