"""Tables that are filled in the order of their dependences."""

import numpy as np

from tests.jit.programs.program import Program


def edit_distance(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), np.int64)
    table[:, 0] = np.arange(len(a) + 1)
    table[0, :] = np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + cost)
    return table[-1, -1]


def common_subsequence(a, b):
    n, m = a.shape[0], b.shape[0]
    table = np.zeros((n + 1, m + 1), dtype=np.int32)
    for i in range(n):
        for j in range(m):
            if a[i] == b[j]:
                table[i + 1, j + 1] = table[i, j] + 1
            else:
                table[i + 1, j + 1] = max(table[i, j + 1], table[i + 1, j])
    return table


def knapsack(weights, values, capacity):
    best = np.zeros(capacity + 1, np.int64)
    for i in range(weights.shape[0]):
        for c in range(capacity, weights[i] - 1, -1):
            best[c] = max(best[c], best[c - weights[i]] + values[i])
    return best[capacity]


def matrix_chain(sizes):
    n = sizes.shape[0] - 1
    cost = np.zeros((n, n), np.int64)
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            cost[i, j] = 1 << 60
            for k in range(i, j):
                c = cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                if c < cost[i, j]:
                    cost[i, j] = c
    return cost


def base_pairs(sequence):
    n = sequence.shape[0]
    table = np.zeros((n, n), np.int32)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            if j - 1 >= 0:
                table[i, j] = np.maximum(table[i, j], table[i, j - 1])
            if i + 1 < n:
                table[i, j] = np.maximum(table[i, j], table[i + 1, j])
            if i < j - 1:
                pair = 1 if sequence[i] + sequence[j] == 3 else 0
                table[i, j] = np.maximum(table[i, j], table[i + 1, j - 1] + pair)
            for k in range(i + 1, j):
                table[i, j] = np.maximum(table[i, j], table[i, k] + table[k + 1, j])
    return table


def coin_ways(coins, amount):
    ways = np.zeros(amount + 1, np.int64)
    ways[0] = 1
    for coin in coins:
        for total in range(coin, amount + 1):
            ways[total] += ways[total - coin]
    return ways


def pascal(n):
    rows = np.zeros((n, n), np.int64)
    for i in range(n):
        rows[i, 0] = 1
        for j in range(1, i + 1):
            rows[i, j] = rows[i - 1, j - 1] + rows[i - 1, j]
    return rows


def longest_increasing(x):
    n = x.shape[0]
    length = np.ones(n, np.int64)
    for i in range(n):
        for j in range(i):
            if x[j] < x[i] and length[j] + 1 > length[i]:
                length[i] = length[j] + 1
    return length.max()


def viterbi(observed, start, move, emit):
    score = np.log(start) + np.log(emit[:, observed[0]])
    back = np.zeros((observed.shape[0], start.shape[0]), np.int64)
    for t in range(1, observed.shape[0]):
        candidates = score[:, None] + np.log(move)
        back[t] = np.argmax(candidates, axis=0)
        score = np.max(candidates, axis=0) + np.log(emit[:, observed[t]])
    path = np.zeros(observed.shape[0], np.int64)
    path[-1] = np.argmax(score)
    for t in range(observed.shape[0] - 2, -1, -1):
        path[t] = back[t + 1, path[t + 1]]
    return path


def sieve(n):
    prime = np.ones(n + 1, dtype=np.bool_)
    prime[:2] = False
    i = 2
    while i * i <= n:
        if prime[i]:
            prime[i * i :: i] = False
        i += 1
    return prime


def _letters(r, n):
    return r.integers(0, 3, n), r.integers(0, 3, n + 2)


PROGRAMS = (
    Program(edit_distance, _letters),
    Program(common_subsequence, _letters),
    Program(knapsack, lambda r, n: (r.integers(1, 6, n), r.integers(1, 20, n), 2 * n)),
    Program(matrix_chain, lambda r, n: (r.integers(1, 30, n + 1),), (1, 2, 6)),
    Program(base_pairs, lambda r, n: (r.integers(0, 4, n),)),
    Program(coin_ways, lambda r, n: (np.array([1, 5, 10]), 5 * n)),
    Program(pascal, lambda r, n: (n,)),
    Program(longest_increasing, lambda r, n: (r.integers(0, 30, n),), (1, 2, 12)),
    Program(
        viterbi,
        lambda r, n: (
            r.integers(0, 3, n),
            r.random(4) + 0.1,
            r.random((4, 4)) + 0.1,
            r.random((4, 3)) + 0.1,
        ),
        (1, 2, 9),
    ),
    Program(sieve, lambda r, n: (5 * n + 1,)),
)
