"""`analyse`: what is parallel when, for functions, modules and texts."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import InvalidArgument, NoSource

LISTING_1 = """
def function_foo(arg_a, arg_b, arr_len, k):
    for i in range(0, arr_len, 1):
        arg_a[i + k] = arg_a[i] + arg_b
"""

# ALPyNA's second listing is not in the paper's text; this has the dependences that it describes.
LISTING_2 = """
def nest(a, b, c, im, jm, km, mm, p1, p2, p3):
    for i in range(im):
        for j in range(jm):
            for k in range(km):
                for m in range(mm):
                    a[i + p1, j, k, m] = b[i, j, k, m]*c[i, j, k, m]
                    b[i, j + p2, k, m] = a[i, j, k, m] + b[i, j + p3, k, m]
"""


def test_a_shift_that_the_call_decides() -> None:
    found = pg.analyse(LISTING_1)
    text = str(found)
    assert list(found) == ["function_foo"]
    assert "loop i: parallel if arr_len <= k or k <= 0" in text
    assert "true   line 4 -> line 4  through arg_a, distance (k), if k >= 1 and k < arr_len" in text
    assert "anti   line 4 -> line 4  through arg_a, distance (-k), if" in text
    assert "with the old values of arg_a if" in text
    positive, general = found.function_foo.blocks
    for k in range(12):  # equation 1 of the paper, for k that is not negative
        parallel = k == 0 or k >= 10
        assert positive.parallel(arr_len=10, k=k) == (("i",) if parallel else ())
    sizes = {"arr_len": 10, "arg_a.shape[0]": 40}
    for k in range(-12, 1):  # no element is met from the end, for an array of 40
        parallel = k == 0 or k <= -10
        assert general.parallel(k=k, **sizes) == (("i",) if parallel else ())


@pytest.mark.parametrize(
    ("values", "first", "second"),
    [
        ((0, 1, -2), "ikm", "ikm"),
        ((1, 1, -1), "jkm", "km"),
        ((10, 99, -1), "ijkm", "ijkm"),
    ],
)
def test_four_loops(values: tuple[int, int, int], first: str, second: str) -> None:
    block = pg.analyse(LISTING_2).nest.blocks[-1]  # subscripts may be negative
    sizes = {"im": 10, "jm": 100, "km": 100, "mm": 100}
    sizes |= dict(zip(("p1", "p2", "p3"), values, strict=True))
    extents = {f"a.shape[{axis}]": 500 for axis in range(4)}  # nothing is met from the end
    assert block.by_statement(**sizes, **extents) == {7: tuple(first), 8: tuple(second)}


def test_a_handle_runs_its_functions() -> None:
    found = pg.analyse(LISTING_1)
    a = np.arange(8.0)
    found.function_foo(a, 0.5, 3, 4)
    np.testing.assert_array_equal(a, [0, 1, 2, 3, 0.5, 1.5, 2.5, 7])
    assert len(found.function_foo.kernels) == 2
    with pytest.raises(AttributeError, match="no function 'other'"):
        _ = found.other


def product(a: Any, b: Any, c: Any, n: int) -> None:
    for i in range(n):
        for j in range(n):
            for k in range(n):
                c[i, j] += a[i, k] * b[k, j]


def test_a_function_and_a_module() -> None:
    module = types.ModuleType(__name__)
    module.product = product  # type: ignore[attr-defined]
    module.compiled = pg.jit(product)  # type: ignore[attr-defined]
    module.pi = 3  # type: ignore[attr-defined]
    for found in (pg.analyse(product), pg.analyse(module), pg.analyse(pg.jit(product))):
        text = str(found["product"])
        assert "loop i: parallel always" in text
        assert "loop k: parallel never, but a reduction" in text
        assert "distance (0, 0, 1)" in text
    assert list(pg.analyse(module)) == ["product", "compiled"]


def test_what_stays_python_is_said() -> None:
    text = "def f(x, n):\n    with open('f'): pass\n    for i in range(n):\n        x[i] = i\n"
    found = pg.analyse(text).f
    assert found.python
    assert "line 2: Python: 'with'" in str(found)


def test_examples_say_what_is_not_guessed() -> None:
    text = "def f(x, y):\n    y[:] = 2*x\n"
    found = pg.analyse(text, x=np.zeros(24), y=np.zeros(24)).f
    assert "parallel always" in str(found)


def test_what_has_no_functions() -> None:
    with pytest.raises(InvalidArgument, match="nothing with a function"):
        pg.analyse("x = 1")
    with pytest.raises(NoSource, match="was given a int"):
        pg.analyse(3)
