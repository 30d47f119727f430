"""Choices that affine conditions decide, beside the values that each point has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import islpy as isl
import numpy as np
import pytest

import polygen as pg
from polygen.analysis.equality.affine_choices import affine_choices
from polygen.ir.expression import Expression
from polygen.language.parser import parse_expression
from tests.analysis.equality.small_kernels import LINE, at_sizes, numbers, ordered, value

KNL = ordered(
    LINE,
    "out[i] = a[i] + b[i] + c[i] {id=s}",
    numbers("a", "float32", "n"),
    numbers("b", "float64", "n"),
    numbers("c", "float64", "n"),
)
POINTS = isl.Set("[n, __i] -> { : 0 <= __i < n }")
N = 5

# What is chosen in iterations 0 to 4.
CHOSEN: dict[str, Sequence[str | bool]] = {
    "if(i < 2, a[i], b[i])": ["a[i]"] * 2 + ["b[i]"] * 3,
    "if(i < n, a[i], 0)": ["a[i]"] * 5,
    "if(i >= n, a[i], b[i])": ["b[i]"] * 5,
    "if(i < n and c[i] > 0, a[i], b[i])": ["if(c[i] > 0, a[i], b[i])"] * 5,
    "if(c[i] > 0 and i < 2, a[i], b[i])": ["if(c[i] > 0, a[i], b[i])"] * 2 + ["b[i]"] * 3,
    "if(i < 2 or c[i] > 0, a[i], b[i])": ["a[i]"] * 2 + ["if(c[i] > 0, a[i], b[i])"] * 3,
    "if(i > 0 and a[i] > 0 and i < 3 and c[i] > 0, a[i], b[i])": (
        ["b[i]", *["if(a[i] > 0 and c[i] > 0, a[i], b[i])"] * 2, "b[i]", "b[i]"]
    ),
    "i < 2 and c[i] > 0": ["c[i] > 0", "c[i] > 0", False, False, False],
    "i < 2 or c[i] > 0": [True, True, "c[i] > 0", "c[i] > 0", "c[i] > 0"],
}


@pytest.mark.parametrize("text", CHOSEN)
def test_which_value_is_chosen_where(text: str) -> None:
    found = affine_choices(value(KNL, "s", text, i="__i"), POINTS)
    assert found is not None
    wanted = [t if isinstance(t, bool) else parse_expression(t) for t in CHOSEN[text]]
    seen: dict[int, Expression] = {}
    for part, where in found:
        for _, i in at_sizes(where, ["__i"], [{"n": N}]):
            assert i not in seen
            seen[i] = part.node
    assert [seen[i] for i in range(N)] == wanted


@pytest.mark.parametrize("text", ["if(c[i] > 0, a[i], b[i])", "a[i]", "i < 2", "c[i] > 0 or b[i]"])
def test_what_nothing_affine_decides(text: str) -> None:
    assert affine_choices(value(KNL, "s", text, i="__i"), POINTS) is None


def test_what_is_chosen_is_converted_as_the_choice_is() -> None:
    (part, _), _ = affine_choices(value(KNL, "s", "if(i < 2, a[i], b[i])", i="__i"), POINTS) or ()
    assert part.casts == (np.dtype("float64"),)
    stored = replace(
        value(KNL, "s", "if(i < 2, a[i], b[i])", i="__i"), casts=(np.dtype("float32"),)
    )
    (part, _), (other, _) = affine_choices(stored, POINTS) or ()
    assert part.casts == ()  # to float64 and back
    assert other.casts == (np.dtype("float32"),)


WHOLE = [
    "{}",
    "{} + 1",
    "2*{}",
    "{}*b[i] + {}",
    "sqrt({})",
    "if({} > 1, 2, 3)",
    "sum(k, {}*c[k])",
]


@pytest.mark.parametrize("condition", ["i < n", "i >= 0 and i < n", "2*i <= 2*n - 1"])
@pytest.mark.parametrize("other", ["0", "0.0", "b[i]"])
def test_conditions_of_the_domain_make_no_difference(condition: str, other: str) -> None:
    """To the last bit: for whole kernels, of which one asks what all iterations fulfil."""
    text = "\n".join(f"x{number}[i] = {whole}" for number, whole in enumerate(WHOLE))
    data = [pg.GlobalArg("a, b, c", "float32", "n"), "..."]
    kernels = [
        pg.make_kernel("{ [i,k]: 0<=i,k<n }", text.replace("{}", read), data, name="domain")
        for read in (f"if({condition}, a[i], {other})", "a[i]")
    ]
    verdict = pg.equivalent(*kernels)
    assert verdict and not verdict.rounding


def test_conditions_that_only_some_iterations_fulfil_make_a_difference() -> None:
    data = [pg.GlobalArg("a", "float32", "n"), "..."]
    first, second = (
        pg.make_kernel(LINE, f"x[i] = {read}", data) for read in ("if(i < n - 1, a[i], 0)", "a[i]")
    )
    assert pg.equivalent(first, second).answer == "different"
