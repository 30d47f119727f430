"""What a proved step makes is well formed, and reads back: it says how its loops nest."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.errors import IllegalStep
from tests.few import few
from tests.proof.sequences import check_code, check_results, random_sequence

RECURRENCES = [
    ("{ [i]: 1<=i<n }", "u[i] = u[i-1] + 1"),
    ("{ [i]: 0<=i<n }", "u[idx[i]] = 2*u[idx[i]] + 1"),
    (["{ [j]: 0<=j<n }", "{ [i]: 1<=i<n }"], "u[i] = u[i-1] + sum(j, a[i, j])"),
    ("{ [i]: 1<=i<n }", "<> t = a[i] {id=t}\nu[i] = u[i-1] + t {dep=t}"),
]


@pytest.mark.parametrize(("domains", "text"), RECURRENCES)
def test_a_recurrence_that_is_split_keeps_its_order(domains: str | list[str], text: str) -> None:
    knl = pg.split_iname(pg.make_kernel(domains, text), "i", 4)
    assert knl.priorities == (("i_outer", "i_inner"),)
    pg.check_well_formed(knl)
    with pytest.raises(pg.errors.CannotProve if "idx" in text else IllegalStep):
        pg.prioritize_loops(knl, "i_inner, i_outer")


@pytest.mark.parametrize(
    ("domains", "text"),
    [
        ("{ [i]: 0<=i<n }", "u[i] = 2*u[i] + 1"),
        ("{ [i]: 0<=i<n }", "u[i] = a[i] + a[i+1]"),
        ("{ [i,j]: 0<=i,j<n }", "u[i,j] = u[i,j] + a[i, j]"),
    ],
)
def test_where_nothing_depends_on_it_the_nest_stays_open(domains: str, text: str) -> None:
    knl = pg.split_iname(pg.make_kernel(domains, text), "i", 4)
    assert ("i_outer", "i_inner") not in knl.priorities
    pg.check_well_formed(pg.prioritize_loops(knl, "i_inner, i_outer"))


@few(1, "start", [540, 500, 520])
def test_what_random_steps_make_is_well_formed(start: int) -> None:
    taken = 0
    for seed in range(start, start + 20):
        sequence = random_sequence(seed)
        pg.check_well_formed(sequence.kernels[-1])
        assert pg.parse_kernel(str(sequence.kernels[-1])) == sequence.kernels[-1]
        taken += len(sequence.steps)
    assert taken > 40


@pytest.mark.parametrize(
    ("text", "nests"),
    [
        # Each reads what the one before wrote, whichever that is: the nest decides.
        ("u[0] = u[0] + a[i]", {("i_outer", "i_inner")}),
        ("u[0] = u[0] + a[i]  {id=s}\nu[0] = 2*u[0]  {dep=s, inames=}", {("i_outer", "i_inner")}),
        # Nothing but what was written in the same iteration is read, and the last one is the last.
        ("u[0] = a[i]  {id=w}\nu[0] = 2*u[0]  {id=s, dep=w, inames=i}", set()),
        ("<> t = a[i]  {id=w}\nt = t*t  {id=s, dep=w, inames=i}\nu[i] = t  {dep=s}", set()),
        # What is touched is another element in each iteration.
        ("u[i//8] = u[i//8] + a[i]", {("i_outer", "i_inner")}),
        ("u[i % 4] = u[i % 4] + a[i]", set()),
    ],
)
def test_updates(text: str, nests: set[tuple[str, str]]) -> None:
    knl = pg.split_iname(pg.make_kernel("{ [i]: 0<=i<16 }", text), "i", 4)
    assert {*knl.priorities} == nests


@pytest.mark.parametrize(
    "seed",
    [
        700_050,  # an axis of one work item, of which isl sees that a piece is empty
        701_228,  # a copy for an instruction that what is assumed leaves no instance
    ],
)
def test_what_once_ended_with_an_exception(seed: int) -> None:
    sequence = random_sequence(seed)
    assert check_results(sequence) > 0
    assert check_code(sequence) > 0
