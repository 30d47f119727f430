"""polygen.jit: calls, variants, and what stays Python."""

from __future__ import annotations

import math
import pickle
import threading
from typing import Any

import numpy as np
import pytest

import polygen as pg

Array = np.ndarray[Any, Any]
FACTOR = 2.0
RNG = np.random.default_rng(0)


@pg.jit
def scaled(x: Array, shift: float = 1.0) -> Array:
    """Scale an array by a global number."""
    return FACTOR * x + shift


def test_a_function_keeps_its_name_and_its_arguments() -> None:
    assert scaled.__name__ == "scaled"
    assert scaled.__doc__ == "Scale an array by a global number."
    np.testing.assert_array_equal(scaled(np.ones(3)), [3, 3, 3])
    np.testing.assert_array_equal(scaled(shift=2.0, x=np.ones(3)), [4, 4, 4])
    with pytest.raises(TypeError):
        scaled()


def test_globals_are_constants_that_may_change(monkeypatch: pytest.MonkeyPatch) -> None:
    np.testing.assert_array_equal(scaled(np.ones(2)), [3, 3])
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    np.testing.assert_array_equal(scaled(np.ones(2)), [6, 6])


def test_sizes_compile_nothing_anew() -> None:
    def doubled(x: Array) -> Array:
        return 2 * x

    compiled = pg.jit(doubled)
    kernels = [compiled.kernels(np.ones(n))[0] for n in (5, 50)]
    assert kernels[0] == kernels[1]
    for n in (0, 1, 2, 7, 63):
        np.testing.assert_array_equal(compiled(np.arange(n)), 2 * np.arange(n))
    assert compiled.explain().count("for sizes like") == 0


def test_sizes_of_other_magnitudes_are_scheduled_anew() -> None:
    """A first call with little to do does not decide how much is done."""

    def doubled(x: Array) -> Array:
        return 2 * x

    compiled = pg.jit(doubled)
    for n in (5, 10**6, 6, 2 * 10**6, 63):
        np.testing.assert_array_equal(compiled(np.arange(n)), 2 * np.arange(n))
    lines = [line.strip() for line in compiled.explain().splitlines()]
    assert [line for line in lines if line.startswith("for sizes")] == [
        "for sizes like x.shape[0] = 5",
        "for sizes like x.shape[0] = 1000000",
    ]
    small, large = (compiled.kernels(np.ones(n, int))[0] for n in (5, 10**6))
    assert not any("threads" in choice.what and choice.is_taken for choice in small.choices)
    assert any("threads" in choice.what and choice.is_taken for choice in large.choices)


def test_there_are_few_schedules() -> None:
    def added(x: Array) -> Array:
        return x + 1

    compiled = pg.jit(added)
    shapes = [(a, b, c) for a in (2, 65, 5000) for b in (3, 66) for c in (4, 67)]
    for shape in shapes:
        np.testing.assert_array_equal(compiled(np.ones(shape, np.int8)), np.full(shape, 2))
    assert compiled.explain().count("for sizes like") == 8


def test_functions_that_kernels_lack_are_named_as_the_user_does() -> None:
    def middle(x: Array) -> Any:
        x[:] = 2 * x
        return np.median(x)

    compiled = pg.jit(middle)
    assert compiled(np.arange(5.0)) == 4
    (line,) = [line for line in compiled.explain().splitlines() if "Python" in line]
    assert "'median' is called, which kernels do not have (line " in line


def histogram(h: Array, b: Array, w: Array, n: int) -> None:
    # fmt: off
    #pragma parallel for
    for i in range(n):
        #pragma atomic
        h[b[i]] += w[i]
    # fmt: on


@pytest.mark.parametrize("deterministic", [False, True])
def test_the_same_bits_in_each_run(*, deterministic: bool) -> None:
    """Work items that add in the order in which they come would round as that order says."""
    compiled = pg.jit(histogram, target="opencl", deterministic=deterministic)
    random = np.random.default_rng(1)
    bins, weights = random.integers(0, 50, 2000), random.random(2000)
    (knl,) = compiled.kernels(np.zeros(50), bins, weights, 2000)
    assert knl.options.deterministic == deterministic
    assert bool(knl.tags) == (not deterministic)
    found = [np.zeros(50) for _ in range(2)]
    for h in found:
        compiled(h, bins, weights, 2000)
        np.testing.assert_allclose(h, np.bincount(bins, weights, 50), rtol=1e-12)
    if deterministic:
        assert found[0].tobytes() == found[1].tobytes()


def test_types_are_compiled_anew() -> None:
    def doubled(x: Array) -> Array:
        return 2 * x

    compiled = pg.jit(doubled)
    types = [np.float32, np.int8, np.complex128]
    assert [compiled(np.ones(3, t)).dtype for t in types] == types


def test_statements_that_kernels_lack_stay_python(capsys: pytest.CaptureFixture[str]) -> None:
    def printing(x: Array) -> Any:
        total = 0.0
        for i in range(len(x)):
            total += x[i]
        print("total", total)  # noqa: T201  (what is compiled)
        x[:] = x / total
        return {"x": x}

    compiled = pg.jit(printing)
    x = np.arange(1.0, 5.0)
    found = compiled(x)
    assert found["x"] is x
    assert x.sum() == 1
    assert capsys.readouterr().out == "total 10.0\n"
    text = compiled.explain()
    assert "'print' is called, which kernels do not have" in text
    assert "a dictionary is a value of Python's" in text
    assert text.count("kernel 'printing'") == 2


def test_what_is_refused_for_some_arguments_is_compiled_for_others() -> None:
    def reciprocals(x: Array) -> Array:
        return x.astype(np.float64) + 1

    compiled = pg.jit(reciprocals)
    assert compiled(np.array([1], dtype=object))[0] == 2
    assert "kernel" not in compiled.explain()
    np.testing.assert_array_equal(compiled(np.arange(3)), [1, 2, 3])
    assert "kernel 'reciprocals'" in compiled.explain()


def test_strict_refuses_them_with_the_line() -> None:
    def trying(x: Array) -> None:
        x[:] = 2 * x
        try:
            x[0] = 1
        finally:
            x[1] = 2

    with pytest.raises(pg.errors.NotCompiled, match="'try' needs Python's exceptions") as caught:
        pg.jit(trying, strict=True)(np.ones(3))
    assert "test_jit.py" in str(caught.value)
    assert "remedy: check with 'if' before" in str(caught.value)


def test_a_division_by_zero_is_pythons_error() -> None:
    def shares(x: Array, n: int) -> Array:
        for i in range(len(x)):
            k = int(x[i])
            x[i] = n / k
        return x

    compiled = pg.jit(shares)
    np.testing.assert_array_equal(compiled(np.array([1.0, 2, 4]), 8), [8, 4, 2])
    with pytest.raises(ZeroDivisionError):
        compiled(np.array([1.0, 0, 4]), 8)


def test_functions_of_math_raise_what_they_raise_in_python() -> None:
    def roots(x: Array) -> float:
        total = 0.0
        for i in range(len(x)):
            total += math.sqrt(x[i]) + math.log(x[i] + 1.0) + math.exp(x[i])
        return total

    compiled = pg.jit(roots)
    assert math.isclose(compiled(np.array([1.0, 2.0])), roots(np.array([1.0, 2.0])))
    with pytest.raises(ValueError, match="math domain error"):
        compiled(np.array([1.0, -0.5]))
    with pytest.raises(OverflowError):
        compiled(np.array([800.0]))
    assert compiled(np.array([1.0, math.inf])) == math.inf


def test_arguments_that_overlap_are_pythons_business() -> None:
    def added(x: Array, y: Array) -> None:
        for i in range(len(x)):
            x[i] += y[i]

    compiled = pg.jit(added)
    for first, second in ((slice(0, 6), slice(1, 7)), (slice(0, 6), slice(0, 6))):
        x, y = np.arange(8.0), np.arange(8.0)
        compiled(x[first], x[second])
        added(y[first], y[second])
        np.testing.assert_array_equal(x, y)
    same, meant = np.arange(4.0), np.arange(4.0)
    compiled(same, same)
    added(meant, meant)
    np.testing.assert_array_equal(same, meant)


def test_layouts_are_those_of_the_call() -> None:
    def moved(x: Array, y: Array) -> None:
        y[1:, :-1] = x[:-1, 1:]

    compiled, base = pg.jit(moved), np.arange(48.0).reshape(6, 8)
    for view in (base[:, :4], base[::2, ::3], base.T, np.asfortranarray(base)[::-1]):
        y, meant = np.zeros_like(view), np.zeros_like(view)
        compiled(view, y)
        moved(view, meant)
        np.testing.assert_array_equal(y, meant)


class Smoother:
    """A class with a compiled method."""

    weight = 0.5

    @pg.jit
    def smooth(self, x: Array) -> Array:
        """Return a weighted mean of neighbours."""
        return self.weight * x[1:] + (1 - self.weight) * x[:-1]


def test_methods_are_compiled() -> None:
    x = np.arange(5.0)
    np.testing.assert_array_equal(Smoother().smooth(x), x[:-1] + 0.5)


def test_compiled_functions_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(scaled)) is scaled  # noqa: S301  (our own)


def test_threads_may_call_at_once() -> None:
    def squares(x: Array) -> Array:
        return x * x + 1

    compiled, found = pg.jit(squares), dict[int, Array]()

    def call(at: int) -> None:
        found[at] = compiled(np.full(3 + at % 2, float(at)))

    threads = [threading.Thread(target=call, args=(at,)) for at in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((found[at] == at * at + 1).all() for at in range(6))


def test_a_function_without_a_source_needs_its_text() -> None:
    text = "def halved(x):\n    return x / 2\n"
    scope: dict[str, Any] = {}
    exec(text, scope)  # noqa: S102  (our own text)
    with pytest.raises(pg.errors.NoSource, match=r"pg.jit\(source="):
        pg.jit(scope["halved"])(np.ones(2))
    np.testing.assert_array_equal(pg.jit(scope["halved"], source=text)(np.ones(2)), [0.5, 0.5])
    with pytest.raises(pg.errors.NoSource, match="compiles functions"):
        pg.jit(3)


def test_compare_finds_nothing_wrong_and_changes_nothing() -> None:
    def steps(x: Array, n: int) -> Any:
        y = np.zeros_like(x)
        for t in range(n):
            y[1:] += x[:-1] * t
        return y, y.sum()

    x = np.arange(6.0)
    pg.jit(steps).compare(x, 3)
    np.testing.assert_array_equal(x, np.arange(6.0))


def test_compare_names_the_first_statement_and_element(monkeypatch: pytest.MonkeyPatch) -> None:
    def steps(x: Array) -> Array:
        x[:] = 2 * x
        return x + 1

    def planted(_program: Any, step: Any, names: dict[str, Any]) -> Any:
        found = step.call(*[names[name] for name in step.given])
        for value in found.values() if isinstance(found, dict) else ():
            if isinstance(value, np.ndarray):
                value[2] = -1
        return found

    monkeypatch.setattr("polygen.python.program.Program.run_region", planted)
    with pytest.raises(pg.errors.ResultsDiffer, match=r"in 'x', element \[2\] is -1.0") as caught:
        pg.jit(steps).compare(np.arange(4.0))
    assert "x[:] = 2 * x" in str(caught.value)


def test_debug_runs_python() -> None:
    @pg.jit
    def kind(x: Any) -> str:
        return type(x).__name__

    with pg.debug():
        assert kind([1]) == "list"


def product_of_loops(a: Any, b: Any, c: Any, n: int) -> None:
    for i in range(n):
        for j in range(n):
            c[i, j] = 0.0
            for k in range(n):
                c[i, j] += a[i, k] * b[k, j]


def product_by_a_number(a: Any, b: Any, c: Any, factor: int, n: int) -> None:
    n = a.shape[0]
    for i in range(n):
        for j in range(n):
            for k in range(n):
                c[i, j] += factor * a[i, k] * b[k, j]


def test_products_that_loops_spell_are_packed() -> None:
    """Whatever sizes are passed, and integers that are no sizes, or that nothing reads."""
    a, b = RNG.random((40, 40)), RNG.random((40, 40))
    compiled, c = pg.jit(product_of_loops), np.ones((40, 40))
    compiled(a, b, c, 36)
    wanted = np.ones((40, 40))
    wanted[:36, :36] = a[:36, :36] @ b[:36, :36]
    np.testing.assert_allclose(c, wanted)
    assert "tiles in registers, of packed operands: each element is used again" in (
        compiled.explain()
    )
    compiled(a, b, c, -3)  # for which that kernel is not
    compiled(a, b, c, 0)
    np.testing.assert_allclose(c, wanted)
    compiled, c = pg.jit(product_by_a_number), np.ones((40, 40))
    compiled(a, b, c, 3, 40)
    np.testing.assert_allclose(c, 1 + 3 * a @ b)
    assert "each element is used again" in compiled.explain()
