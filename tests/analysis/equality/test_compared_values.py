"""Values of kernels: their parts, types, numbers and names; and flat sets over such names."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import islpy as isl
import numpy as np
import pytest

import polygen as pg
from polygen.analysis.equality.compared_values import (
    are_alike,
    in_names,
    is_function,
    is_rounded,
    is_whole,
    kept_casts,
    kind_of,
    onto,
    own_names,
    without,
)
from polygen.analysis.typing.kinds import Counter, Kind
from polygen.ir import expression as ex
from polygen.language.parser import parse_expression
from tests.analysis.equality.small_kernels import LINE, at_end, numbers, ordered, value
from tests.analysis.flat import points, where

KNL = ordered(
    LINE,
    "out[i] = x*a[i] + byte[i] + idx[i] {id=s}",
    pg.ValueArg("x", "float64"),
    numbers("byte", "uint8", "n"),
    numbers("idx", "int32", "n"),
)


def test_kinds() -> None:
    for text, dtype in {
        "a[i]": "f8",
        "byte[i]": "u1",
        "a[i] + byte[i]": "f8",
        "i < n": "?",
    }.items():
        assert value(KNL, "s", text, i="__i").kind == np.dtype(dtype)
        assert kind_of(KNL, parse_expression(text)) == np.dtype(dtype)
    assert value(KNL, "s", "2", i="__i").kind is int
    assert value(KNL, "s", "2.0", i="__i").kind is float  # equal to 2, for Python
    stored = replace(value(KNL, "s", "a[i]", i="__i"), casts=(np.dtype("f4"), np.dtype("f2")))
    assert stored.kind == np.dtype("f4")
    assert at_end(KNL, "out").kind == np.dtype("f8")


def test_keys_tell_numbers_of_several_types() -> None:
    one = value(KNL, "s", "a[i] + 2", i="__i")
    assert one.key == value(KNL, "s", "a[i] + 2", i="__j").key  # instances aside
    others = [
        value(KNL, "s", "a[i] + 2.0", i="__i"),
        value(KNL, "s", "a[i] + 3", i="__i"),
        replace(one, casts=(np.dtype("f4"),)),
        one.within(ex.Comparison(ex.Variable("i"), "<", 3)),
        one.subscript(one.node),
    ]
    assert one.key not in [other.key for other in others]


def test_conditions_are_taken_apart() -> None:
    inside = value(KNL, "s", i="__i").within(parse_expression("i > 1 and a[i] > 0"))
    assert inside.frame.conditions == (parse_expression("i > 1"), parse_expression("a[i] > 0"))
    assert inside.named({"i": "__j"}).names == {"__j"}
    assert inside.named({"i": "__j"}).frame.conditions == inside.frame.conditions


def test_arithmetic_in_subscripts() -> None:
    """Sums of small integers wrap around, unless they are subscripts."""
    whole = value(KNL, "s", "byte[i] + byte[i]", i="__i")
    assert whole.is_other_arithmetic(indexing=True)
    assert not whole.is_other_arithmetic(indexing=False)
    index = whole.subscript(whole.node)
    assert index.is_other_arithmetic(indexing=False)
    assert not index.is_other_arithmetic(indexing=True)
    wide = value(KNL, "s", "idx[i] + idx[i]", i="__i")
    assert not wide.is_other_arithmetic(indexing=True)
    # Parts of sums in subscripts are such, too, but a comparison's are not, nor what is read.
    for text, indexing in {"i + 1": True, "i < 1": False, "a[i]": False}.items():
        part = value(KNL, "s", text, i="__i").subscript(parse_expression(text))
        assert part.part(ex.Variable("i")).frame.indexing == indexing
    choice = value(KNL, "s", "if(i < 1, i, 2)", i="__i").subscript(
        parse_expression("if(i < 1, i, 2)")
    )
    assert isinstance(choice.node, ex.If)
    assert choice.part(choice.node.then).frame.indexing
    assert not choice.part(choice.node.condition).frame.indexing


def test_integers_are_functions_of_instances() -> None:
    found = value(KNL, "s", "2*i + n", i="__i").integer
    assert found is not None
    for i in range(3):
        point = isl.Set(f"[__i, n] -> {{ : __i = {i} and n = 5 }}")
        assert found.intersect_params(point).max_val() == isl.Val(2 * i + 5)
    for text in ("a[i]", "i*n", "x", "i / 2", "1.5"):
        assert value(KNL, "s", text, i="__i").integer is None
    wide, narrow = np.dtype(np.int64), np.dtype(np.int16)
    line = value(KNL, "s", "i", i="__i")
    assert replace(line, casts=(wide,)).integer is not None
    assert replace(line, casts=(narrow,)).integer is None
    assert replace(line, casts=(wide, narrow)).integer is None


@pytest.mark.parametrize(
    ("text", "casts", "number"),
    [
        ("3", "", 3),
        ("-3", "", -3),
        ("1.5", "", 1.5),
        ("i", "", None),
        ("3", "f4", 3),
        ("-3", "i4", -3),
        ("-3", "u4", None),  # wraps around
        ("1.5", "f4", None),
        ("2048", "f2", 2048),
        ("2049", "f2", None),  # rounded
        ("3", "i1", None),
        ("1", "?", None),
        ("3", "f4 u4", 3),
        ("2049", "f8 f2", None),
    ],
)
def test_numbers_that_all_types_have(text: str, casts: str, number: float | None) -> None:
    dtypes = tuple(np.dtype(name) for name in casts.split())
    found = replace(value(KNL, "s", text, i="__i"), casts=dtypes)
    assert found.number == number
    assert type(found.number) is type(number)
    if number is not None:
        assert all(float(np.asarray(number).astype(dtype)) == number for dtype in dtypes)


def test_infinities_are_no_numbers() -> None:
    at = value(KNL, "s", i="__i")
    for node in (float("inf"), float("nan"), True):
        assert replace(at, node=node).number is None


def test_reads() -> None:
    for text, is_read in {
        "a[i]": True,
        "x": True,
        "n": True,
        "i": False,
        "a[i] + 1": False,
    }.items():
        assert value(KNL, "s", text, i="__i").is_read == is_read


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (np.dtype("f4"), np.dtype("f4"), True),
        (np.dtype("f4"), np.dtype("f8"), False),
        (np.dtype("f4"), float, True),
        (np.dtype("f4"), int, False),
        (np.dtype("i4"), int, True),
        (np.dtype("i4"), Counter, True),
        (np.dtype("i4"), np.dtype("i8"), False),
        (int, Counter, True),
        (int, float, False),
    ],
)
def test_types_that_are_alike(one: Kind, other: Kind, alike: bool) -> None:
    assert are_alike(one, other) == alike
    assert are_alike(other, one) == alike


def test_whole_and_rounded() -> None:
    table: dict[str, tuple[bool, bool]] = {
        "i4": (True, False),
        "u1": (True, False),
        "f4": (False, True),
        "c8": (False, True),
        "?": (False, False),
    }
    for name, (whole, rounded) in table.items():
        assert is_whole(np.dtype(name)) == whole
        assert is_rounded(np.dtype(name)) == rounded
    assert [is_whole(kind) for kind in (int, Counter, float, complex)] == [True, True, False, False]
    assert is_rounded(float)
    assert not is_rounded(int)


# --- flat sets

PAIRS = isl.Set("[n, __i, __k] -> { : 0 <= __i < n <= 4 and __k = 2*__i }")


def test_names_of_instances_begin_with_underscores() -> None:
    assert own_names(PAIRS) == ["__i", "__k"]
    assert own_names(isl.Set("[n] -> { : n > 0 }")) == []


def test_names_are_projected_out() -> None:
    less = where(lambda n, i: 0 <= i < n <= 4, 2)
    assert points(without(PAIRS, ["__k", "absent"]), ["n", "__i"]) == less
    assert points(onto(PAIRS, ["__i"]), ["n", "__i"]) == less  # n is no instance's: it stays
    assert points(onto(PAIRS, []), ["n"]) == {(n,) for n in range(1, 5)}
    assert onto(PAIRS, ["__i", "__k", "absent"]).is_equal(PAIRS)


def test_names_are_replaced() -> None:
    found = in_names(PAIRS, {"__i": "__a", "__k": "__b", "absent": "__c"})
    assert points(found, ["n", "__a", "__b"]) == points(PAIRS, ["n", "__i", "__k"])


@pytest.mark.parametrize(
    ("text", "names", "function"),
    [
        ("__k = 2*__i", ["__k"], True),
        ("__k = 2*__i", ["__i"], True),
        ("2*__k <= __i <= 2*__k + 1", ["__k"], True),
        ("2*__k <= __i <= 2*__k + 1", ["__i"], False),
        ("__i <= __k", ["__k"], False),
        ("__k = 2*__i", ["__i", "__k"], False),
        ("__i = n and __k = 1", ["__i", "__k"], True),
        ("__k = 1", ["__i"], False),  # it may be anything
        ("__k = 1", [], True),
        ("1 = 0", ["__i"], True),  # no value at all
    ],
)
def test_one_value_given_the_others(text: str, names: list[str], function: bool) -> None:
    flat = isl.Set(f"[n, __i, __k] -> {{ : {text} }}")
    assert is_function(flat, names) == function
    assert not is_function(flat, [*names, "absent"])


NUMBERS = ("bool", "int8", "uint8", "int32", "uint32", "int64", "float16", "float32", "float64")
LIMITS = [0, 1, -1, 127, 128, 255, 2**15, 2**24 + 1, 2**31 - 1, -(2**31), 2**53 + 1, 2**63 - 1]


def _rare_numbers(kind: np.dtype[Any]) -> Any:
    if kind.kind == "f":
        return np.array([0.1, -2.5, 65504, 65520, 2**24 + 1, 1e300, np.inf, np.nan]).astype(kind)
    low, high = (0, 1) if kind.kind == "b" else (np.iinfo(kind).min, np.iinfo(kind).max)
    return np.array([v for v in LIMITS if low <= v <= high], kind)


@pytest.mark.filterwarnings("ignore:overflow")
def test_conversions_that_make_no_difference() -> None:
    """What is left of three conversions gives what all of them give, of the rarest numbers."""
    shorter = 0
    for chain in product(map(np.dtype, NUMBERS), repeat=4):
        if not all(np.can_cast(one, other, "same_kind") for one, other in pairwise(chain)):
            continue
        kept = kept_casts(chain[0], chain[:0:-1])
        whole = short = _rare_numbers(chain[0])
        for cast in chain[1:]:
            whole = whole.astype(cast)
        for cast in reversed(kept):
            short = short.astype(cast)
        assert short.dtype == whole.dtype
        np.testing.assert_array_equal(short, whole)
        shorter += len(kept) < 3
    assert shorter > 500


def test_conversions_of_what_adapts_stay() -> None:
    casts = (np.dtype("float32"), np.dtype("float64"))
    assert kept_casts(float, casts) == casts
