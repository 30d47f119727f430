"""Verbatim C that assigns to nothing is executed as often as the kernel says."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.errors import WrongInstances
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from polygen.lower.lower import Model, lower_prepared, prepare
from polygen.lower.program import If, Node, Verbatim
from polygen.validation.validate import check
from tests.oracle.cases import grid
from tests.validation.edits import edited, said, shows


def _with_code(*within: str) -> Kernel:
    read = tuple([(name, ex.Variable(name)) for name in within])
    code = pg.CInstruction(read, "", frozenset(), (), "say", frozenset(within))
    knl = pg.make_kernel("{ [i]: 0<=i<n }", ["b[i] = 3*a[i]", code])
    return pg.add_dtypes(knl, {"a": np.float64})


@pytest.mark.parametrize("within", [(), ("i",)])
@pytest.mark.parametrize("on_grid", [False, True])
def test_code_without_assignees_is_accepted(within: tuple[str, ...], *, on_grid: bool) -> None:
    knl = _with_code(*within)
    knl = prepare(grid("i", 4)(knl) if on_grid else knl)
    for model in Model:
        check(knl, lower_prepared(knl, model))


def test_a_grid_executes_it_once() -> None:
    """Without the condition that lets one work item do so, all would."""
    knl = prepare(grid("i", 4)(_with_code()))

    def bare(node: Node) -> tuple[Node, ...]:
        if isinstance(node, If) and any(isinstance(one, Verbatim) for one in node.body):
            return node.body
        return (node,)

    wrong = edited(lower_prepared(knl, Model.GRID), bare)
    assert shows(said(knl, wrong, WrongInstances), "say[] is executed more than once")


@pytest.mark.parametrize("within", [(), ("i",)])
def test_its_code_is_generated_and_runs(within: tuple[str, ...]) -> None:
    knl = _with_code(*within).copy(target="c")
    assert pg.generate_code(pg.optimize(knl)).source
    _, (out,) = knl(a=np.arange(5.0))
    np.testing.assert_array_equal(out, 3 * np.arange(5.0))
