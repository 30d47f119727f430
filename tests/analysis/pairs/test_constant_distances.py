"""Distances of instances, and pairs that data cannot bring together, beside enumeration."""

from __future__ import annotations

from itertools import product
from typing import Any

import islpy as isl
import numpy as np
import pytest

import polygen as pg
from polygen.analysis.access.accesses import touched
from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.pairs.constant_distances import distances, ends_of, extremes, only_itself
from polygen.analysis.pairs.indirect_accesses import may_be_equal
from polygen.ir.kernel import Kernel
from polygen.language.parser import parse_statement
from tests.oracle.cases import kernel

SUBSCRIPTS = ("i", "i+1", "2*i", "2*i+1", "j", "i+j", "3", "n-i", "i//2", "m", "i%2", "min(i, 2)")


def _kernel(left: str, right: str, *data: Any) -> Kernel:
    with pg.without_proofs():
        return kernel("{ [i,j]: 0<=i,j<n }", f"x[{left}] = x[{right}] + j  {{id=s}}", *data, "...")


def _elements(text: str, n: int, **arrays: Any) -> dict[tuple[int, int], Any]:
    return {
        (i, j): eval(f"({text},)", {"i": i, "j": j, "n": n, "m": 2, **arrays})  # noqa: S307
        for i, j in product(range(n), repeat=2)
    }


@pytest.mark.parametrize("left", SUBSCRIPTS)
@pytest.mark.parametrize("right", SUBSCRIPTS)
def test_distances(left: str, right: str) -> None:
    cases = ((1, left, right), (2, f"{left}, j", f"{right}, j+1"), (2, f"i, {left}", f"{right}, i"))
    for rank, text, other in cases:
        knl = _kernel(text, other, pg.GlobalArg("x", shape=("p",) * rank))
        read, write = touched(knl, "s")["x"]
        found = distances(knl, write, read)
        pairs = [
            (x, y)
            for n in (1, 2, 5)
            for x, at in _elements(text, n).items()
            for y, there in _elements(other, n).items()
            if at == there
        ]
        if found is None:
            assert not pairs
            continue
        for x, y in pairs:
            for iname, distance in found.items():
                position = "ij".index(iname)
                assert y[position] - x[position] == distance


def test_what_is_found() -> None:
    def found(left: str, right: str) -> Any:
        knl = _kernel(left, right)
        read, write = touched(knl, "s")["x"]
        return distances(knl, write, read)

    assert found("i+1, j", "i, j+2") == {"i": 1, "j": -2}
    assert found("2*i", "2*i+1") is None
    assert found("i, 3", "j, 4") is None
    assert found("i, i+1", "i, i") is None
    assert found("i+j", "i+j") == {}
    assert found("i", "j") == {}


TABLES = [
    ("idx[i]", "idx[i]"),
    ("idx[i]", "idx[i+1]"),
    ("idx[i]", "idx[i]+1"),
    ("2*idx[i]", "2*idx[j]+1"),
    ("idx[i]", "jdx[i]"),
    ("idx[jdx[i]]", "idx[jdx[j]]"),
    ("idx[i], j", "idx[j], i"),
    ("idx[i//2]", "idx[j]"),
    ("idx[i]+j", "idx[j]+i"),
    ("idx[i]*j", "idx[j]*i"),
    ("idx[i]%2", "idx[j]%2"),
    ("min(idx[i], 1)", "min(idx[j], 1)"),
]


@pytest.mark.parametrize(("left", "right"), TABLES)
@pytest.mark.parametrize("injective", [(), ("idx",), ("idx", "jdx")])
def test_subscripts_that_are_data(left: str, right: str, injective: tuple[str, ...]) -> None:
    """No two instances are ruled out that touch one element, for any data that is as claimed."""
    shape = ("p", "p") if left.endswith(", j") else ("p",)
    tables = [pg.GlobalArg(name, "int32", "q") for name in ("idx", "jdx")]
    used = [t for t in tables if t.name in left + right]
    knl = _kernel(left, right, pg.GlobalArg("x", shape=shape), *used)
    for name in injective:
        if name in left + right:
            knl = pg.assume_injective(knl, name)
    accesses = [a.reference for a in touched(knl, "s")["x"]]
    read, write = accesses
    assert read is not None
    assert write is not None
    possible = may_be_equal(knl, write, read)
    random, excluded, n = np.random.default_rng(0), 0, 3
    seen: set[tuple[int, ...]] = set()
    for _ in range(200):
        arrays = {
            name: random.permutation(6) if name in injective else random.integers(0, 6, 6)
            for name in ("idx", "jdx")
        }
        here, there = (_elements(text, n, **arrays, min=min) for text in (left, right))
        seen |= {(*x, *y) for x in here for y in there if here[x] == there[y]}
    for point in product(range(n), repeat=4):
        holds = _contains(possible, dict(zip(("i", "j", "i'", "j'"), point, strict=True)), n)
        assert holds or point not in seen
        excluded += not holds
    exact = {"idx[i]", "2*idx[i]", "idx[jdx[i]]"}
    if left in exact and "+1" not in right and len(injective) == left.count("dx"):
        assert excluded == 81 - len(seen)  # and no more than these are left


def _contains(flat: isl.Set, values: dict[str, int], n: int) -> bool:
    for name, value in {**values, "n": n}.items():
        position = flat.find_dim_by_name(isl.dim_type.param, name)
        if position >= 0:
            flat = flat.fix_val(isl.dim_type.param, position, isl.Val(value))
    return not flat.is_empty()


DIGITS = {
    "12*p + 4*q + r": True,
    "4*q - 12*p - r": True,
    "r*3 + q + 20*p": True,
    "n + 11*p + 4*q + r": False,  # 0, 2, 3 and 1, 0, 0
    "12*p + 3*q + r": False,
    "4*q + r + p": False,
    "4*q + r": False,  # whatever p is
    "12*(p//2) + 4*q + r": False,
}


@pytest.mark.parametrize("text", DIGITS)
def test_digits(text: str) -> None:
    """What is said to be apart is: for all instances."""
    with pg.without_proofs():
        domains = ["{ [p]: 0<=p<n }", "{ [q]: 0<=q<3 }", "{ [r]: 2<=r<6 }"]
        knl = kernel(
            domains, f"x[{text}] = 1 {{id=s, inames=p:q:r}}", pg.GlobalArg("x", shape="99")
        )
    assert only_itself(knl, "s", "x") == DIGITS[text]
    points = list(product(range(5), range(3), range(2, 6)))
    elements = {eval(text, {"p": p, "q": q, "r": r, "n": 5}) for p, q, r in points}  # noqa: S307
    assert (len(elements) == len(points)) == DIGITS[text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("2*i - j + 1", (-5, 7)), ("7", (7, 7)), ("-3*i", (-9, 0)), ("i + n", None), ("i//2", None)],
)
def test_ends_of_forms(text: str, expected: tuple[int, int] | None) -> None:
    """Of an iname in a domain with others, whatever these are; m has no upper end."""
    with pg.without_proofs():
        knl = kernel(["{ [i,j]: 0<=i<4 and i<=j<7 }", "{ [m]: 0<=m<n }"], "x[i, j, m] = 1")
    ends = ends_of(knl, "ijmn")
    assert ends == {"i": (0, 3), "j": (0, 6)}
    form = linear_form(parse_statement(f"x = {text}").values[0])
    assert form is not None
    assert extremes(form, ends) == expected
