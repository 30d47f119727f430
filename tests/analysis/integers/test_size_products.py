"""What is known of products by sizes: true at every point, and enough for the usual subscripts."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from functools import reduce
from itertools import product

import islpy as isl
import pytest

import polygen as pg
from polygen.analysis.access.domains import domain_of
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.integers.size_products import (
    has_size_products,
    order_of_products,
    product_cofactors,
    product_facts,
    size_products,
)
from polygen.analysis.integers.unknowns import Unknowns
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from polygen.language.parser import parse_expression
from tests.analysis.flat import contains
from tests.oracle.cases import kernel
from tests.oracle.evaluate import integer

SIZES = [*product(range(-2, 4), range(-2, 4), range(-1, 3))]
BOX = "{ [i,j,l]: 0<=i<n and 0<=j<m and 0<=l<k }"
FLAT = kernel("{ [i]: 0<=i<n*m*k }", "z[i] = 1")
ROWS = kernel("{ [i,j]: 1<=i<=(n-1)*m and -2<=j<3 }", "z[i,j+2] = k")
ALL = kernel(BOX, "z[i,j,l] = 1")
KERNELS = [
    (ALL, ["i*m + j", "n*m"]),
    (ALL, ["i*m*k + j*k + l", "n*m*k"]),
    (ALL, ["(i*m + j)*k + l", "k*n*m"]),
    (ALL, ["2*i*m", "(2*n - 1)*m", "(i - 1)*m"]),
    (FLAT, ["i*m", "n*m*k", "n*k"]),
    (ROWS, ["j*m", "i*m", "(n - 1)*m", "n*m"]),
]


def _sizes(knl: Kernel, n: int, m: int, k: int) -> dict[str, int]:
    found = {"n": n, "m": m, "k": k}
    for size in knl.derived_sizes:
        factors = [max(0, integer(f, found)) for f in size.factors]
        found[size.name] = factors[0] * factors[1]
    return found


def _unknowns(knl: Kernel, texts: list[str]) -> Unknowns:
    unknowns = Unknowns({*knl.inames, *knl.parameters})
    for text in texts:
        unknowns.abstract(parse_expression(text))
    return unknowns


def _known(knl: Kernel) -> isl.Set:
    return domain_of(knl, frozenset(knl.inames)).intersect(known_parameters(knl))


def _points(knl: Kernel, sizes: Mapping[str, int]) -> list[dict[str, int]]:
    known, names = _known(knl), knl.inames
    points = product(range(-2, 5), repeat=len(names))
    found = [{**sizes, **dict(zip(names, point, strict=True))} for point in points]
    return [point for point in found if contains(known, point)]


def _all(unknowns: Unknowns, point: Mapping[str, int], mark: str = "") -> dict[str, int]:
    found = {f"{i}{mark}": value for i, value in point.items()}
    return found | {f"{u}{mark}": integer(node, point) for node, u in unknowns.names.items()}


@pytest.mark.parametrize(("knl", "texts"), KERNELS)
def test_facts_hold_in_every_instance(knl: Kernel, texts: list[str]) -> None:
    unknowns = _unknowns(knl, texts)
    facts = product_facts(knl, unknowns, _known(knl))
    assert not facts.plain_is_universe()
    looked = 0
    for n, m, k in SIZES[::5]:
        for point in _points(knl, _sizes(knl, n, m, k)):
            assert contains(facts, _all(unknowns, point))
            looked += 1
    assert looked > 9


@pytest.mark.parametrize(("knl", "texts"), KERNELS[:4])
def test_facts_hold_in_two_instances(knl: Kernel, texts: list[str]) -> None:
    here, there = _unknowns(knl, texts), _unknowns(knl, texts)
    found = list(order_of_products(knl, (here, there), _known(knl)))
    assert len(found) > 1
    facts = reduce(isl.Set.intersect, found)
    for n, m, k in ((2, 2, 1), (3, 1, 2), (1, 2, 2)):
        points = _points(knl, _sizes(knl, n, m, k))
        for first, second in product(points, repeat=2):
            other = _all(there, second, "'")
            both = {u: v for u, v in other.items() if u.removesuffix("'") not in knl.variables}
            assert contains(facts, _all(here, first) | both)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("i*m + j", {("m", "i")}),
        ("i*m*k", {("m*k", "i")}),
        ("2*i*m", {("m", "2*i")}),
        ("idx[i]*m", {("m", "idx[i]")}),
        ("n*m", set[tuple[str, str]]()),  # no other product is by one of these
        ("i*j", set[tuple[str, str]]()),
        ("3*m", set[tuple[str, str]]()),
    ],
)
def test_which_products_there_are(text: str, found: set[tuple[str, str]]) -> None:
    unknowns = _unknowns(ALL, [text])
    names = {name: node for node, name in unknowns.names.items()}

    def shown(node: Expression) -> str:
        return show_expression(names.get(str(node), node))

    is_some = has_size_products(ALL, unknowns)
    products = [p.multiple for p in size_products(ALL, unknowns)]
    names |= {name: node for node, name in unknowns.names.items()}
    assert {(shown(p.size), shown(p.factor)) for p in products} == found
    assert is_some == bool(found) or text == "n*m"


def test_what_a_product_lacks_of_a_size() -> None:
    cases = {"m*k": "n", "k*n": "m", "n*m": "k", "k": None, "n*m*k": None, "n*n": None}
    for text, other in cases.items():
        found = [*product_cofactors(FLAT, parse_expression(text))]
        assert [(s.name, show_expression(e)) for s, e in found] == (
            [] if other is None else [("n_m_k", other)]
        )


PROVED = {
    "z[i*m + j] = 1": ("n*m", "i, j"),
    "z[j*n + i] = 1": ("n*m", "i, j"),
    "z[(i*m + j)*k + l] = 1": ("n*m*k", "i, j, l"),
    "z[i*m*k + j*k + l] = 1": ("m*n*k", "i, j, l"),
    "z[n*m - 1 - (i*m + j)] = 1": ("n*m", "i, j"),
}


@pytest.mark.parametrize("text", PROVED)
def test_subscripts_are_inside_and_apart(text: str) -> None:
    extent, inames = PROVED[text]
    box = "{ [i,j]: 0<=i<n and 0<=j<m }" if "l" not in inames else BOX
    knl = kernel(box, text, pg.GlobalArg("z", "int32", extent))
    assert pg.obligations(knl) == ()
    tags = dict(zip(inames.split(", "), ("g.0", "l.0", "g.1"), strict=False))
    assert pg.tag_inames(knl, tags).history


@pytest.mark.parametrize(
    ("domain", "text"),
    [
        ("{ [i,j]: 0<=i<=n and 0<=j<m }", "z[i*m + j] = 1"),
        ("{ [i,j]: 0<=i<n and 0<=j<=m }", "z[i*m + j] = 1"),
        ("{ [i,j]: -1<=i<n and 0<=j<m }", "z[i*m + j] = 1"),
        ("{ [i,j]: 0<=i<n and 0<=j<m }", "z[i*n + j] = 1"),
        ("{ [i]: 0<=i<=n*m }", "z[i] = 1"),
    ],
)
def test_what_may_be_outside_is_owed(domain: str, text: str) -> None:
    knl = kernel(domain, text, pg.GlobalArg("z", "int32", "n*m"))
    assert "inside" in [owed.kind for owed in pg.obligations(knl)]


# --- random subscripts

TERMS = ("i*m", "j*m", "i*n", "j*n", "i", "j", "n*m", "m", "n", "1", "(i + 1)*m", "2*i*m", "i*n*m")
EXTENTS = ("n*m", "n*m + m", "(n + 1)*m", "n*n*m", "n*m*k", "2*n*m", "n*m + 1", "m*m")
LOWER, UPPER = ("0", "1", "-1"), ("n", "m", "n - 1", "2*n", "n*m")


def _random(r: random.Random) -> tuple[str, str, str]:
    bounds = [f"{r.choice(LOWER)} <= {i} < {r.choice(UPPER)}" for i in "ij"]
    usual = r.random() < 0.5
    if usual:
        bounds = [f"0 <= i < {r.choice(('n', 'n - 1', 'n'))}", "0 <= j < m"]
    subscript = r.choice(("i*m + j", "j*n + i", "(n - 1 - i)*m + j")) if r.random() < 0.5 else ""
    terms = " ".join(f"{r.choice('+-')} {r.choice(TERMS)}" for _ in range(r.randrange(3)))
    subscript = f"{subscript or r.choice(TERMS)} {terms}".strip()
    return f"{{ [i,j]: {' and '.join(bounds)} }}", subscript, r.choice(EXTENTS[: 3 if usual else 8])


def _touched(knl: Kernel, subscript: str, sizes: Mapping[str, int]) -> list[int]:
    """Return which element each instance touches."""
    node = parse_expression(subscript)
    domain = domain_of(knl, frozenset(knl.inames))
    found = ({**sizes, "i": i, "j": j} for i, j in product(range(-1, 8), repeat=2))
    return [integer(node, point) for point in found if contains(domain, point)]


def _look_at(seed: int) -> str:
    """Check that what is proved of a random subscript is so, and say what that is."""
    r = random.Random(seed)
    domain, subscript, extent = _random(r)
    try:
        knl = kernel(domain, f"z[{subscript}] = i + j", pg.GlobalArg("z", "int32", extent))
    except pg.UserError:
        return "refused"
    proved = not pg.obligations(knl)
    try:
        parallel = bool(pg.tag_inames(knl, {"i": "g.0", "j": "g.1"}).history)
    except pg.UserError:
        parallel = False
    for n, m in product(range(4), repeat=2):
        sizes = _sizes(knl, n, m, 2)
        places = _touched(knl, subscript, sizes)
        end = integer(parse_expression(extent), sizes)
        if proved:
            assert all(0 <= place < end for place in places), (domain, subscript, extent, n, m)
        if parallel:
            assert len(set(places)) == len(places), (domain, subscript, n, m)
    return f"{'inside' if proved else 'owed'}{' and apart' * parallel}"


def test_what_is_proved_of_random_subscripts_is_so() -> None:
    counted = Counter(map(_look_at, range(20)))
    assert counted["inside and apart"] > 0
    assert counted["owed"] + counted["refused"] > 5


@pytest.mark.more
def test_what_is_proved_of_many_random_subscripts_is_so() -> None:
    assert Counter(map(_look_at, range(20, 300)))["inside and apart"] > 10
