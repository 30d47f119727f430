"""Ranges of counters: what is known of them in a launch."""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl
import pytest

import polygen as pg
from polygen.analysis.integers.known_facts import known_parameters
from polygen.lower.program import Launch
from polygen.lower.ranges import Ranges
from polygen.pipeline import lower_kernel


def nests(count: int) -> pg.Kernel:
    """Return loops of different sizes on one axis, the first of them with a remainder."""
    loops = [f"[n{k}] -> {{ [i{k}]: {k}<=i{k}<{k}+n{k} }}" for k in range(count)]
    code = ["a0[i0] = (i0+1) % n0", *(f"a{k}[i{k}] = {k}" for k in range(1, count))]
    knl = pg.make_kernel(loops, "\n".join(code), target="opencl")
    for k in range(count):
        knl = pg.split_iname(knl, f"i{k}", 16, outer_tag="g.0", inner_tag="l.0")
    return knl


def known_in_launch(count: int) -> tuple[Launch, isl.Set]:
    knl = nests(count)
    program = lower_kernel(knl)
    (launch,) = program.host
    assert isinstance(launch, Launch)
    return launch, Ranges(program).in_launch(known_parameters(knl), launch)


def is_possible(known: isl.Set, values: Mapping[str, int]) -> bool:
    names = [
        known.get_dim_name(isl.dim_type.param, k) or ""
        for k in range(known.dim(isl.dim_type.param))
    ]
    for place, name in enumerate(names):
        if name in values:
            known = known.fix_val(isl.dim_type.param, place, isl.Val(values[name]))
    return not known.is_empty()


@pytest.mark.parametrize("count", [1, 2, 5, 9, 30])
def test_there_are_few_pieces(count: int) -> None:
    """Each loop as a range of its own would give ``count ** count`` pieces."""
    _, known = known_in_launch(count)
    assert known.n_basic_set() <= 8


@pytest.mark.parametrize("count", [2, 3])
def test_counters_on_an_axis_count_alike(count: int) -> None:
    launch, known = known_in_launch(count)
    group, _ = launch.axes
    firsts = {iname: int(str(first)) for iname, first in group.inames}
    assert len(firsts) == count
    sizes = {f"n{k}": 20 * k + 5 for k in range(count)}
    groups = max(-(-size // 16) for size in sizes.values())
    for place in range(-1, groups + 2):
        values = {iname: first + place for iname, first in firsts.items()}
        assert is_possible(known, {**sizes, **values}) == (0 <= place < groups)
    one, other = list(firsts)[:2]
    assert not is_possible(known, {**sizes, one: firsts[one], other: firsts[other] + 1})


def test_code_of_many_nests() -> None:
    assert "a8[" in str(pg.generate_code(nests(9)))
