"""Expressions and types that are wrong are refused, with the reason and the place."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np
import pytest

import polygen as pg
from polygen import errors
from polygen.errors import UserError
from polygen.ir import dtype as dtypes

F32, F64, I32, C64 = np.float32, np.float64, np.int32, np.complex64


class Wrong(NamedTuple):
    """A program that is refused.

    Attributes:
        text: the instruction; its loop is ``{ [i]: 0<=i<n }``.
        error: the class of the refusal.
        reason: a part of what it says.
        at: what the marker under the instruction points to, if there is one.
        dtypes: the types of arguments, when code is asked for; None: it is refused when made.
    """

    text: str
    error: type[UserError]
    reason: str
    at: str = ""
    dtypes: dict[str, Any] | None = None


WRITTEN = [
    # slips of the pen
    Wrong("a[i] = b[i", errors.MalformedInstruction, ""),
    Wrong("a[i] = (b[i] + 1", errors.MalformedInstruction, ""),
    Wrong("a[i] = b[i] +", errors.MalformedInstruction, ""),
    Wrong("a[i] = * b[i]", errors.MalformedInstruction, "", "* b"),
    Wrong("a[i] = b[i] b[i]", errors.MalformedInstruction, "", "b[i]"),
    Wrong("a[i] = b[]", errors.MalformedInstruction, "", "]"),
    Wrong("a[i] = 1 < b[i] < 2", errors.MalformedInstruction, "cannot be chained", "< 2"),
    Wrong("a[i] = b[i] && 1", errors.MalformedInstruction, ""),
    Wrong("a[i] = b[i] ? 1 : 2", errors.MalformedInstruction, "", "?"),
    Wrong("a[i] = !b[i]", errors.MalformedInstruction, "", "!"),
    Wrong("a[i] = 1e999", errors.MalformedInstruction, "larger than any", "1e999"),
    Wrong("a[i] = 2e999f", errors.MalformedInstruction, "larger than any", "2e999f"),
    Wrong("a[i] = 3x", errors.MalformedInstruction, "", "x"),
    Wrong("a[i] = if(b[i], 1)", errors.MalformedInstruction, ""),
    Wrong("a[i] = min(b[i])", errors.MalformedInstruction, "two or more operands", "min"),
    Wrong("a[i] = b[[i, 1]]", errors.MalformedInstruction, "", ", 1"),
    # functions
    Wrong("a[i] = sn(b[i])", errors.UnknownFunction, "there is no function 'sn'"),
    Wrong("a[i] = arctan2(b[i], 1)", errors.UnknownFunction, "there is no function 'arctan2'"),
    Wrong("a[i] = sin(b[i], 1)", errors.WrongArity, "2 arguments to 'sin', which takes 1"),
    Wrong("a[i] = atan2(b[i])", errors.WrongArity, "1 argument to 'atan2', which takes 2"),
    Wrong("a[i] = fma(b[i], 2)", errors.WrongArity, "which takes 3 arguments"),
    Wrong("a[i] = ldexp(b[i])", errors.WrongArity, "which takes 2 arguments"),
    Wrong("a[i] = float32()", errors.WrongArity, "which takes 1 argument"),
    Wrong("a[i] = philox2x32(i, 0, 1)", errors.WrongArity, "has several results"),
    Wrong("a[i] = philox2x32(i, 0, 1)[2]", errors.WrongArity, "which has 2 results"),
    Wrong("a[i] = np.sin(b[i])", errors.MalformedInstruction, "'np.sin' is no type", "np.sin"),
    Wrong("a[i] = cast(b[i])", errors.MalformedInstruction, "a type and a number", "cast"),
    Wrong("a[i] = cast(np.flot32, b[i])", errors.MalformedInstruction, "no element type", "np."),
    # subscripts
    Wrong("a[i] = b[i] + b[i, 0]", errors.UserError, "b"),
    Wrong("a[i] = b + b[i]", errors.UserError, "b"),
]

TYPED = [
    Wrong(
        "a[i] = b[c[i]]",
        errors.TypeMismatch,
        "subscript of type 'float32'",
        "",
        {"b": F32, "c": F32},
    ),
    Wrong("a[i] = b[sqrt(i)]", errors.TypeMismatch, "a subscript of type", "", {"b": F32}),
    Wrong("a[i] = b[i] & 1", errors.TypeMismatch, "only there for integers", "", {"b": F32}),
    Wrong("a[i] = b[i] << 2", errors.TypeMismatch, "only there for integers", "", {"b": F64}),
    Wrong("a[i] = ~b[i]", errors.TypeMismatch, "only there for integers", "", {"b": np.bool_}),
    Wrong("a[i] = b[i] | 1.5", errors.TypeMismatch, "type 'float'", "", {"b": I32}),
    Wrong(
        "a[i] = b[i] ^ c[i]",
        errors.TypeMismatch,
        "no integer type in common",
        "",
        {"b": np.int64, "c": np.uint64},
    ),
    Wrong("a[i] = b[i] < 1", errors.TypeMismatch, "only there for real numbers", "", {"b": C64}),
    Wrong("a[i] = b[i] >= 2j", errors.TypeMismatch, "only there for real", "", {"b": F32}),
    Wrong("a[i] = max(b[i], 0)", errors.TypeMismatch, "real numbers", "", {"b": C64}),
    Wrong("a[i] = b[i] // 2", errors.TypeMismatch, "real numbers", "", {"b": C64}),
    Wrong("a[i] = b[i] % 2", errors.TypeMismatch, "real numbers", "", {"b": C64}),
    Wrong("a[i] = floor(b[i])", errors.TypeMismatch, "real numbers", "", {"b": C64}),
    Wrong("a[i] = ldexp(b[i], 1)", errors.TypeMismatch, "real numbers", "", {"b": C64}),
    Wrong("a[i] = native_exp(b[i])", errors.TypeMismatch, "real numbers", "", {"b": C64}),
    Wrong("a[i] = float64(b[i])", errors.TypeMismatch, "real numbers", "", {"b": C64}),
    Wrong("a[i] = b[i]**(-2)", errors.TypeMismatch, "a negative power", "", {"b": I32}),
    Wrong("a[i] = pow(b[i], -1)", errors.TypeMismatch, "a negative power", "", {"b": I32}),
    Wrong("a[i] = ldexp(b[i], b[i])", errors.TypeMismatch, "an integer as the", "", {"b": F32}),
    Wrong("a[i] = philox2x32(b[i], 0, 1)[0]", errors.TypeMismatch, "integers", "", {"b": F32}),
    Wrong("a[i] = b[i]", errors.TypeMismatch, "of type 'float32' to 'a'", "", {"a": I32, "b": F32}),
    Wrong("a[i] = b[i]", errors.TypeMismatch, "'complex64' to 'a'", "", {"a": F64, "b": C64}),
    Wrong("a[i] = b[i]", errors.TypeMismatch, "'int32' to 'a'", "", {"a": np.bool_, "b": I32}),
    Wrong("a[i] = 1.5", errors.TypeMismatch, "'float' to 'a'", "", {"a": np.int8}),
    Wrong("a[i] = 2j", errors.TypeMismatch, "'complex' to 'a'", "", {"a": F32}),
    Wrong("a[i] = b[i]", errors.TypeNotFound, "the type of the variable 'b'", "", {}),
    Wrong("a[i] = s*2", errors.TypeNotFound, "the type of the scalar argument 's'", "", {}),
    Wrong("a[i] = a[i]", errors.TypeNotFound, "has no type that does not depend on it", "", {}),
    Wrong("a[i] = b[i] + 300", errors.LiteralOutOfRange, "cannot hold it", "", {"b": np.int8}),
    Wrong("a[i] = b[i]*(-1)", errors.LiteralOutOfRange, "cannot hold", "", {"b": np.uint8}),
    Wrong("a[i] = b[i] & ~1", errors.LiteralOutOfRange, "-2 is used at", "", {"b": np.uint16}),
    Wrong("a[i] = b[i] | 2**40", errors.LiteralOutOfRange, "cannot hold", "", {"b": I32}),
]


@pytest.mark.parametrize("wrong", WRITTEN, ids=lambda w: w.text)
def test_refused_whatever_the_types(wrong: Wrong) -> None:
    with pytest.raises(wrong.error) as caught:
        pg.generate_code(pg.make_kernel("{ [i]: 0<=i<n }", wrong.text))
    _check(caught.value, wrong)
    if wrong.at:
        lines = str(caught.value.excerpt).split("\n")
        assert lines[0][lines[1].index("^") :].startswith(wrong.at), caught.value.excerpt


@pytest.mark.parametrize("wrong", TYPED, ids=lambda w: f"{w.text} {list(w.dtypes or ())}")
def test_refused_for_these_types(wrong: Wrong) -> None:
    knl = pg.add_dtypes(pg.make_kernel("{ [i]: 0<=i<n }", wrong.text), wrong.dtypes or {})
    with pytest.raises(wrong.error) as caught:
        pg.generate_code(knl, "c")
    _check(caught.value, wrong)


def _check(error: UserError, wrong: Wrong) -> None:
    assert isinstance(error, UserError)
    assert wrong.reason in error.what
    assert error.what


def test_the_place_and_the_remedy() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = 1\nb[i] = c[i] & 1")
    with pytest.raises(errors.TypeMismatch) as caught:
        pg.generate_code(pg.add_dtypes(knl, {"c": F32}), "c")
    assert "b[i] = c[i] & 1" in str(caught.value.excerpt)
    assert __file__ in str(caught.value.where)


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("a[i] = sn(b[i])", "'sin'"),
        ("a[i] = arctan2(b[i], 1)", "'atan2'"),
        ("a[i] = philox4x32f(i)", "philox4x32"),
        ("a[i] = np.sin(b[i])", "write sin(...) without np."),
        ("a[i] = cast(np.flot32, b[i])", "'float32'"),
        ("a[i] = philox2x32(i, 0, 1)", "philox2x32(i, 0, 1)[0]"),
    ],
)
def test_remedies(text: str, remedy: str) -> None:
    with pytest.raises(UserError) as caught:
        pg.generate_code(pg.make_kernel("{ [i]: 0<=i<n }", text))
    assert remedy in str(caught.value.remedy)


@pytest.mark.parametrize("dtype", [np.float64, np.complex64, np.bool_])
def test_what_is_assumed_is_assumed_of_integers(dtype: Any) -> None:
    data = [pg.ValueArg("m", dtype), pg.GlobalArg("b", np.float32, "n"), "..."]
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = b[i] + m", data, assumptions="m >= 1")
    with pytest.raises(errors.TypeMismatch, match=r"the assumption .* mentions 'm'") as caught:
        pg.generate_code(knl)
    assert "are integers" in str(caught.value.remedy)
    assert __file__ in str(caught.value.where)


def test_bfloat16_without_the_package_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)  # as if it was not installed
    with pytest.raises(errors.TypeNotSupported, match="only with the package ml_dtypes") as caught:
        dtypes.to_dtype("bfloat16")
    assert "polygen[bfloat16]" in str(caught.value.remedy)


def test_bfloat16_where_it_is_no_type() -> None:
    scalar = "the scalar argument 's' cannot be of type 'bfloat16'"
    with pytest.raises(errors.TypeNotSupported, match=scalar) as caught:
        pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = s", [pg.ValueArg("s", "bfloat16"), "..."])
    assert caught.value.where is not None
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = s")
    with pytest.raises(errors.TypeNotSupported, match=scalar):
        pg.add_dtypes(knl, {"s": "bfloat16"})
    text = str(pg.add_dtypes(knl, {"s": "float32"}))
    with pytest.raises(errors.TypeNotSupported, match=scalar):
        pg.parse_kernel(text.replace("s: ValueArg, type: float32", "s: ValueArg, type: bfloat16"))
    with pytest.raises(errors.UnknownFunction, match="no function 'bfloat16'"):
        pg.generate_code(pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = bfloat16(b[i])"))
