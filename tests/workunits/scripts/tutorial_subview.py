"""The tutorial's exercise on subviews: each row of a matrix is a view of its own."""

import numpy as np

import polygen.compat.pykokkos as pk

N, M = 12, 16


@pk.workload
class Workload:
    def __init__(self):
        self.y: pk.View1D[pk.double] = pk.View([N], pk.double)
        self.x: pk.View1D[pk.double] = pk.View([M], pk.double)
        self.A: pk.View2D[pk.double] = pk.View([N, M], pk.double)
        self.y.fill(2)
        self.x.fill(1)
        for i in range(N):
            self.A[i].fill(i)
        self.result = 0.0
        self.row = 0.0

    @pk.main
    def run(self):
        self.result = pk.parallel_reduce("yAx", N, self.yAx)
        self.row = pk.parallel_reduce("row", M, total, row=self.A[3, :])

    @pk.workunit
    def yAx(self, j: int, acc: pk.Acc[pk.double]):
        row = self.A[j, :]
        temp2: float = 0
        for i in range(M):
            temp2 += row[i] * self.x[i]
        acc += self.y[j] * temp2


@pk.workunit
def total(i: int, acc: pk.Acc[pk.double], row: pk.View1D[pk.double]):
    acc += row[i]


def run():
    work = Workload()
    pk.execute(pk.Default, work)
    return {"result": work.result, "row": work.row}


def reference():
    return {"result": 2.0 * M * np.arange(N).sum(), "row": 3.0 * M}
