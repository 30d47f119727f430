"""Neighbours on grids: time steps, sweeps, boundaries, waves and heat."""

import numpy as np

from tests.jit.programs.program import Program


def heat_1d(steps, u):
    for _ in range(steps):
        u[1:-1] = u[1:-1] + 0.25 * (u[2:] - 2.0 * u[1:-1] + u[:-2])


def wave_2d(steps, u, before):
    for _ in range(steps):
        after = 2.0 * u - before
        after[1:-1, 1:-1] += 0.1 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        )
        before = u
        u = after
    return u, before


def gauss_seidel(steps, a):
    n = a.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                a[i, j] = (a[i - 1, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j]) / 4.0


def red_black(a, steps):
    for _ in range(steps):
        for colour in range(2):
            for i in range(1, a.shape[0] - 1):
                for j in range(1 + (i + colour) % 2, a.shape[1] - 1, 2):
                    a[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


def red_black_slices(a):
    a[1:-1:2, 1:-1:2] = 0.5 * (a[:-2:2, 1:-1:2] + a[2::2, 1:-1:2])
    a[2:-1:2, 2:-1:2] *= 2.0


def laplacian(f):
    return (
        np.roll(f, 1, axis=0)
        + np.roll(f, -1, axis=0)
        + np.roll(f, 1, 1)
        + np.roll(f, -1, 1)
        - 4 * f
    )


def reaction_diffusion(u, v, steps, feed, kill):
    for _ in range(steps):
        reaction = u * v * v
        u += 0.16 * laplacian(u) - reaction + feed * (1.0 - u)
        v += 0.08 * laplacian(v) + reaction - (feed + kill) * v


def set_boundary(field, value):
    field[0, :] = value
    field[-1, :] = value
    field[:, 0] = field[:, 1]
    field[:, -1] = field[:, -2]


def pressure(p, b, steps):
    for _ in range(steps):
        old = p.copy()
        p[1:-1, 1:-1] = 0.25 * (old[1:-1, 2:] + old[1:-1, :-2] + old[2:, 1:-1] + old[:-2, 1:-1])
        p[1:-1, 1:-1] -= b[1:-1, 1:-1]
        set_boundary(p, 0.0)


def upwind(u, c, steps):
    n = u.shape[0]
    for _ in range(steps):
        for i in range(n - 1, 0, -1):
            u[i] = u[i] - c * (u[i] - u[i - 1])


def vertical_sweep(a, b, c, d):
    """A recurrence up the levels, and one down, for each column."""
    levels = d.shape[2]
    for k in range(1, levels):
        w = a[:, :, k] / b[:, :, k - 1]
        b[:, :, k] -= w * c[:, :, k - 1]
        d[:, :, k] -= w * d[:, :, k - 1]
    d[:, :, -1] /= b[:, :, -1]
    for k in range(levels - 2, -1, -1):
        d[:, :, k] = (d[:, :, k] - c[:, :, k] * d[:, :, k + 1]) / b[:, :, k]


def limited_flux(field, out):
    n, m = out.shape
    lap = 4.0 * field[1 : n + 3, 1 : m + 3] - (
        field[2 : n + 4, 1 : m + 3]
        + field[: n + 2, 1 : m + 3]
        + field[1 : n + 3, 2 : m + 4]
        + field[1 : n + 3, : m + 2]
    )
    step = lap[1:, 1 : m + 1] - lap[:-1, 1 : m + 1]
    along = np.where(
        step * (field[2 : n + 3, 2 : m + 2] - field[1 : n + 2, 2 : m + 2]) > 0, 0, step
    )
    step = lap[1 : n + 1, 1:] - lap[1 : n + 1, :-1]
    across = np.where(
        step * (field[2 : n + 2, 2 : m + 3] - field[2 : n + 2, 1 : m + 2]) > 0, 0, step
    )
    out[:, :] = field[2 : n + 2, 2 : m + 2] - 0.1 * (
        along[1:, :] - along[:-1, :] + across[:, 1:] - across[:, :-1]
    )


def heat_until_still(u, tolerance):
    steps = 0
    change = 1.0
    while change > tolerance and steps < 200:
        new = u.copy()
        new[1:-1] = 0.5 * (u[2:] + u[:-2])
        change = np.max(np.abs(new - u))
        u[:] = new
        steps += 1
    return steps


PROGRAMS = (
    Program(heat_1d, lambda r, n: (3, r.random(n)), (2, 3, 9)),
    Program(wave_2d, lambda r, n: (3, r.random((n, n + 1)), r.random((n, n + 1))), (2, 3, 7)),
    Program(gauss_seidel, lambda r, n: (2, r.random((n, n)))),
    Program(red_black, lambda r, n: (r.random((n, n + 1)), 2)),
    Program(red_black_slices, lambda r, n: (r.random((2 * n + 3, 2 * n + 3)),), (0, 1, 4)),
    Program(
        reaction_diffusion,
        lambda r, n: (r.random((n, n + 1)), r.random((n, n + 1)), 2, 0.04, 0.06),
    ),
    Program(pressure, lambda r, n: (r.random((n, n + 1)), r.random((n, n + 1)), 3), (2, 3, 6)),
    Program(upwind, lambda r, n: (r.random(n), 0.4, 3)),
    Program(
        vertical_sweep,
        lambda r, n: (
            r.random((n, 3, n)),
            r.random((n, 3, n)) + 2.0,
            r.random((n, 3, n)),
            r.random((n, 3, n)),
        ),
        (1, 2, 6),
    ),
    Program(limited_flux, lambda r, n: (r.random((n + 4, n + 5)), np.zeros((n, n + 1)))),
    Program(heat_until_still, lambda r, n: (r.random(n), 1e-3), (3, 8)),
)
