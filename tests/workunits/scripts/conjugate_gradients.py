"""Conjugate gradients: reductions whose results the next call needs, on a tridiagonal matrix."""

import numpy as np

import polygen.compat.pykokkos as pk

N, ITERATIONS = 20, 8
B = np.random.default_rng(17).random(N)


@pk.workunit
def tridiagonal(i: int, x: pk.View1D[pk.double], y: pk.View1D[pk.double]):
    total: float = 2.5 * x[i]
    if i > 0:
        total -= x[i - 1]
    if i < x.extent(0) - 1:
        total -= x[i + 1]
    y[i] = total


@pk.workunit
def dot(i: int, acc: pk.Acc[pk.double], a: pk.View1D[pk.double], b: pk.View1D[pk.double]):
    acc += a[i] * b[i]


@pk.workunit
def update(i: int, y: pk.View1D[pk.double], x: pk.View1D[pk.double], alpha: float):
    y[i] += alpha * x[i]


@pk.workunit
def direction(i: int, p: pk.View1D[pk.double], r: pk.View1D[pk.double], beta: float):
    p[i] = r[i] + beta * p[i]


def run():
    x, q = pk.View([N], pk.double), pk.View([N], pk.double)
    r, p = pk.from_numpy(B.copy()), pk.from_numpy(B.copy())
    policy = pk.RangePolicy(0, N)
    rho = pk.parallel_reduce("dot", policy, dot, a=r, b=r)
    for _ in range(ITERATIONS):
        pk.parallel_for("A*p", policy, tridiagonal, x=p, y=q)
        alpha = rho / pk.parallel_reduce("dot", policy, dot, a=p, b=q)
        pk.parallel_for(policy, update, y=x, x=p, alpha=alpha)
        pk.parallel_for(policy, update, y=r, x=q, alpha=-alpha)
        old = rho
        rho = pk.parallel_reduce("dot", policy, dot, a=r, b=r)
        pk.parallel_for(policy, direction, p=p, r=r, beta=rho / old)
    return {"x": x, "rho": rho}


def reference():
    A = 2.5 * np.eye(N) - np.eye(N, k=1) - np.eye(N, k=-1)
    x, r, p = np.zeros(N), B.copy(), B.copy()
    rho = r @ r
    for _ in range(ITERATIONS):
        q = A @ p
        alpha = rho / (p @ q)
        x += alpha * p
        r -= alpha * q
        rho, old = r @ r, rho
        p = r + rho / old * p
    return {"x": x, "rho": rho}
