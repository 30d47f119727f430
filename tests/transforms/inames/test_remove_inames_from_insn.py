"""`remove_inames_from_insn`: once instead of in each iteration."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.errors import (
    CannotProve,
    IllegalStep,
    InameNotUsed,
    InvalidArgument,
    NotTheSame,
    UnknownIname,
    UnknownInstruction,
    UnknownName,
)
from tests.oracle.cases import agree_in_arrays, prior, steps, tag
from tests.transforms.inames.often_and_once import (
    ARRAY,
    CALLS,
    FOUR,
    PLANE,
    SCALAR,
    expected,
    once,
    typed,
)
from tests.transforms.numpy_runs import numpy_agrees
from tests.transforms.refusals import refused

OFTEN = [text.replace("inames=i}", "inames=i:j}") for text in (SCALAR, ARRAY)]


def test_once_results_are_numpys() -> None:
    numpy_agrees(typed(FOUR, OFTEN[0]), once, expected)
    numpy_agrees(typed(FOUR, OFTEN[0]), steps(once, tag(i="g.0")), expected)


def test_once_instead_of_in_loops_that_may_have_no_iteration() -> None:
    # What only the loop reads may be written although it has no iteration.
    agree_in_arrays(typed(PLANE, OFTEN[0]), CALLS, once)
    refused(NotTheSame, "'b' would end with 2", once, typed(PLANE, OFTEN[1]))
    assert once(typed(PLANE, OFTEN[1], assumptions="m >= 1")).instruction("t").within_inames == {
        "i"
    }


@pytest.mark.parametrize("order", ["i, j", "j, i"])
def test_what_is_added_up_is_not_added_up_once(order: str) -> None:
    text = "b[i] = b[i] + a[i]  {id=t, inames=i:j}\nout[i,j] = a[i]"
    knl = prior(order)(typed(FOUR, text))
    refused(NotTheSame, "would compute b", once, knl)


def test_what_changes_between_iterations() -> None:
    text = "b[i] = c[i]  {id=t, inames=i:j, dep=*}\nc[i] = j  {id=c, dep=t, inames=i:j}"
    refused(IllegalStep, "reads from 'c'", once, typed(FOUR, text))
    refused(
        CannotProve,
        "too many writes would have to be followed",
        once,
        typed("{ [i,j]: 1<=i<n and 0<=j<4 }", "b[i] = b[i-1] + a[i]  {id=t, inames=i:j}"),
    )


def test_inames_that_cannot_go() -> None:
    knl, remove = typed(FOUR, SCALAR), pg.remove_inames_from_insn
    refused(UnknownIname, "no iname 'k'", remove, knl, "k", "t")
    refused(UnknownInstruction, "no instruction 'q'", remove, knl, "j", "q")
    refused(InameNotUsed, "none of these instructions is within 'j'", remove, knl, "j", "t")
    refused(UnknownName, "'out' mentions 'j'", remove, knl, "j", "out")


def test_where_the_instruction_is() -> None:
    knl = typed(FOUR, OFTEN[0])
    new = once(knl)
    assert new.instruction("t").within_inames == {"i"}
    assert new.copy(instructions=knl.instructions) == knl
    lines = [line.strip() for line in str(pg.generate_code(new, "c")).splitlines()[2:7]]
    assert lines == [
        "for (int i = 0; i < n; ++i) {",
        "double const t = 2.0 * a[i];",
        "for (int j = 0; j < 4; ++j)",
        "out[4 * i + j] = t + j;",
        "}",
    ]
    assert pg.replay(knl, new.history) == new


def test_arguments_of_the_wrong_kind() -> None:
    knl = typed(FOUR, OFTEN[0])
    refused(InvalidArgument, "inames=3, which is", pg.remove_inames_from_insn, knl, 3, "t")
    refused(InvalidArgument, "insn_match=3, which is", pg.remove_inames_from_insn, knl, "j", 3)
