"""Random updates: places are computed from a list of indices, and updates may meet."""

import numpy as np

import polygen.compat.pykokkos as pk

N, UPDATES = 64, 200
INDICES = np.random.default_rng(3).integers(0, N, UPDATES)


@pk.workunit
def by_atomics(i: int, data: pk.View1D[pk.int64], indices: pk.View1D[pk.int64], datum: pk.int64):
    pk.atomic_fetch_xor(data, [indices[i]], datum)


@pk.workunit
def counted(i: int, data: pk.View1D[pk.int64], indices: pk.View1D[pk.int64]):
    pk.atomic_add(data, [indices[i]], 1)


def run():
    data, counts = pk.View([N], pk.int64), pk.View([N], pk.int64)
    indices = pk.from_numpy(INDICES)
    pk.parallel_for("gups", UPDATES, by_atomics, data=data, indices=indices, datum=1023)
    pk.parallel_for(UPDATES, counted, data=counts, indices=indices)
    return {"data": data, "counts": counts}


def reference():
    counts = np.bincount(INDICES, minlength=N)
    return {"data": np.where(counts % 2 == 1, 1023, 0), "counts": counts}
