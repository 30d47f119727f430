"""The types of functions' results, each kind of rule."""

from __future__ import annotations

import numpy as np
import pytest

from polygen.analysis.typing.function_types import (
    integer_kind,
    type_of_call,
    type_of_component,
    word_kind,
)
from polygen.analysis.typing.kinds import Counter, Kind, LongCounter, same_kind
from polygen.errors import TypeMismatch, UnknownFunction, WrongArity
from polygen.ir import expression as ex

WEAK: dict[str, Kind] = {"int": int, "float": float, "complex": complex, "iname": Counter}


def _kind(name: str) -> Kind:
    return WEAK.get(name) or np.dtype(name)


def _call(name: str, count: int) -> ex.Call:
    return ex.Call(ex.Variable(name), tuple(ex.Variable(f"x{k}") for k in range(count)))


def _type(name: str, *given: str) -> Kind:
    found: Kind = type_of_call(_call(name, len(given)), [_kind(g) for g in given])
    return found


@pytest.mark.parametrize(
    "name", ["int8", "uint16", "int32", "uint64", "bool", "float16", "float32"]
)
def test_types_are_those_of_numpys_functions(name: str) -> None:
    one = np.ones(1, name)
    for function in ("sin", "sqrt", "arctan2", "hypot", "floor", "maximum", "isnan", "signbit"):
        ours = {"arctan2": "atan2", "maximum": "max"}.get(function, function)
        count = getattr(np, function).nin
        expected = getattr(np, function)(*[one] * count).dtype
        assert same_kind(_type(ours, *[name] * count), expected), function


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        # Numbers without a type.
        ("sin", "int", "float"),
        ("sin", "complex", "complex"),
        ("sin", "iname", "float"),
        ("abs", "complex", "float"),
        ("real", "complex64", "float32"),
        ("abs", "complex128", "float64"),
        ("carg", "complex64", "float32"),
        ("max", "iname uint8", "int32"),
        # The last argument is an integer that does not count.
        ("ldexp", "float32 int64", "float32"),
        ("pown", "float32 int32", "float32"),
        ("rootn", "float64 int", "float64"),
        # Powers are powers.
        ("pow", "int32 int8", "int32"),
        ("pow", "float32 float64", "float64"),
        ("pow", "int32 complex64", "complex128"),
        # Integers.
        ("popcount", "uint16", "uint16"),
        ("abs_diff", "int16 int8", "uint16"),
        ("mul24", "int8 int8", "int32"),
        ("mul24", "uint8 uint8", "uint32"),
        ("upsample", "int16 uint16", "int32"),
        ("upsample", "uint32 uint32", "uint64"),
        ("bitselect", "int16 int16 int16", "int16"),
        ("select", "float32 float64 int32", "float64"),
        ("select", "float32 float32 int64", "float32"),
        ("nan", "uint32", "float32"),
        ("nan", "int", "float"),
        ("int16", "float64", "int16"),
        ("ilogb", "float64", "int32"),
        ("llrint", "float32", "int64"),
    ],
)
def test_each_kind_of_rule(name: str, given: str, expected: str) -> None:
    assert same_kind(_type(name, *given.split()), _kind(expected))


def test_functions_with_two_results() -> None:
    call = _call("sincos", 1)
    pair = type_of_call(call, [np.dtype("float32")])
    assert pair == (np.dtype("float32"), np.dtype("float32"))
    for position in (0, 1):
        node = ex.Component(call, position)
        assert same_kind(type_of_component(node, [pair]), np.dtype("float32"))
    found = type_of_call(_call("frexp", 1), [np.dtype("int16")])
    assert found == (np.dtype("float32"), np.dtype("int32"))
    node = ex.Component(_call("frexp", 1), 1)
    assert same_kind(type_of_component(node, [found]), np.dtype("int32"))


def test_components_of_one_type() -> None:
    """Random numbers have one type, whichever is taken; a user's results are fields."""
    node = ex.Component(_call("f", 1), 1)
    assert same_kind(type_of_component(node, [np.dtype("uint32")]), np.dtype("uint32"))
    assert type_of_component(node, [float]) is float
    fields = np.dtype([("r0", "float32"), ("r1", "int64")])
    assert same_kind(type_of_component(node, [fields]), np.dtype("int64"))


@pytest.mark.parametrize(
    ("kinds", "whole", "word"),
    [
        (["int8", "int8"], "int8", "int32"),
        (["int8", "uint8"], "int16", "int32"),
        (["uint16", "uint32"], "uint32", "uint32"),
        (["bool", "bool"], "int8", "int32"),
        (["int"], "int64", "int32"),
        (["iname"], "int64", "int32"),
        (["iname", "uint8"], "int32", "int32"),
    ],
)
def test_types_of_integers(kinds: list[str], whole: str, word: str) -> None:
    node, parts = _call("f", len(kinds)), [_kind(k) for k in kinds]
    assert same_kind(integer_kind(node, parts), np.dtype(whole))
    assert same_kind(word_kind(node, parts), np.dtype(word))


def test_integers_that_are_too_large_or_none() -> None:
    node = _call("f", 2)
    for wide in ("int64", "uint64"):
        parts = [np.dtype(wide)] * 2
        assert same_kind(integer_kind(node, parts), np.dtype(wide))
        with pytest.raises(TypeMismatch, match="only there for integers of at most 32 bits"):
            word_kind(node, parts)
    assert same_kind(word_kind(node, [LongCounter, int]), np.dtype("int32"))
    for rule in (integer_kind, word_kind):
        with pytest.raises(TypeMismatch, match="only there for integers"):
            rule(node, [np.dtype("int32"), float])
        with pytest.raises(TypeMismatch, match="no integer type in common"):
            rule(node, [np.dtype("int32"), np.dtype("uint64")])


@pytest.mark.parametrize(
    ("name", "given", "what"),
    [
        ("erf", "complex64", "only there for real numbers"),
        ("ldexp", "float32 float32", "an integer as the last argument"),
        ("pown", "float32 int64", "int32 does not hold all numbers"),
        ("upsample", "int16 int16", "it takes two integers of one size"),
        ("upsample", "int64 uint64", "it takes two integers of one size"),
        ("upsample", "int16 uint8", "it takes two integers of one size"),
        ("select", "float32 float64 float32", "an integer or a truth value as the last argument"),
        ("nan", "int32", "only there for uint16, uint32 and uint64"),
        ("nan", "uint8", "only there for uint16, uint32 and uint64"),
        ("popcount", "float32", "only there for integers"),
    ],
)
def test_arguments_of_other_types(name: str, given: str, what: str) -> None:
    with pytest.raises(TypeMismatch) as error:
        _type(name, *given.split())
    assert what in error.value.what


def test_other_calls() -> None:
    with pytest.raises(UnknownFunction):
        _type("nothing_of_that_name", "float32")
    with pytest.raises(WrongArity):
        _type("sin", "float32", "float32")
