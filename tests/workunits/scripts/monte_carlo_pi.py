"""Pi by random points: draws from a pool, hits are added up."""

import polygen.compat.pykokkos as pk

N, DRAWS = 400, 5


@pk.workunit
def hits(i: int, acc: pk.Acc[pk.int64], pool: pk.Random_XorShift64_Pool, draws: int):
    state: pk.Random = pool.get_state()
    for _ in range(draws):
        x: float = state.drand(0.0, 1.0)
        y: float = state.drand(0.0, 1.0)
        if x * x + y * y <= 1.0:
            acc += 1
    pool.free_state(state)


def counted(space):
    pool = pk.Random_XorShift64_Pool(42)
    return pk.parallel_reduce("pi", pk.RangePolicy(space, 0, N), hits, pool=pool, draws=DRAWS)


def run():
    found = int(counted(pk.Default))
    pi = 4.0 * found / (N * DRAWS)
    # Of 2000 draws, the deviation is 4*sqrt(p*(1-p)/2000) = 0.037; here, within four of them.
    return {"same as in Debug": found == int(counted(pk.Debug)), "near": abs(pi - 3.14159) < 0.15}


def reference():
    return {"same as in Debug": True, "near": True}
