"""A histogram by atomic updates, and by a view whose trait makes updates atomic."""

import numpy as np

import polygen.compat.pykokkos as pk

N, BINS = 300, 16
X = np.random.default_rng(13).random(N)


@pk.workunit
def by_increments(i: int, x: pk.View1D[pk.double], counts: pk.View1D[pk.int32], bins: int):
    at: int = int(x[i] * bins)
    pk.atomic_increment(counts, [at])


@pk.workunit
def by_trait(i: int, x: pk.View1D[pk.double], counts: pk.View1D[pk.int32], bins: int):
    counts[int(x[i] * bins)] += 1


@pk.workunit
def greatest(i: int, x: pk.View1D[pk.double], most: pk.View1D[pk.double], bins: int):
    pk.atomic_fetch_max(most, [int(x[i] * bins)], x[i])


def run():
    x = pk.from_numpy(X)
    counts = pk.View([BINS], pk.int32)
    traited = pk.View([BINS], pk.int32, trait=pk.Trait.Atomic)
    most = pk.View([BINS], pk.double)
    policy = pk.RangePolicy(pk.Default, 0, N)
    pk.parallel_for(policy, by_increments, x=x, counts=counts, bins=BINS)
    pk.parallel_for(policy, by_trait, x=x, counts=traited, bins=BINS)
    pk.parallel_for(policy, greatest, x=x, most=most, bins=BINS)
    return {"counts": counts, "traited": traited, "most": most}


def reference():
    counts, _ = np.histogram(X, BINS, (0, 1))
    most = [X[(X * BINS).astype(int) == at].max(initial=0.0) for at in range(BINS)]
    return {"counts": counts, "traited": counts, "most": np.array(most)}
