"""The Parallel Research Kernels' stencil: a star of radius 2, and the norm of what it gives."""

import numpy as np

import polygen.compat.pykokkos as pk

N, R, ITERATIONS = 20, 2, 2


@pk.workload
class Stencil:
    def __init__(self):
        self.inp: pk.View2D[pk.double] = pk.View([N, N], pk.double)
        self.out: pk.View2D[pk.double] = pk.View([N, N], pk.double)
        self.weight: pk.View2D[pk.double] = pk.View([2 * R + 1, 2 * R + 1], pk.double)
        for r in range(1, R + 1):
            self.weight[R][R + r] = self.weight[R + r][R] = 1.0 / (2 * r * R)
            self.weight[R][R - r] = self.weight[R - r][R] = -1.0 / (2 * r * R)
        self.norm = 0.0

    @pk.main
    def run(self):
        everywhere = pk.MDRangePolicy([0, 0], [N, N])
        inside = pk.MDRangePolicy([R, R], [N - R, N - R], [4, 4])
        pk.parallel_for(everywhere, self.init)
        for _ in range(ITERATIONS):
            pk.parallel_for("stencil", inside, self.star)
            pk.parallel_for(everywhere, self.increment)
        self.norm = pk.parallel_reduce(inside, self.norm_of)

    @pk.callback
    def results(self):
        active = (N - 2 * R) ** 2
        self.norm /= active

    @pk.workunit
    def init(self, i: int, j: int):
        self.inp[i][j] = i + j
        self.out[i][j] = 0.0

    @pk.workunit
    def increment(self, i: int, j: int):
        self.inp[i][j] += 1.0

    @pk.workunit
    def star(self, i: int, j: int):
        for r in range(1, R + 1):
            self.out[i][j] += (
                self.weight[R][R + r] * self.inp[i][j + r]
                + self.weight[R][R - r] * self.inp[i][j - r]
                + self.weight[R + r][R] * self.inp[i + r][j]
                + self.weight[R - r][R] * self.inp[i - r][j]
            )

    @pk.workunit
    def norm_of(self, i: int, j: int, acc: pk.Acc[pk.double]):
        acc += abs(self.out[i][j])


def run():
    work = Stencil()
    pk.execute(pk.Default, work)
    return {"norm": work.norm, "inp": work.inp}


def reference():
    inp = np.add.outer(np.arange(float(N)), np.arange(N)) + ITERATIONS
    # Of a plane that rises by 1 in each direction, each r adds 2*r/(2*r*R) for both axes.
    return {"norm": 2.0 * ITERATIONS, "inp": inp}
