"""What is said of a loop program whose lanes are not those of the kernel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    WrongInstances,
    WrongLoopProgram,
    WrongOrder,
    WrongStatement,
    WrongStorage,
)
from polygen.ir import expression as ex
from polygen.lower.lower import Model, lower_prepared, prepare
from polygen.lower.program import Assign, Declare, Loop, LoopProgram, Node
from polygen.validation.validate import check
from tests.oracle.cases import kernel
from tests.validation.edits import Edit, edited, said, where

KNL = kernel("{ [i,j]: 0<=i<n and 0<=j<4 }", "<> t = 2*a[i,j] {id=t}\nout[i,j] = t {id=out}")
SUM = kernel("{ [i,j,k]: 0<=i<n and 0<=j<4 and 0<=k<3 }", "out[i,j] = sum(k, a[i,k,j]) {id=out}")


def _jammed(program: LoopProgram) -> LoopProgram:
    """Return a program in which one loop over lanes holds the statements of two."""

    def rule(node: Node) -> tuple[Node, ...]:
        if isinstance(node, Loop) and node.iname == "i":
            first, second = (n for n in node.body if isinstance(n, Loop))
            rest = tuple(n for n in node.body if n not in (first, second))
            lanes = replace(first, body=(*first.body, *second.body))
            return (replace(node, body=(*rest, lanes)),)
        return (node,)

    return edited(program, rule)


def _lane_by_lane(program: LoopProgram) -> LoopProgram:
    """Return a program in which each lane goes through all statements before the next one."""

    def rule(node: Node) -> tuple[Node, ...]:
        if isinstance(node, Loop) and node.iname == "i":
            rest = [n for n in node.body if not isinstance(n, Assign)]
            order = sorted(
                (n for n in node.body if isinstance(n, Assign)), key=lambda n: str(n.values)
            )
            return (replace(node, body=(*rest, *order)),)
        return (node,)

    return edited(program, rule)


def _other_lane(node: Node) -> tuple[Node, ...]:
    assert isinstance(node, Assign)
    other = ex.Subscript(ex.Variable("t"), 0)
    return (replace(node, value=other),)


def _around(node: Node) -> tuple[Node, ...]:
    """Return a loop over lanes around the one of a reduction."""
    assert isinstance(node, Loop)
    (lanes,) = node.body
    assert isinstance(lanes, Loop)
    return (replace(lanes, body=(replace(node, body=lanes.body),)),)


def _shared_accumulator(node: Node) -> tuple[Node, ...]:
    assert isinstance(node, Assign)
    acc = ex.Subscript(ex.Variable("acc_k"), 0)
    return (replace(node, target=acc, value=ex.sum_of(acc, ex.Variable("j"))),)


MISTAKES: list[tuple[str, str, Edit, type[WrongLoopProgram], str]] = [
    ("t", "ilp.seq", _jammed, WrongOrder, "lanes of 'j' are executed one after the other"),
    ("t", "vec", _jammed, WrongOrder, "lanes of 'j' are executed one after the other"),
    ("t", "ilp", _lane_by_lane, WrongOrder, "has to come before"),
    ("t", "ilp", where(Assign, _other_lane, "out"), WrongStatement, "which is not 't[j]'"),
    ("t", "ilp.seq", where(Assign, _other_lane, "out"), WrongStatement, "which is not 't[j]'"),
    (
        "t",
        "ilp.seq",
        where(Loop, lambda n: (replace(n, upper=3),), "j"),
        WrongInstances,
        "is not executed",
    ),
    (
        "t",
        "vec",
        where(Loop, lambda n: (replace(n, upper=3),), "j"),
        WrongInstances,
        "not executed",
    ),
    (
        "t",
        "vec",
        where(Declare, lambda n: (replace(n, vector=2),), "t"),
        WrongStorage,
        "another number of components",
    ),
    (
        "t",
        "ilp",
        where(Declare, lambda n: (replace(n, extent=3),), "t"),
        WrongStorage,
        "declared with 3 elements, and needs 4",
    ),
    ("sum", "ilp.seq", where(Loop, _around, "k"), WrongOrder, "one after the other"),
    (
        "sum",
        "ilp.seq",
        where(Declare, lambda n: (replace(n, extent=1),), "acc_k"),
        WrongStorage,
        "declared with 1 elements, and needs 4",
    ),
    (
        "sum",
        "vec",
        where(Declare, lambda n: (replace(n, vector=8),), "acc_k"),
        WrongStorage,
        "another number of components",
    ),
    ("sum", "ilp", where(Assign, _shared_accumulator, "out"), WrongStatement, ""),
]


@pytest.mark.parametrize("model", list(Model), ids=lambda m: m.value)
@pytest.mark.parametrize(("which", "tag", "edit", "error", "words"), MISTAKES)
def test_a_mistake_is_noticed(
    model: Model, which: str, tag: str, edit: Edit, error: type[WrongLoopProgram], words: str
) -> None:
    knl = pg.add_dtypes(pg.tag_inames(KNL if which == "t" else SUM, {"j": tag}), {"a": np.float32})
    knl = prepare(knl)
    program = lower_prepared(knl, model)
    check(knl, program)
    assert words in said(knl, edit(program), error)
