"""Handles: Python's operators make the trees that the text makes; the rest is refused."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pymbolic
import pytest

import polygen as pg
from polygen import errors
from polygen.ir import expression as ex
from polygen.language.handles import Handle
from polygen.language.parser import parse_expression
from polygen.language.trees import readable


def var(name: str) -> Any:
    """Return pymbolic's variable, on which operators take handles."""
    return pymbolic.var(name)


_BUILDER = pg.Builder()
NAMES: dict[str, Any] = {
    **{name: _BUILDER.array(name) for name in "abc"},
    **{name: _BUILDER.scalar(name) for name in "st"},
    "i": _BUILDER.loop("i", 0, 9),
    "n": _BUILDER.size("n"),
    **{name: partial(pg.Builder.call, name) for name in ("sin", "min", "float32")},
}

# Each means the same in Python and in polygen's language.
SAME = """
    a[i] + b[i] + c[i]
    a[i] + (b[i] + c[i])
    a[i] - b[i] - 1
    a[i] - (b[i] - c[i])
    1 - a[i] + 2.5
    -a[i]*b[i] + -3
    2*a[i]*b[i]*s
    -2*a[i]*b[i]
    a[i]*(b[i]*c[i])
    a[i]/b[i]*c[i]
    1/a[i]/2
    7//n + n//7 % 3 - 5 % n
    a[i]**2*2**s
    a[i-1, 2*i + 1] - a[n - 1 - i, 0]
    n << 2 >> i | 1 & n ^ 6
    1 << n
    256 >> n
    ~n + +s
    a[i] <= b[i]
    s == t
    s != 2
    sin(a[i] + 1)*float32(2)
    min(a[i], b[i], 0)
    1j*s
    abs(s - t)
"""


@pytest.mark.parametrize("text", SAME.strip().splitlines())
def test_operators_make_the_tree_of_the_text(text: str) -> None:
    made = eval(text, {"__builtins__": {"abs": abs}}, NAMES)  # noqa: S307  (texts of this file)
    assert isinstance(made, Handle)
    assert readable(made) == parse_expression(text)


def test_conditions_are_joined_by_bitwise_operators() -> None:
    a, i, s = NAMES["a"], NAMES["i"], NAMES["s"]
    made = (a[i] > 0) & (s < 1) & ~(s == 3) | (i != 2)
    text = "a[i] > 0 and s < 1 and not s == 3 or i != 2"
    assert readable(made) == parse_expression(text)
    assert readable((s > 0) ^ (i > 0)) == parse_expression("(s > 0) ^ (i > 0)")
    assert readable(i & (s > 0)) == parse_expression("i & (s > 0)")


def test_declared_truth_values_are_conditions() -> None:
    b = pg.Builder()
    keep, x = b.array("keep", "bool", (4,)), b.array("x", "float64", (4,))
    flag, i = b.scalar("flag", "bool"), NAMES["i"]
    made = ~keep[i] & (x[i] > 0) | ~flag
    assert readable(made) == parse_expression("not keep[i] and x[i] > 0 or not flag")
    assert readable(keep[i] & i) == parse_expression("keep[i] & i")


@pytest.mark.parametrize(
    "text", ["a[i] > n", "a[i] >= s", "a[i] + 1 < i", "i <= n", "n != i", "a[n] == s", "s < a[i]"]
)
def test_conditions_are_as_they_are_written(text: str) -> None:
    made = eval(text, {}, NAMES)  # noqa: S307  (texts of this file)
    assert repr(made) == f"<{text}>"
    assert readable(made) == parse_expression(text)


def test_numbers_and_trees_of_others_stand_beside_handles() -> None:
    a, i = NAMES["a"], NAMES["i"]
    assert readable(np.float32(2) * a[i]) == parse_expression("float32(2.0)*a[i]")
    assert readable(a[i] < np.int64(3)) == parse_expression("a[i] < int64(3)")
    assert readable(var("b")[i] + a[i]) == parse_expression("b[i] + a[i]")
    assert readable(a[var("i")] + var("b")) == parse_expression("a[i] + b")
    assert readable(var("sin")(a[i])) == parse_expression("sin(a[i])")
    assert readable(pg.Builder.where(i > 0, a[i], 1)) == parse_expression("if(i > 0, a[i], 1)")
    assert a[()].name == "a"
    two = 2
    assert readable(two < NAMES["s"]) == parse_expression("s > 2")  # as Python turns it


def test_handles_are_shown_and_hashed() -> None:
    a, i = NAMES["a"], NAMES["i"]
    assert repr(a[i] + 1) == "<a[i] + 1>"
    assert len({a, i, a}) == 2
    assert (a == "a") is False
    assert (a != ()) is True


def test_results_of_a_reduction_have_positions() -> None:
    a, i = NAMES["a"], NAMES["i"]
    pair = pg.Builder().reduce("argmax", i, a[i], i)
    assert isinstance(pair[1].expression, ex.Component)
    assert pair[1].expression.position == 1


def _added_to() -> None:
    s = pg.Builder().temporary("s")
    s += 1  # pyright: ignore[reportOperatorIssue]


def _iterated() -> None:
    list(NAMES["a"])


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: bool(NAMES["s"]), "whether <s> holds is not known"),
    (lambda: 0 < NAMES["s"] < 3, "whether <s > 0> holds is not known"),
    (lambda: NAMES["s"] > 0 and NAMES["t"], "join conditions by & and |"),
    (lambda: NAMES["a"][1:2], "a subscript is slice(1, 2, None)"),
    (lambda: NAMES["a"][...], "a subscript is Ellipsis"),
    (lambda: NAMES["a"][NAMES["i"]][0], "<a[i]> has no elements"),
    (lambda: (NAMES["s"] + 1).name, "<s + 1> is an expression, which has no name"),
    (_added_to, "'s' cannot be assigned to in this way"),
]


@pytest.mark.parametrize(("use", "what"), REFUSED)
def test_what_cannot_be_meant_is_refused(use: Callable[[], object], what: str) -> None:
    with pytest.raises(errors.InvalidArgument) as info:
        use()
    assert what in str(info.value)
    assert f"  at {__file__}:" in str(info.value)


def test_handles_have_no_elements_to_iterate_over() -> None:
    with pytest.raises(TypeError, match="not iterable"):
        _iterated()
