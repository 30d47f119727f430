"""The tutorial's second exercise: a workload with a main, callbacks and views as attributes."""

import numpy as np

import polygen.compat.pykokkos as pk


@pk.workload
class Workload:
    def __init__(self, n: int, m: int):
        self.N: int = n
        self.M: int = m
        self.y: pk.View1D[pk.double] = pk.View([n], pk.double)
        self.x: pk.View1D[pk.double] = pk.View([m], pk.double)
        self.A: pk.View2D[pk.double] = pk.View([n, m], pk.double)
        self.result: float = 0
        self.told: list = []
        self.y.fill(1)
        self.x.fill(2)
        self.A.fill(3)

    @pk.main
    def run(self):
        for _ in range(2):
            self.result = pk.parallel_reduce("yAx", self.N, self.yAx)

    @pk.callback
    def results(self):
        self.told.append(float(self.result))

    @pk.workunit
    def yAx(self, j: int, acc: pk.Acc[pk.double]):
        temp2: float = 0
        for i in range(self.M):
            temp2 += self.A[j][i] * self.x[i]
        acc += self.y[j] * temp2


def run():
    work = Workload(20, 9)
    pk.execute(pk.get_default_space(), work)
    return {"result": work.result, "told": np.array(work.told)}


def reference():
    return {"result": 20 * 9 * 6.0, "told": np.array([1080.0])}
