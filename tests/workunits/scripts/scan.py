"""Scans: inclusive, exclusive, as a method, and as what compaction needs."""

import numpy as np

import polygen.compat.pykokkos as pk

N = 33
X = np.random.default_rng(19).integers(-5, 6, N)


@pk.workunit
def inclusive(i: int, acc: pk.Acc[pk.int64], last_pass: bool, x: pk.View1D[pk.int64],
              out: pk.View1D[pk.int64]):  # fmt: skip
    acc += x[i]
    if last_pass:
        out[i] = acc


@pk.workunit
def exclusive(i: int, acc: pk.Acc[pk.int64], last_pass: bool, x: pk.View1D[pk.int64],
              out: pk.View1D[pk.int64]):  # fmt: skip
    if last_pass:
        out[i] = acc
    acc += x[i]


@pk.functor
class Compaction:
    def __init__(self, x):
        self.x: pk.View1D[pk.int64] = x
        self.out: pk.View1D[pk.int64] = pk.View([N], pk.int64)

    @pk.workunit
    def positive(self, i: int, acc: pk.Acc[pk.int64], last_pass: bool):
        if self.x[i] > 0:
            if last_pass:
                self.out[acc] = self.x[i]
            acc += 1


def run():
    x = pk.from_numpy(X)
    one, two = pk.View([N], pk.int64), pk.View([N], pk.int64)
    total = pk.parallel_scan("inclusive", N, inclusive, x=x, out=one)
    pk.parallel_scan(pk.RangePolicy(pk.Default, 0, N), exclusive, x=x, out=two)
    work = Compaction(x)
    count = pk.parallel_scan("compaction", N, work.positive)
    return {"total": total, "one": one, "two": two, "count": count, "out": work.out}


def reference():
    kept = X[X > 0]
    out = np.zeros(N, int)
    out[: len(kept)] = kept
    return {
        "total": X.sum(),
        "one": np.cumsum(X),
        "two": np.cumsum(X) - X,
        "count": len(kept),
        "out": out,
    }
