"""What Python and NumPy allow, a few lines each: names, views, defaults, results, scalars."""

import math

import numpy as np

from tests.jit.programs.program import Program

GRAVITY = 9.81


def chained_assignment(a, b, n):
    x = y = 2.5
    a[:n] = b[:n] = x * y
    a[0:1], b[0:1] = b[-1:], a[-1:] + 1.0
    return x, y


def either_name(a, b, flag):
    if flag > 0:
        chosen = a
    else:
        chosen = b + 1.0
    for _ in range(2):
        chosen = chosen * 0.5
    return chosen


def through_views(a):
    inner = a[1:-1, 1:-1]
    inner += 1.0
    row = inner[0]
    row[:] = -row
    column = a.T[0]
    column *= 2.0
    flat = a[-1]
    flat[::2] = 7.0


def helper_writes(target, source, scale=2.0):
    target[:] = scale * source
    return target.sum(), source.shape[0]


def with_helpers(a, b):
    total, n = helper_writes(a, b)
    again, _ = helper_writes(b[::-1], a, scale=0.5)
    return total - again, n


def divided(n):
    quotients = np.empty((2 * n + 1, 5), np.int64)
    rests = np.empty((2 * n + 1, 5), np.int64)
    for i in range(-n, n + 1):
        for k in range(5):
            d = k - 5
            quotients[i + n, k] = i // d
            rests[i + n, k] = i % d
    return quotients, rests


def shifted(a, k):
    return a << 2, a >> k, a & 12, a | 3, a ^ -1, ~a


def small_types(a, b):
    return a + b, a * b, a - b, -a, a // (b | 1), a > b


def mixed_types(i, f, b, c):
    return i + f, i * b, f + c, i / 2, f * 2, b + b, b & (i > 0), c * 1j, i**2, f // 1.5


def constants_of_math(x):
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        out[i] = math.sin(x[i]) + math.pi * math.floor(x[i]) + GRAVITY + float("inf") * 0
        out[i] = math.exp(-x[i]) + math.atan2(x[i], 2.0) + math.e if x[i] > 0.5 else x[i] ** 3
    return out


def and_or_not(a, low, high):
    inside = np.zeros(a.shape[0], dtype=bool)
    for i in range(a.shape[0]):
        inside[i] = (low <= a[i] < high) and not (a[i] == 3 or i % 3 == 1)
    return inside


def early_return(a, limit):
    total = 0
    for i in range(a.shape[0]):
        total += a[i]
        if total > limit:
            return i, total
    return -1, total


def loop_name_afterwards(a):
    last = -1
    i = -5
    for i in range(0, a.shape[0], 3):
        if a[i] > 0:
            last = i
    return i, last


def negative_subscripts(a, b):
    for i in range(a.shape[0]):
        a[-i - 1] = b[i] + a[-1] * 0.5
        b[i - 1] += 1.0


def overlapping(a):
    a[1:] = a[:-1] + 1.0
    a[:-1] *= a[1:]
    a[::-1] += a


def growing_temporaries(a):
    out = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        part = a[: i + 1] * 2.0
        doubled = part + part[::-1]
        out[i] = doubled.max() - doubled.min()
    return out


def counted_down(a):
    for i in range(a.shape[0] - 1, 0, -2):
        a[i] += a[i - 1]
    for j in range(10, -10, -7):
        a[0] += j


def clipped_slices(a, n):
    a[: n + 100] += 1.0
    a[n + 3 :] = 5.0
    a[-100:2] *= 3.0
    return a[n:0].shape[0], len(a[2:-2])


def stacked(a, b):
    return np.hstack((a, b)), np.vstack((a, b)), np.concatenate((a, b, a)), np.stack((a, b), 1)


def padded(a):
    out = np.pad(a, 1)
    out[1:-1, 1:-1] += 1.0
    return out


def created(n):
    return (
        np.linspace(0.0, 1.0, n),
        np.arange(1, 2 * n, 3),
        np.arange(n, dtype=np.float32) / 4,
        np.eye(n),
        np.triu(np.ones((n, n + 1)), 1),
        np.full((2, n), 7),
        np.identity(n, dtype=np.int32),
    )


def reshaped(a):
    b = a.reshape(a.shape[0], 1, a.shape[1])
    return a.ravel() * 2, b + np.ones((1, 3, 1)), a.T.copy(), a.flatten()[::-1]


def gathered(a, where, mask):
    picked = a[where]
    picked[where % 2 == 0] = -1.0
    a[where] = 3.0
    return picked, np.where(mask, a, 0.0).sum(), a[mask].sum()


def whiles(n):
    steps = 0
    odd = 0
    while True:
        if n <= 1:
            break
        steps += 1
        if n % 2:
            odd += 1
            n = 3 * n + 1
            continue
        n //= 2
    return steps, odd


def nothing_read(a):
    unused = a * 2.0
    _ = unused


def rounding(a):
    return np.floor(a), np.ceil(a), np.rint(a), np.trunc(a), a.astype(np.int64), np.sign(a)


def not_numbers(a):
    return np.isnan(a), np.nan_to_num(a), np.maximum(a, 0.0), np.fmax(a, 0.0), a != a


def any_and_all(a):
    return a.any(), a.all(), np.any(a, axis=0), np.all(a, axis=1), a.sum(), a.prod()


def annotated(a: np.ndarray, times: int = 2) -> float:
    """Has a docstring, annotations and a default."""
    total: float = 0.0
    for _ in range(times):
        total += a.sum()
    return total


def scalars_only(n, x):
    total = 0.0
    sign = 1
    for k in range(n):
        total += sign * x ** (2 * k + 1) / math.factorial(5)
        sign = -sign
    return total, sign, n / 2, n // 2, -n % 7, abs(-n), round(x), int(x * 10), divmod(n, 3)


def einsums(a, b):
    return np.einsum("ij,jk->ik", a, b), np.tensordot(a, b, axes=([1], [0])), np.inner(a, a)


def deltas(a):
    return np.diff(a), a[1:] - a[:-1], np.cumsum(a)[::-1], np.cumprod(a)


PROGRAMS = (
    Program(chained_assignment, lambda r, n: (r.random(n), r.random(n), n // 2), (1, 2, 7)),
    Program(either_name, lambda r, n: (r.random(n), r.random(n), n - 3)),
    Program(through_views, lambda r, n: (r.random((n, n + 1)),), (3, 7)),
    Program(with_helpers, lambda r, n: (r.random(n), r.random(n))),
    Program(divided, lambda r, n: (n,)),
    Program(shifted, lambda r, n: (r.integers(-99, 99, n), 3)),
    Program(
        small_types,
        lambda r, n: (r.integers(-128, 128, n, np.int8), r.integers(-128, 128, n, np.int8)),
    ),
    Program(
        mixed_types,
        lambda r, n: (
            r.integers(-9, 9, n, np.int32),
            r.random(n, np.float32),
            r.random(n) < 0.5,
            (r.random(n) + 1j * r.random(n)).astype(np.complex64),
        ),
    ),
    Program(constants_of_math, lambda r, n: (r.random(n),)),
    Program(and_or_not, lambda r, n: (r.integers(0, 9, n), 1, 6)),
    Program(early_return, lambda r, n: (r.integers(0, 9, n), 20)),
    Program(loop_name_afterwards, lambda r, n: (r.standard_normal(n),)),
    Program(negative_subscripts, lambda r, n: (r.random(n), r.random(n))),
    Program(overlapping, lambda r, n: (r.random(n),)),
    Program(growing_temporaries, lambda r, n: (r.random(n),)),
    Program(counted_down, lambda r, n: (r.random(n),), (1, 2, 7, 12)),
    Program(clipped_slices, lambda r, n: (r.random(n), n)),
    Program(stacked, lambda r, n: (r.random(n), r.random(n))),
    Program(padded, lambda r, n: (r.random((n, n + 1)),)),
    Program(created, lambda r, n: (n,)),
    Program(reshaped, lambda r, n: (r.random((n, n + 1)),)),
    Program(gathered, lambda r, n: (r.random(n), r.integers(0, max(n, 1), n), r.random(n) < 0.5)),
    Program(whiles, lambda r, n: (n,)),
    Program(nothing_read, lambda r, n: (r.random(n),)),
    Program(rounding, lambda r, n: (r.uniform(-3, 3, n),)),
    Program(not_numbers, lambda r, n: (np.where(r.random(n) < 0.3, np.nan, r.random(n) - 0.5),)),
    Program(any_and_all, lambda r, n: (r.integers(0, 2, (n, n + 1)),)),
    Program(annotated, lambda r, n: (r.random(n),)),
    Program(
        scalars_only,
        lambda r, n: (n, 0.37),
        stays_python=("an exponent that is no constant",),
    ),
    Program(einsums, lambda r, n: (r.random((n, n + 1)), r.random((n + 1, n + 2)))),
    Program(deltas, lambda r, n: (r.random(n),), (1, 2, 9)),
)
