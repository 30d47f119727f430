"""Views that grow and shrink between dispatches, and change their precision."""

import numpy as np

import polygen.compat.pykokkos as pk


@pk.workunit
def counted(i: int, v: pk.View1D[pk.double]):
    v[i] = v[i] + i


@pk.workunit
def summed(i: int, acc: pk.Acc[pk.double], v: pk.View1D[pk.double]):
    acc += v[i]


@pk.functor
class Growing:
    def __init__(self):
        self.v: pk.View2D[pk.double] = pk.View([2, 3], pk.double)

    @pk.workunit
    def add(self, i: int, j: int):
        self.v[i][j] += 1.0


def run():
    v = pk.View([4], pk.double)
    sums = []
    for extent in (4, 9, 2, 6):
        v.resize(0, extent)
        pk.parallel_for(v.extent(0), counted, v=v)
        sums.append(float(pk.parallel_reduce(v.extent(0), summed, v=v)))
    work = Growing()
    for extent in (3, 5, 1):
        work.v.resize(1, extent)
        pk.parallel_for(pk.MDRangePolicy([0, 0], [2, extent]), work.add)
    v.set_precision(pk.float32)
    pk.parallel_for(v.extent(0), counted, v=v)
    return {"sums": np.array(sums), "v": v, "is single": v.dtype == np.float32, "grown": work.v}


def reference():
    v, sums = np.zeros(4), []
    for extent in (4, 9, 2, 6):
        v = np.concatenate([v[:extent], np.zeros(max(0, extent - len(v)))])
        v = v + np.arange(extent)
        sums.append(v.sum())
    v = (v + np.arange(6)).astype(np.float32)
    return {"sums": np.array(sums), "v": v, "is single": True, "grown": np.full((2, 1), 3.0)}
