"""`add_inames_to_insn`: often instead of once."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.errors import (
    InvalidArgument,
    MalformedKernel,
    NotTheSame,
    UnknownIname,
    UnknownInstruction,
)
from tests.oracle.cases import agree_in_arrays, kernel, loops, lowered, prior
from tests.transforms.inames.often_and_once import (
    ARRAY,
    CALLS,
    FOUR,
    PLANE,
    SCALAR,
    expected,
    often,
    typed,
)
from tests.transforms.numpy_runs import numpy_agrees
from tests.transforms.refusals import refused


def test_often_results_are_numpys() -> None:
    numpy_agrees(typed(FOUR, SCALAR), often, expected)


def test_often_in_loops_that_may_have_no_iteration() -> None:
    refused(NotTheSame, "'b' would not end with 2", often, typed(PLANE, ARRAY))
    assumed = typed(PLANE, ARRAY, assumptions="m >= 1")
    agree_in_arrays(assumed, [{"n": 3, "m": 2}, {"n": 5, "m": 1}], often)
    # What only the loop reads need not be written if it has no iteration.
    agree_in_arrays(typed(PLANE, SCALAR), CALLS, often)


@pytest.mark.parametrize("order", ["i, j", "j, i"])
def test_what_is_added_up_is_not_added_up_more_often(order: str) -> None:
    text = "b[i] = b[i] + a[i]  {id=t, inames=i}\nout[i,j] = a[i]"
    refused(NotTheSame, "instead of b", often, prior(order)(typed(FOUR, text)))


def test_inames_that_do_not_fit() -> None:
    knl, add = typed(FOUR, SCALAR), pg.add_inames_to_insn
    refused(UnknownIname, "no iname 'k'", add, knl, "k", "t")
    refused(UnknownInstruction, "no instruction 'q'", add, knl, "j", "q")
    summed = typed(FOUR, "b[i] = sum(j, a[i,j])  {id=t, inames=i}", loop_priority=())
    refused(MalformedKernel, "reduces over 'j', which it is also within", add, summed, "j", "t")
    nested = kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }", "{ [k]: 0<=k<4 }"],
        "out[i,j] = a[i]\nb[k] = a[k]  {id=b}",
        pg.GlobalArg("a", shape="n+4"),
    )
    refused(MalformedKernel, "which the domain of 'j' needs", add, nested, "j", "b")


def test_where_the_instruction_is() -> None:
    knl = typed(FOUR, SCALAR)
    (row,) = [x for x in loops(lowered(knl)) if x.iname == "j"]
    assert "t = 2" not in str(row)
    new = often(knl)
    assert new.instruction("t").within_inames == {"i", "j"}
    assert new.copy(instructions=knl.instructions) == knl
    lines = [line.strip() for line in str(pg.generate_code(new, "c")).splitlines()[2:7]]
    assert lines == [
        "for (int i = 0; i < n; ++i) {",
        "for (int j = 0; j < 4; ++j) {",
        "double const t = 2.0 * a[i];",
        "out[4 * i + j] = t + j;",
        "}",
    ]
    assert often(new) is new
    assert pg.add_inames_to_insn(knl, "i, j", "t") == new
    assert pg.replay(knl, new.history) == new


def test_arguments_of_the_wrong_kind() -> None:
    knl = typed(FOUR, SCALAR)
    refused(InvalidArgument, "inames=3, which is", pg.add_inames_to_insn, knl, 3, "t")
    refused(InvalidArgument, "insn_match=3, which is", pg.add_inames_to_insn, knl, "j", 3)
