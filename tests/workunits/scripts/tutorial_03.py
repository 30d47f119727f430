"""The tutorial's third exercise: a functor whose methods are work units, with a range policy."""

import numpy as np

import polygen.compat.pykokkos as pk


@pk.functor
class Functor:
    def __init__(self, n: int, m: int):
        self.N: int = n
        self.M: int = m
        self.y: pk.View1D[pk.double] = pk.View([n], pk.double)
        self.x: pk.View1D[pk.double] = pk.View([m], pk.double)
        self.A: pk.View2D[pk.double] = pk.View([n, m], pk.double)

    @pk.workunit
    def y_init(self, i: int):
        self.y[i] = 1

    @pk.workunit
    def x_init(self, i: int):
        self.x[i] = 0.5 * i

    @pk.workunit
    def matrix_init(self, j: int):
        for i in range(self.M):
            self.A[j][i] = 1

    @pk.workunit
    def yAx(self, j: int, acc: pk.Acc[float]):
        temp2: float = 0
        for i in range(self.M):
            temp2 += self.A[j][i] * self.x[i]
        acc += self.y[j] * temp2


def run():
    work = Functor(30, 11)
    n_policy = pk.RangePolicy(pk.Default, 0, work.N)
    m_policy = pk.RangePolicy(pk.Default, 0, work.M)
    pk.parallel_for(n_policy, work.y_init)
    pk.parallel_for(m_policy, work.x_init)
    pk.parallel_for(n_policy, work.matrix_init)
    return {"result": pk.parallel_reduce(n_policy, work.yAx), "x": work.x}


def reference():
    x = 0.5 * np.arange(11)
    return {"result": 30 * x.sum(), "x": x}
