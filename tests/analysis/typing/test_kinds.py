"""Kinds, the types of expressions, against NumPy's rules."""

from __future__ import annotations

from functools import reduce
from itertools import product
from typing import Any

import numpy as np
import pytest

from polygen.analysis.typing.kinds import (
    BOOL,
    Counter,
    Kind,
    LongCounter,
    can_assign,
    counter_of,
    default_dtype,
    is_counter,
    is_index,
    join,
    join_all,
    kind_name,
    letter,
    literal_kind,
    same_kind,
)
from polygen.errors import InternalError

WEAK: dict[str, Any] = {"int": 1, "float": 1.0, "complex": 1j}
WEAK_KINDS: dict[str, Kind] = {"int": int, "float": float, "complex": complex}
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
NUMBERS = ["bool", *INTEGERS, "float16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("first", NUMBERS)
def test_types_are_joined_as_numpy_joins_arrays(first: str) -> None:
    for second in NUMBERS:
        expected = (np.ones(1, first) + np.ones(1, second)).dtype
        assert same_kind(join(np.dtype(first), np.dtype(second)), expected)
    for name, value in WEAK.items():
        expected = (np.ones(1, first) + value).dtype
        assert same_kind(join(np.dtype(first), WEAK_KINDS[name]), expected)
        assert same_kind(join(WEAK_KINDS[name], np.dtype(first)), expected)


def test_python_numbers_are_joined_as_python_joins_them() -> None:
    for first, second in product(WEAK, WEAK):
        expected = type(WEAK[first] + WEAK[second])
        assert join(WEAK_KINDS[first], WEAK_KINDS[second]) is expected


@pytest.mark.parametrize(("counter", "dtype"), [(Counter, "int32"), (LongCounter, "int64")])
def test_counters_are_of_the_type_of_indices_beside_integers_alone(
    counter: type[Counter], dtype: str
) -> None:
    for name in NUMBERS:
        # uint64 and int64 have no integer type in common: the counter adapts.
        is_index_type = name in INTEGERS and name != "uint64"
        other: Any = np.ones(1, dtype) if is_index_type else 1
        expected = (np.ones(1, name) + other).dtype
        assert same_kind(join(counter, np.dtype(name)), expected), name
        assert same_kind(join(np.dtype(name), counter), expected), name
    for weak, expected in ((int, counter), (float, float), (complex, complex)):
        assert join(counter, weak) is join(weak, counter) is expected
    assert join(Counter, LongCounter) is join(LongCounter, Counter) is LongCounter


def test_counters() -> None:
    assert counter_of(np.dtype("int32")) is counter_of(np.dtype("uint32")) is Counter
    assert counter_of(np.dtype("int64")) is LongCounter
    kinds: list[Kind] = [Counter, LongCounter, int, float, np.dtype("int32")]
    assert [is_counter(kind) for kind in kinds] == [True, True, False, False, False]
    assert [is_index(kind) for kind in kinds] == [True, True, True, False, False]


def test_several_are_joined_from_left_to_right() -> None:
    kinds: list[Kind] = [np.dtype("int8"), int, np.dtype("uint8"), float]
    assert same_kind(join_all(kinds), reduce(join, kinds))
    assert same_kind(join_all(kinds), np.dtype("float64"))  # of int16 and a Python float
    assert join_all([complex]) is complex


@pytest.mark.parametrize("value", ["3", None, [1]])
def test_what_is_no_number_has_no_kind(value: Any) -> None:
    with pytest.raises(InternalError, match="is no number"):
        literal_kind(value)


def test_letters_are_numpys() -> None:
    for name in NUMBERS:
        assert letter(np.dtype(name)) == np.dtype(name).kind
    kinds: list[Kind] = [int, Counter, LongCounter, float, complex]
    assert [letter(kind) for kind in kinds] == ["i", "i", "i", "f", "c"]


def test_kinds_are_the_same_as_themselves_alone() -> None:
    kinds: list[Kind | None] = [None, BOOL, np.dtype("float64"), int, Counter, float, complex]
    for (i, first), (j, second) in product(enumerate(kinds), enumerate(kinds)):
        assert same_kind(first, second) == (i == j), (first, second)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, np.dtype(bool)),
        (3, int),
        (2.5, float),
        (1j, complex),
        (np.float32(1), np.dtype("float32")),
        (np.float64(1), np.dtype("float64")),
        (np.int8(1), np.dtype("int8")),
        (np.True_, np.dtype(bool)),
    ],
)
def test_literals(value: Any, kind: Kind) -> None:
    assert same_kind(literal_kind(value), kind)


@pytest.mark.parametrize("value", ["bool", "int8", "int64", "uint8", "float32", "complex64"])
@pytest.mark.parametrize("target", ["bool", "int8", "uint64", "float32", "complex128"])
def test_assignment_is_numpys_same_kind(value: str, target: str) -> None:
    expected = True
    try:
        np.add(np.ones(1, value), np.zeros(1, value), out=np.ones(1, target), casting="same_kind")
    except TypeError:
        expected = False
    assert can_assign(np.dtype(value), np.dtype(target)) == expected


@pytest.mark.parametrize(
    ("value", "targets"),
    [(int, "int8 uint8 float32 complex64"), (float, "float32 complex64"), (complex, "complex64")],
)
def test_python_numbers_are_written_where_they_fit(value: Kind, targets: str) -> None:
    for target in ("bool", "int8", "uint8", "float32", "complex64"):
        assert can_assign(value, np.dtype(target)) == (target in targets.split())


def test_joining_is_exact_about_types() -> None:
    # NumPy's dtypes are == to Python's types, and float64 even to None.
    assert same_kind(join(np.dtype("int64"), int), np.dtype("int64"))
    assert same_kind(join(int, np.dtype("int64")), np.dtype("int64"))
    assert same_kind(join(float, np.dtype("float64")), np.dtype("float64"))
    assert not same_kind(np.dtype("float64"), None)
    assert not same_kind(np.dtype("float64"), float)


def test_defaults_are_numpys() -> None:
    for name, value in WEAK.items():
        assert default_dtype(WEAK_KINDS[name]) == np.asarray(value).dtype
    assert default_dtype(np.dtype("int8")) == np.dtype("int8")


def test_names_of_kinds() -> None:
    assert kind_name(np.dtype("float32")) == "float32"
    assert kind_name(int) == "int"
    assert kind_name(Counter) == kind_name(LongCounter) == "int"
    assert (kind_name(float), kind_name(complex)) == ("float", "complex")
