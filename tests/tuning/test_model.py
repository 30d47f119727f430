"""The model behind `optimize_reductions`: what it counts, and bounds that it keeps."""

from __future__ import annotations

from itertools import product

import pytest

import polygen as pg
from polygen.tuning.model import choices, ranked, seconds
from polygen.tuning.nests import families, work_of_all
from polygen.tuning.work import Work

H100 = pg.Limits.named("H100")
SHAPES = [
    Work(p, r, 4 * p * r, 4, along)
    for p, r, along in product((1, 3, 1000, 10**6), (1, 7, 5000, 10**7), (True, False))
]


def counted(domain: str, text: str, **sizes: int) -> Work:
    knl = pg.make_kernel(domain, text, silenced_warnings=["AmbiguousNesting"])
    knl = pg.add_dtypes(knl, {n: "float32" for n in "ab" if n in knl.variables})
    (family,) = families(knl)
    return work_of_all(knl, family, sizes)


def test_what_there_is_to_do() -> None:
    box = "{ [i,j,k]: 0<=i<n and 0<=j<20 and 0<=k<30 }"
    found = counted(box, "s[j] = sum((i,k), a[i,j,k]*b[k])", n=10)
    assert found == Work(20, 300, 4 * (6000 + 30), 8, along=True, operations=1)
    found = counted(box, "s[i,k] = max(j, a[i,j,k])", n=10)
    assert found == Work(300, 20, 4 * 6000, 4, along=False)


@pytest.mark.parametrize(
    ("operand", "operations"),
    [
        ("a[i,2*j + 1]", 0),
        ("a[i,j] + 2*a[i,j] + 1", 3),
        ("a[i,j]/(1 + fabs(a[i,j]))", 10),
        ("exp(a[i,j] - b[j])", 21),
        ("if(a[i,j] < 0, 0, cast(float16, a[i,j]))", 6),
        ("cast(float32, a[i,j])", 1),
    ],
)
def test_operations(operand: str, operations: int) -> None:
    text = f"s[i] = sum(j, {operand})"
    assert counted("{ [i,j]: 0<=i<9 and 0<=j<9 }", text).operations == operations


def test_one_group_neither_reads_nor_computes_much() -> None:
    """Quotients of 24,576 numbers take one unit longer than a second launch takes."""
    cheap = Work(1, 1 << 13, 4 << 13, 4, along=True)
    dear = Work(1, 24_576, 10 * 24_576, 10, along=True, operations=24)
    assert ranked(cheap, pg.Limits.named("H200"))[0].blocks == 1
    assert ranked(dear, pg.Limits.named("H200"))[0].blocks > 1


def test_a_triangle_counts_its_elements() -> None:
    found = counted("{ [i,j]: 0<=i<100 and 0<=j<=i }", "s[i] = sum(j, a[i,j])  {inames=i}")
    assert found == Work(100, 51, 4 * 5050, 4, along=True)


@pytest.mark.parametrize("work", SHAPES, ids=str)
def test_bounds(work: Work) -> None:
    found = ranked(work, H100)
    assert found
    times = [seconds(work, H100, choice) for choice in found]
    assert min(times) >= (1 - 1e-9) * work.read / H100.bytes_per_second
    assert min(times) >= H100.latency_seconds
    assert times[0] <= 1.06 * min(times)
    for choice in found:
        assert choice.threads % choice.across == 0
        assert choice.threads <= H100.items_per_group
        assert choice.blocks * choice.threads // choice.across <= max(1024, 2 * work.length)


def test_every_choice_can_be_made_once() -> None:
    for work in SHAPES:
        made = list(choices(work, H100))
        assert len(made) == len(set(made))
