"""Iterations that stop when they have converged, and steps through time."""

import math

import numpy as np

from tests.jit.programs.program import Program


def conjugate_gradients(a, b, tolerance):
    x = np.zeros_like(b)
    r = b - a @ x
    p = r.copy()
    rho = r @ r
    for _ in range(b.shape[0]):
        if rho < tolerance:
            break
        q = a @ p
        alpha = rho / (p @ q)
        x += alpha * p
        r -= alpha * q
        rho, before = r @ r, rho
        p = r + (rho / before) * p
    return x, rho


def newton_root(values, steps):
    roots = np.empty(values.shape[0])
    for i in range(values.shape[0]):
        x = 1.0
        for _ in range(steps):
            x = 0.5 * (x + values[i] / x)
        roots[i] = x
    return roots


def bisection(low, high, targets):
    found = np.zeros(targets.shape[0])
    for i in range(targets.shape[0]):
        a, b = low, high
        while b - a > 1e-6:
            middle = (a + b) / 2
            if middle * middle * middle < targets[i]:
                a = middle
            else:
                b = middle
        found[i] = (a + b) / 2
    return found


def runge_kutta(y, a, h, steps):
    for _ in range(steps):
        k1 = a @ y
        k2 = a @ (y + 0.5 * h * k1)
        k3 = a @ (y + 0.5 * h * k2)
        k4 = a @ (y + h * k3)
        y = y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return y


def accelerations(positions, masses, softening):
    dx = positions[:, 0:1].T - positions[:, 0:1]
    dy = positions[:, 1:2].T - positions[:, 1:2]
    inverse = (dx**2 + dy**2 + softening**2) ** -1.5
    return np.hstack(((dx * inverse) @ masses, (dy * inverse) @ masses))


def orbits(positions, velocities, masses, h, steps):
    force = accelerations(positions, masses, 0.1)
    energy = np.zeros(steps + 1)
    energy[0] = 0.5 * np.sum(masses * velocities**2)
    for k in range(steps):
        velocities += force * h / 2.0
        positions += velocities * h
        force = accelerations(positions, masses, 0.1)
        velocities += force * h / 2.0
        energy[k + 1] = 0.5 * np.sum(masses * velocities**2)
    return energy


def thomas(low, diagonal, up, right):
    n = diagonal.shape[0]
    c = np.zeros(n)
    d = np.zeros(n)
    c[0] = up[0] / diagonal[0]
    d[0] = right[0] / diagonal[0]
    for i in range(1, n):
        scale = diagonal[i] - low[i] * c[i - 1]
        c[i] = up[i] / scale
        d[i] = (right[i] - low[i] * d[i - 1]) / scale
    x = np.empty(n)
    x[-1] = d[-1]
    for i in reversed(range(n - 1)):
        x[i] = d[i] - c[i] * x[i + 1]
    return x


def golden_section(a, b, c):
    ratio = (math.sqrt(5.0) - 1.0) / 2.0
    left = b - ratio * (b - a)
    right = a + ratio * (b - a)
    while abs(b - a) > 1e-5:
        if (left - c) ** 2 < (right - c) ** 2:
            b = right
        else:
            a = left
        left = b - ratio * (b - a)
        right = a + ratio * (b - a)
    return (a + b) / 2.0


def sor_until(a, omega, tolerance, most):
    n = a.shape[0]
    for step in range(most):
        worst = 0.0
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                change = (
                    omega * 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
                    - omega * a[i, j]
                )
                a[i, j] += change
                worst = max(worst, abs(change))
        if worst < tolerance:
            return step
    return most


def _positive(r, n):
    a = r.random((n, n))
    return a @ a.T + n * np.eye(n)


PROGRAMS = (
    Program(
        conjugate_gradients, lambda r, n: (_positive(r, n), r.random(n), 1e-20), roundings=10000
    ),
    Program(newton_root, lambda r, n: (r.uniform(1, 9, n), 6)),
    Program(bisection, lambda r, n: (0.0, 2.0, r.uniform(1, 7, n))),
    Program(runge_kutta, lambda r, n: (r.random(n), r.random((n, n)), 0.1, 3)),
    Program(
        orbits, lambda r, n: (r.random((n, 2)), r.random((n, 2)), r.random((n, 1)) + 1, 0.01, 3)
    ),
    Program(
        thomas,
        lambda r, n: (r.random(n), r.random(n) + 3, r.random(n), r.random(n)),
        (1, 2, 9),
    ),
    Program(golden_section, lambda r, n: (0.0, float(n), 0.3 * n)),
    Program(sor_until, lambda r, n: (r.random((n, n)), 1.2, 1e-3, 30)),
)
