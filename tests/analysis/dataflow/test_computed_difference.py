"""Differences of what two kernels compute: what is said, of whom, and where."""

from __future__ import annotations

import islpy as isl

from polygen.analysis.dataflow.comparison_context import Context, Frame
from polygen.analysis.dataflow.computed_difference import (
    END,
    At,
    Difference,
    other_work,
    undecided,
    work_at,
)
from polygen.ir import expression as ex
from polygen.ir.instruction import Assigning
from tests.oracle.cases import kernel
from tests.proof.patterns import array

KNL = kernel(
    "{ [i]: 0<=i<n }",
    "out[i] = a[i] {id=s}\nmore[i] = a[i] {id=t}",
    array("out", "n"),
    array("more", "n"),
    array("a", "n"),
)
S, T = KNL.assignment("s"), KNL.assignment("t")
P = ex.Variable("p")
A = ex.element(ex.Variable("a"), (P,))
DOUBLE = ex.product_of(2, A)
POINTS = isl.Set("[n, p] -> { : 0 <= p < n }")


def _context(old: Assigning, new: Assigning) -> Context:
    frames = (Frame(KNL, insn, {"i": "p"} if insn is not END else {}) for insn in (old, new))
    return Context(POINTS, *frames)


def test_other_work_is_the_old_instructions_at_a_point_of_the_set() -> None:
    bad = isl.Set("[n, p] -> { : 3 <= p < n }")
    found = other_work(A, DOUBLE, _context(S, T), bad)
    assert (found.insn_id, found.name) == ("s", None)
    assert found.what == "it would compute 2*a[p] instead of a[p]"
    assert found.point is not None
    assert 3 <= found.point["p"] < found.point["n"]
    assert found.certain
    assert found.is_work


def test_what_is_there_at_the_end() -> None:
    point = {"n": 1, "p": 0}
    out = ex.element(ex.Variable("out"), (P,))
    gained = work_at(out, DOUBLE, _context(END, T), point)
    assert (gained.insn_id, gained.name, gained.point) == (END.id, "out", point)
    assert gained.what == "'out' would end with 2*a[p], which is something else"
    lost = work_at(DOUBLE, out, _context(S, END), point)
    assert (lost.insn_id, lost.name, lost.point) == (END.id, "out", point)
    assert lost.what == "'out' would not end with 2*a[p] any more"


def test_only_what_is_certain_and_has_no_reader_is_work() -> None:
    assert Difference("s").is_work
    unknown = undecided(S, "a", "data decides")
    assert (unknown.insn_id, unknown.name, unknown.what) == ("s", "a", "data decides")
    assert not unknown.certain
    assert not unknown.is_work
    assert not Difference("s", "a", reader=At("s", {"i": "p"})).is_work
