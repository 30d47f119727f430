"""Claims about loops: proved, believed where data decides, or refused; results are Python's."""

from __future__ import annotations

import copy
import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import MisplacedPragma, PragmaRefused, UnknownClause
from polygen.python.annotations import prange

RNG = np.random.default_rng(0)
X = RNG.random(300)


def checked(function: Callable[..., Any], *arguments: Any) -> str:
    """Compare a compiled function with itself; return what it explains."""
    plain, own = copy.deepcopy(arguments), copy.deepcopy(arguments)
    compiled = pg.jit(function)
    wanted, got = function(*plain), compiled(*own)
    for one, other in zip(plain, own, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-12)
    if wanted is not None:
        np.testing.assert_allclose(got, wanted, rtol=1e-12)
    text = compiled.explain()
    assert "Python" not in text
    return str(text)


def add(a: Any, b: Any, c: Any, n: int) -> None:
    # pragma parallel for simd
    for i in range(n):
        c[i] = a[i] + b[i]


def total(a: Any, s: Any, n: int) -> None:
    # pragma parallel for simd
    for i in range(n):
        # pragma atomic
        s[0] += a[i]


def histogram(x: Any, h: Any, n: int) -> None:
    # pragma parallel for
    for i in range(n):
        # pragma atomic
        h[x[i]] += 1


def scattered(x: Any, h: Any, n: int) -> None:
    for i in prange(n):
        h[x[i]] = i


def last_value(x: Any, y: Any, n: int) -> float:
    t = 0.0
    # pragma parallel for
    for i in range(n):
        t = x[i] * 2
        y[i] = t
    return t


def reduced(x: Any, n: int) -> tuple[float, float]:
    s, m = 0.0, -1.0
    # pragma parallel for reduction(+: s) reduction(max: m)
    for i in range(n):
        s += x[i]
        m = max(m, x[i])
    return s, m


def sparse(starts: Any, columns: Any, values: Any, x: Any, y: Any, n: int) -> None:
    # pragma parallel for
    for i in range(n):
        y[i] = 0.0
        # pragma simd
        for j in range(starts[i], starts[i + 1]):
            y[i] += values[j] * x[columns[j]]


def histogram_without_a_word(x: Any, h: Any, n: int) -> None:
    for i in prange(n):
        h[x[i]] += 1


def grouped(x: Any, labels: Any, sums: Any, m: int, n: int) -> None:
    # pragma parallel for
    for i in range(m):
        label = labels[i]
        # pragma atomic
        sums[label, :n] += x[i, :n]


def nested(a: Any, b: Any, n: int) -> None:
    # pragma parallel for
    for i in range(n):
        # pragma parallel for
        for j in range(n):
            b[j, i] = 2 * a[i, j]


def in_time(a: Any, n: int) -> None:
    # pragma sequential for
    for i in range(1, n):
        a[i] = a[i - 1] * 0.5 + 1


def softmax(a: Any, b: Any, m: int, n: int) -> None:
    # pragma parallel for
    for i in range(m):
        top = float("-inf")
        # pragma simd
        for j in range(n):
            top = max(top, a[i, j])
        s = 0.0
        # pragma simd
        for j in range(n):
            s += np.exp(a[i, j] - top)
        # pragma simd
        for j in range(n):
            b[i, j] = np.exp(a[i, j] - top) / s


def test_loops_that_are_parallel() -> None:
    assert "parallel for simd: proved" in checked(add, X, 2 * X, 0 * X, 300)
    assert "parallel for simd: proved" in checked(total, X, np.zeros(1), 300)
    assert checked(nested, X[:225].reshape(15, 15), np.zeros((15, 15)), 15).count("proved") == 2
    assert "sequential for: its iterations come one after" in checked(in_time, X, 300)


def test_scalars_and_reductions() -> None:
    assert "parallel for: proved" in checked(last_value, X, 0 * X, 300)
    assert "parallel for: proved" in checked(reduced, X, 300)
    text = checked(softmax, X[:200].reshape(10, 20), np.zeros((10, 20)), 10, 20)
    assert text.count("proved") == 4


def test_where_data_decides() -> None:
    bins = RNG.integers(0, 7, 300)
    text = checked(histogram, bins, np.zeros(7, int), 300)
    assert "parallel for: proved" in text
    text = checked(scattered, RNG.permutation(300), np.zeros(300, int), 300)
    assert "prange: believed: data decides which elements of 'h' are touched" in text
    bins = RNG.integers(0, 7, 100_000)  # enough for several threads
    text = checked(histogram_without_a_word, bins, np.zeros(7, int), 100_000)
    assert "prange: proved" in text
    labels = RNG.integers(0, 4, 20)
    checked(grouped, X[:140].reshape(20, 7), labels, np.zeros((4, 7)), 20, 7)
    starts = np.array([0, 3, 3, 7, 9])
    text = checked(sparse, starts, RNG.integers(0, 4, 9), X[:9], X[:4], np.zeros(4), 4)
    assert "parallel for: proved" in text
    assert "simd: proved" in text


def where_large(a: Any, y: Any, n: int) -> float:
    t = 0.0
    # pragma parallel for
    for i in range(1, n):
        if a[i] > 0.5:
            a[i] = a[i - 1]
            t = a[i] - 1
        y[i] = t
    return t


def test_where_a_condition_alone_decides() -> None:
    """What a wrong claim of the kind says changes nothing: threads would."""
    a = RNG.random(100_000)
    text = checked(where_large, a, 0 * a, 100_000)
    assert (
        "parallel for: believed: data decides which elements of 'a' are touched, and whether an "
        "iteration reads 't' of another; a condition alone decides it: iterations stay in order"
    ) in text
    assert "g.0" not in text


def recurrence(a: Any, n: int) -> None:
    # pragma parallel for
    for i in range(1, n):
        a[i] = a[i - 1] + 1


def handed_on(x: Any, y: Any, n: int) -> None:
    t = 0.0
    # pragma parallel for
    for i in range(n):
        y[i] = t
        t = x[i]


def two_operators(x: Any, n: int) -> float:
    s = 1.0
    # pragma parallel for
    for i in range(n):
        s += x[i]
        s *= 0.5
    return s


def one_element(x: Any, y: Any, n: int) -> None:
    for i in prange(n):
        y[0] = x[i]


@pytest.mark.parametrize(
    ("function", "arguments", "said"),
    [
        (recurrence, (X, 300), "iteration i=1 writes the element of 'a' that iteration i=2 reads"),
        (handed_on, (X, 0 * X, 300), "iteration i=0 writes 't' that iteration i=1 reads"),
        (two_operators, (X, 300), "iteration i=0 writes 's' that iteration i=1"),
        (
            one_element,
            (X, 0 * X, 300),
            "iteration i=0 writes the element of 'y' that iteration i=1",
        ),
    ],
)
def test_loops_that_are_not_parallel(
    function: Callable[..., Any], arguments: tuple[Any, ...], said: str
) -> None:
    own = copy.deepcopy(arguments)
    with pytest.raises(PragmaRefused, match="is not parallel") as caught:
        pg.jit(function)(*own)
    assert said in str(caught.value)
    lines = [line for line in str(caught.value).splitlines() if line.startswith("  | ")]
    assert lines[0][4:] in {
        "# pragma parallel for",
        "for i in prange(n):",
    }  # as formatters write it
    assert "^" in lines[1]
    np.testing.assert_array_equal(own[0], arguments[0])  # nothing has run


def shifted(a: Any, n: int, k: int) -> None:
    # pragma parallel for
    for i in range(n):
        a[i + k] = a[i] + 1


def test_a_claim_that_sizes_decide_is_checked_in_each_call() -> None:
    compiled = pg.jit(shifted)
    a = np.arange(90.0)
    wanted = a.copy()
    shifted(wanted, 30, 40)
    compiled(a, 30, 40)
    np.testing.assert_array_equal(a, wanted)
    assert "parallel for: proved, unless k >= 1 and k < n" in compiled.explain()
    with pytest.raises(PragmaRefused) as caught:
        compiled(a, 30, 4)
    assert "for a.shape[0]=90, k=4, n=30, iteration i=0 writes" in str(caught.value)
    assert "that iteration i=4 reads" in str(caught.value)
    np.testing.assert_array_equal(a, wanted)


def wrong_operation(x: Any, n: int) -> float:
    s = 0.0
    # pragma parallel for reduction(*: s)
    for i in range(n):
        s += x[i]
    return s


def no_reduction(x: Any, y: Any, n: int) -> None:
    # pragma parallel for reduction(+: x)
    for i in range(n):
        y[i] = x[i]


def misspelt(x: Any, n: int) -> None:
    # pragma parallel for shred(x)
    for i in range(n):
        x[i] = 1


def before_nothing(x: Any, n: int) -> None:
    for i in range(n):
        x[i] = 1
        # pragma atomic


def test_clauses_that_do_not_fit() -> None:
    with pytest.raises(PragmaRefused, match=r"no reduction with 'product' in this loop.*'sum'"):
        pg.jit(wrong_operation)(X, 300)
    with pytest.raises(PragmaRefused, match="'x' is not reduced into"):
        pg.jit(no_reduction)(X, 0 * X, 300)
    with pytest.raises(UnknownClause, match="'shred'"):
        pg.jit(misspelt)(X.copy(), 300)
    with pytest.raises(MisplacedPragma, match="no statement follows"):
        pg.jit(before_nothing)(X.copy(), 300)


def strips(a: Any, b: Any, c: Any, n: int) -> None:
    for i in pg.prange(0, n, pg.MVL):
        at = pg.vidx(i, pg.MVL, bound=n)
        c[at] = pg.where(a[at] > 0.5, a[at] + b[at], 0.0)


def old_values(a: Any, b: Any, n: int) -> None:
    for i in range(0, n, 16):
        at = pg.vidx(i, 16, n)
        kept = a[at]
        a[at] = 2 * b[at]
        b[at] = kept


def moved_strips(a: Any, b: Any, c: Any, m: int, n: int) -> None:
    # pragma parallel for
    for i in range(m):
        for j in range(1, n, 16):
            at = pg.vidx(j, 16, n)
            b[i, at] = 0.5 * (a[i, at - 1] + a[i, at]) + len(at)
            c[i, n - 1 - at] = pg.where(at < 20, at * 2, at.size)


def tiles(a: Any, b: Any, m: int, n: int) -> None:
    # pragma parallel for
    for i in range(0, m, 16):
        # pragma parallel for
        for j in range(0, n, 8):
            rows, columns = pg.vidx(i, 16, m), pg.vidx(j, 8, n)
            b[rows[:, None], columns[None, :]] = a[rows[:, None], columns[None, :]] * 2


def extremes_of_strips(a: Any, top: Any, low: Any, n: int) -> None:
    # pragma parallel for
    for i in range(0, n, pg.MVL):
        at = pg.vidx(i, pg.MVL, n)
        # pragma atomic
        top[0] = max(top[0], np.max(a[at]))
        low[i // pg.MVL] = min(a[at])


def counted_strips(x: Any, weights: Any, h: Any, rows: Any, n: int) -> None:
    # pragma parallel for
    for i in range(0, n, pg.MVL):
        at = pg.vidx(i, pg.MVL, n)
        pg.atomic_add(h, x[at], weights[at])
        pg.atomic_max(rows, (x[at], 1), weights[at])
    for i in pg.prange(n):
        pg.atomic_sub(rows, x[i], weights[i : i + 1])


def counted(x: Any, h: Any, top: Any, n: int) -> None:
    for i in pg.prange(n):
        pg.atomic_add(h, x[i], 2)
        pg.atomic_max(top, (0, 1), x[i])
        pg.atomic_min(top, (0, 0), x[i])


def test_functions_that_say_what_pragmas_say() -> None:
    assert "prange: proved" in checked(strips, X, 2 * X, 0 * X, 300)
    checked(strips, X[:256], X[:256], 0 * X[:256], 256)
    checked(old_values, X.copy(), 2 * X, 299)
    bins = RNG.integers(0, 7, 300)
    checked(counted, bins, np.zeros(7, int), np.full((2, 2), 3), 300)


def test_strips_are_arrays_of_integers() -> None:
    a = RNG.random((7, 50))
    text = checked(moved_strips, a, 0 * a, 0 * a, 7, 50)
    assert "parallel for: proved" in text
    assert checked(tiles, a, 0 * a, 7, 50).count("parallel for: proved") == 2
    text = checked(extremes_of_strips, X, np.zeros(1), np.zeros(3), 300)
    assert "parallel for: proved" in text


def test_atomic_updates_of_strips() -> None:
    bins = RNG.integers(-3, 4, 300)
    checked(counted_strips, bins, X, np.zeros(7), np.zeros((7, 2)), 300)
    bins[7] = 7
    with pytest.raises(IndexError):
        pg.jit(counted_strips)(bins, X, np.zeros(7), np.zeros((7, 2)), 300)


def gesummv(alpha: float, a: Any, x: Any, y: Any, m: int, n: int) -> None:
    # pragma :m=>parallel,:n=>reduce(sum:y)
    y[:m] = alpha * (a[:m, :n] @ x[:n])
    # pragma :m=>parallel,simd
    y[:m] += x[:m]


def stencil(a: Any, b: Any, m: int, n: int) -> None:
    # pragma 1:m-1=>parallel 1:n-1=>parallel,le(64)
    b[1 : m - 1, 1 : n - 1] = 0.5 * (a[1 : m - 1, : n - 2] + a[1 : m - 1, 2:n])


def test_array_statements() -> None:
    a, x = RNG.random((12, 12)), RNG.random(12)
    text = checked(gesummv, 0.5, a, x, np.zeros(12), 12, 12)
    assert text.count(": proved") == 3
    text = checked(stencil, a, np.zeros((12, 12)), 12, 12)
    assert "1:m-1: proved" in text
    assert "1:n-1: at most 64: checked in each call" in text


def test_lengths_are_checked_in_each_call() -> None:
    compiled = pg.jit(stencil)
    for n in (12, 66):
        a = RNG.random((n, n))
        wanted, found = np.zeros((n, n)), np.zeros((n, n))
        stencil(a, wanted, n, n)
        compiled(a, found, n, n)
        np.testing.assert_allclose(found, wanted)
    untouched = np.zeros((67, 67))
    with pytest.raises(PragmaRefused, match=r"'1:n-1' has 65 elements in this call, and le\(64\)"):
        compiled(RNG.random((67, 67)), untouched, 67, 67)
    assert not untouched.any()


def shortened(x: Any, y: Any, n: int) -> None:
    n //= 2
    # pragma :n=>parallel,le(8)
    y[:n] = x[:n]


def test_lengths_that_the_function_computes_are_believed() -> None:
    assert ":n: at most 8: believed" in checked(shortened, X, 0 * X, 16)


@pytest.mark.parametrize(
    ("pragma", "error", "said"),
    [
        (":k=>parallel", MisplacedPragma, "has no slice ':k'"),
        (":n=>parallel", PragmaRefused, "':n' is no slice of what is assigned"),
        (":m=>reduce(sum:y)", PragmaRefused, "':m' is a slice of what is assigned"),
        (":n=>reduce(sum:x)", PragmaRefused, "does not assign to 'x'"),
        (":n=>reduce(max:y)", PragmaRefused, "nothing in the statement reduces ':n' with 'max'"),
        (":m=>parallel,le(8)", PragmaRefused, "':m' has 12 elements in this call"),
    ],
)
def test_array_statements_that_are_something_else(
    pragma: str, error: type[Exception], said: str
) -> None:
    text = f"""
def product(a, x, y, m, n):
    #pragma {pragma}
    y[:m] = a[:m, :n] @ x[:n]
"""
    scope: dict[str, Any] = {}
    exec(text, scope)  # noqa: S102
    with pytest.raises(error, match=said) as caught:
        pg.jit(scope["product"], source=text)(np.ones((12, 12)), np.ones(12), np.ones(12), 12, 12)
    assert "^" in str(caught.value)


def element_wise(x: Any, total: Any, n: int) -> None:
    for i in prange(n):
        total[:] += x[i]


def conditional(x: Any, n: int) -> tuple[float, int]:
    s, count = 10.0, 3  # initial values count once
    for i in prange(n):
        if x[i] > 0.5:
            s += x[i]
            count += 1
    return s, count


def halves(x: Any, n: int) -> None:
    for i in prange(n):
        x[i, 1:] = x[i, :-1] + 1


def from_the_end(x: Any, y: Any, n: int) -> None:
    for i in prange(n):
        y[i] = x[i - 1]


def twice(x: Any, y: Any, n: int) -> None:
    for i in range(1, n):
        y[i] = x[i - 1] + 1


def test_what_others_get_wrong_in_silence() -> None:
    checked(element_wise, X[:60].reshape(20, 3), np.zeros(3), 20)
    checked(conditional, X, 300)
    checked(halves, X[:200].reshape(20, 10), 20)
    checked(from_the_end, X, np.zeros(300), 300)
    plain, own = X.copy(), X.copy()
    twice(plain, plain, 300)
    compiled = pg.jit(twice)
    compiled(X.copy(), np.zeros(300), 300)  # the variant for two arrays is there already
    compiled(own, own, 300)
    np.testing.assert_array_equal(own, plain)
    twice(plain[:-1], plain[1:], 299)
    compiled(own[:-1], own[1:], 299)
    np.testing.assert_array_equal(own, plain)


def stays_python(x: Any, n: int) -> list[str]:
    found = []
    # pragma parallel for
    for i in range(n):
        found.append(f"{x[i]}")
    return found


def test_a_pragma_about_python_is_listed() -> None:
    compiled = pg.jit(stays_python)
    assert compiled(X[:3], 3) == stays_python(X[:3], 3)
    assert "a pragma about Python: nothing is made of it" in compiled.explain()


def updated(h: Any, x: Any, n: int) -> None:
    # pragma parallel for
    for i in range(n):
        # pragma atomic
        h[x[i]] += 1


def doubled(x: Any, y: Any, n: int) -> None:
    for i in prange(n):
        y[i] = 2 * x[i]


def in_helpers(h: Any, x: Any, y: Any, z: Any, n: int) -> None:
    updated(h, x, n)
    doubled(y, z, n)
    doubled(z, y, n)


def running(x: Any, n: int) -> None:
    # pragma parallel for
    for i in range(1, n):
        x[i] += x[i - 1]


def runs(x: Any, n: int) -> None:
    running(x, n)


def assigned(x: Any, y: Any, n: int) -> None:
    # pragma :n=>parallel,le(4)
    y[:n] = x[:n]


def assigns(x: Any, y: Any, n: int) -> None:
    assigned(x, y, n)


def test_claims_in_helpers_are_looked_at() -> None:
    text = checked(in_helpers, np.zeros(7, int), RNG.integers(0, 7, 300), X.copy(), 0 * X, 300)
    first = updated.__code__.co_firstlineno
    assert f"line {first + 1}: parallel for: proved" in text
    assert f"line {doubled.__code__.co_firstlineno + 1}: prange: proved" in text
    (knl,) = pg.jit(in_helpers).kernels(np.zeros(7, int), np.zeros(300, int), X, 0 * X, 300)
    (update,) = [insn for insn in knl.instructions if getattr(insn, "atomicity", None)]
    assert update.location is not None
    assert update.location.line == first + 4
    assert ":n: at most 4: believed" in checked(assigns, X, 0 * X, 3)


def test_claims_in_helpers_are_refused_at_their_lines() -> None:
    with pytest.raises(PragmaRefused, match="iteration i=1 writes the element of 'x'") as caught:
        pg.jit(runs)(X.copy(), 300)
    assert f":{running.__code__.co_firstlineno + 1}" in str(caught.value)


def test_a_pragma_that_is_none_in_a_helper() -> None:
    loop = "    #pragma parallel for shares(x)\n    for i in range(n):\n        x[i] = i\n"
    helper_text = f"def helper(x, n):\n{loop}"
    text = "def f(x, n):\n    helper(x, n)\n"
    scope: dict[str, Any] = {}
    exec(compile(helper_text, "<four>", "exec"), scope)  # noqa: S102
    linecache.cache["<four>"] = (1, None, helper_text.splitlines(keepends=True), "<four>")
    exec(text, scope)  # noqa: S102
    with pytest.raises(UnknownClause, match="shares"):
        pg.jit(scope["f"], source=text)(X.copy(), 300)


def test_a_helper_elsewhere_at_the_same_place() -> None:
    """Its loop is no claim's, though it begins in the line and column of one."""
    helper_text = "\n\ndef running(x, n):\n    for k in range(1, n):\n        x[k] += x[k - 1]\n"
    text = """def f(x, y, n):
    running(x, n)
    #pragma parallel for
    for i in range(n):
        y[i] = 2*x[i]
"""
    scope: dict[str, Any] = {}
    exec(compile(helper_text, "<helper>", "exec"), scope)  # noqa: S102
    linecache.cache["<helper>"] = (1, None, helper_text.splitlines(keepends=True), "<helper>")
    exec(text, scope)  # noqa: S102
    x, y = X.copy(), 0 * X
    compiled = pg.jit(scope["f"], source=text)
    compiled(x, y, 300)
    np.testing.assert_allclose(y, 2 * X.cumsum())
    assert compiled.explain().count("parallel for: proved") == 1
