"""`parallel_inames`: yes where the step that tags the iname is proved, and only there."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

import pytest

import polygen as pg
from polygen.analysis.order.instance_order import order_of
from polygen.errors import CannotProve, DependencyCycle, IllegalStep, NoLoopNest
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel
from tests.proof.generator import Maker
from tests.proof.patterns import PATTERNS
from tests.properties.generator import Generator


def accepts(knl: Kernel, iname: str, tag: str) -> bool:
    try:
        pg.tag_inames(knl, {iname: tag}, force=True)
    except (IllegalStep, CannotProve):
        return False
    return True


def check(knl: Kernel) -> Counter[bool]:
    """Compare with the step, and with what all pairs of instances say."""
    rows = pg.parallel_inames(knl)
    assert tuple(rows) == knl.inames
    everything = pg.dependences(knl, memory=True)
    for iname, row in rows.items():
        assert bool(row.as_group) is accepts(knl, iname, "g.0")
        assert bool(row.as_item) is accepts(knl, iname, "l.0")
        assert row.parallel is bool(row.as_group and row.as_item)
        carried = [d for d in everything if d.carried_by == iname]
        if not knl.temporaries:
            assert row.parallel or carried  # whatever is refused is carried by the loop
            assert bool(row.carried) is bool(carried)
    return Counter(row.parallel for row in rows.values())


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns(name: str) -> None:
    check(PATTERNS[name].kernel())


def check_all(kernels: Iterable[Kernel]) -> Counter[bool]:
    """Check those of the kernels that have an order."""
    found: Counter[bool] = Counter()
    for knl in kernels:
        try:
            order_of(knl)
        except (DependencyCycle, NoLoopNest):
            continue
        found += check(knl)
    return found


# The first ones in each run, the others in the deep ones.
STARTS = [0, *(pytest.param(start, marks=pytest.mark.deep) for start in range(30, 300, 30))]


@pytest.mark.parametrize("start", STARTS)
def test_random_kernels(start: int) -> None:
    with pg.without_proofs():
        kernels = [Maker(seed).kernel() for seed in range(start, start + 30)]
    found = check_all(kernels)
    assert min(found[True], found[False]) > 5


def test_random_loop_nests_with_reductions_and_bounds_that_are_data() -> None:
    with pg.without_proofs():
        kernels = [Generator(random.Random(seed)).case().kernel for seed in range(30)]
    found = check_all(kernels)
    assert min(found[True], found[False]) > 5


def test_reductions_may_be_added_up_in_any_order() -> None:
    rows = pg.parallel_inames(PATTERNS["reduction of itself"].kernel())
    assert {iname: row.parallel for iname, row in rows.items()} == {"i": False, "j": True}


def test_what_a_dependency_keeps() -> None:
    (row,) = pg.parallel_inames(PATTERNS["flow"].kernel()).values()
    assert row.parallel
    assert [str(d.carried_by) for d in row.carried] == ["i"]


def test_groups_and_work_items_differ_in_local_temporaries() -> None:
    rows = pg.parallel_inames(PATTERNS["tile"].kernel())
    answers = {iname: (bool(row.as_group), bool(row.as_item)) for iname, row in rows.items()}
    # Groups g have tiles of their own; work items i of one group fill one tile together.
    assert answers == {"g": (True, False), "i": (False, True), "j": (True, True)}
    assert str(rows).splitlines()[1].startswith("g      g only    tag_inames would change")
    assert str(rows["i"]).startswith("l only    tag_inames would change")


def test_all_axes_may_be_taken() -> None:
    knl = kernel("{ [i,j,k,l]: 0<=i,j,k,l<n }", "a[i,j,k,l] = 1")
    knl = pg.tag_inames(knl, {"i": "g.0", "j": "g.1", "k": "g.2"})
    rows = pg.parallel_inames(knl)
    assert rows["l"].parallel
    assert rows["i"].as_group.kernel is knl  # nothing left to do


def test_it_prints_as_a_table() -> None:
    rows = pg.parallel_inames(PATTERNS["row recurrence"].kernel())
    assert str(rows).splitlines() == [
        "iname  parallel  carries",
        "i      yes",
        "j      no        flow   s[i, j] -> s[i, j + 1]  through a, distance (0, 1), carried by j",
    ]
    assert repr(rows) == "ParallelInames(i: True, j: False)"
    assert len(rows) == 2


def test_of_a_kernel_without_loops() -> None:
    rows = pg.parallel_inames(kernel([], "a[0] = 1"))
    assert str(rows) == "iname  parallel  carries"
    assert dict(rows) == {}


def test_without_an_order_nothing_is_said() -> None:
    text = "a[i,j] = 1 {id=x}\nb[i] = 1 {id=y}\nc[j] = 1 {id=z}"
    with pg.without_proofs():
        knl = kernel("{ [i,j]: 0<=i,j<n }", text)
    with pytest.raises(NoLoopNest):
        pg.parallel_inames(knl)
