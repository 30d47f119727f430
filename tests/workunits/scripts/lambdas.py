"""Lambdas as work units, in a workload and in functions."""

import numpy as np

import polygen.compat.pykokkos as pk

N = 28
X = np.random.default_rng(22).random(N)


@pk.workload
class Norms:
    def __init__(self):
        self.x: pk.View1D[pk.double] = pk.from_numpy(X)
        self.sum: float = 0.0
        self.squares: float = 0.0

    @pk.main
    def run(self):
        self.sum = pk.parallel_reduce("sum", N, lambda i, acc: acc + self.x[i])
        self.squares = pk.parallel_reduce("squares", N, lambda i, acc: acc + self.x[i] * self.x[i])


def run():
    work = Norms()
    pk.execute(pk.Default, work)
    return {"sum": work.sum, "squares": work.squares}


def reference():
    return {"sum": X.sum(), "squares": (X * X).sum()}
