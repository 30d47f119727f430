"""BabelStream: copy, mul, add, triad and dot, in a workload, in double and in float."""

import numpy as np

import polygen.compat.pykokkos as pk

N, TIMES, SCALAR = 64, 3, 0.4


@pk.workload
class Stream:
    def __init__(self, dtype):
        self.a: pk.View1D[pk.double] = pk.View([N], dtype)
        self.b: pk.View1D[pk.double] = pk.View([N], dtype)
        self.c: pk.View1D[pk.double] = pk.View([N], dtype)
        self.scalar: float = SCALAR
        self.sum = 0.0

    @pk.main
    def run(self):
        p = pk.RangePolicy(pk.Default, 0, N)
        pk.parallel_for(p, self.init)
        for _ in range(TIMES):
            pk.parallel_for("copy", p, self.copy)
            pk.parallel_for("mul", p, self.mul)
            pk.parallel_for("add", p, self.add)
            pk.parallel_for("triad", p, self.triad)
            self.sum = pk.parallel_reduce("dot", p, self.dot)

    @pk.workunit
    def init(self, i: int):
        self.a[i] = 0.1
        self.b[i] = 0.2
        self.c[i] = 0.0

    @pk.workunit
    def copy(self, i: int):
        self.c[i] = self.a[i]

    @pk.workunit
    def mul(self, i: int):
        self.b[i] = self.scalar * self.c[i]

    @pk.workunit
    def add(self, i: int):
        self.c[i] = self.a[i] + self.b[i]

    @pk.workunit
    def triad(self, i: int):
        self.a[i] = self.b[i] + self.scalar * self.c[i]

    @pk.workunit
    def dot(self, i: int, acc: pk.Acc[pk.double]):
        acc += self.a[i] * self.b[i]


def run():
    double, single = Stream(pk.double), Stream(pk.float32)
    for work in (double, single):
        pk.execute(pk.Default, work)
    return {"sum": double.sum, "a": double.a, "single": single.a, "sum of singles": single.sum}


def reference():
    a, b, c = 0.1, 0.2, 0.0
    for _ in range(TIMES):
        c = a
        b = SCALAR * c
        c = a + b
        a = b + SCALAR * c
    return {
        "sum": N * a * b,
        "a": np.full(N, a),
        "single": np.full(N, a, np.float32),
        "sum of singles": np.float32(N * a * b),
    }
