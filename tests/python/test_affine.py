"""polygen.python.affine, beside integers."""

from __future__ import annotations

import itertools
import random

from polygen.python.affine import Affine, affine_text, number

NAMES = ("a", "b", "c")


def random_form(rng: random.Random, depth: int = 3) -> Affine:
    """Return a form that sums, multiples and quotients make."""
    form = number(rng.randint(-5, 5))
    for name in NAMES:
        form = form.plus(Affine.of(name).times(rng.randint(-3, 3)))
    if depth and rng.random() < 0.7:
        form = form.plus(random_form(rng, depth - 1).floor(rng.randint(1, 4)))
    return form


def test_arithmetic_is_that_of_integers() -> None:
    rng = random.Random(0)
    for _ in range(200):
        one, other, factor = random_form(rng), random_form(rng), rng.randint(-4, 4)
        values = {name: rng.randint(-20, 20) for name in NAMES}
        x, y = one.evaluate(values), other.evaluate(values)
        assert one.plus(other).evaluate(values) == x + y
        assert one.minus(other).evaluate(values) == x - y
        assert one.times(factor).evaluate(values) == x * factor
        assert one.floor(3).evaluate(values) == x // 3
        assert eval(affine_text(one), {}, dict(values)) == x  # noqa: S307  (our own text)


def test_equal_forms_are_equal() -> None:
    n = Affine.of("n")
    assert n.plus(1).minus(n) == number(1)
    assert n.times(4).plus(6).floor(2) == n.times(2).plus(3)
    assert n.plus(3).floor(2) == n.plus(1).floor(2).plus(1)


def test_a_replaced_form_is_at_most_as_large() -> None:
    rng = random.Random(1)
    for _ in range(100):
        form = random_form(rng, 2)
        low, high = number(-2), Affine.of("b")
        replaced = form.replaced("a", low, high)
        assert "a" not in replaced.symbols()
        for b, c in itertools.product(range(-2, 3), repeat=2):
            least = min(form.evaluate({"a": a, "b": b, "c": c}) for a in range(-2, b + 1))
            assert replaced.evaluate({"b": b, "c": c}) <= least


def test_substituted() -> None:
    n, m = Affine.of("n"), Affine.of("m")
    form = n.plus(m).floor(2).plus(n)
    assert form.substituted({"n": number(4), "m": n}) == n.plus(4).floor(2).plus(4)


def test_a_form_without_quotients_is_at_most_as_large() -> None:
    rng = random.Random(2)
    for _ in range(200):
        form = random_form(rng).times(rng.choice([-6, -2, 4, 12]))
        values = {name: rng.randint(-20, 20) for name in NAMES}
        assert form.without_quotients().evaluate(values) <= form.evaluate(values)
