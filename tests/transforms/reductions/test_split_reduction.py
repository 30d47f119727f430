"""`split_reduction_inward`, `split_reduction_outward`: one reduction becomes two."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    InameNeeded,
    InvalidArgument,
    NoSuchReduction,
    ReductionNotNestable,
    UnknownIname,
    UnknownInstruction,
)
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.kernel import Kernel
from tests.oracle.cases import SIZES, Step, agree, kernel, steps
from tests.oracle.compare import make_arguments, typed
from tests.oracle.interpreter import interpret

CUBE = kernel(
    "{ [p,i,j,k,x,y]: 0<=p,i,j,k,x,y<n }",
    "b[p] = 2*sum((i,j,k), a[p,i]*a[j,k])  {id=s}\nc[p] = 1 + max((x,y), a[x,y]*p)  {id=u}",
)
SHARED = kernel(
    "{ [p,i,j]: 0<=p,i,j<n }",
    "b[p] = sum((i,j), a[p,i]*a[j,i])  {id=s}\nc[p] = max((i,j), a[i,j]*p)  {id=u}",
)
TRIANGLE = kernel(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }"], "b[0] = sum((i,j), a[i]*j)  {id=s}")


def inward(inames: Any, within: Any = None) -> Step:
    """Return the step that puts some inames inside."""
    return lambda knl: pg.split_reduction_inward(knl, inames, within)


def outward(inames: Any, within: Any = None) -> Step:
    """Return the step that puts some inames outside."""
    return lambda knl: pg.split_reduction_outward(knl, inames, within)


def _inames(knl: Kernel, insn_id: str) -> list[tuple[str, ...]]:
    return [r.inames for r in walk.reductions(knl.assignment(insn_id).values[0])]


SPLITS: list[tuple[Step, list[tuple[str, ...]], list[tuple[str, ...]]]] = [
    (inward("i"), [("j", "k"), ("i",)], [("x", "y")]),
    (outward("i"), [("i",), ("j", "k")], [("x", "y")]),
    (inward("k, i"), [("j",), ("i", "k")], [("x", "y")]),
    (outward(["k", "i"]), [("i", "k"), ("j",)], [("x", "y")]),
    (inward("y", "u"), [("i", "j", "k")], [("x",), ("y",)]),
    (outward("y", ["s", "u"]), [("i", "j", "k")], [("y",), ("x",)]),
    (steps(inward("k", "s"), outward("i", "s")), [("i",), ("j",), ("k",)], [("x", "y")]),
]


@pytest.mark.parametrize(("step", "first", "second"), SPLITS)
def test_reductions_become_two(
    step: Step, first: list[tuple[str, ...]], second: list[tuple[str, ...]]
) -> None:
    new = step(CUBE)
    assert _inames(new, "s") == first
    assert _inames(new, "u") == second
    assert new.domains == CUBE.domains
    assert pg.replay(CUBE, new.history) == new
    assert pg.parse_kernel(str(new)) == new
    agree(CUBE, SIZES[:4], step)


def test_bounds_that_mention_the_outer_iname() -> None:
    agree(TRIANGLE, SIZES, inward("j"), outward("i"))


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9])
def test_numpy_agrees(n: int) -> None:
    knl = outward("j")(kernel("{ [i,j]: 0<=i,j<n }", "b[0] = sum((i,j), a[i,j]*j)"))
    arguments = make_arguments(knl, {"n": n})
    arguments["b"] = np.zeros(1)
    outcome = interpret(typed(knl, arguments), arguments)
    assert outcome.arrays["b"][0] == (arguments["a"] @ np.arange(n)).sum()


def test_loops_are_nested_as_the_reductions_are() -> None:
    for step, outer, inner in ((inward("i"), "j", "i"), (outward("i"), "i", "j")):
        new = pg.add_dtypes(step(SHARED), {"a": "float32"})
        code = str(pg.generate_code(new, "c"))
        assert code.index(f"for (int {outer} ") < code.index(f"for (int {inner} ")


def test_only_reductions_of_one_kind_become_one() -> None:
    """What the proof compares with: a sum of products is no product of sums."""

    @pg.transformation
    def exchange(knl: Kernel) -> Kernel:
        """Let a sum and a product change places."""
        (insn,) = knl.assignments
        outer = insn.values[0]
        assert isinstance(outer, ex.Reduction)
        assert isinstance(outer.operand, ex.Reduction)
        inner = ex.Reduction(outer.operation, outer.inames, outer.operand.operand)
        both = ex.Reduction(outer.operand.operation, outer.operand.inames, inner)
        return knl.copy(instructions=(insn.copy(expression=both),))

    domain = "{ [i,j]: 0<=i,j<n }"
    assert exchange(kernel(domain, "b[0] = sum(i, sum(j, a[i,j]))")).history
    with pytest.raises(pg.UserError, match="sum"):
        exchange(kernel(domain, "b[0] = sum(i, product(j, a[i,j]))"))


REFUSED: list[tuple[Kernel, Step, type[pg.UserError], str]] = [
    (CUBE, inward("z"), UnknownIname, "no iname 'z'"),
    (CUBE, inward(3), InvalidArgument, "inames=3, which is not inames"),
    (CUBE, inward("i", "w"), UnknownInstruction, "no instruction 'w'"),
    (CUBE, inward("i, j, k"), NoSuchReduction, "no reduction runs over i and j and k, and"),
    (CUBE, outward("p"), NoSuchReduction, "no reduction runs over p"),
    (CUBE, inward("k", "u"), NoSuchReduction, "no reduction runs over k"),
    (TRIANGLE, inward("i"), InameNeeded,
     "over 'j' cannot be outside of one over 'i', which the bounds of 'j' need.*the other way"),
    (TRIANGLE, outward("j"), InameNeeded, "over 'j' cannot be outside of one over 'i'"),
    (inward("i", "s")(SHARED), inward("j", "u"), ReductionNotNestable,
     "cannot be nested so: no loop nest has one loop an iname.*duplicate_inames"),
]  # fmt: skip


@pytest.mark.parametrize(("knl", "step", "kind", "text"), REFUSED)
def test_refused(knl: Kernel, step: Step, kind: type[pg.UserError], text: str) -> None:
    with pytest.raises(kind, match="(?s)" + text) as caught:
        step(knl)
    assert caught.value.remedy


def test_with_inames_of_its_own_it_can_be_nested_otherwise() -> None:
    own = pg.duplicate_inames(inward("i", "s")(SHARED), "i, j", "u")
    agree(own, SIZES[:4], inward("j_0", "u"))
