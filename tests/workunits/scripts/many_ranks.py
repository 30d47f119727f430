"""Policies of two to six indices, with both orders of iteration."""

import numpy as np

import polygen.compat.pykokkos as pk

SHAPE = (2, 3, 2, 3, 2, 4)


@pk.workunit
def rank2(i: int, j: int, v: pk.View2D[pk.int64]):
    v[i][j] = i + 10 * j


@pk.workunit
def rank3(i: int, j: int, k: int, v: pk.View3D[pk.int64]):
    v[i][j][k] = i + 10 * j + 100 * k


@pk.workunit
def rank4(i: int, j: int, k: int, m: int, v: pk.View4D[pk.int64]):
    v[i][j][k][m] = i + 10 * j + 100 * k + 1000 * m


@pk.workunit
def rank5(i: int, j: int, k: int, m: int, n: int, v: pk.View5D[pk.int64]):
    v[i, j, k, m, n] = i + 10 * j + 100 * k + 1000 * m + 10000 * n


@pk.workunit
def rank6(i: int, j: int, k: int, m: int, n: int, p: int, v: pk.View6D[pk.int64]):
    v[i, j, k, m, n, p] = i + 10 * j + 100 * k + 1000 * m + 10000 * n + 100000 * p


@pk.workunit
def total(i: int, j: int, k: int, m: int, acc: pk.Acc[pk.int64], v: pk.View4D[pk.int64]):
    acc += v[i][j][k][m]


def run():
    found = {}
    for rank, unit in enumerate([rank2, rank3, rank4, rank5, rank6], start=2):
        shape = SHAPE[:rank]
        view = pk.View(shape, pk.int64)
        order = pk.Rank(rank, pk.Iterate.Right, pk.Iterate.Left)
        policy = pk.MDRangePolicy([0] * rank, list(shape), rank=order)
        pk.parallel_for(f"rank {rank}", policy, unit, v=view)
        found[f"rank {rank}"] = view
    four = found["rank 4"]
    found["total"] = pk.parallel_reduce(pk.MDRangePolicy([0] * 4, SHAPE[:4]), total, v=four)
    inner = pk.View(SHAPE[:2], pk.int64)
    pk.parallel_for(pk.MDRangePolicy([1, 1], [2, 3]), rank2, v=inner)
    return {**found, "inner": inner}


def reference():
    found = {}
    for rank in range(2, 7):
        shape = SHAPE[:rank]
        found[f"rank {rank}"] = sum(10**at * index for at, index in enumerate(np.indices(shape)))
    inner = np.zeros(SHAPE[:2], int)
    inner[1:, 1:] = found["rank 2"][1:, 1:]
    return {**found, "total": found["rank 4"].sum(), "inner": inner}
