"""Sorting, searching, numbers: nests of loops that data ends, with scalars that change places."""

import math

import numpy as np

from tests.jit.programs.program import Program


def heap_sort(a):
    n = len(a)
    for start in range(n // 2 - 1, -1, -1):
        sift(a, start, n)
    for end in range(n - 1, 0, -1):
        a[0], a[end] = a[end], a[0]
        sift(a, 0, end)


def sift(a, root, n):
    while 2 * root + 1 < n:
        child = 2 * root + 1
        if child + 1 < n and a[child] < a[child + 1]:
            child += 1
        if a[root] >= a[child]:
            break
        a[root], a[child] = a[child], a[root]
        root = child


def radix_sort(a):
    out = a.copy()
    for shift in range(0, 12, 4):
        counts = np.zeros(17, dtype=np.int64)
        for x in out:
            counts[((x >> shift) & 15) + 1] += 1
        for k in range(16):
            counts[k + 1] += counts[k]
        new = np.empty_like(out)
        for x in out:
            digit = (x >> shift) & 15
            new[counts[digit]] = x
            counts[digit] += 1
        out = new
    return out


def crc16(data, poly=0x8408):
    crc = 0xFFFF
    for b in data:
        byte = 0xFF & b
        for _ in range(8):
            if (crc & 1) ^ (byte & 1):
                crc = (crc >> 1) ^ poly
            else:
                crc >>= 1
            byte >>= 1
    return ~crc & 0xFFFF


def alignment(a, b):
    scores = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    best, where = 0, (0, 0)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            same = 2 if a[i - 1] == b[j - 1] else -1
            scores[i, j] = max(
                0, scores[i - 1, j - 1] + same, scores[i - 1, j] - 1, scores[i, j - 1] - 1
            )
            if scores[i, j] > best:
                best = scores[i, j]
                where = (i, j)
    return scores, where


def primes_by_division(n):
    total = 0
    for i in range(2, n):
        for j in range(2, i):
            if i % j == 0:
                break
        else:
            total += i
    return total


def numbers_of_pairs(n):
    out = np.zeros((n, n), dtype=np.int64)
    for i in range(n):
        for j in range(n):
            out[i, j] = math.gcd(i - 3, 2 * j) + math.lcm(i, j) + math.isqrt(1000 * i * j)
    return out


def gray_codes(out, bits):
    for i in range(len(out)):
        code = i ^ (i >> 1)
        ones = 0
        for k in range(bits):
            ones += (code >> k) & 1
        out[i] = (1 << ones) * 3 ** (i % 4) + code


def with_nested_functions(a, k):
    def scaled(x, by=k):
        a[0] += 1
        return x * by + k

    square = lambda x: x * x  # noqa: E731
    total = 0.0
    for i in range(len(a)):
        total += scaled(i / 2)
        total += scaled(by=2.0, x=square(i))
        total += square(a[i])
    k = 7
    for i in range(len(a)):
        total += scaled(i)
    return total


def _two_texts(r, n):
    return r.integers(0, 4, n), r.integers(0, 4, n + 1)


PROGRAMS = (
    Program(heap_sort, lambda r, n: (r.random(n),)),
    Program(radix_sort, lambda r, n: (r.integers(0, 4096, n),)),
    Program(crc16, lambda r, n: (r.integers(0, 256, n).astype(np.uint8),)),
    Program(alignment, _two_texts),
    Program(primes_by_division, lambda _, n: (3 * n,), (1, 2, 12)),
    Program(numbers_of_pairs, lambda _, n: (n,)),
    Program(gray_codes, lambda _, n: (np.zeros(2**n, np.int64), n), (0, 1, 6)),
    Program(with_nested_functions, lambda r, n: (r.random(n + 1), 2.0)),
)
