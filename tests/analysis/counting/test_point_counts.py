"""Numbers of points as formulas, against counting them one by one in Python."""

from __future__ import annotations

import random
from itertools import product

import islpy as isl
import pytest

from polygen.analysis.counting.point_counts import formula, number
from polygen.analysis.counting.symbolic_sums import NotSummedError
from polygen.ir.domain import Domain, universe
from tests.analysis.python_values import python_value

FREE = universe()


def known(text: str) -> isl.Set:
    return isl.Set(text).params()


def points(conditions: list[str], names: str, sizes: dict[str, int], most: int) -> int:
    """Return at how many points of a box conditions hold; their texts are isl's and Python's."""
    texts = [c.replace("mod", "%").replace(" = ", " == ") for c in conditions]
    whole = compile(" and ".join(texts), "conditions", "eval")
    return sum(
        bool(python_value(whole, {**sizes, **dict(zip(names, values, strict=True))}))
        for values in product(range(-1, most), repeat=len(names))
    )


FORMULAS = [
    ("[n] -> { [i,j]: 0<=j<=i<n }", "{ : }", "[n] -> { (1/2 * n + 1/2 * n^2) : n > 0 }"),
    (
        "[n] -> { [i,j,k]: 0<=k<=j<=i<n }",
        "{ : }",
        "[n] -> { (1/3 * n + 1/2 * n^2 + 1/6 * n^3) : n > 0 }",
    ),
    ("[n] -> { [o,i]: 0<=i<16 and 0<=16*o+i<n }", "{ : }", "[n] -> { n : n > 0 }"),
    ("[n] -> { [o,m,i]: 0<=i<4 and 0<=m<8 and 0<=32*o+4*m+i<n }", "{ : }", "[n] -> { n : n > 0 }"),
    ("[n] -> { [o]: 0<=16*o<n }", "{ : }", "[n] -> { floor((15 + n)/16) : n > 0 }"),
    ("[n] -> { [o]: 0<=16*o<n }", "[n] -> { : n mod 16 = 0 }", "[n] -> { 1/16 * n : n >= 16 }"),
    ("[n] -> { [i]: 0<=i<n }", "[n] -> { : n >= 1 }", "[n] -> { n }"),
    ("[n] -> { [i]: 0<=i<n and i mod 3 = 1 }", "{ : }", "[n] -> { floor((1 + n)/3) : n >= 2 }"),
    ("[n,m] -> { [t,i]: 0<=t<m and t<=i<n+t }", "{ : }", "[n, m] -> { n * m : n > 0 and m > 0 }"),
    ("{ [i,j]: 0<=i<10 and 0<=j<i }", "{ : }", "{ 45 }"),
    ("{ [i]: 0<=i<0 }", "{ : }", "{ 0 }"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "context", "expected"), FORMULAS)
def test_formulas(text: str, context: str, expected: str) -> None:
    domain = Domain(isl.Set(text))
    found = formula(domain.flat, domain.inames, known(context))
    assert found is not None
    assert (
        found.plain_is_equal(isl.PwQPolynomial(expected).coalesce())
        or found.sub(isl.PwQPolynomial(expected)).is_zero()
    )


WITHOUT = 5  # the seed of one that has too many cases


def _random(maker: random.Random) -> tuple[str, list[str]]:
    names = "ijk"[: maker.randint(1, 3)]
    found = [f"0 <= {x} < {maker.choice(['n', 'm', '5', 'n + m'])}" for x in names]
    for _ in range(maker.randint(0, 2)):
        form = " + ".join(f"{maker.randint(-3, 3)}*{x}" for x in names)
        other = maker.choice(["n", "m", "3", "n - 2"])
        kind = maker.random()
        if kind < 0.3:
            found.append(f"({form} + n) mod {maker.choice([2, 3, 4])} = {maker.randint(0, 1)}")
        else:
            found.append(f"{form} {'=' if kind < 0.4 else maker.choice(['<=', '>='])} {other}")
    if maker.random() < 0.4:
        tile = maker.choice([2, 3])
        found += ["0 <= o", f"0 <= q < {tile}", f"0 <= {tile}*o + q < n"]
        names += "oq"
    return names, found


@pytest.mark.parametrize("seed", [s for s in range(16) if s != WITHOUT])
def test_any_polyhedra(seed: int) -> None:
    names, conditions = _random(random.Random(seed))
    text = f"[n,m] -> {{ [{','.join(names)}]: {' and '.join(conditions)} }}"
    domain = Domain(isl.Set(text))
    found = formula(domain.flat, domain.inames, FREE)
    assert found is not None
    for n, m in ((0, 2), (1, 1), (3, 2)):
        sizes = {"n": n, "m": m}
        expected = points(conditions, names, sizes, 5)
        assert number(domain.flat, domain.inames, sizes) == expected
        mentioned = set(found.get_var_names(isl.dim_type.param))
        given = {name: size for name, size in sizes.items() if name in mentioned}
        assert found.eval_with_dict(given) == expected, (text, sizes)


def test_not_all_have_a_reasonable_formula() -> None:
    names, conditions = _random(random.Random(WITHOUT))
    domain = Domain(isl.Set(f"[n,m] -> {{ [{','.join(names)}]: {' and '.join(conditions)} }}"))
    assert formula(domain.flat, domain.inames, FREE) is None


@pytest.mark.parametrize("text", ["{ [i]: 0<=i }", "[n] -> { [i,j]: 0<=i<n and i<=j }"])
def test_without_end(text: str) -> None:
    domain = Domain(isl.Set(text))
    with pytest.raises(NotSummedError) as caught:
        formula(domain.flat, domain.inames, FREE)
    assert caught.value.is_infinite
    with pytest.raises(NotSummedError):
        number(domain.flat, domain.inames, {"n": 3})
