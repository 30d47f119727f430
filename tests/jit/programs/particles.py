"""Particles and lattices: pairs that are left out, masks, double buffers, shapes by iteration."""

import numpy as np

from tests.jit.programs.program import Program


def pair_forces(x, cutoff):
    n = x.shape[0]
    force = np.zeros_like(x)
    energy = 0.0
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            d = x[i] - x[j]
            r2 = d[0] ** 2 + d[1] ** 2 + d[2] ** 2
            if r2 < cutoff * cutoff:
                s6 = (1.0 / (r2 + 0.1)) ** 3
                force[i] += 48.0 * s6 * (s6 - 0.5) * d
                energy += 4.0 * s6 * (s6 - 1.0)
    return force, energy


def accelerations(x, mass, softening):
    dx = x.T - x
    inverse = dx**2 + softening**2
    is_apart = inverse > softening**2
    np.power(inverse, -1.5, out=inverse, where=is_apart)
    return (dx * inverse) @ mass


def n_bodies(x, v, mass, steps):
    for _ in range(steps):
        v += 0.5 * accelerations(x, mass, 0.1)
        x += v
    return x


def lattice(f, steps, tau):
    cx = [0, 1, 0, -1, 0, 1, -1, -1, 1]
    cy = [0, 0, 1, 0, -1, 1, 1, -1, -1]
    for _ in range(steps):
        rho = np.sum(f, axis=0)
        ux = np.zeros_like(rho)
        for i in range(9):
            ux += cx[i] * f[i]
        for i in range(9):
            f[i] += (rho * (1 + 0.3 * cx[i] * ux) / 9 - f[i]) / tau
            f[i] = np.roll(np.roll(f[i], cx[i], axis=0), cy[i], axis=1)
    return f


def filtered(image):
    kernel = [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]
    out = np.zeros_like(image)
    for y in range(1, image.shape[0] - 1):
        for x in range(1, image.shape[1] - 1):
            total = 0.0
            for i in range(3):
                for j in range(3):
                    total += kernel[i][j] * image[y + i - 1, x + j - 1]
            out[y, x] = (total**2) ** 0.5
    return out


def two_buffers(u, v, steps):
    for t in range(steps):
        v[1:-1] = (u[:-2] + u[2:]) / (t + 2)
        u, v = v, u
    return u


def three_buffers(old, now, new, steps):
    for _ in range(steps):
        for i in range(1, len(now) - 1):
            new[i] = 2 * now[i] - old[i] + 0.1 * (now[i - 1] - 2 * now[i] + now[i + 1])
        old, now, new = now, new, old
    return now


def stockham(size, base, count, x):
    y = x.copy()
    for i in range(count):
        view = np.reshape(y, (base**i, base, base ** (count - i - 1)))
        turned = np.transpose(view, (1, 0, 2))
        y[:] = np.reshape(turned, (size,)) * (i + 1)
    return y


def clusters(x, centers, rounds):
    labels = np.zeros(x.shape[0], dtype=np.int64)
    for _ in range(rounds):
        for i in range(x.shape[0]):
            best = np.inf
            for c in range(centers.shape[0]):
                d = np.sum((x[i] - centers[c]) ** 2)
                if d < best:
                    best = d
                    labels[i] = c
        for c in range(centers.shape[0]):
            mask = labels == c
            if mask.any():
                centers[c] = x[mask].mean(axis=0)
    return centers, labels


def sampled(image, points):
    out = np.empty(points.shape[0])
    for k in range(points.shape[0]):
        y, x = points[k]
        top, left = int(y), int(x)
        fy, fx = y - top, x - left
        row = (1 - fx) * image[top, left] + fx * image[top, left + 1]
        out[k] = (1 - fy) * row + fy * image[top + 1, left]
    return out


PROGRAMS = (
    Program(pair_forces, lambda r, n: (2 * r.random((n, 3)), 1.2)),
    Program(n_bodies, lambda r, n: (r.random((n, 1)), r.random((n, 1)), r.random((n, 1)), 2)),
    Program(lattice, lambda r, n: (r.random((9, n, n + 1)), 2, 0.7)),
    Program(filtered, lambda r, n: (r.random((n, n + 2)),)),
    Program(two_buffers, lambda r, n: (r.random(7), r.random(7), n)),
    Program(three_buffers, lambda r, n: (r.random(7), r.random(7), r.random(7), n)),
    Program(stockham, lambda r, n: (2**n, 2, n, r.random(2**n)), (1, 2, 4)),
    Program(clusters, lambda r, n: (r.random((n + 3, 2)), r.random((3, 2)), 2)),
    Program(sampled, lambda r, n: (r.random((n + 2, n + 2)), n * r.random((n, 2)))),
)
