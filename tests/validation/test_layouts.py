"""Loop programs that take another component, array or place than the layout says are found out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

import polygen as pg
from polygen.errors import WrongStatement, WrongStorage
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.kernel import Kernel
from polygen.lower.lower import Model, lower_prepared, prepare
from polygen.lower.program import Assign, Declare, LoopProgram, Node
from polygen.validation.validate import check
from tests.validation.edits import edited, said

LOOPS = "{ [i, j]: 0<=i<n and 0<=j<4 }"
LAYOUTS: list[dict[str, Any]] = [
    {"dim_tags": "N0, N1(pad_to=8)"},
    {"dim_tags": "N1, N0(pad_to=3)", "offset": 2},
    {"strides": "5*n, 3", "offset": "n"},
    {"dim_tags": "N0(pad_to=4), N1"},
    {"dim_tags": "N0, vec"},
    {"dim_tags": "stride:8, vec", "offset": 4},
    {"dim_tags": "N0, sep"},
]


def kernel(layout: dict[str, Any]) -> Kernel:
    a = pg.GlobalArg("a", "float64", "n, 4", **layout)
    out = pg.GlobalArg("out", "float64", "n, 4", **layout)
    knl = pg.make_kernel(LOOPS, "out[i, j] = 2*a[i, 3 - j]", [a, out, "n"], loop_priority="i, j")
    return prepare(pg.tag_inames(knl, {"j": "unr"}))


class Mover:
    """Makes one number in one subscript of a program greater by one.

    Parameters:
        which: the number, as they are met.
    """

    def __init__(self, which: int) -> None:
        self.left = which

    def rule(self, node: Node) -> tuple[Node, ...]:
        if not isinstance(node, Assign):
            return (node,)
        target: Any = walk.rewrite(node.target, self.moved)
        value = walk.rewrite(node.value, self.moved)
        return (replace(node, target=target, value=value),)

    def moved(self, node: Any) -> Any:
        if not isinstance(node, ex.Subscript):
            return node
        index = list(ex.index_tuple(node))
        for part in range(len(index)):
            if self.left == 0:
                index[part] = ex.sum_of(index[part], 1)
            self.left -= 1
        return ex.Subscript(node.aggregate, tuple(index) if len(index) > 1 else index[0])


def moved(program: LoopProgram) -> Iterator[LoopProgram]:
    """Yield the program with one number in one subscript greater by one."""
    for which in count():
        mover = Mover(which)
        try:
            other = edited(program, mover.rule)
        except AssertionError:  # nothing was changed: there are no more
            return
        yield other


def first_subscript(program: LoopProgram) -> ex.Subscript:
    found: list[ex.Subscript] = []

    def rule(node: Node) -> tuple[Node, ...]:
        if isinstance(node, Assign) and isinstance(node.target, ex.Subscript):
            found.append(node.target)
        return ()

    edited(program, rule)
    return found[0]


@pytest.mark.parametrize("model", Model)
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_each_part_of_a_subscript_counts(layout: dict[str, Any], model: Model) -> None:
    knl = kernel(layout)
    program = lower_prepared(knl, model)
    check(knl, program)
    wrong = list(moved(program))
    accesses = 8
    assert len(wrong) == accesses * len(ex.index_tuple(first_subscript(program)))
    for other in wrong:
        assert other != program
        said(knl, other, WrongStatement)


def test_another_layout_is_another_program() -> None:
    programs = [(kernel(layout), lower_prepared(kernel(layout), Model.LOOPS)) for layout in LAYOUTS]
    for knl, own in programs:
        for _, other in programs:
            if other is not own:
                with pytest.raises((WrongStatement, WrongStorage)):
                    check(knl, other)


@pytest.mark.parametrize(
    "change",
    [{"vector": None}, {"vector": 2}, {"extent": 1}, {"extent": 3}, {"alignment": 64}],
    ids=str,
)
def test_vectors_are_declared(change: dict[str, Any]) -> None:
    t = pg.TemporaryVariable("t", "float32", (2, 4), dim_tags="N0, vec")
    text = "t[m, j] = a[i, m, j] \n out[i, p, q] = t[1 - p, 3 - q]"
    loops = "{ [i, m, j, p, q]: 0<=i<n and 0<=m,p<2 and 0<=j,q<4 }"
    data = [t, pg.GlobalArg("a", "float32", "n, 2, 4"), "..."]
    knl = pg.make_kernel(loops, text, data, loop_priority=("i, m, j", "i, p, q"))
    knl = prepare(pg.tag_inames(knl, {"j": "unr", "q": "unr"}))
    program = lower_prepared(knl, Model.LOOPS)
    check(knl, program)

    def rule(node: Node) -> tuple[Node, ...]:
        return (replace(node, **change),) if isinstance(node, Declare) else (node,)

    said(knl, edited(program, rule), WrongStorage)
