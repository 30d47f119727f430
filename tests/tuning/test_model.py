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
    assert found == Work(20, 300, 4 * (6000 + 30), 8, along=True)
    found = counted(box, "s[i,k] = max(j, a[i,j,k])", n=10)
    assert found == Work(300, 20, 4 * 6000, 4, along=False)


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
