"""What is known of quotients, remainders and multiples by sizes: true at every point."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from itertools import product
from math import prod

import islpy as isl
import numpy as np
import pytest

import polygen as pg
from polygen.analysis.access.domains import domain_of
from polygen.analysis.access.footprint import fully_written
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.integers.quotients import order_facts, quotient_facts
from polygen.analysis.integers.unknowns import Unknowns
from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.language.parser import parse_expression
from tests.analysis.flat import contains
from tests.oracle.cases import Step, kernel, split, steps
from tests.oracle.evaluate import integer
from tests.transforms.splitting.test_chunk_iname import ANY, chunks
from tests.transforms.splitting.test_join_symbolic import CUBE, INNER, PLANE, SCALED, joined

SIZES = [*product(range(-1, 4), range(-1, 4), (2,))]


def _sizes(kernel: Kernel, n: int, m: int, p: int) -> dict[str, int]:
    found = {"n": n, "m": m, "p": p}
    for size in kernel.derived_sizes:
        found[size.name] = prod(max(0, integer(f, found)) for f in size.factors)
    return found


JOINED = [
    (joined()(PLANE), ["ij//m", "ij % m"]),
    (joined()(INNER), ["ij//(m - 2)", "ij % (m - 2)"]),
    (joined("i, j, k")(CUBE), ["ij//p//m", "ij//p % m", "ij % p"]),
    (chunks(3)(ANY), ["i_length*i_outer + min(i_outer, n % 3) + i_inner"]),
]


def _unknowns(kernel: Kernel, texts: list[str]) -> tuple[Unknowns, list[Expression]]:
    unknowns = Unknowns({*kernel.inames, *kernel.parameters})
    return unknowns, [unknowns.abstract(parse_expression(text)) for text in texts]


def _points(kernel: Kernel, sizes: Mapping[str, int]) -> list[dict[str, int]]:
    inames = kernel.inames
    domain = domain_of(kernel, frozenset(inames))
    points = product(range(12), repeat=len(inames))
    found = [{**sizes, **dict(zip(inames, point, strict=True))} for point in points]
    return [point for point in found if contains(domain, point)]


def _with_unknowns(unknowns: Unknowns, point: Mapping[str, int], mark: str = "") -> dict[str, int]:
    found = {f"{i}{mark}": value for i, value in point.items()}
    for node, name in unknowns.names.items():
        found[f"{name}{mark}"] = integer(node, point)
    return found


@pytest.mark.parametrize(("knl", "texts"), JOINED)
def test_facts_about_one_instance(knl: Kernel, texts: list[str]) -> None:
    unknowns, values = _unknowns(knl, texts)
    known = domain_of(knl, frozenset(knl.inames)).intersect(known_parameters(knl))
    facts = quotient_facts(knl, unknowns, known)
    for n, m, p in SIZES:
        for point in _points(knl, _sizes(knl, n, m, p)):
            assert contains(facts, _with_unknowns(unknowns, point))
    # Those of joined loops are inside of the array: no other value is possible.
    ends = ["n", "m", "p"] if knl is not JOINED[1][0] else ["n - 2", "m - 2"]
    for value, end in zip(values, ends, strict=False):
        if knl is not JOINED[3][0]:
            outside = ex.LogicalOr((_is(value, "<", 0), _is(value, ">=", parse_expression(end))))
            assert known.intersect(facts).is_disjoint(_set(outside))


@pytest.mark.parametrize(("knl", "texts"), JOINED)
def test_facts_about_two_instances(knl: Kernel, texts: list[str]) -> None:
    here, _ = _unknowns(knl, texts)
    there, _ = _unknowns(knl, texts)
    domain = domain_of(knl, frozenset(knl.inames))
    known = domain.intersect(known_parameters(knl))
    for unknowns in (here, there):
        quotient_facts(knl, unknowns, known)  # there are more unknowns then
    facts = reduce(isl.Set.intersect, order_facts(knl, (here, there), known))
    for n, m, p in SIZES[6::3]:
        points = _points(knl, _sizes(knl, n, m, p))
        for first, second in product(points, repeat=2):
            both = _with_unknowns(here, first) | {
                name: value
                for name, value in _with_unknowns(there, second, "'").items()
                if name.removesuffix("'") not in knl.variables
            }
            assert contains(facts, both)


def _is(left: Expression, operator: str, right: Expression) -> Expression:
    return ex.Comparison(left, operator, right)


def _set(condition: Expression) -> isl.Set:
    found = condition_set(condition)
    assert found is not None
    return found


# --- which elements are touched

TALL = split("ij", 4)
STEPWISE = steps(joined("j, k", "jk"), joined("i, jk", "ij"))
ROW = kernel("{ [r,i,j]: 0<=r<3 and 0<=i<n and 0<=j<m }", "out[i,r,j] = a[i,j]")


@pytest.mark.parametrize(
    ("knl", "step", "expected"),
    [
        (PLANE, joined(), True),
        (PLANE, steps(joined("j, i"), TALL), True),
        (CUBE, steps(joined("i, j, k"), TALL), True),
        (CUBE, STEPWISE, True),
        (CUBE, joined("i, k"), True),
        (ROW, steps(joined(), TALL), True),
        (ROW, steps(split("r", 2), joined()), True),
        (INNER, joined(), False),
        (SCALED, joined(), False),
    ],
)
def test_what_is_fully_written(knl: Kernel, step: Step, expected: bool) -> None:
    assert fully_written(knl, "out") is expected
    assert fully_written(step(knl), "out") is expected


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0 <= ij < n_m", "0 < ij < n_m"),
        ("0 <= ij < n_m", "0 <= ij < n_m - 1"),
        ("0 <= ij < n_m", "0 <= ij < n_m and ij mod 2 = 0"),
        ("0 <= ij < n_m", "0 <= ij < n_m and ij != 3"),
        ("out[ij//m, ij % m]", "out[ij//m, (ij % m)//2]"),
        ("out[ij//m, ij % m]", "out[ij//m, if(ij < 3, 0, ij % m)]"),
        ("{id=insn}", "{id=insn, if=ij % m > 0}"),
    ],
)
def test_what_is_not_written(old: str, new: str) -> None:
    text = str(joined()(PLANE))
    assert old in text
    with pg.without_proofs():
        knl = pg.parse_kernel(text.replace(old, new))
    assert not fully_written(knl, "out")


def test_what_the_same_number_decides_twice() -> None:
    twice = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i,j,i] = 1.0")
    assert not fully_written(joined()(twice), "out")


def test_an_array_that_the_kernel_writes_need_not_be_passed() -> None:
    knl = kernel(
        "{ [i,j]: 0<=i<n and 0<=j<m }", "b[i,j] = 2*a[i,j]  {id=s}\nc[i,j] = b[i,j] + 1  {id=u}",
        loop_priority="i, j",
    )  # fmt: skip
    a = np.arange(6.0).reshape(2, 3)
    for within in ("id:s", "id:u", "*"):
        new = pg.join_inames(knl, "i, j", "ij", within=within)
        for found, right in zip(new(a=a)[1], (2 * a, 2 * a + 1), strict=True):
            np.testing.assert_array_equal(found, right)
