"""What cannot be generated is refused, with what to do; what is open warns."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    AmbiguousNesting,
    BarrierNotPossible,
    DependencyCycle,
    GridSizeNotKnown,
    LocalSizeNotConstant,
    NoLoopNest,
    NotUnrollable,
    PriorityIgnored,
    PrivateAcrossLaunches,
    UserError,
)
from polygen.ir.kernel import Kernel
from polygen.lower.lower import Model
from tests.oracle.cases import grid, kernel, lowered, split, steps, tag

LINE = "{ [i]: 0<=i<n }"
CUBE = "{ [i,j,k]: 0<=i,j,k<n }"


def _refused(kind: type[UserError], knl: Kernel, *words: str) -> None:
    for model in Model:
        with pytest.raises(kind) as caught:
            lowered(knl, model)
        text = str(caught.value)
        assert [w for w in words if w not in text] == []
        assert "test_refusals.py:" in text or "cases.py:" in text  # where the user wrote it
        assert "remedy: " in text


def test_no_nest_has_one_loop_an_iname() -> None:
    with pg.without_proofs():  # or it would be refused when it is made
        knl = kernel(CUBE, "x[i,j] = a[i]\ny[j,k] = a[j]\nz[k,i] = a[k]")
    _refused(NoLoopNest, knl, "one loop an iname", "'insn' is in {i, j}", "duplicate_inames")


def test_instructions_that_must_each_come_first() -> None:
    with pg.without_proofs():  # or it would be refused when it is made
        knl = kernel(
            "{ [i,j]: 0<=i,j<n }",
            """
            x[i] = a[i]  {id=s}
            y[j] = x[0]  {id=t, inames=j, dep=s}
            z[i] = y[0]  {id=u, inames=i, dep=t}
            """,
        )
    _refused(
        DependencyCycle, knl, "must come after another", "one loop only: i, j", "-> [i] x[i] = a[i]"
    )


def test_unrolling_an_unknown_number_of_iterations() -> None:
    knl = tag(i="unr")(kernel(LINE, "out[i] = a[i]"))
    _refused(NotUnrollable, knl, "'i' is tagged unr", "not a constant", "split it by a constant")
    triangle = kernel("{ [i,j]: 0<=j<=i<n }", "out[i,j] = a[i,j]")
    _refused(NotUnrollable, tag(j="unr")(triangle), "'j' is tagged unr")


def test_a_group_of_unknown_size() -> None:
    knl = tag(i="l.0")(kernel(LINE, "out[i] = a[i]"))
    _refused(LocalSizeNotConstant, knl, "'i' is tagged l.0", "split 'i' by a constant")


@pytest.mark.parametrize("axis", ["g.0", "l.0"])
def test_a_grid_whose_size_is_computed(axis: str) -> None:
    knl = kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<c }"],
        "<int32> c = count[i]\nout[i,j] = a[j]",
        pg.GlobalArg("count", np.int32, shape=("n",)),
        pg.GlobalArg("out", shape=("n", 8)),
    )
    _refused(GridSizeNotKnown, tag(j=axis)(knl), f"'j' is tagged {axis}", "depends on 'c'")


@pytest.mark.parametrize("space", [pg.AddressSpace.LOCAL, pg.AddressSpace.PRIVATE])
def test_a_temporary_that_would_outlive_its_launch(space: pg.AddressSpace) -> None:
    knl = kernel(
        "{ [i,j]: 0<=i,j<16 }",
        """
        <> p = a[i]*2        {id=p}
        t[i] = p             {id=w, dep=p}
        out[i] = t[i//2]+p   {dep=w:p}
        """,
        pg.TemporaryVariable("t", shape=(16,), address_space=pg.AddressSpace.GLOBAL),
    )
    if space is pg.AddressSpace.LOCAL:
        temporaries = [t for t in knl.temporaries if t.name != "p"]
        local = pg.TemporaryVariable("p", address_space=space)
        knl = knl.copy(temporaries=(*temporaries, local))
    _refused(PrivateAcrossLaunches, tag(i="g.0")(knl), f"'p' is {space.value}", "global temporary")


def test_a_host_loop_whose_bounds_are_computed() -> None:
    knl = kernel(
        ["{ [t]: 0<=t<c }", "{ [i]: 0<=i<16 }"],
        "<int32> c = count[0]  {id=c}\na[t+1,i] = a[t,15-i]  {inames=t:i, dep=*c}",
        pg.GlobalArg("count", np.int32, shape=(1,)),
        pg.GlobalArg("a", shape=(9, 16)),
    )
    words = "the loop of 't'", "runs on the host", "depend on 'c', which the kernel computes"
    _refused(BarrierNotPossible, tag(i="g.0")(knl), *words)


# --- warnings


def _warned(knl: Kernel) -> list[type[Warning]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lowered(knl)
    return [w.category for w in caught]


def _loud(domains: Any, text: str) -> Kernel:
    return pg.make_kernel(domains, text)


def test_an_open_nesting_warns_once() -> None:
    knl = _loud("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i,j] = a[i,j]")
    with pytest.warns(AmbiguousNesting, match=r"\{i, j\}.*prioritize_loops"):
        lowered(knl)
    assert _warned(knl) == []


@pytest.mark.parametrize(
    "step",
    [
        lambda k: pg.prioritize_loops(k, "j, i"),
        tag(i="g.0"),
        steps(grid("i", 16), tag(j="g.1")),
        lambda k: pg.set_options(k, silenced_warnings=["AmbiguousNesting"]),
    ],
)
def test_it_does_not_where_something_decides(step: Any) -> None:
    knl = _loud("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i,j] = a[i,j]")
    assert _warned(step(knl)) == []


@pytest.mark.parametrize(
    ("domains", "text"),
    [
        (LINE, "out[i] = a[i]"),
        ("{ [i,k]: 0<=i<n and 0<=k<m }", "out[i] = sum(k, a[i,k])"),
        (["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }"], "out[i,j] = a[i,j]"),
        ("{ [i,j]: 0<=i,j<n }", "x[i] = a[i]\ny[j] = b[j]"),
    ],
)
def test_it_does_not_where_structure_decides(domains: Any, text: str) -> None:
    assert _warned(_loud(domains, text)) == []


def test_a_priority_against_structure_warns() -> None:
    knl = _loud(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }"], "out[i,j] = a[i,j]")
    quiet = pg.set_options(knl, silenced_warnings=["PriorityIgnored"])
    assert _warned(pg.prioritize_loops(quiet, "j, i")) == []
    with pytest.warns(PriorityIgnored, match="'j' over 'i' is ignored"):
        knl = pg.prioritize_loops(knl, "j, i")
    assert _warned(knl) == []


def test_a_priority_that_structure_agrees_with_does_not() -> None:
    knl = _loud("{ [i,k]: 0<=i<n and 0<=k<m }", "out[i] = sum(k, a[i,k])")
    assert _warned(pg.prioritize_loops(knl, "i, k")) == []
    assert _warned(pg.prioritize_loops(knl, "k, i")) == [PriorityIgnored]


def test_splitting_leaves_the_nesting_open() -> None:
    knl = split("i", 16)(_loud(LINE, "out[i] = a[i]"))
    assert _warned(knl) == [AmbiguousNesting]
    assert _warned(pg.prioritize_loops(knl, "i_outer, i_inner")) == []
