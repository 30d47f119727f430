"""Random walks: each walker draws its steps from a pool, the same ones in every space."""

import numpy as np

import polygen.compat.pykokkos as pk

N, STEPS = 40, 12


@pk.workunit
def walk(i: int, where: pk.View1D[pk.double], least: pk.View1D[pk.double],
         pool: pk.Random_XorShift64_Pool, steps: int):  # fmt: skip
    state: pk.Random = pool.get_state()
    at: float = 0.0
    low: float = 0.0
    for _ in range(steps):
        if state.drand(0.0, 1.0) < 0.5:
            at -= 1.0
        else:
            at += 1.0
        low = min(low, at)
    where[i] = at
    least[i] = low
    pool.free_state(state)


def walked(space):
    where, least = pk.View([N], pk.double), pk.View([N], pk.double)
    pool = pk.Random_XorShift64_Pool(1234)
    pk.parallel_for(
        "walk", pk.RangePolicy(space, 0, N), walk, where=where, least=least, pool=pool, steps=STEPS
    )
    return where, least


def run():
    where, least = walked(pk.Default)
    other, lowest = walked(pk.Debug)
    a = np.asarray(where)
    return {
        "same as in Debug": bool((a == np.asarray(other)).all()),
        "same least": bool((np.asarray(least) == np.asarray(lowest)).all()),
        "even": bool((a % 2 == STEPS % 2).all()),
        "bounded": bool((np.abs(a) <= STEPS).all()),
        "differ": len(set(a)) > 3,
        "least is below": bool((np.asarray(least) <= np.minimum(a, 0)).all()),
    }


def reference():
    names = ("same as in Debug", "same least", "even", "bounded", "differ", "least is below")
    return dict.fromkeys(names, True)
