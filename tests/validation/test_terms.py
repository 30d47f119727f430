"""Integer expressions in the normal form that statements are compared in."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir import expression as ex
from polygen.lower.lower import Model, lower_prepared, prepare
from polygen.validation.constraints import Cone
from polygen.validation.frames import Statement
from polygen.validation.layouts import Layouts
from polygen.validation.polynomial import (
    Floor,
    Polynomial,
    constant,
    floor_divided,
    linear_form,
    names,
    number,
    of_atom,
    plus,
    scaled,
    substituted,
    times,
    total,
)
from polygen.validation.readings import KernelTerms
from polygen.validation.same_integers import is_same
from polygen.validation.terms import key
from polygen.validation.view import View
from tests.oracle.cases import kernel

NAMES = ("i", "j", "n")
I, J, N = map(of_atom, NAMES)  # noqa: E741  (as in the text)
ELEMENT = ("element", "a", key(I))


def _value(polynomial: Polynomial, at: Mapping[str, int]) -> int:
    """Evaluate a polynomial."""
    result = 0
    for monomial, product in polynomial.items():
        for atom in monomial:
            product *= (  # noqa: PLW2901
                _value(dict(atom.numerator), at) // atom.divisor
                if isinstance(atom, Floor)
                else at[atom]
            )
        result += product
    return result


def _random(choices: random.Random, depth: int) -> tuple[Any, Polynomial]:
    """Return a function of values, and the polynomial that should have the same."""
    if depth == 0:
        if choices.random() < 0.4:
            value = choices.randint(-5, 5)
            return (lambda _: value), constant(value)
        name = choices.choice(NAMES)
        return (lambda at: at[name]), of_atom(name)
    f, p = _random(choices, depth - 1)
    g, q = _random(choices, depth - 1)
    factor, divisor = choices.randint(-3, 3), choices.randint(1, 6)
    return choices.choice(
        (
            ((lambda at: f(at) + factor * g(at)), plus(p, q, factor)),
            ((lambda at: f(at) + g(at) + f(at)), total((p, q, p))),
            ((lambda at: f(at) * g(at)), times(p, q)),
            ((lambda at: f(at) // divisor), floor_divided(p, divisor)),
            ((lambda at: factor * f(at)), scaled(p, factor)),
        )
    )


@pytest.mark.parametrize("seed", range(60))
def test_values(seed: int) -> None:
    choices = random.Random(seed)
    function, polynomial = _random(choices, 4)
    assert 0 not in polynomial.values()
    for _ in range(20):
        at = {name: choices.randint(-9, 9) for name in NAMES}
        assert _value(polynomial, at) == function(at)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (times(plus(scaled(I, 16), J), N), plus(scaled(times(N, I), 16), times(J, N))),
        (floor_divided(plus(scaled(I, 4), constant(3)), 4), I),
        (floor_divided(plus(scaled(I, 4), J), 4), plus(I, floor_divided(J, 4))),
        (floor_divided(scaled(J, -1), 4), plus(floor_divided(scaled(J, 3), 4), J, -1)),
        (floor_divided(floor_divided(I, 2), 3), floor_divided(I, 6)),
        (floor_divided(plus(scaled(I, 2), constant(5)), 6), floor_divided(plus(I, constant(2)), 3)),
    ],
)
def test_equal_ones_are_written_alike(left: Polynomial, right: Polynomial) -> None:
    assert left == right


# Not written alike, and the same.
SAME = [
    (floor_divided(floor_divided(value, first), then), floor_divided(value, first * then))
    for value, first, then in (
        (plus(I, floor_divided(I, 3), -3), 7, 97),  # i % 3 // 7 // 97
        (plus(I, floor_divided(I, 97), -97), 3, 2),
        (plus(scaled(I, 3), floor_divided(I, 7), -1), 256, 97),
        (plus(constant(2), I, -1), 97, 3),
        (plus(floor_divided(I, 4), floor_divided(J, 5), -1), 8, 3),
        (plus(of_atom(ELEMENT), floor_divided(of_atom(ELEMENT), 3), -3), 4, 5),
    )
]


@pytest.mark.parametrize(("left", "right"), SAME)
def test_what_is_the_same(left: Polynomial, right: Polynomial) -> None:
    assert left != right
    for a, b in ((left, right), (plus(times(left, N), J), plus(times(right, N), J))):
        assert is_same(key(a), key(b))
        assert is_same(("Sum", key(a), key(J)), ("Sum", key(b), key(J)))
        assert not is_same(key(a), key(plus(b, constant(1))))
        assert not is_same(("Sum", key(a)), ("Sum", key(b), key(J)))
        assert not is_same(("Sum", key(a)), ("Product", key(b)))


@pytest.mark.parametrize("seed", range(40))
def test_nothing_else_is_the_same(seed: int) -> None:
    choices = random.Random(seed)
    for _ in range(10):
        left, right = (_random(choices, choices.randint(1, 3))[1] for _ in range(2))
        if is_same(key(left), key(right)):
            for _ in range(20):
                at = {name: choices.randint(-9, 9) for name in NAMES}
                assert _value(left, at) == _value(right, at)


def test_parts() -> None:
    assert number({}) == 0
    assert number(constant(7)) == 7
    assert number(I) is None
    assert names(plus(I, floor_divided(J, 3))) == {"i", "j"}
    assert names(times(I, J)) is None
    assert names(of_atom(("element", "a", 0))) is None
    halved = plus(floor_divided(plus(I, constant(1)), 2), N, 3)
    for i, n in ((0, 1), (5, -2), (-3, 4)):
        assert linear_form(halved).evaluate({"i": i, "n": n}) == (i + 1) // 2 + 3 * n
    assert substituted(halved, {"i": scaled(J, 2)}) == plus(J, N, 3)


def test_what_follows_by_addition() -> None:
    """Of a tile: i >= 0, 16*o + i < n."""
    tile = Cone([I, plus(plus(N, constant(-1)), plus(scaled(J, 16), I), -1)])
    assert tile.implies(plus(plus(N, constant(-1)), J, -16))
    assert tile.implies(plus(I, constant(3)))
    assert tile.implies(plus(scaled(I, 2), constant(1)))
    assert not tile.implies(plus(I, constant(-1)))
    assert not tile.implies(J)
    assert tile.implies(constant(0))
    assert not tile.implies(constant(-1))


def test_what_follows_of_whole_tiles() -> None:
    """For n = 16*q + 2: from 16*o + i + 2 < n follows 16*o + 15 + 2 < n, and o < q."""
    tile = [I, plus(plus(N, constant(-3)), plus(scaled(J, 16), I), -1)]
    steps: dict[str, Polynomial] = {"n": {("q",): 16, (): 2}}
    whole = Cone(tile, steps)
    assert whole.implies(plus(plus(N, constant(-18)), J, -16))
    assert whole.implies(plus(plus(of_atom("q"), constant(-1)), J, -1))
    assert not whole.implies(plus(plus(N, constant(-19)), J, -16))
    assert not Cone(tile).implies(plus(plus(N, constant(-18)), J, -16))


def test_what_follows_holds() -> None:
    r, implied = random.Random(3), 0
    for _ in range(4_000):
        value, *known = (_random_form(r) for _ in range(4))
        if not Cone(known, {"n": {("q",): 3, (): 1}}).implies(value):
            continue
        implied += 1
        for i, j, n in itertools.product(range(-5, 6), range(-5, 6), range(-5, 8, 3)):
            at = {"i": i, "j": j, "n": n}
            if all(linear_form(form).evaluate(at) >= 0 for form in known):
                assert linear_form(value).evaluate(at) >= 0
    assert implied > 50


def _random_form(r: random.Random) -> Polynomial:
    return total([scaled(each, r.randint(-3, 3)) for each in (I, J, N, constant(1))])


# --- of kernels and programs


def _keys(text: str) -> list[object]:
    """Return the keys of the values of instructions, in the kernel."""
    knl = prepare(
        kernel(
            "{ [i,j]: 0<=i,j<n }",
            text,
            pg.GlobalArg("a", np.float64, "n, 2*n"),
            pg.GlobalArg("x", np.float64, "n, n"),
            pg.GlobalArg("k", np.int32, "2*n"),
        )
    )
    terms = KernelTerms(Layouts(knl), {"i": I, "j": J})
    return [key(terms.value(insn.values[0])) for insn in knl.assignments]


def test_what_is_computed_is_compared_as_it_is_written() -> None:
    left, right = _keys("x[i,j] = a[i,j] + 1 + 2 {id=p}\nx[i,j] = a[i,j] + 3 {id=q, dep=p}")
    assert left != right
    left, right = _keys("x[i,j] = a[i,j]/2 {id=p}\nx[i,j] = a[i,j]*0.5 {id=q, dep=p}")
    assert left != right


def test_subscripts_are_compared_by_their_values() -> None:
    left, right = _keys(
        "x[i,j] = a[k[i+j]//2, i << 1] {id=p}\nx[i,j] = a[k[j+i]//2, 2*i] {id=q, dep=p}"
    )
    assert left == right
    left, right = _keys("x[i,j] = a[k[i], i] {id=p}\nx[i,j] = a[k[j], i] {id=q, dep=p}")
    assert left != right


def test_functions_and_comparisons_are_told_apart() -> None:
    left, right = _keys("x[i,j] = sin(a[i,j]) {id=p}\nx[i,j] = cos(a[i,j]) {id=q, dep=p}")
    assert left != right
    left, right = _keys(
        "x[i,j] = if(i < j, 1.0, 2.0) {id=p}\nx[i,j] = if(i <= j, 1.0, 2.0) {id=q, dep=p}"
    )
    assert left != right


def test_names_of_values_on_an_axis() -> None:
    """In the program, j is another name for i + 2."""
    knl = kernel(
        ["{ [i]: 0<=i<4 }", "{ [j]: 2<=j<6 }"],
        "x[i] = 0 {id=x}\ny[j] = a[j] {id=y}",
        pg.GlobalArg("a", np.float64, "6"),
    )
    knl = prepare(pg.tag_inames(knl, {"i": "l.0", "j": "l.0"}))
    view = View(knl, lower_prepared(knl, Model.GRID))
    second: Statement = list(view.root.statements())[1]
    terms = view.terms(second.frame)
    assert terms.index(ex.Variable("j")) == plus(I, constant(2))
    assert terms.bound("j") == plus(I, constant(2))
    assert terms.bound("k") is None
