"""Functions of the user's: types by signature, code by target, several results."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    BuiltInFunction,
    InvalidArgument,
    MalformedText,
    NameTaken,
    ReservedName,
    TypeMismatch,
    UnknownFunction,
    UserError,
    WrongArity,
)
from polygen.ir.callables import ScalarCallable
from tests.lower.callables import MEAN, kernel
from tests.oracle import functions
from tests.oracle.cases import agree, grid, split, tag


@pytest.fixture(autouse=True)
def _known_to_the_interpreters(monkeypatch: pytest.MonkeyPatch) -> None:
    known: dict[str, Any] = {
        "mean": lambda a, b: (a + b) / 2,
        "divide": lambda a, b: (np.int32(a // b), np.float64(a % b)),
    }
    own = functions.call

    def call(name: str, arguments: list[Any]) -> Any:
        return known[name](*arguments) if name in known else own(name, arguments)

    monkeypatch.setattr(functions, "call", call)


BOTH = kernel(
    "{ [i]: 0<=i<n }",
    """
    middle(x) := mean(x, 1)
    <> q, <> r = divide(k[i], 3)           {id=divide}
    out[i] = mean(a[i], q + 0.0) + middle(r)  {dep=divide}
    left[i] = divide(k[i], 7)[1]
    """,
    pg.GlobalArg("k", np.int32),
    pg.GlobalArg("a", np.float64),
)


def test_text() -> None:
    assert pg.parse_kernel(str(BOTH)) == BOTH
    assert pickle.loads(pickle.dumps(BOTH)) == BOTH  # noqa: S301  (of our own)
    assert "divide = divide(int32, int32) -> int32, float64" in str(BOTH)


def test_agree() -> None:
    sizes = tuple({"n": n} for n in (0, 1, 7, 8))
    given = {"k": lambda call: np.arange(call["n"], dtype=np.int32)}
    agree(BOTH, sizes, grid("i", 4), split("i", 4), tag(i="g.0"), **given)


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_values(target: str) -> None:
    k, a = np.arange(20, dtype=np.int32), np.linspace(0, 1, 20)
    for knl in BOTH, pg.split_iname(BOTH, "i", 8, outer_tag="g.0", inner_tag="l.0"):
        left, out = knl.executor(target)(k=k, a=a)[1]
        np.testing.assert_array_equal(out, (a + k // 3) / 2 + (k % 3 + 1) / 2)
        np.testing.assert_array_equal(left, k % 7)


def test_a_function_is_called_once_for_its_results() -> None:
    source = pg.generate_code(BOTH, "c").source
    assert source.count("pg_divide(k[i], 3)") == 1
    assert source.count("static inline double mean_d") == 1


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_the_first_signature_that_fits(target: str) -> None:
    knl = kernel("{ [i]: 0<=i<n }", "out[i] = mean(a[i], 1)")
    for dtype, wanted in ((np.float32, np.float32), (np.int16, np.float32), (np.int32, np.float64)):
        (out,) = knl.executor(target)(a=np.arange(4, dtype=dtype))[1]
        np.testing.assert_array_equal(out, ((np.arange(4) + 1) / 2).astype(wanted), strict=True)


def test_code_for_some_targets_only() -> None:
    code = {"c": "static inline int seven(int x) { return x ? 7 : 0; }"}
    knl = kernel(
        "{ [i]: 0<=i<n }",
        "out[i] = seven(i)",
        seven=ScalarCallable({"seven": "int32 -> int32"}, code),
    )
    (out,) = knl.executor("c")(out=np.zeros(3, np.int32))[1]
    assert list(out) == [0, 7, 7]
    with pytest.raises(UnknownFunction, match="'seven' has no code for target 'opencl'"):
        pg.generate_code(pg.add_dtypes(knl, {"out": np.int32}), "opencl")


def test_what_a_target_has_needs_no_text() -> None:
    rounded = ScalarCallable({"nearbyint": "float64 -> float64"}, {"c": "#include <math.h>"})
    knl = kernel("{ [i]: 0<=i<n }", "out[i] = nearest(a[i])", nearest=rounded)
    (out,) = knl.executor("c")(a=np.array([0.4, 1.5, -2.6]))[1]
    assert list(out) == [0, 2, -3]


@pytest.mark.parametrize(
    ("text", "kind", "what"),
    [
        ("out[i] = mean(a[i])", WrongArity, "1 argument to 'mean', which takes 2"),
        ("out[i] = mode(a[i])", UnknownFunction, "no function 'mode'"),
        ("out[i] = divide(k[i], 2)", WrongArity, "has several results"),
        ("out[i] = divide(k[i], 2)[2]", WrongArity, "which has 2 results"),
        ("out[i] = mean(a[i], 2)[0]", WrongArity, "which has one result"),
        ("out[i], b[i], c[i] = divide(k[i], 2)", WrongArity, "which has 2 results"),
    ],
)
def test_wrong_calls(text: str, kind: type[UserError], what: str) -> None:
    with pytest.raises(kind) as caught:
        data = [pg.GlobalArg("k", np.int32)] * ("k[" in text)
        pg.generate_code(kernel("{ [i]: 0<=i<n }", text, *data))
    assert what in caught.value.what


def test_types_that_no_signature_takes() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "q[i], r[i] = divide(a[i], 2)")
    with pytest.raises(TypeMismatch, match=r"arguments of the types float64, int, and 'divide'"):
        knl(a=np.zeros(3))


@pytest.mark.parametrize(
    ("make", "kind", "what"),
    [
        (lambda: ScalarCallable({"f": "float64"}), InvalidArgument, "does not say what 'f' takes"),
        (lambda: ScalarCallable({"f": "real -> float64"}), InvalidArgument, "real"),
        (lambda: ScalarCallable({"f; }": "float64 -> float64"}), ReservedName, "no identifier"),
        (
            lambda: ScalarCallable({"f": "int32 -> int32", "g": "int32, int32 -> int32"}),
            InvalidArgument,
            "one number of arguments",
        ),
        *(
            (
                lambda name=name: kernel("{ : }", f"x[0] = {name}(1)", **{name: MEAN}),
                BuiltInFunction,
                f"'{name}' is a function that kernels can call anyway",
            )
            for name in ("real", "clamp", "sqrt", "float32")
        ),
        (lambda: kernel("{ : }", "x[0] = sum(1)", sum=MEAN), UserError, "sum"),
        (
            lambda: kernel("{ : }", "x[0] = f(1)", f=ScalarCallable({"x": "int32 -> int32"})),
            NameTaken,
            "'x' is a function, and something else",
        ),
        (lambda: kernel("{ : }", "x[0] = f(1)", f=2), InvalidArgument, "which is no function"),
        (
            lambda: ScalarCallable({"x": "int32 -> int32"}, {"openc": ""}),
            InvalidArgument,
            "'openc', which is no target",
        ),
        (
            lambda: pg.parse_kernel(str(BOTH).replace(" -> int32, float64", " to int32")),
            MalformedText,
            "says nothing of a function",
        ),
        (
            lambda: pg.parse_kernel(str(BOTH).replace("mean in *: '", "mean in *: ''' '")),
            MalformedText,
            "no text in quotes",
        ),
    ],
)
def test_wrong_functions(make: Any, kind: type[UserError], what: str) -> None:
    with pytest.raises(kind) as caught:
        make()
    assert what in caught.value.what
