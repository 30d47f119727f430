"""Paths, ranks and sparse matrices: subscripts that data decides."""

import numpy as np

from tests.jit.programs.program import Program


def all_pairs(path):
    for k in range(path.shape[0]):
        path[:] = np.minimum(path, np.add.outer(path[:, k], path[k, :]))


def all_pairs_loops(path):
    n = path.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                path[i, j] = min(path[i, j], path[i, k] + path[k, j])


def sparse_product(starts, columns, values, x):
    y = np.zeros(starts.size - 1, values.dtype)
    for i in range(starts.size - 1):
        for k in range(starts[i], starts[i + 1]):
            y[i] += values[k] * x[columns[k]]
    return y


def sparse_rows(starts, columns, values, x):
    y = np.empty(starts.size - 1, values.dtype)
    for i in range(starts.size - 1):
        mine = columns[starts[i] : starts[i + 1]]
        y[i] = values[starts[i] : starts[i + 1]] @ x[mine]
    return y


def page_rank(sources, targets, degrees, steps):
    n = degrees.shape[0]
    rank = np.full(n, 1.0 / n)
    for _ in range(steps):
        new = np.full(n, 0.15 / n)
        for e in range(sources.shape[0]):
            new[targets[e]] += 0.85 * rank[sources[e]] / degrees[sources[e]]
        rank = new
    return rank


def bellman_ford(sources, targets, weights, n):
    distance = np.full(n, np.inf)
    distance[0] = 0.0
    for _ in range(n - 1):
        changed = False
        for e in range(sources.shape[0]):
            candidate = distance[sources[e]] + weights[e]
            if candidate < distance[targets[e]]:
                distance[targets[e]] = candidate
                changed = True
        if not changed:
            break
    return distance


def connected_components(adjacency):
    n = adjacency.shape[0]
    labels = np.arange(n)
    changed = True
    while changed:
        changed = False
        for i in range(n):
            for j in range(n):
                if adjacency[i, j] and labels[j] < labels[i]:
                    labels[i] = labels[j]
                    changed = True
    return labels


def degrees_of(adjacency):
    return adjacency.sum(axis=0), np.count_nonzero(adjacency, axis=1)


def triangles(adjacency):
    count = 0
    n = adjacency.shape[0]
    for i in range(n):
        for j in range(i):
            if not adjacency[i, j]:
                continue
            for k in range(j):
                if adjacency[i, k] and adjacency[j, k]:
                    count += 1
    return count


def pointer_jumping(parent):
    for i in range(parent.shape[0]):
        root = i
        while parent[root] != root:
            root = parent[root]
        parent[i] = root


def _rows(r, n):
    counts = r.integers(0, 4, n)
    starts = np.zeros(n + 1, np.int64)
    starts[1:] = np.cumsum(counts)
    total = int(starts[-1])
    return starts, r.integers(0, n + 1, total), r.random(total), r.random(n + 1)


def _edges(r, n):
    return r.integers(0, n, 3 * n), r.integers(0, n, 3 * n)


def _relation(r, n):
    half = r.random((n, n)) < 0.25
    return (half | half.T,)


PROGRAMS = (
    Program(all_pairs, lambda r, n: (r.integers(1, 50, (n, n)),)),
    Program(all_pairs_loops, lambda r, n: (r.integers(1, 50, (n, n)),)),
    Program(sparse_product, _rows),
    Program(sparse_rows, _rows),
    Program(page_rank, lambda r, n: (*_edges(r, n), r.integers(1, 4, n), 3), (1, 2, 9)),
    Program(bellman_ford, lambda r, n: (*_edges(r, n), r.random(3 * n), n), (1, 2, 9)),
    Program(connected_components, _relation),
    Program(degrees_of, _relation),
    Program(triangles, _relation),
    Program(
        pointer_jumping,
        lambda r, n: (np.maximum(np.arange(n) - r.integers(0, 3, n), 0),),
    ),
)
