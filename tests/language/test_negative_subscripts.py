"""`wrap_negative`: negative subscripts count from the end, as NumPy's do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import MalformedInstruction, ObligationViolated, OutOfBounds

LINE = "{ [i]: 0<=i<m }"
A = pg.GlobalArg("a", shape="n")


def _made(text: str, *data: Any, domain: str = LINE, **how: Any) -> pg.Kernel:
    return pg.make_kernel(domain, text, [A, *data, "..."], wrap_negative=True, **how)


def _instruction(knl: pg.Kernel) -> str:
    return str(knl).partition("INSTRUCTIONS:\n")[2].partition("  {id")[0]


@pytest.mark.parametrize(
    ("subscript", "place"),
    [
        ("p[i]", "if(p[i] < 0, p[i] + n, p[i])"),
        ("i - 1", "if(i - 1 < 0, (i - 1) + n, i - 1)"),
        ("if(i > 0, i - 1, 0)", "if(i > 0, i - 1, 0)"),
        ("p[i] % n", "p[i] % n"),
        ("i", "i"),
    ],
)
def test_what_may_be_negative_is_wrapped(subscript: str, place: str) -> None:
    knl = _made(f"out[i] = a[{subscript}]", domain="{ [i]: 0<=i<n }", assumptions="n >= 1")
    assert _instruction(knl) == f"[i] out[i] = a[{place}]"
    assert pg.parse_kernel(str(knl)) == knl


def test_numbers_count_from_the_end_at_once() -> None:
    knl = _made("out[i] = a[-2]", assumptions="n >= 2")
    assert _instruction(knl) == "[i] out[i] = a[n - 2]"
    with pytest.raises(OutOfBounds):
        _made("out[i] = a[-2]", assumptions="n >= 1")


def test_obligations_reach_below_zero() -> None:
    (owed,) = pg.obligations(_made("out[i] = a[p[i]]"))
    assert owed.what.endswith("is inside of 'a': -n <= p[i] < n")
    assert not pg.obligations(_made("out[i] = a[i - 1]", domain="{ [i]: 0<=i<n }"))
    with pytest.raises(OutOfBounds):
        _made("out[i] = a[i - 2]", domain="{ [i]: 0<=i<n }")


def test_conditions_and_rules_are_seen() -> None:
    knl = _made("f(x) := a[x - 1]\nout[i] = f(i) {if=i >= 1}", domain="{ [i]: 0<=i<n }")
    assert _instruction(knl) == "[i] out[i] = a[i - 1]"
    knl = _made("f(x) := a[x - 1]\nout[i] = f(i)", domain="{ [i]: 0<=i<n }")
    assert _instruction(knl) == "[i] out[i] = a[if(i - 1 < 0, (i - 1) + n, i - 1)]"


TEXT = """
out[i] = a[p[i]] + a[q[p[i]] + 1] + b[i - 1, p[i]]
c[p[i]] = i {if=i == 1}
"""


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_results_are_numpys(target: str) -> None:
    n, m = 7, 20
    data = (pg.GlobalArg("c, q", shape="n"), pg.GlobalArg("b", shape="m, n"))
    run = _made(TEXT, *data).executor(target)
    rng = np.random.default_rng(3)
    for dtype in ("int8", "int64", "uint32")[: 3 if target == "c" else 1]:
        low = 0 if dtype == "uint32" else -n
        p = rng.integers(low, n, m).astype(dtype)
        q = rng.integers(-n - 1, n - 1, n).astype(np.int32)
        a, b, c = rng.random(n), rng.random((m, n)), np.zeros(n, np.int32)
        p[0] = n - 1
        rows = np.arange(m) - 1
        expected = np.zeros(n, np.int32)
        expected[p[1]] = 1
        _, found = run(a=a, b=b, c=c, p=p, q=q, check_assumptions=True)
        np.testing.assert_array_equal(_of_shape(found, m), a[p] + a[q[p] + 1] + b[rows, p])
        np.testing.assert_array_equal(_of_shape(found, n), expected)


def _of_shape(arrays: Any, size: int) -> Any:
    (found,) = [array for array in arrays if array.shape == (size,)]
    return found


@pytest.mark.parametrize("wrong", [-6, 5])
def test_calls_check_both_ends(wrong: int) -> None:
    run = _made("out[i] = a[p[i]]").executor("c")
    p = np.array([0, 4, -5, wrong], np.int32)
    _, (out,) = run(a=np.arange(5.0), p=p[:3], check_assumptions=True)
    assert out.tolist() == [0, 4, 0]
    with pytest.raises(ObligationViolated, match="for i=3"):
        run(a=np.arange(5.0), p=p, check_assumptions=True)


def test_parts_that_begin_at_negative_subscripts_are_refused() -> None:
    f = pg.make_function("{ [k]: 0<=k<m }", "y[k] = 2*x[k]", name="f")
    data = pg.GlobalArg("b, out", shape="n, 4")
    how: dict[str, Any] = {"functions": {"f": f}, "domain": "{ [i]: 0<=i<n }"}
    assert _made("[k]: out[i,k] = f(4, [k]: b[i,k])", data, **how).calls
    with pytest.raises(MalformedInstruction, match=r"'\[k\]: b\[p\[i\], k\]', which may begin"):
        _made("[k]: out[i,k] = f(4, [k]: b[p[i],k])", data, **how)


def test_without_it_nothing_is_wrapped() -> None:
    knl = pg.make_kernel(LINE, "out[i] = a[p[i]]", [A, "..."])
    assert _instruction(knl) == "[i] out[i] = a[p[i]]"
    with pytest.raises(OutOfBounds):
        pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = a[i - 1]", [A, "..."])
