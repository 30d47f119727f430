"""Breadth-first search, a level at a time: each vertex looks for a parent that was reached."""

import numpy as np

import polygen.compat.pykokkos as pk

N = 40
RNG = np.random.default_rng(12)
EDGES = RNG.integers(0, N, (50, 2))
ADJACENT = np.zeros((N, N), bool)
ADJACENT[EDGES[:, 0], EDGES[:, 1]] = ADJACENT[EDGES[:, 1], EDGES[:, 0]] = True
OFFSETS = np.concatenate([[0], np.cumsum(ADJACENT.sum(axis=1))])
TARGETS = np.concatenate([np.flatnonzero(row) for row in ADJACENT])


@pk.workunit
def bottom_up(v: int, reached: pk.Acc[pk.int64], offsets: pk.View1D[pk.int64],
              targets: pk.View1D[pk.int64], level: pk.View1D[pk.int32],
              new: pk.View1D[pk.int32], depth: int):  # fmt: skip
    new[v] = level[v]
    if level[v] < 0:
        found: int = 0
        for e in range(offsets[v], offsets[v + 1]):
            if level[targets[e]] == depth:
                found = 1
        if found == 1:
            new[v] = depth + 1
            reached += 1


def run():
    level, new = pk.View([N], pk.int32), pk.View([N], pk.int32)
    offsets, targets = pk.from_numpy(OFFSETS), pk.from_numpy(TARGETS)
    level.fill(-1)
    level[0] = 0
    depth, count = 0, 1
    while True:
        found = pk.parallel_reduce(
            "bfs", N, bottom_up, offsets=offsets, targets=targets, level=level, new=new,
            depth=depth,
        )  # fmt: skip
        level, new = new, level
        if found == 0:
            break
        count += found
        depth += 1
    return {"level": level, "count": count}


def reference():
    level = np.full(N, -1)
    level[0] = 0
    front, depth = [0], 0
    while front:
        depth += 1
        front = [w for v in front for w in np.flatnonzero(ADJACENT[v])]
        front = sorted({int(w) for w in front if level[w] < 0})
        level[front] = depth
    return {"level": level, "count": (level >= 0).sum()}
