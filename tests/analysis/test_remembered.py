"""Answers that are kept with kernels, and the switch that finds them again."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl
import numpy as np
import pytest

import polygen as pg
from polygen.errors import InternalError
from polygen.ir.kernel import Kernel
from polygen.ir.recomputed import is_same, recomputing
from polygen.ir.remembered import answer_of, by_parts, per_kernel, shared, tell

OUTSIDE = {"value": 1}


def _kernel() -> Kernel:
    return pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = b[i]")


@per_kernel
def _rests_on_something_else(kernel: Kernel, factor: int) -> list[int]:
    return [factor * OUTSIDE["value"]]


def _names(kernel: Kernel, prefix: str) -> tuple[str, ...]:
    # The key lacks the prefix.
    find = tuple(prefix + name for name in kernel.variables)
    return by_parts(kernel, (_names, kernel.arguments), lambda: find)


def test_a_wrong_key_of_a_kernel_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    knl = _kernel()
    assert _rests_on_something_else(knl, 3) == [3]
    monkeypatch.setitem(OUTSIDE, "value", 2)
    assert _rests_on_something_else(knl, 3) == [3]  # nobody looks
    with (
        recomputing(1),
        pytest.raises(InternalError, match=r"\(\(3,\),\)\n  kept: \[3\]\n .* \[6\]") as caught,
    ):
        _rests_on_something_else(knl, 3)
    assert "test_remembered._rests_on_something_else kept" in str(caught.value)
    assert _rests_on_something_else(knl, 3) == [3]
    with recomputing(1):
        assert _rests_on_something_else(knl, 4) == [8]
        assert _rests_on_something_else(knl, 4) == [8]


def test_a_wrong_key_of_parts_is_caught() -> None:
    knl = _kernel()
    assert _names(knl, "x_") == _names(knl.copy(name="other"), "y_")
    with recomputing(1), pytest.raises(InternalError, match=r"_names kept .* key"):
        _names(knl.copy(name="third"), "y_")


def test_what_is_told_is_caught() -> None:
    @per_kernel
    def count(kernel: Kernel) -> int:
        return len(kernel.instructions)

    knl = _kernel()
    tell(knl, count, 2)
    with recomputing(1), pytest.raises(InternalError, match="count kept"):
        count(knl)


def test_a_share_of_the_answers_is_found_again() -> None:
    found: list[int] = []

    @per_kernel
    def asked(kernel: Kernel) -> int:
        found.append(1)
        return 0

    knl = _kernel()
    with recomputing(0.2, seed=3):
        for _ in range(1000):
            asked(knl)
    assert 150 < len(found) < 250


def test_arguments_by_name_are_part_of_the_key() -> None:
    @per_kernel
    def scaled(kernel: Kernel, *, by: int = 1) -> int:
        return by * len(kernel.instructions)

    knl = _kernel()
    assert [scaled(knl), scaled(knl, by=2), scaled(knl, by=3), scaled(knl)] == [1, 2, 3, 1]


@dataclass(frozen=True, eq=False)
class _Pair:
    sets: tuple[isl.Set, ...]
    array: object


def test_what_is_the_same() -> None:
    def pair(text: str, last: int) -> _Pair:
        return _Pair((isl.Set(text),), np.arange(last))

    first = pair("{ [i] : 0 <= i < 4 }", 3)
    assert is_same(first, pair("{ [i] : 0 <= i < 2 or 2 <= i < 4 }", 3))
    assert not is_same(first, pair("{ [i] : 0 <= i < 5 }", 3))
    assert not is_same(first, pair("{ [i] : 0 <= i < 4 }", 4))
    assert is_same({"a": [first]}, {"a": [pair("{ [i] : 0 <= i <= 3 }", 3)]})
    assert not is_same({"a": 1}, {"b": 1})
    assert not is_same((1,), [1])


def test_proofs_and_code_rest_on_keys_that_say_all() -> None:
    """In a small form: `make test-deep` runs all tests so."""
    with recomputing(0.3):
        knl = pg.make_kernel(
            "{ [i,j,k]: 0<=i,j,k<n }", "c[i,j] = sum(k, a[i,k]*b[k,j])", assumptions="n >= 1"
        )
        knl = pg.split_iname(knl, "i", 8, outer_tag="g.0", inner_tag="l.0")
        knl = pg.split_iname(knl, "k", 4)
        knl = pg.add_prefetch(knl, "b", "k_inner", default_tag=None)
        knl = pg.add_dtypes(knl, {"a, b": np.float32})
        assert "for" in str(pg.generate_code(knl, "opencl"))


def test_answers_that_nobody_asked_for() -> None:
    asked: list[str] = []

    @per_kernel
    def name_of(kernel: Kernel) -> str:
        asked.append(kernel.name)
        return kernel.name

    knl = pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = 1", name="one")
    assert answer_of(knl, name_of) is None
    assert asked == []
    assert name_of(knl) == answer_of(knl, name_of) == "one"
    assert asked == ["one"]
    assert answer_of(knl.copy(name="two"), name_of) is None


def test_kernels_share_answers_about_sets_whatever_their_dimensions_are_called() -> None:
    asked: list[str] = []

    @shared
    def doubled(one: isl.Set, other: isl.Set | None) -> isl.Set:
        asked.append(str(one))
        return one.apply(isl.Map("{ [i] -> [2i] }"))

    first = doubled(isl.Set("[n] -> { [i]: 0<=i<n }"), None)
    assert doubled(isl.Set("[n] -> { [j]: 0<=j and j+1<=n }"), None) is first
    for text in ("[m] -> { [i]: 0<=i<m }", "[n] -> { [i]: 0<i<n }"):  # of one hash for isl, or not
        assert doubled(isl.Set(text), None).is_equal(isl.Set(text).apply(isl.Map("{[i]->[2i]}")))
    assert len(asked) == 3
    many = ", ".join(f"n{k}" for k in range(30))
    large = isl.Set(f"[{many}] -> {{ [i]: {' and '.join(f'i <= n{k}' for k in range(30))} }}")
    doubled(large, None)
    doubled(large, None)
    assert len(asked) == 5  # to find out that it is known takes longer


def test_a_shared_answer_that_rests_on_something_else_is_caught() -> None:
    outside = [1]

    @shared
    def moved(one: isl.Set) -> isl.Set:
        return one.apply(isl.Map(f"{{ [i] -> [i + {outside[0]}] }}"))

    values = isl.Set("[n] -> { [i]: 0<=i<n }")
    moved(values)
    outside[0] = 2
    with recomputing(1), pytest.raises(InternalError, match=r"moved kept .* key"):
        moved(values)
