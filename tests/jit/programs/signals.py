"""Filters, transforms and codes: complex numbers, bits, recurrences along time."""

import numpy as np

from tests.jit.programs.program import Program


def discrete_fourier(x):
    n = x.shape[0]
    k = np.arange(n)
    return np.exp(-2j * np.pi * np.outer(k, k) / n) @ x


def fourier_loops(x):
    n = x.shape[0]
    y = np.zeros(n, dtype=np.complex128)
    for k in range(n):
        for j in range(n):
            y[k] += x[j] * np.exp(-2j * np.pi * k * j / n)
    return y


def fir(x, taps):
    n = x.shape[0] - taps.shape[0] + 1
    y = np.zeros(n)
    for k in range(taps.shape[0]):
        y += taps[k] * x[k : k + n]
    return y


def biquad(x, b, a):
    y = np.zeros_like(x)
    for i in range(x.shape[0]):
        s = b[0] * x[i]
        if i >= 1:
            s += b[1] * x[i - 1] - a[0] * y[i - 1]
        if i >= 2:
            s += b[2] * x[i - 2] - a[1] * y[i - 2]
        y[i] = s
    return y


def checksum(data, polynomial):
    crc = 0xFFFF
    for byte in data:
        bits = 0xFF & byte
        for _ in range(8):
            if (crc & 1) ^ (bits & 1):
                crc = (crc >> 1) ^ polynomial
            else:
                crc >>= 1
            bits >>= 1
    crc = ~crc & 0xFFFF
    return (crc << 8) | ((crc >> 8) & 0xFF)


def gray_codes(n):
    codes = np.arange(n)
    return codes ^ (codes >> 1)


def rotated(z, angle):
    z *= np.exp(1j * angle)
    return z.real, z.imag, np.abs(z), np.conj(z)


def haar(x):
    n = x.shape[0]
    while n > 1:
        half = n // 2
        low = (x[0:n:2] + x[1:n:2]) / 2.0
        high = (x[0:n:2] - x[1:n:2]) / 2.0
        x[:half] = low
        x[half:n] = high
        n = half


def autocorrelation(x):
    n = x.shape[0]
    out = np.empty(n)
    for lag in range(n):
        out[lag] = np.dot(x[: n - lag], x[lag:])
    return out


def windowed(x):
    n = x.shape[0]
    return x * (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / (n - 1)))


def zero_crossings(x):
    return np.sum(np.sign(x[1:]) != np.sign(x[:-1]))


def lfsr(state, steps):
    out = np.zeros(steps, np.uint8)
    for i in range(steps):
        bit = (state ^ (state >> 2) ^ (state >> 3) ^ (state >> 5)) & 1
        state = (state >> 1) | (bit << 15)
        out[i] = bit
    return out, state


def _complex(r, n):
    return r.random(n) + 1j * r.random(n)


PROGRAMS = (
    Program(discrete_fourier, lambda r, n: (_complex(r, n),), (1, 2, 7), roundings=1000),
    Program(fourier_loops, lambda r, n: (_complex(r, n),), roundings=1000),
    Program(fir, lambda r, n: (r.random(n + 4), r.random(5))),
    Program(biquad, lambda r, n: (r.random(n), r.random(3), 0.3 * r.random(2))),
    Program(checksum, lambda r, n: (r.integers(0, 256, n, np.uint8), 0x8408)),
    Program(gray_codes, lambda r, n: (n,)),
    Program(rotated, lambda r, n: (_complex(r, n), 0.7)),
    Program(haar, lambda r, n: (r.random(n),), (1, 2, 16)),
    Program(autocorrelation, lambda r, n: (r.random(n),)),
    Program(windowed, lambda r, n: (r.random(n),), (2, 9)),
    Program(zero_crossings, lambda r, n: (r.standard_normal(n),), (1, 2, 12)),
    Program(lfsr, lambda r, n: (0xACE1, n)),
)
