"""APPy's names: what they do in plain Python, compiled, and which are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polygen.compat import appy
from polygen.errors import InvalidArgument, NoLibrary, PragmaRefused
from polygen.jitting.jit import CompiledFunction

X = np.random.default_rng(0).random(300)


@appy.jit
def vector_add(a: Any, b: Any, c: Any, n: int) -> None:
    # pragma parallel for simd
    for i in range(n):
        c[i] = a[i] + b[i]


@appy.jit(auto_simd=True)  # type: ignore[untyped-decorator]
def gesummv(alpha: float, a: Any, x: Any, y: Any, m: int, n: int) -> None:
    # pragma :m=>parallel :n=>reduction(sum:y)
    y[:m] = appy.mv(alpha * a[:m, :n], x[:n])


@appy.jit(backend="c", tune=True, clear_cache=True)  # type: ignore[untyped-decorator]
def strips(a: Any, s: Any, n: int) -> None:
    # pragma parallel for
    for i in range(0, n, appy.MVL):
        lanes = appy.vidx(i, appy.MVL, bound=n)
        # pragma atomic
        s[0] += appy.sum(appy.where(a[lanes] > 0.5, a[lanes], 0.0))


@appy.jit
def said_by_range(a: Any, c: Any, n: int) -> None:
    for i in appy.range(n, parallel=True, simd=True):
        c[i] = 2 * appy.alias(a)[i]


@appy.shader
def squared(x: float) -> float:
    return x * x


@appy.jit
def with_a_helper(a: Any, c: Any, n: int) -> None:
    # pragma parallel for
    for i in range(n):
        c[i] = squared(a[i])


@appy.jit
def without_a_pragma(parts: list[int]) -> int:
    return len(parts)


@appy.jit
def wrong(a: Any, n: int) -> None:
    for i in appy.range(1, n, parallel=True):
        a[i] = a[i - 1]


def test_the_examples_of_the_paper() -> None:
    c = np.zeros(300)
    vector_add(X, 2 * X, c, 300)
    np.testing.assert_allclose(c, 3 * X)
    assert isinstance(vector_add, CompiledFunction)
    assert "parallel for simd: proved" in vector_add.explain()
    a, y = X[:120].reshape(12, 10), np.zeros(12)
    gesummv(0.5, a, X[:10], y, 12, 10)
    np.testing.assert_allclose(y, 0.5 * a @ X[:10])
    assert "reduction" not in gesummv.explain() or "Python" not in gesummv.explain()
    s = np.zeros(1)
    strips(X, s, 300)
    np.testing.assert_allclose(s[0], X[X > 0.5].sum())


def test_ranges_and_helpers() -> None:
    c = np.zeros(300)
    said_by_range(X, c, 300)
    np.testing.assert_allclose(c, 2 * X)
    assert "prange: proved" in said_by_range.explain()
    with_a_helper(X, c, 300)
    np.testing.assert_allclose(c, X * X)
    assert list(appy.range(1, 9, 3, simd=True)) == [1, 4, 7]
    with pytest.raises(PragmaRefused, match="iteration i=1 writes"):
        wrong(X.copy(), 300)


def test_a_function_without_a_pragma_is_python() -> None:
    assert without_a_pragma([1, 2, 3]) == 3
    assert not isinstance(without_a_pragma, CompiledFunction)


def doubled(a: Any, n: int) -> None:
    # pragma parallel for
    for i in range(n):
        a[i] = 2 * a[i]


def test_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, a = tmp_path / "code.c", X.copy()
    dry = appy.jit(doubled, dump_code=True, dump_code_to_file=str(file), dry_run=True)
    assert dry(a, 300) is None
    np.testing.assert_array_equal(a, X)
    assert "doubled" in capsys.readouterr().out
    assert "2" in file.read_text()
    appy.jit(doubled, verbose_static_rewrite=True)(a, 300)
    np.testing.assert_array_equal(a, 2 * X)
    assert "parallel for: proved" in capsys.readouterr().out
    with pytest.raises(NotImplementedError, match="no backend 'metal'"):
        appy.jit(backend="metal")
    with pytest.raises(InvalidArgument, match="which is no function"):
        appy.jit(3)  # type: ignore[arg-type]


def test_names_in_plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    assert appy.buffer((2, 3), np.int32).shape == (2, 3)
    assert appy.alias(X) is X
    assert appy.cpu_shader(doubled) is doubled
    np.testing.assert_array_equal(appy.np_shared([1, 2]), [1, 2])
    np.testing.assert_array_equal(appy.to_cpu(X), X)
    assert len(appy.to_cpu(X, X)) == 2
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    with pytest.raises(NoLibrary, match="CuPy"):
        appy.to_gpu(X)


@appy.jit
def all_updates(x: Any, bits: Any, products: Any, n: int) -> None:
    # pragma parallel for
    for i in range(n):
        k = x[i] % 4
        appy.atomic_mul(products, k, 1 + x[i] % 3)
        appy.atomic_and(bits, (0, k), x[i])
        appy.atomic_or(bits, (1, k), x[i])
        appy.atomic_xor(bits, (2, k), x[i])
        appy.syncthreads()


def test_updates_of_all_operations() -> None:
    x = np.random.default_rng(0).integers(0, 1000, 40)
    bits, products = np.full((3, 4), 1023), np.ones(4, int)
    all_updates(x, bits, products, 40)
    assert "parallel for: proved" in all_updates.explain()
    of_each = [x[x % 4 == k] for k in range(4)]
    np.testing.assert_array_equal(products, [np.prod(1 + own % 3) for own in of_each])
    np.testing.assert_array_equal(bits[0], [np.bitwise_and.reduce(own) & 1023 for own in of_each])
    np.testing.assert_array_equal(bits[1], 1023)
    np.testing.assert_array_equal(bits[2], [np.bitwise_xor.reduce(own) ^ 1023 for own in of_each])
