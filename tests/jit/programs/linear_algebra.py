"""Products, factorizations and solutions of systems."""

import numpy as np

from tests.jit.programs.program import Program


def matrix_powers(a, times):
    result = np.eye(a.shape[0])
    for _ in range(times):
        result = result @ a
    return result


def lu_in_place(a):
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            a[i, k + 1 :] -= a[i, k] * a[k, k + 1 :]


def cholesky_columns(a):
    for j in range(a.shape[0]):
        a[j, j] = np.sqrt(a[j, j] - a[j, :j] @ a[j, :j])
        a[j + 1 :, j] = (a[j + 1 :, j] - a[j + 1 :, :j] @ a[j, :j]) / a[j, j]
    return np.tril(a)


def back_substitution(u, b):
    x = np.zeros_like(b)
    for i in range(b.shape[0] - 1, -1, -1):
        x[i] = (b[i] - np.dot(u[i, i + 1 :], x[i + 1 :])) / u[i, i]
    return x


def modified_gram_schmidt(a):
    q = a.copy()
    r = np.zeros((a.shape[1], a.shape[1]))
    for k in range(a.shape[1]):
        r[k, k] = np.sqrt(np.sum(q[:, k] ** 2))
        q[:, k] /= r[k, k]
        r[k, k + 1 :] = q[:, k] @ q[:, k + 1 :]
        q[:, k + 1 :] -= np.outer(q[:, k], r[k, k + 1 :])
    return q, r


def normal_equations(a, b):
    left = a.T @ a
    right = a.T @ b
    return left, right


def rank_one_updates(a, u, v):
    for k in range(u.shape[0]):
        a += np.outer(u[k], v[k])
    a[:] = a + a.T
    return a.trace()


def power_iteration(a, x, steps):
    value = 0.0
    for _ in range(steps):
        y = a @ x
        value = np.sqrt(y @ y)
        x = y / value
    return value, x


def tridiagonal_product(low, diagonal, up, x):
    y = diagonal * x
    y[1:] += low * x[:-1]
    y[:-1] += up * x[1:]
    return y


def chained_products(alpha, beta, a, b, c, x):
    d = alpha * a @ b + beta * c
    return d @ x, x @ d.T, d


def batched_product(a, b):
    return np.matmul(a, b).sum(axis=0)


def mirrored_triangle(a):
    for i in range(a.shape[0]):
        a[i + 1 :, i] = a[i, i + 1 :]


def kronecker(a, b):
    rows, columns = b.shape
    out = np.empty((a.shape[0] * rows, a.shape[1] * columns))
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i * rows : (i + 1) * rows, j * columns : (j + 1) * columns] = a[i, j] * b
    return out


def _dominant(r, n):
    return r.random((n, n)) + n * np.eye(n)


def _positive(r, n):
    a = r.random((n, n + 3))
    return a @ a.T + np.eye(n)


PROGRAMS = (
    Program(matrix_powers, lambda r, n: (r.random((n, n)) / (n + 1), 3)),
    Program(lu_in_place, lambda r, n: (_dominant(r, n),)),
    Program(cholesky_columns, lambda r, n: (_positive(r, n),), roundings=1000),
    Program(back_substitution, lambda r, n: (_dominant(r, n), r.random(n))),
    Program(modified_gram_schmidt, lambda r, n: (r.random((n + 3, n)),), roundings=10000),
    Program(normal_equations, lambda r, n: (r.random((n + 4, n)), r.random(n + 4))),
    Program(rank_one_updates, lambda r, n: (r.random((n, n)), r.random((3, n)), r.random((3, n)))),
    Program(power_iteration, lambda r, n: (r.random((n, n)) + 0.5, r.random(n), 4), (1, 2, 7)),
    Program(
        tridiagonal_product,
        lambda r, n: (r.random(n - 1), r.random(n), r.random(n - 1), r.random(n)),
        (1, 2, 7),
    ),
    Program(
        chained_products,
        lambda r, n: (
            1.5,
            -0.5,
            r.random((n + 1, n)),
            r.random((n, n + 2)),
            r.random((n + 1, n + 2)),
            r.random(n + 2),
        ),
    ),
    Program(batched_product, lambda r, n: (r.random((n, 3, 4)), r.random((n, 4, 2)))),
    Program(mirrored_triangle, lambda r, n: (r.random((n, n)),)),
    Program(
        kronecker,
        lambda r, n: (r.random((n, 2)), r.random((3, n))),
    ),
)
