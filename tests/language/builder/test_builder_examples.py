"""Programs as users write them with a `Builder`: they compute what NumPy does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg

SIZES = [0, 1, 7]


def _random(*shape: int) -> Any:
    return np.random.default_rng(shape).random(shape)


def test_a_stencil_in_a_time_loop() -> None:
    b = pg.Builder()
    n, steps = b.size("n"), b.size("steps")
    a, c = (b.array(name, "float64", (n, n)) for name in "ac")
    with b.loop("t", 0, steps):
        with b.loop("i", 1, n - 1) as i, b.loop("j", 1, n - 1) as j:
            c[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) / 4
        with b.loop("i", 1, n - 1) as i, b.loop("j", 1, n - 1) as j:
            a[i, j] = c[i, j]
    knl = b.kernel(seq_dependencies=True)
    for size in SIZES:
        given = _random(size, size)
        expected = given.copy()
        knl.executor("c")(a=given, c=np.zeros((size, size)), steps=3)
        for _ in range(3):
            inner = expected[:-2, 1:-1] + expected[2:, 1:-1]
            expected[1:-1, 1:-1] = (inner + expected[1:-1, :-2] + expected[1:-1, 2:]) / 4
        np.testing.assert_allclose(given, expected, rtol=1e-15)


def test_conjugate_gradients() -> None:
    b = pg.Builder()
    n = b.size("n")
    a = b.array("a", "float64", (n, n))
    right, x, r, p, q = (b.array(name, "float64", (n,)) for name in ("right", *"xrpq"))
    old, new, alpha = (b.temporary(name) for name in ("old", "new", "alpha"))
    with b.loop("i", 0, n) as i:
        x[i], r[i], p[i] = 0, right[i], right[i]
    b.assign(old, b.sum("k", 0, n, lambda k: r[k] * r[k]))
    with b.loop("t", 0, while_=old > 1e-20):
        with b.loop("i", 0, n) as i:
            q[i] = b.sum("j", 0, n, lambda j: a[i, j] * p[j])
        b.assign(alpha, old / b.sum("k", 0, n, lambda k: p[k] * q[k]))
        with b.loop("i", 0, n) as i:
            x[i] += alpha * p[i]
            r[i] -= alpha * q[i]
        b.assign(new, b.sum("k", 0, n, lambda k: r[k] * r[k]))
        with b.loop("i", 0, n) as i:
            p[i] = r[i] + new / old * p[i]
        b.assign(old, new)
    knl = b.kernel("cg", seq_dependencies=True)
    for size in SIZES:
        matrix = _random(size, size) @ _random(size, size).T + size * np.eye(size)
        symmetric = matrix + matrix.T
        given = {name: np.zeros(size) for name in "xrpq"}
        knl.executor("c")(a=symmetric, right=_random(size), **given)
        np.testing.assert_allclose(symmetric @ given["x"], _random(size), atol=1e-9)


def test_a_masked_update() -> None:
    b = pg.Builder()
    n = b.size("n")
    x, keep = b.array("x", "float64", (n,)), b.array("keep", "bool", (n,))
    with b.loop("i", 0, n) as i:
        with b.when(keep[i] & (x[i] > 0.5), kept=True):
            x[i] *= -1
        with b.otherwise(~keep[i] | (x[i] < 0.1), kept=True):
            x[i] = x[i] + 1
            x[i] = x[i] * 2
        with b.otherwise():
            x[i] = 0
    knl = b.kernel(seq_dependencies=True)
    assert pg.parse_kernel(str(knl)) == knl
    for target in ("opencl", "cuda"):
        assert "if (holds)" in str(pg.generate_code(pg.tag_inames(knl, {"i": "g.0"}), target))
    given, kept = _random(40), _random(1, 40)[0] > 0.5
    low = ~kept | (given < 0.1)
    expected = np.where(kept & (given > 0.5), -given, np.where(low, (given + 1) * 2, 0))
    knl.executor("c")(x=given, keep=kept)
    np.testing.assert_allclose(given, expected, rtol=1e-15)


def test_a_kept_condition_of_elif_is_asked_only_where_those_before_fail() -> None:
    b = pg.Builder()
    n = b.size("n")
    x = b.array("x", "int32", (n,))
    with b.loop("i", 0, n) as i:
        with b.when(i == 0, kept=True):
            x[i] = 5
        with b.otherwise(x[i - 1] == 5, kept=True):  # which is outside for i = 0
            x[i] = 6
    given = np.zeros(4, np.int32)
    b.kernel(seq_dependencies=True).executor("c")(x=given)
    assert given.tolist() == [5, 6, 0, 0]


def test_a_triangular_factorization() -> None:
    b = pg.Builder()
    n = b.size("n")
    a = b.array("a", "float64", (n, n))
    with b.loop("j", 0, n) as j:
        a[j, j] = b.call("sqrt", a[j, j] - b.sum("k", 0, j, lambda k: a[j, k] ** 2))
        with b.loop("i", j + 1, n) as i:
            a[i, j] = (a[i, j] - b.sum("k", 0, j, lambda k: a[i, k] * a[j, k])) / a[j, j]
    knl = b.kernel(seq_dependencies=True)
    for size in SIZES:
        given = _random(size, size) @ _random(size, size).T + np.eye(size)
        expected = np.linalg.cholesky(given)
        knl.executor("c")(a=given)
        np.testing.assert_allclose(np.tril(given), expected, rtol=1e-10)


def _histogram(b: pg.Builder, n: Any) -> None:
    x, h = b.array("x", "int32", (n,)), b.array("h", "int64", (8,))
    with b.loop("k", 0, 8) as k:
        h[k] = 0
    with b.loop("i", 0, n) as i:
        h[x[i]] += 1


def _scatter(b: pg.Builder, n: Any) -> None:
    y, p, x = b.array("y", "int32", (n,)), b.array("p", "int32", (n,)), b.array("x", "int32", (n,))
    with b.loop("i", 0, n) as i:
        y[p[i]] = x[p[n - 1 - i]]


def _sort(b: pg.Builder, n: Any) -> None:
    x = b.array("x", "int32", (n,))
    with b.loop("i", 0, n) as i, b.loop("j", 0, n - 1 - i) as j, b.when(x[j] > x[j + 1]):
        b.assign((x[j], x[j + 1]), (x[j + 1], x[j]))


def _prefix(b: pg.Builder, n: Any) -> None:
    x, y = b.array("x", "int32", (n,)), b.array("y", "int32", (n,))
    s = b.temporary("s")
    b.assign(s, 0)
    with b.loop("i", 0, n) as i:
        b.assign(s, s + x[i])
        y[i] = s


def _complex(b: pg.Builder, n: Any) -> None:
    z, w = b.array("z", "complex128", (n,)), b.array("w", "float64", (n,))
    with b.loop("i", 0, n) as i:
        z[i] = z[i] ** 2 * 1j + b.call("conj", z[i]) - (1 + 2j)
        w[i] = abs(z[i])


def _changed(x: Any) -> Any:
    return x**2 * 1j + x.conj() - (1 + 2j)


EXAMPLES: list[tuple[Callable[[pg.Builder, Any], None], Callable[[Any], Any]]] = [
    (_histogram, lambda x: {"h": np.bincount(x["x"], minlength=8)}),
    (_scatter, lambda x: {"y": x["x"][x["p"][::-1]][np.argsort(x["p"])]}),
    (_sort, lambda x: {"x": np.sort(x["x"])}),
    (_prefix, lambda x: {"y": np.cumsum(x["x"])}),
    (_complex, lambda x: {"z": _changed(x["z"]), "w": abs(_changed(x["z"]))}),
]


@pytest.mark.parametrize(("draw", "expected"), EXAMPLES)
def test_examples(draw: Callable[[pg.Builder, Any], None], expected: Callable[[Any], Any]) -> None:
    b = pg.Builder()
    draw(b, b.size("n"))
    knl = b.kernel(seq_dependencies=True)
    for size in SIZES:
        rng = np.random.default_rng(size)
        given: dict[str, Any] = {
            "x": rng.integers(0, 8, size).astype(np.int32),
            "y": np.zeros(size, np.int32),
            "p": rng.permutation(size).astype(np.int32),
            "h": np.zeros(8, np.int64),
            "z": rng.random(size) + 1j * rng.random(size),
            "w": np.zeros(size),
        }
        passed = {a.name: given[a.name] for a in knl.arguments if a.name != "n"}
        wanted = expected(given)
        knl.executor("c")(**{"n": size} | passed)
        for name, value in wanted.items():
            np.testing.assert_allclose(given[name], value, rtol=1e-14)
