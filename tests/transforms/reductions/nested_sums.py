"""Kernels with reductions over several inames, and the steps that split them."""

from __future__ import annotations

from typing import Any

import polygen as pg
from polygen.ir import walk
from polygen.ir.kernel import Kernel
from tests.oracle.cases import Step, agree, kernel

CUBE = kernel(
    "{ [p,i,j,k,x,y]: 0<=p,i,j,k,x,y<n }",
    "b[p] = 2*sum((i,j,k), a[p,i]*a[j,k])  {id=s}\nc[p] = 1 + max((x,y), a[x,y]*p)  {id=u}",
)
SHARED = kernel(
    "{ [p,i,j]: 0<=p,i,j<n }",
    "b[p] = sum((i,j), a[p,i]*a[j,i])  {id=s}\nc[p] = max((i,j), a[i,j]*p)  {id=u}",
)
TRIANGLE = kernel(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }"], "b[0] = sum((i,j), a[i]*j)  {id=s}")

Nest = list[tuple[str, ...]]


def inward(inames: Any, within: Any = None) -> Step:
    """Return the step that puts some inames inside."""
    return lambda knl: pg.split_reduction_inward(knl, inames, within)


def outward(inames: Any, within: Any = None) -> Step:
    """Return the step that puts some inames outside."""
    return lambda knl: pg.split_reduction_outward(knl, inames, within)


def _nest(knl: Kernel, insn_id: str) -> Nest:
    """Return what the reductions of an instruction run over, from outside."""
    return [r.inames for r in walk.reductions(knl.assignment(insn_id).values[0])]


def cube_becomes(step: Step, first: Nest, second: Nest, *sizes: int) -> None:
    """Check which reductions a step makes of those of `CUBE`, and that they are the same."""
    new = step(CUBE)
    assert _nest(new, "s") == first
    assert _nest(new, "u") == second
    assert new.domains == CUBE.domains
    assert pg.replay(CUBE, new.history) == new
    assert pg.parse_kernel(str(new)) == new
    agree(CUBE, [{"n": n} for n in sizes], step)
