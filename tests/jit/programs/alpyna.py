"""The twelve benchmarks of ALPyNA by name: loops over elements, without annotations."""

import math

import numpy as np

from tests.jit.programs.program import Program


def normal_cdf(d):
    k = 1.0 / (1.0 + 0.2316419 * math.fabs(d))
    tail = (
        0.3989422804014327
        * math.exp(-0.5 * d * d)
        * (k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * -1.821255978))))
    )
    if d > 0:
        return 1.0 - tail
    return tail


def black_scholes(call, put, price, strike, years, riskfree, volatility):
    for i in range(price.shape[0]):
        root = math.sqrt(years[i])
        d1 = math.log(price[i] / strike[i]) + (riskfree + 0.5 * volatility**2) * years[i]
        d1 = d1 / (volatility * root)
        d2 = d1 - volatility * root
        discounted = strike[i] * math.exp(-riskfree * years[i])
        call[i] = price[i] * normal_cdf(d1) - discounted * normal_cdf(d2)
        put[i] = discounted * (1.0 - normal_cdf(d2)) - price[i] * (1.0 - normal_cdf(d1))


def conv_2d(image, mask, out):
    rows, columns = image.shape
    height, width = mask.shape
    for i in range(rows - height + 1):
        for j in range(columns - width + 1):
            total = 0.0
            for k in range(height):
                for m in range(width):
                    total += image[i + k, j + m] * mask[k, m]
            out[i, j] = total


def conway(board, following):
    rows, columns = board.shape
    for i in range(rows):
        for j in range(columns):
            alive = 0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    if di != 0 or dj != 0:
                        alive += board[(i + di) % rows, (j + dj) % columns]
            if board[i, j] == 1 and (alive < 2 or alive > 3):
                following[i, j] = 0
            elif board[i, j] == 0 and alive == 3:
                following[i, j] = 1
            else:
                following[i, j] = board[i, j]


def gemm(alpha, beta, c, a, b):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[i, j] *= beta
            for k in range(a.shape[1]):
                c[i, j] += alpha * a[i, k] * b[k, j]


def gemver(alpha, beta, a, u1, v1, u2, v2, w, x, y, z):
    n = a.shape[0]
    for i in range(n):
        for j in range(n):
            a[i, j] = a[i, j] + u1[i] * v1[j] + u2[i] * v2[j]
    for i in range(n):
        for j in range(n):
            x[i] = x[i] + beta * a[j, i] * y[j]
    for i in range(n):
        x[i] = x[i] + z[i]
    for i in range(n):
        for j in range(n):
            w[i] = w[i] + alpha * a[i, j] * x[j]


def syr2k(alpha, beta, c, a, b):
    n, m = a.shape
    for i in range(n):
        for j in range(i + 1):
            c[i, j] *= beta
        for k in range(m):
            for j in range(i + 1):
                c[i, j] += a[j, k] * alpha * b[i, k] + b[j, k] * alpha * a[i, k]


def hilbert(out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = 1 / (i + j + 1)


def jacobi(steps, a, b):
    n = a.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i - 1, j] + a[i + 1, j])
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                a[i, j] = b[i, j]


def mandelbrot(counts, left, right, bottom, top, most):
    rows, columns = counts.shape
    for i in range(rows):
        y = bottom + (top - bottom) * i / rows
        for j in range(columns):
            x = left + (right - left) * j / columns
            re = 0.0
            im = 0.0
            counts[i, j] = most
            for k in range(most):
                re, im = re * re - im * im + x, 2.0 * re * im + y
                if re * re + im * im > 4.0:
                    counts[i, j] = k
                    break


def saxpy(alpha, x, y):
    for i in range(x.shape[0]):
        y[i] = alpha * x[i] + y[i]


def vadd(a, b, c):
    for i in range(len(a)):
        c[i] = a[i] + b[i]


def fbcorr(images, filters, out):
    count, height, width, depth = images.shape
    kinds, rows, columns, _ = filters.shape
    for image in range(count):
        for kind in range(kinds):
            for i in range(height - rows + 1):
                for j in range(width - columns + 1):
                    total = 0.0
                    for k in range(rows):
                        for m in range(columns):
                            for d in range(depth):
                                total += images[image, i + k, j + m, d] * filters[kind, k, m, d]
                    out[image, kind, i, j] = total


def _market(rng, n):
    price, strike, years = rng.uniform(5, 30, n), rng.uniform(1, 100, n), rng.uniform(0.25, 10, n)
    return np.zeros(n), np.zeros(n), price, strike, years, 0.02, 0.3


def _gemver(rng, n):
    vectors = [rng.random(n) for _ in range(8)]
    return 1.5, 1.2, rng.random((n, n)), *vectors


PROGRAMS = (
    Program(black_scholes, _market),
    Program(conv_2d, lambda r, n: (r.random((n + 2, n + 4)), r.random((3, 5)), np.zeros((n, n)))),
    Program(conway, lambda r, n: (r.integers(0, 2, (n, n + 1)), np.zeros((n, n + 1), np.int64))),
    Program(
        gemm,
        lambda r, n: (
            1.5,
            0.5,
            r.random((n, n + 1)),
            r.random((n, n + 2)),
            r.random((n + 2, n + 1)),
        ),
    ),
    Program(gemver, _gemver),
    Program(
        syr2k, lambda r, n: (1.5, 0.5, r.random((n, n)), r.random((n, n + 3)), r.random((n, n + 3)))
    ),
    Program(hilbert, lambda r, n: (np.zeros((n, n + 1)),)),
    Program(jacobi, lambda r, n: (3, r.random((n, n)), np.zeros((n, n)))),
    Program(mandelbrot, lambda r, n: (np.zeros((n, n + 1), np.int64), -2.0, 0.5, -1.1, 1.1, 20)),
    Program(
        saxpy, lambda r, n: (np.float32(1.5), r.random(n, np.float32), r.random(n, np.float32))
    ),
    Program(vadd, lambda r, n: (r.random(n), r.random(n), np.zeros(n))),
    Program(
        fbcorr,
        lambda r, n: (
            r.random((2, n + 1, n + 2, 3), np.float32),
            r.random((3, 2, 2, 3), np.float32),
            np.zeros((2, 3, n, n + 1), np.float32),
        ),
        sizes=(0, 1, 4),
    ),
)
