"""What facts say about some names: as isl's projection, for random facts and assumptions."""

from __future__ import annotations

import random

import islpy as isl
import pytest

import polygen as pg
from polygen.analysis.integers.affine_forms import LinearForm, Term
from polygen.analysis.integers.projected_facts import (
    Fact,
    ProjectedFacts,
    projected_assumptions,
    set_of_facts,
)
from polygen.ir.domain import project_out


def _fact(text: str) -> Fact:
    (piece,) = isl.Set(text).get_basic_sets()
    (constraint,) = piece.get_constraints()
    names = [
        piece.get_dim_name(isl.dim_type.param, p) for p in range(piece.dim(isl.dim_type.param))
    ]
    terms = {
        name: constraint.get_coefficient_val(isl.dim_type.param, p).to_python()
        for p, name in enumerate(names)
        if name is not None
    }
    constant = constraint.get_constant_val().to_python()
    return LinearForm(constant, {n: c for n, c in terms.items() if c}), constraint.is_equality()


def test_of_many_sizes_of_one_bound_those_that_are_asked_for() -> None:
    facts = [_fact(f"[n{k}, n] -> {{ : n{k} <= n }}") for k in range(50)]
    facts += [_fact(f"[n{k}] -> {{ : n{k} >= 0 }}") for k in range(50)]
    found = ProjectedFacts(facts).about(frozenset({"n", "n7"}))
    assert set_of_facts(found).is_equal(isl.Set("[n, n7] -> { : 0 <= n7 <= n }"))


def test_what_two_names_have_to_do_with_each_other_through_others() -> None:
    facts = [_fact(f"[n{k}, n{k + 1}] -> {{ : n{k} < n{k + 1} }}") for k in range(20)]
    found = ProjectedFacts(facts).about(frozenset({"n0", "n20"}))
    assert set_of_facts(found).is_equal(isl.Set("[n0, n20] -> { : n0 + 20 <= n20 }"))


def test_names_stay_that_cannot_be_taken_away_exactly() -> None:
    # There is a number of which twice is n: projected, n is even, which no constraint says.
    even = _fact("[n, h] -> { : n = 2*h }")
    assert ProjectedFacts([even]).about(frozenset({"n"})) == {even}
    low, high = _fact("[n, h] -> { : 3*h >= n }"), _fact("[m, h] -> { : 2*h <= m }")
    assert ProjectedFacts([low, high]).about(frozenset({"n", "m"})) == {low, high}


@pytest.mark.parametrize("seed", range(30))
def test_random_facts(seed: int) -> None:
    choose = random.Random(seed)
    names = [f"x{k}" for k in range(5)]
    facts: list[Fact] = []
    for _ in range(choose.randint(2, 7)):
        terms: dict[Term, int] = {
            n: choose.choice([-2, -1, 1, 1, 2]) for n in choose.sample(names, 2)
        }
        facts.append((LinearForm(choose.randint(-3, 6), terms), choose.random() < 0.15))
    kept = frozenset(choose.sample(names, 2))
    others = [name for name in names if name not in kept]
    found = set_of_facts(ProjectedFacts(facts).about(kept))
    every = set_of_facts(frozenset(facts))
    assert project_out(found, others).is_equal(project_out(every, others))


def test_assumptions_of_few_parameters_or_in_parts_are_left_as_they_are() -> None:
    def knl(count: int, assumptions: str) -> pg.Kernel:
        return pg.make_kernel(
            [f"{{ [i{k}]: 0<=i{k}<n{k} }}" for k in range(count)],
            "\n".join(f"a{k}[i{k}] = 1" for k in range(count)),
            assumptions=assumptions,
        )

    many = " and ".join(f"n{k} <= n{k + 1}" for k in range(13))
    assert projected_assumptions(knl(2, "n0 <= n1")) is None
    found = projected_assumptions(knl(14, many))
    assert found is not None
    about = set_of_facts(found.about(frozenset({"n0", "n13"})))
    assert about.is_equal(isl.Set("[n0, n13] -> { : n0 <= n13 }"))
    assert projected_assumptions(knl(14, f"{many} and n0 % 2 = 0")) is None
