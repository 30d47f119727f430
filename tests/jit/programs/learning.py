"""Layers and losses, forward and back: axes that are kept, batches, helpers."""

import numpy as np

from tests.jit.programs.program import Program


def relu(x):
    return np.maximum(x, 0)


def softmax(x):
    largest = np.max(x, axis=-1, keepdims=True)
    weights = np.exp(x - largest)
    return weights / np.sum(weights, axis=-1, keepdims=True)


def perceptron(x, w1, b1, w2, b2):
    x = relu(x @ w1 + b1)
    return softmax(x @ w2 + b2)


def attention(q, k, v):
    scores = q @ k.T / np.sqrt(q.shape[1])
    return softmax(scores) @ v


def convolution(images, weights):
    size = weights.shape[0]
    n, height, width, _ = images.shape
    out = np.empty((n, height - size + 1, width - size + 1, weights.shape[3]), np.float32)
    for i in range(height - size + 1):
        for j in range(width - size + 1):
            out[:, i, j, :] = np.sum(
                images[:, i : i + size, j : j + size, :, np.newaxis] * weights[np.newaxis, ...],
                axis=(1, 2, 3),
            )
    return out


def pooled(x):
    out = np.empty((x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3]), x.dtype)
    for i in range(x.shape[1] // 2):
        for j in range(x.shape[2] // 2):
            out[:, i, j, :] = np.max(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, :], axis=(1, 2))
    return out


def normalized(x, epsilon=1e-5):
    mean = np.mean(x, axis=0, keepdims=True)
    deviation = np.std(x, axis=0, keepdims=True)
    return (x - mean) / np.sqrt(deviation + epsilon)


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def logistic_regression(x, y, rate, steps):
    w = np.zeros(x.shape[1])
    loss = 0.0
    for _ in range(steps):
        p = sigmoid(x @ w)
        loss = -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))
        w -= rate * (x.T @ (p - y)) / x.shape[0]
    return w, loss


def nearest_centres(points, centres):
    squares = np.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=2)
    labels = np.argmin(squares, axis=1)
    sums = np.zeros_like(centres)
    counts = np.zeros(centres.shape[0], np.int64)
    for i in range(points.shape[0]):
        sums[labels[i]] += points[i]
        counts[labels[i]] += 1
    return labels, sums, counts


def flattened(x, w):
    return x.reshape(x.shape[0], x.shape[1] * x.shape[2]) @ w


def one_hot(labels, kinds):
    out = np.zeros((labels.shape[0], kinds))
    for i, label in enumerate(labels):
        out[i, label] = 1.0
    return out


def leaky(x):
    return np.where(x > 0, x, 0.01 * x), (x > 0).mean()


def recurrent(xs, w, u, h):
    states = np.zeros((xs.shape[0], h.shape[0]))
    for t in range(xs.shape[0]):
        h = np.tanh(w @ xs[t] + u @ h)
        states[t] = h
    return states, h


PROGRAMS = (
    Program(softmax, lambda r, n: (r.random((n, 2, 3, 5), np.float32),)),
    Program(
        perceptron,
        lambda r, n: (
            r.standard_normal((n, 4)),
            r.standard_normal((4, 6)),
            r.random(6),
            r.standard_normal((6, 3)),
            r.random(3),
        ),
    ),
    Program(attention, lambda r, n: (r.random((n, 4)), r.random((n, 4)), r.random((n, 3))), (1, 5)),
    Program(
        convolution,
        lambda r, n: (
            r.random((n, 5, 6, 2), np.float32),
            r.random((3, 3, 2, 4), np.float32),
        ),
        (0, 1, 3),
    ),
    Program(pooled, lambda r, n: (r.random((2, n, n + 1, 3)),)),
    Program(normalized, lambda r, n: (r.random((n + 1, 5)),), roundings=1000),
    Program(
        logistic_regression,
        lambda r, n: (r.standard_normal((n, 3)), r.integers(0, 2, n).astype(float), 0.1, 3),
        (1, 9),
    ),
    Program(nearest_centres, lambda r, n: (r.random((n, 2)), r.random((3, 2)))),
    Program(flattened, lambda r, n: (r.random((n, 2, 3)), r.random((6, 4)))),
    Program(one_hot, lambda r, n: (r.integers(0, 4, n), 4)),
    Program(leaky, lambda r, n: (r.standard_normal((n, 3)),), (1, 2, 7)),
    Program(
        recurrent,
        lambda r, n: (r.random((n, 3)), r.random((4, 3)), r.random((4, 4)), np.zeros(4)),
    ),
)
