"""Particles are sorted by the bins of their positions, and so is what they carry."""

import numpy as np

import polygen.compat.pykokkos as pk

N, BINS = 50, 7
RNG = np.random.default_rng(15)
KEYS, CHARGES = RNG.random(N) * 3.0, RNG.random(N)


@pk.workunit
def charge_of_bin(b: int, offsets: pk.View1D[pk.int64], counts: pk.View1D[pk.int64],
                  charges: pk.View1D[pk.double], out: pk.View1D[pk.double]):  # fmt: skip
    total: float = 0.0
    for i in range(offsets[b], offsets[b] + counts[b]):
        total += charges[i]
    out[b] = total


def run():
    keys, charges = pk.from_numpy(KEYS.copy()), pk.from_numpy(CHARGES.copy())
    sorting = pk.BinSort(keys, pk.BinOp1D(keys, BINS, 0.0, 3.0), True)
    sorting.create_permute_vector()
    sorting.sort(keys)
    sorting.sort(charges)
    out = pk.View([BINS], pk.double)
    pk.parallel_for(
        BINS, charge_of_bin, offsets=sorting.get_bin_offsets(), counts=sorting.get_bin_count(),
        charges=charges, out=out,
    )  # fmt: skip
    return {"keys": keys, "charges": charges, "out": out}


def reference():
    order = np.argsort(KEYS, kind="stable")
    bins = (KEYS / 3.0 * BINS).astype(int)
    return {
        "keys": KEYS[order],
        "charges": CHARGES[order],
        "out": np.bincount(bins, CHARGES, BINS),
    }
