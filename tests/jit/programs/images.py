"""Pictures: thresholds, borders, colours, filters and distances."""

import numpy as np

from tests.jit.programs.program import Program


def grey(rgb):
    return 0.299 * rgb[..., 0] + 0.587 * rgb[..., 1] + 0.114 * rgb[..., 2]


def threshold(image, level):
    out = np.zeros_like(image)
    out[image >= level] = 255
    return out, np.count_nonzero(image >= level)


def brightened(image, amount):
    return np.clip(image.astype(np.int32) + amount, 0, 255).astype(np.uint8)


def box_filter(image, radius):
    n, m = image.shape
    padded = np.zeros((n + 2 * radius, m + 2 * radius))
    padded[radius : radius + n, radius : radius + m] = image
    out = np.zeros((n, m))
    for i in range(2 * radius + 1):
        for j in range(2 * radius + 1):
            out += padded[i : i + n, j : j + m]
    out /= (2 * radius + 1) ** 2
    return out


def sobel(image):
    gx = np.zeros(image.shape)
    gy = np.zeros(image.shape)
    for i in range(1, image.shape[0] - 1):
        for j in range(1, image.shape[1] - 1):
            gx[i, j] = (image[i - 1, j + 1] + 2 * image[i, j + 1] + image[i + 1, j + 1]) - (
                image[i - 1, j - 1] + 2 * image[i, j - 1] + image[i + 1, j - 1]
            )
            gy[i, j] = image[i + 1, j - 1 : j + 2].sum() - image[i - 1, j - 1 : j + 2].sum()
    return np.hypot(gx, gy)


def median_of_three(image):
    out = image.copy()
    for i in range(image.shape[0]):
        for j in range(1, image.shape[1] - 1):
            a, b, c = image[i, j - 1], image[i, j], image[i, j + 1]
            out[i, j] = max(min(a, b), min(max(a, b), c))
    return out


def histogram_equalized(image):
    counts = np.zeros(256, np.int64)
    for row in image:
        for pixel in row:
            counts[pixel] += 1
    total = np.cumsum(counts)
    return (255 * total[image] // image.size).astype(np.uint8)


def mirrored(image):
    return np.flip(image, 0), image[:, ::-1].copy(), np.flip(image)


def dilated(mask):
    out = mask.copy()
    out[1:, :] |= mask[:-1, :]
    out[:-1, :] |= mask[1:, :]
    out[:, 1:] |= mask[:, :-1]
    out[:, :-1] |= mask[:, 1:]
    return out


def halved(image):
    n, m = image.shape[0] // 2, image.shape[1] // 2
    small = np.empty((n, m))
    for i in range(n):
        for j in range(m):
            small[i, j] = image[2 * i : 2 * i + 2, 2 * j : 2 * j + 2].mean()
    return small


def dithered(image):
    n, m = image.shape
    for i in range(n):
        for j in range(m):
            old = image[i, j]
            new = 1.0 if old > 0.5 else 0.0
            image[i, j] = new
            rest = old - new
            if j + 1 < m:
                image[i, j + 1] += rest * 7 / 16
            if i + 1 < n:
                image[i + 1, j] += rest * 5 / 16


def mandelbrot_masked(width, height, steps):
    x = np.linspace(-2.0, 0.5, width)
    y = np.linspace(-1.1, 1.1, height)
    c = x + y[:, None] * 1j
    n = np.zeros(c.shape, dtype=np.int64)
    z = np.zeros(c.shape, dtype=np.complex128)
    for k in range(steps):
        inside = np.less(abs(z), 2.0)
        n[inside] = k
        z[inside] = z[inside] ** 2 + c[inside]
    n[n == steps - 1] = 0
    return z, n


def _bytes(r, n):
    return r.integers(0, 256, (n, n + 1), np.uint8)


PROGRAMS = (
    Program(grey, lambda r, n: (r.random((n, n + 1, 3)),)),
    Program(threshold, lambda r, n: (_bytes(r, n), 100)),
    Program(brightened, lambda r, n: (_bytes(r, n), 70)),
    Program(box_filter, lambda r, n: (r.random((n, n + 1)), 1)),
    Program(sobel, lambda r, n: (r.random((n, n + 1)),)),
    Program(median_of_three, lambda r, n: (r.random((n, n + 1)),)),
    Program(histogram_equalized, lambda r, n: (_bytes(r, n),), (1, 6)),
    Program(mirrored, lambda r, n: (r.random((n, n + 1)),)),
    Program(dilated, lambda r, n: (r.random((n, n + 1)) < 0.2,)),
    Program(halved, lambda r, n: (r.random((n, n + 1)),)),
    Program(dithered, lambda r, n: (r.random((n, n + 1)),)),
    Program(mandelbrot_masked, lambda r, n: (n, n + 1, 12), (2, 7), roundings=1e7),
)
