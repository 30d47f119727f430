"""Names that only PyKokkos has: types, devices, memory, instances of spaces, ufuncs."""

import numpy as np

import polygen.compat.pykokkos as pk

N = 20


@pk.workunit(x=pk.ViewTypeInfo(space=pk.HostSpace))
def halves(i: int, x: pk.View1D[pk.float], is_even: pk.View1D[pk.bool], by: pk.double):
    x[i] = i * by
    is_even[i] = i % 2 == 0


@pk.workunit
def weighted(i: int, acc: pk.Acc[pk.double], x: pk.View1D[pk.float], weights):
    for k in range(3):
        acc += weights[k] * x[i]


@pk.workunit
def counted(i: int, team_acc: pk.Acc[pk.int64], x: pk.View1D[pk.float]):
    count: int = 0

    def inner(j: int):
        nonlocal count
        count += 1

    for j in range(2):
        inner(j)
    team_acc += count


def run():
    pk.initialize()
    pk.set_device_id(0)
    x, is_even = pk.View([N], pk.DataType.float), pk.View([N], pk.bool)
    space = pk.get_default_space()
    one = pk.ExecutionSpaceInstance(space, 1 if pk.is_host_execution_space(space) else None)
    two = pk.ExecutionSpaceInstance(space)
    pk.parallel_for(pk.RangePolicy(one, 0, N // 2), halves, x=x, is_even=is_even, by=0.5)
    pk.parallel_for(pk.RangePolicy(two, N // 2, N), halves, x=x, is_even=is_even, by=0.5)
    total = pk.parallel_reduce(N, weighted, x=x, weights=[1.0, 2.0, 0.5])
    found = {
        "x": x,
        "even": is_even,
        "total": total,
        "count": pk.parallel_reduce(N, counted, x=x),
        "in1d": pk.in1d(x, pk.array([1.0, 2.5])),
        "unique": pk.unique(pk.array([3.0, 1.0, 3.0])),
        "place": pk.searchsorted(x, 4.2),
        "variance": pk.var(pk.asarray([1.0, 2.0, 4.0])),
        "most": pk.argmax(x),
        "stacked": pk.hstack([x, x]),
        "logarithmic": pk.logspace(0, 2, 3),
        "host": pk.is_host_execution_space(pk.OpenMP),
    }
    pk.finalize()
    return found


def reference():
    x = 0.5 * np.arange(N, dtype=np.float32)
    return {
        "x": x,
        "even": np.arange(N) % 2 == 0,
        "total": 3.5 * x.sum(),
        "count": 2 * N,
        "in1d": (x == 1) | (x == 2.5),
        "unique": np.array([1.0, 3.0]),
        "place": 9,
        "variance": np.var([1.0, 2.0, 4.0]),
        "most": N - 1,
        "stacked": np.concatenate([x, x]),
        "logarithmic": np.array([1.0, 10.0, 100.0]),
        "host": True,
    }
