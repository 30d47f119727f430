"""Functions that work units call: plain ones, methods of functors, and ones that call others."""

import numpy as np

import polygen.compat.pykokkos as pk

N = 30
X = np.random.default_rng(20).normal(size=N)


@pk.function
def squared(x: pk.double) -> pk.double:
    return x * x


@pk.function
def clamped(x: pk.double, low: pk.double, high: pk.double) -> pk.double:
    if x < low:
        return low
    if x > high:
        return high
    return x


@pk.function
def shaped(x: pk.double) -> pk.double:
    return squared(clamped(x, -1.0, 1.0)) + 0.5


@pk.workunit
def apply(i: int, x: pk.View1D[pk.double], y: pk.View1D[pk.double]):
    y[i] = shaped(x[i])


@pk.functor
class Polynomial:
    def __init__(self, x):
        self.x: pk.View1D[pk.double] = x
        self.y: pk.View1D[pk.double] = pk.View([N], pk.double)
        self.a: float = 2.0

    @pk.function
    def value(self, x: float) -> float:
        return self.a * x * x - x

    @pk.workunit
    def evaluate(self, i: int):
        self.y[i] = self.value(self.x[i])


def run():
    x, y = pk.from_numpy(X), pk.View([N], pk.double)
    pk.parallel_for(N, apply, x=x, y=y)
    work = Polynomial(x)
    pk.parallel_for(N, work.evaluate)
    work.a = 3.0
    before = work.y.astype(pk.double)
    pk.parallel_for(N, work.evaluate)
    return {"y": y, "before": before, "after": work.y}


def reference():
    return {"y": X.clip(-1, 1) ** 2 + 0.5, "before": 2 * X**2 - X, "after": 3 * X**2 - X}
