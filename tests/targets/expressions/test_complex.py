"""Complex numbers have NumPy's values and types, in C and in OpenCL C."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import TypeMismatch, UnknownFunction
from polygen.ir import expression as ex
from polygen.ir.expression import Expression, Subscript, Variable
from tests.targets.execute import Array, evaluate, run_c, run_opencl

RNG = np.random.default_rng(3)
COUNT = 300


def _numbers(dtype: str) -> Array:
    if np.dtype(dtype).kind == "i":
        return RNG.integers(-9, 9, COUNT).astype(dtype)
    real = RNG.uniform(-3, 3, COUNT)
    if np.dtype(dtype).kind == "f":
        return real.astype(dtype)
    return (real + 1j * RNG.uniform(-3, 3, COUNT)).astype(dtype)


TYPES = ("complex64", "complex128", "float16", "float32", "float64", "int16", "int32")
ARRAYS = {f"{letter}_{name}": _numbers(name) for letter in "ab" for name in TYPES}


def element(name: str) -> Any:
    return Subscript(Variable(name), Variable("i"))


def call(name: str, *arguments: Any) -> Any:
    return ex.Call(Variable(name), arguments)


def _pairs(x: Any, y: Any) -> Iterator[Expression]:
    condition = ex.Comparison(element("a_float32"), "<", element("a_float64"))
    yield ex.Sum((x, y))
    yield ex.Sum((y, x))
    yield ex.Sum((y, ex.Product((-1, x))))
    yield ex.Product((x, y))
    yield ex.Product((y, x))
    yield ex.Quotient(x, y)
    yield ex.Quotient(y, x)
    yield ex.Comparison(x, "==", y)
    yield ex.Comparison(x, "!=", y)
    yield ex.If(condition, x, y)
    yield ex.Power(x, y)
    yield call("pow", y, x)
    yield ex.LogicalAnd((x, y))


def _alone(x: Any) -> Iterator[Expression]:
    yield from (ex.Sum((x, 1)), ex.Sum((x, 2j)), ex.Sum((1, 2j, x)), ex.Product((2, x)))
    yield from (ex.Product((2j, x)), ex.Product((ex.Sum((1, 2j)), x)), ex.Quotient(1, x))
    yield from (ex.Quotient(x, 2), ex.Product((-1, x)), ex.Sum((x, ex.Product((-2, x)))))
    yield from (ex.Power(x, e) for e in (0, 1, 2, 3, 4, 0.5, -1))
    yield from (ex.Power(ex.Sum((x, 1)), e) for e in (2, 3, 4))
    yield ex.Power(2, x)
    yield ex.LogicalNot(x)
    yield ex.If(x, x, 1)
    yield ex.If(ex.Comparison(x, "==", 0), 2j, 1)
    yield ex.Product((element("b_int32"), ex.Sum((0.5, 1j))))
    yield ex.Sum((element("b_float32"), 2j))
    yield from (call(name, x) for name in ("complex64", "complex128", "bool"))
    yield from (call(name, element("b_int32")) for name in ("complex64", "complex128"))
    for name in """exp log sqrt sin cos tan sinh cosh tanh isnan isinf isfinite abs real imag
        conj sign carg""".split():  # noqa: SIM905
        yield call(name, x)
        yield call(name, ex.Sum((x, element("b_float32"))))


CASES = [
    case
    for s in ("complex64", "complex128")
    for case in (
        *_alone(element(f"a_{s}")),
        *(c for t in TYPES for c in _pairs(element(f"a_{s}"), element(f"b_{t}"))),
    )
]
INVERSE = [
    call(name, element(f"a_{t}"))
    for name in ("acos", "asin", "atan", "acosh", "asinh", "atanh")
    for t in ("complex64", "complex128")
]


def check(cases: list[Expression], results: list[Array]) -> None:
    wrong: list[str] = []
    for case, found in zip(cases, results, strict=True):
        with np.errstate(all="ignore"):
            expected = np.broadcast_to(np.asarray(evaluate(case, ARRAYS)), found.shape)
        if found.dtype != expected.dtype:
            wrong.append(f"{case}: {found.dtype}, not {expected.dtype}")
            continue
        if found.dtype.kind in "fc":
            eps = float(np.finfo(expected.dtype).eps)
            # What is divided by zero is no number or infinite, and which depends on the formula.
            good = np.isclose(found, expected, rtol=64 * eps, atol=64 * eps)
            good |= ~np.isfinite(expected) & ~np.isfinite(found)
        else:
            good = found == expected
        if not good.all():
            k = int(np.argmin(good))
            wrong.append(f"{case}: {found[k]!r}, not {expected[k]!r}")
    assert not wrong, f"{len(wrong)} wrong:\n" + "\n".join(wrong[:20])


def test_values_in_c(tmp_path: Path) -> None:
    check(CASES + INVERSE, run_c(CASES + INVERSE, ARRAYS, tmp_path))


def test_values_in_opencl() -> None:
    check(CASES, run_opencl(CASES, ARRAYS))


def test_function_that_vectors_of_two_lack() -> None:
    with pytest.raises(UnknownFunction, match="'asin' of complex numbers") as error:
        run_opencl(INVERSE[2:3], ARRAYS)
    assert "sinh, sqrt" in str(error.value.remedy)


PARTS = (0.0, -0.0, 3.0, -0.25, 1e30, np.inf, -np.inf, np.nan)
NUMBERS = np.array([complex(x, y) for x in PARTS for y in PARTS])
# Of what is infinite or has no direction; of real numbers, `sign` is OpenCL's: 0 of what is none.
DIRECTIONS: dict[str, Any] = {
    "sign": lambda a: np.sign(a) if np.iscomplexobj(a) else np.where(np.isnan(a), 0, np.sign(a)),
    "carg": np.angle,
    "cproj": lambda a: np.where(np.isinf(a), np.inf, a),
}


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_directions_of_what_has_none_or_is_infinite(target: str, tmp_path: Path) -> None:
    arrays: dict[str, Array] = {
        "w": NUMBERS,
        "z": NUMBERS.astype(np.complex64),
        "r": NUMBERS.real.copy(),
        "f": NUMBERS.imag.astype(np.float32),
    }
    names = [(function, a) for function in DIRECTIONS for a in arrays]
    cases = [call(function, element(a)) for function, a in names]
    results = run_c(cases, arrays, tmp_path) if target == "c" else run_opencl(cases, arrays)
    for (function, a), found in zip(names, results, strict=True):
        with np.errstate(all="ignore"):
            expected = np.asarray(DIRECTIONS[function](arrays[a]))
        assert found.dtype == expected.dtype, (function, a)
        np.testing.assert_allclose(found.real, expected.real, rtol=1e-6, err_msg=function)
        if function != "cproj":
            np.testing.assert_allclose(found.imag, expected.imag, rtol=1e-6, err_msg=function)
            continue
        imaginary = np.where(np.isinf(arrays[a]), 0, arrays[a].imag)
        np.testing.assert_array_equal(found.imag, imaginary)
        if a in "wz":
            assert np.array_equal(np.signbit(found.imag), np.signbit(NUMBERS.imag))


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_sizes_where_squares_overflow(target: str, tmp_path: Path) -> None:
    arrays = {
        "a": np.array([1e30 + 1e30j, 3e-30 - 4e-30j, 50 + 1j, -60 - 2j, -1 + 0j], "complex64"),
        "b": np.array([2e30 - 1e30j, 1e-30 + 2e-30j, 1 + 50j, 2 - 60j, 0 - 1j], "complex64"),
    }
    a, b = element("a"), element("b")
    cases = [ex.Quotient(a, b), call("abs", a), call("sqrt", a), call("tanh", a), call("tan", b)]
    results = run_c(cases, arrays, tmp_path) if target == "c" else run_opencl(cases, arrays)
    with np.errstate(all="ignore"):
        exact = {name: values.astype("complex128") for name, values in arrays.items()}
        expected = [np.asarray(evaluate(case, exact)) for case in cases]
    # Trigonometric functions of large numbers are not finite in single precision.
    for which in (3, 4):
        results[which], expected[which] = results[which][2:], expected[which][2:]
    for case, found, right in zip(cases, results, expected, strict=True):
        assert np.allclose(found, right, rtol=1e-5, atol=0), str(case)


# --- whole kernels


def numbers(*shape: int) -> Array:
    real, imaginary = RNG.standard_normal((2, *shape))
    found: Array = (real + 1j * imaginary).astype(np.complex64)
    return found


@pytest.mark.parametrize("target", ["c", "opencl"])
@pytest.mark.parametrize("n", [0, 1, 17])
def test_products_with_adjoints(target: str, n: int) -> None:
    c64 = np.complex64
    knl = pg.make_kernel(
        "{ [i, j]: 0<=i<n and 0<=j<m }",
        """
        <> t = s*x[i]
        y[i] = sum(j, a[i, j]*conj(w[j])) + t*2j + 1
        r[i] = abs(y[i])
        """,
        [
            *(pg.GlobalArg(name, c64) for name in "axw"),
            pg.ValueArg("s", c64),
            pg.GlobalArg("y", c64, shape="n"),
            "...",
        ],
    )
    assert pg.parse_kernel(str(knl)) == knl
    a, x, w = numbers(n, 5), numbers(n), numbers(5)
    _, (y, r) = knl.executor(target)(a=a, x=x, w=w, s=2 + 1j)
    assert (y.dtype, r.dtype) == (np.dtype(c64), np.dtype(np.float32))
    expected = (a * w.conj()).sum(axis=1) + (2 + 1j) * x * 2j + 1
    assert np.allclose(y, expected, rtol=1e-5, atol=1e-5)
    assert np.allclose(r, np.abs(expected), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("target", ["c", "opencl"])
@pytest.mark.parametrize("n", [1, 15, 16, 17])
def test_a_tiled_convolution(target: str, n: int) -> None:
    knl = pg.make_kernel(
        "{ [i, k]: 0<=i<n and 0<=k<3 }",
        "out[i] = sum(k, a[i + k]*I[k]) if a[i] != 0 else 7j",
        [pg.GlobalArg("a", np.complex128, "n + 2"), pg.GlobalArg("I", np.float32), "..."],
    )
    knl = pg.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")
    knl = pg.add_prefetch(knl, "a", ["i_inner", "k"], default_tag="l.auto")
    a, taps = numbers(n + 2).astype(np.complex128), np.array([1, -2, 0.5], np.float32)
    a[::3] = 0
    _, (out,) = knl.executor(target)(a=a, I=taps, n=n)
    expected = a[:-2] - 2 * a[1:-1] + 0.5 * a[2:]
    assert np.allclose(out, np.where(a[:n] != 0, expected, 7j))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("out[i] = a[i] < 1", "is only there for real numbers"),
        ("out[i] = max(a[i], 1)", "is only there for real numbers"),
        ("out[i] = a[i] // 2", "is only there for real numbers"),
        ("out[i] = floor(a[i])", "is only there for real numbers"),
        ("out[i] = float32(a[i])", "is only there for real numbers"),
        ("out[i] = sum(i, a[i]) & 1", "is only there for integers"),
        ("out[i] = b[real(a[i])]", "has a subscript of type 'float32'"),
    ],
)
def test_what_complex_numbers_lack(text: str, reason: str) -> None:
    text = text.replace("sum(i, a[i])", "a[i]")
    knl = pg.make_kernel("{ [i]: 0<=i<n }", text, [pg.GlobalArg("a", np.complex64), "..."])
    with pytest.raises(TypeMismatch, match=reason):
        pg.generate_code(pg.add_dtypes(knl, {"b": np.float32} if "b[" in text else {}), "c")
