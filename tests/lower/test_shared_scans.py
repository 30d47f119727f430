"""Scans along axes of the work items: stages in local memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import ComputedAnew, InternalError
from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.lower.shared_scans import _Stages  # pyright: ignore[reportPrivateUsage]
from tests.few import few

UP_TO = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }"]
BEFORE = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<i }"]
SIZES = (0, 1, 7, 8, 9, 31)
A, A2 = (pg.GlobalArg("a", "float64", shape) for shape in ("n", "m, n"))


def shared(text: str, domains: list[str], width: int = 8, *more: Any, **tags: str) -> Kernel:
    """Return a kernel whose `i` is split, with the inner part on axis 0."""
    knl = pg.make_kernel(domains, text, [A, *more, "..."])
    return pg.tag_inames(pg.split_iname(knl, "i", width), {"i_inner": "l.0", **tags})


def agree(
    knl: Kernel,
    expected: Callable[[Any], tuple[Any, ...]],
    targets: Sequence[str] = ("c", "opencl"),
) -> None:
    for target in targets:
        run = knl.executor(target)
        for n in SIZES:
            a = np.random.default_rng(n).integers(-9, 10, n).astype(np.float64)
            _, found = run(a=a)
            for values, right in zip(found, expected(a), strict=True):
                np.testing.assert_array_equal(values, right)


def exclusive(a: Any) -> Any:
    return np.concatenate(([0.0], np.cumsum(a)))[: len(a)]


CASES: list[tuple[list[str], str, Callable[[Any], tuple[Any, ...]]]] = [
    (UP_TO, "b[i] = sum(j, a[j])", lambda a: (np.cumsum(a),)),
    (UP_TO, "b[i] = 2*max(j, a[j]) - 1", lambda a: (2 * np.maximum.accumulate(a) - 1,)),
    (UP_TO, "b[i] = any(j, a[j] > 7)", lambda a: (np.logical_or.accumulate(a > 7),)),
    (BEFORE, "b[i] = sum(j, a[j]) + a[i]*a[i]", lambda a: (exclusive(a) + a * a,)),
    (
        UP_TO,
        "b[i] = sum(j, a[j])\nc[i] = sum(j, a[j]*a[j]) - min(j, a[j])",
        lambda a: (np.cumsum(a), np.cumsum(a * a) - np.minimum.accumulate(a)),
    ),
    (
        UP_TO,
        "b[i], c[i] = argmax(j, a[j], j)",
        lambda a: (
            np.maximum.accumulate(a),
            [int(np.argmax(a[: i + 1])) for i in range(len(a))],
        ),
    ),
]


@pytest.mark.parametrize(("domains", "text", "expected"), CASES)
@few(1, "width", [5, 8])
def test_numpy_agrees(
    domains: list[str], text: str, expected: Callable[[Any], tuple[Any, ...]], width: int
) -> None:
    agree(shared(text, domains, width), expected)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 16])
def test_each_takes_what_is_before_it_once(size: int) -> None:
    """Each contributes a power of two of its own."""
    knl = pg.make_kernel([f"{{ [i]: 0<=i<{size} }}", "{ [j]: 0<=j<=i }"], "b[i] = sum(j, a[j])")
    knl = pg.tag_inames(pg.add_dtypes(knl, {"a": "int64"}), {"i": "l.0"})
    for target in ("c", "opencl"):
        _, (b,) = knl.executor(target)(a=2 ** np.arange(size))
        np.testing.assert_array_equal(b, 2 ** np.arange(1, size + 1) - 1)


def test_the_stages() -> None:
    knl = pg.make_kernel(["{ [i]: 0<=i<6 }", "{ [j]: 0<=j<=i }"], "b[i] = sum(j, a[j])")
    knl = pg.tag_inames(pg.add_dtypes(knl, {"a": "float32"}), {"i": "l.0"})
    text = str(pg.generate_code(knl, "opencl"))
    assert (
        text.count("barrier(CLK_LOCAL_MEM_FENCE)") == 3
    )  # before what is 1, 2 and 4 away; the result is its own
    assert "for" not in text


@pytest.mark.more
def test_rows_of_groups_and_of_items() -> None:
    """Each group has rows of its own, and several at once."""
    domains = ["{ [r,i]: 0<=r<m and 0<=i<n }", "{ [j]: 0<=j<=i }"]
    knl = pg.make_kernel(domains, "b[r,i] = sum(j, a[r,j])", [A2, "..."])
    knl = pg.split_iname(pg.split_iname(knl, "i", 4), "r", 3)
    knl = pg.prioritize_loops(knl, "r_outer, r_inner, i_outer, i_inner")
    for tags in (
        "r_outer:g.0, r_inner:l.1, i_inner:l.0",
        "r_outer:g.0, r_inner:l.0, i_inner:l.1",
        "r_outer:g.0, i_inner:l.0",
        "i_inner:l.0",
    ):
        new = pg.tag_inames(knl, tags)
        assert "__local" in str(pg.generate_code(new, "opencl"))
        for target in ("c", "opencl") if "l.1" in tags else ("c",):
            for rows, columns in ((0, 3), (1, 1), (4, 9), (7, 4)):
                a = np.random.default_rng(rows).integers(-9, 10, (rows, columns)).astype(np.float64)
                _, (b,) = new.executor(target)(a=a)
                np.testing.assert_array_equal(b, a.cumsum(axis=1))


def test_an_axis_that_begins_where_a_size_says() -> None:
    """Its first value is 1 for n < 4, and 0 otherwise: what is carried begins there, too."""
    domains = ["{ [i,k]: 0<=i<n and k = i + 1 }", "{ [j]: 0<=j<k }"]
    knl = pg.make_kernel(domains, "b[i] = sum(j, a[j]) {inames=i:k}", [A, "..."])
    knl = pg.prioritize_loops(pg.split_iname(knl, "k", 4, inner_tag="l.0"), "i, k_outer")
    assert "__local" in str(pg.generate_code(knl, "opencl"))
    agree(knl, lambda a: (np.cumsum(a),))


def test_where_the_order_is_fixed_each_work_item_has_its_own() -> None:
    knl = pg.set_options(shared("b[i] = sum(j, a[j])", UP_TO), allow_reassociation=False)
    with pytest.warns(ComputedAnew, match="'i_inner', which is tagged l.0"):
        assert "__local" not in str(pg.generate_code(knl, "opencl"))


@pytest.mark.filterwarnings("ignore::polygen.errors.ComputedAnew")
@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("b[i] = sum(j, a[j]*a[i])", {}),  # it depends on i
        ("b[i] = sum(j, a[j])", {"i_outer": "g.0"}),  # nothing is carried between groups
        ("b[i] = sum(j, c[j]) {if=i < m}", {}),  # there is nothing elsewhere
        ("b[i] = sum(j, a[start[j]]) {if=a[i] > 0}", {}),  # nor here, for all that is known
        ("b[i] = scan_horner(j, a[j])", {}),  # not claimed to be associative
    ],
)
def test_what_is_no_such_scan(text: str, tags: dict[str, str]) -> None:
    pg.register_reduction("scan_horner", "3*a + b", 0)
    c, start = pg.GlobalArg("c", "float64", "m"), pg.GlobalArg("start", "int32", "n")
    knl = shared(text, UP_TO, 8, pg.GlobalArg("b", "float64", "n"), c, start, **tags)
    assert "__local" not in str(pg.generate_code(knl, "opencl"))


def _after_last(a: Any, starts: Any, start: float, combine: Callable[[float, float], float]) -> Any:
    """Return what is combined since the last start."""
    found: list[float] = []
    value = start
    for number, starts_here in zip(a, starts, strict=True):
        value = number if starts_here else combine(value, number)
        found.append(value)
    return found


SEGMENTS: list[tuple[str, Callable[[Any], tuple[Any, ...]]]] = [
    (
        "b[i], c[i] = segmented(sum)(j, a[j], a[j] > 4)",
        lambda a: (
            _after_last(a, a > 4, 0, lambda x, y: x + y),
            np.logical_or.accumulate(a > 4),
        ),
    ),
    (
        "b[i], c[i] = segmented(product)(j, if(a[j] > 4, -1, 1), a[j] == 7)",
        lambda a: (
            _after_last(np.where(a > 4, -1, 1), a == 7, 1, lambda x, y: x * y),
            np.logical_or.accumulate(a == 7),
        ),
    ),
    (
        "b[i] = last_not_zero(j, max(a[j], 0))",
        lambda a: (_after_last(a, a > 0, 0, lambda x, _: x),),
    ),
]


@pytest.mark.parametrize(("text", "expected"), SEGMENTS)
def test_operations_of_which_the_order_matters(
    text: str, expected: Callable[[Any], tuple[Any, ...]]
) -> None:
    pg.register_reduction("last_not_zero", "if(b != 0, b, a)", 0, associative=True)
    knl = shared(text, UP_TO, 5)
    assert "__local" in str(pg.generate_code(knl, "opencl"))
    agree(knl, expected)


CONDITIONS: list[tuple[str, Callable[[Any], Any]]] = [
    ("if(a[i] > 0, sum(j, a[j]), -1)", lambda a: np.where(a > 0, np.cumsum(a), -1)),
    ("if(i % 3 == 1, sum(j, a[j]), 7)", lambda a: np.where(_is_one(a), np.cumsum(a), 7)),
    (
        "if(n > 8, sum(j, a[j]), max(j, a[j]))",
        lambda a: np.cumsum(a) if len(a) > 8 else [*np.maximum.accumulate(a)],
    ),
    (
        "if(a[i] > 0, sum(j, a[j]), -sum(j, a[j]))",
        lambda a: np.where(a > 0, np.cumsum(a), -np.cumsum(a)),
    ),
]


def _is_one(a: Any) -> Any:
    return np.arange(len(a)) % 3 == 1


@pytest.mark.parametrize(("value", "expected"), CONDITIONS)
def test_conditions(value: str, expected: Callable[[Any], Any]) -> None:
    knl = shared(f"b[i] = {value}", UP_TO)
    assert "__local" in str(pg.generate_code(knl, "opencl"))
    agree(knl, lambda a: (expected(a),), ("c",))


def test_a_condition_that_groups_have() -> None:
    """No row is read of which it does not hold."""
    domains = ["{ [r,i]: 0<=r<m and 0<=i<n }", "{ [j]: 0<=j<=i }"]
    data = (A2, pg.GlobalArg("b", "float64", "m, n"), pg.GlobalArg("row", "int32", "m"))
    text = "b[r,i] = sum(j, a[row[r],j])  {if=row[r] >= 0}"
    knl = pg.split_iname(pg.make_kernel(domains, text, [*data, "..."]), "i", 4)
    knl = pg.tag_inames(knl, {"r": "g.0", "i_inner": "l.0"})
    assert "__local" in str(pg.generate_code(knl, "opencl"))
    a, row = np.arange(21.0).reshape(3, 7), np.array([2, -1, 0], np.int32)
    for target in ("c", "opencl"):
        b = np.full((3, 7), -1.0)
        knl.executor(target)(a=a, b=b, row=row)
        np.testing.assert_array_equal(b, [np.cumsum(a[2]), np.full(7, -1.0), np.cumsum(a[0])])


def _too_far(place: Expression, distance: int) -> Expression:
    return ex.sum_of(place, -distance - 1)


def _too_near(place: Expression, distance: int) -> Expression:
    return ex.sum_of(place, 1 - distance)


def test_stages_in_another_order_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the order matters to the operation."""

    def reversed_(stages: _Stages, first: Any, second: Any) -> Any:
        return both(stages, second, first)

    both = _Stages.both
    monkeypatch.setattr(_Stages, "both", reversed_)
    pg.register_reduction("last_not_zero", "if(b != 0, b, a)", 0, associative=True)
    pg.generate_code(shared("b[i] = sum(j, a[j])", UP_TO), "opencl")
    with pytest.raises(InternalError, match="combines parts in another order"):
        pg.generate_code(shared("b[i] = last_not_zero(j, a[j])", UP_TO), "opencl")


@pytest.mark.parametrize(
    ("wrong", "text"), [(_too_far, "finds something else"), (_too_near, "itself")]
)
def test_wrong_stages_are_noticed(
    wrong: Callable[[Expression, int], Expression], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    knl = pg.make_kernel(["{ [i]: 0<=i<6 }", "{ [j]: 0<=j<=i }"], "b[i] = sum(j, a[j])")
    knl = pg.tag_inames(pg.add_dtypes(knl, {"a": "float32"}), {"i": "l.0"})
    monkeypatch.setattr(_Stages, "_before", staticmethod(wrong))
    with pytest.raises(InternalError, match=text):
        pg.generate_code(knl, "opencl")
