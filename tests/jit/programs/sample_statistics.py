"""Means, variances, correlations, histograms and quantiles of samples."""

import numpy as np

from tests.jit.programs.program import Program


def covariances(data):
    data -= np.mean(data, axis=0)
    m = data.shape[1]
    cov = np.zeros((m, m))
    for i in range(m):
        cov[i:, i] = cov[i, i:] = data[:, i] @ data[:, i:] / (data.shape[0] - 1.0)
    return cov


def correlations(data):
    deviations = np.std(data, axis=0)
    deviations[deviations <= 0.1] = 1.0
    data = (data - data.mean(axis=0)) / (np.sqrt(data.shape[0]) * deviations)
    corr = np.eye(data.shape[1])
    for i in range(data.shape[1] - 1):
        corr[i + 1 :, i] = corr[i, i + 1 :] = data[:, i] @ data[:, i + 1 :]
    return corr


def standard_scores(x):
    return (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)


def moments(x):
    m = x.mean()
    v = x.var()
    return m, v, ((x - m) ** 3).mean() / v**1.5


def extremes(x):
    return x.min(), x.max(), x.argmin(), x.argmax(), x.min(axis=0), x.argmax(axis=1)


def counts_in_bins(x, low, high, bins):
    counts = np.zeros(bins, np.int64)
    width = (high - low) / bins
    for i in range(x.shape[0]):
        k = int((x[i] - low) / width)
        if k < 0 or k >= bins:
            continue
        counts[k] += 1
    return counts


def weighted_histogram(x, weights, bins):
    total = np.histogram(x, bins, weights=weights)[0]
    return total / np.histogram(x, bins)[0]


def running_means(x, alpha):
    out = np.zeros_like(x)
    state = 0.0
    for i in range(x.shape[0]):
        state = alpha * x[i] + (1.0 - alpha) * state
        out[i] = state
    return out, state


def welford(x):
    count = 0
    mean = 0.0
    squares = 0.0
    for value in x:
        count += 1
        delta = value - mean
        mean += delta / count
        squares += delta * (value - mean)
    return mean, squares / max(count, 1)


def insertion_sort(x):
    for i in range(1, x.shape[0]):
        value = x[i]
        j = i - 1
        while j >= 0 and x[j] > value:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = value
    return x[x.shape[0] // 2]


def means_in_rings(values, radius, rings):
    biggest = radius.max()
    out = np.zeros(rings)
    for i in range(rings):
        inner = biggest * i / rings
        outer = biggest * (i + 1) / rings
        chosen = np.logical_and(inner <= radius, radius < outer)
        out[i] = values[chosen].mean()
    return out


def linear_fit(x, y):
    mx, my = np.mean(x), np.mean(y)
    slope = np.sum((x - mx) * (y - my)) / np.sum((x - mx) ** 2)
    return slope, my - slope * mx


def prefix_sums(x):
    total = np.cumsum(x)
    back = np.empty_like(x)
    s = 0
    for i in range(len(x) - 1, -1, -1):
        s += x[i]
        back[i] = s
    return total, back


PROGRAMS = (
    Program(covariances, lambda r, n: (r.random((n + 3, n)),)),
    Program(correlations, lambda r, n: (r.random((n + 3, n)),), roundings=1000, is_validated=False),
    Program(standard_scores, lambda r, n: (r.random((n, 9)),), roundings=1000),
    Program(moments, lambda r, n: (r.random(n + 3),), roundings=1000),
    Program(extremes, lambda r, n: (r.integers(-9, 9, (n, n + 1)),), (1, 2, 7)),
    Program(counts_in_bins, lambda r, n: (r.uniform(-0.2, 1.2, 3 * n), 0.0, 1.0, 5)),
    Program(
        weighted_histogram,
        lambda r, n: (r.random(40 * n), r.random(40 * n), 4),
        (1, 5),
    ),
    Program(running_means, lambda r, n: (r.random(n), 0.3)),
    Program(welford, lambda r, n: (r.random(n),)),
    Program(insertion_sort, lambda r, n: (r.integers(-20, 20, n),), (1, 2, 12)),
    Program(means_in_rings, lambda r, n: (r.random(30 * n), r.random(30 * n), 5), (1, 5)),
    Program(linear_fit, lambda r, n: (r.random(n), r.random(n)), (2, 9), roundings=10000),
    Program(prefix_sums, lambda r, n: (r.integers(-9, 9, n),)),
)
