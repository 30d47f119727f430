"""`rename_inames`: several loops become one."""

from __future__ import annotations

from typing import Any

import pytest

import polygen as pg
from polygen.errors import (
    DomainsDiffer,
    IllegalStep,
    InvalidArgument,
    LoopsOfOneInstruction,
    NameTaken,
    NotFusible,
    UnknownIname,
)
from polygen.ir.kernel import Kernel
from tests.oracle.cases import SIZES, agree, kernel, loops, lowered
from tests.transforms.numpy_runs import numpy_agrees
from tests.transforms.refusals import refused

CHAIN = kernel(
    "{ [i,j,k]: 0<=i,j,k<n }", "b[i] = 2*a[i]\nc[j] = b[j] + j  {id=u}\nd[k] = c[k]*b[k]"
)


def test_one_loop() -> None:
    new = pg.rename_inames(CHAIN, "i, j, k", "p")
    assert new.inames == ("p",)
    assert len(loops(lowered(new))) == 1
    assert pg.replay(CHAIN, new.history) == new
    assert [step.name for step in new.history] == ["rename_inames"]
    assert pg.rename_inames(CHAIN, ["j", "k"], "i", existing_ok=True).inames == ("i",)
    agree(CHAIN, SIZES, lambda k: pg.rename_inames(k, "i, j, k", "p"))


def test_numpy_agrees() -> None:
    numpy_agrees(
        CHAIN,
        lambda k: pg.rename_inames(k, "i, k", "j", True),
        lambda a: {
            "b": 2 * a,
            "c": 2 * a + range(len(a)),
            "d": (2 * a + range(len(a))) * (2 * a),
        },
    )


OTHER = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "b[i] = 0.0\nc[j] = 0.0")


@pytest.mark.parametrize(
    ("knl", "given", "kind", "text"),
    [
        (CHAIN, ("i, q", "p"), UnknownIname, "no iname 'q'"),
        (CHAIN, ("i, i", "p"), InvalidArgument, "i, i are not different inames, none 'p'"),
        (CHAIN, ("i, j", "i", True), InvalidArgument, "none 'i'"),
        (CHAIN, ("i, j", "k"), NameTaken, "already has a 'k'"),
        (OTHER, ("i, j", "p"), DomainsDiffer, "they do not have the same values"),
    ],
)
def test_refused(knl: Kernel, given: Any, kind: type[pg.UserError], text: str) -> None:
    with pytest.raises(kind) as caught:
        pg.rename_inames(knl, *given)
    assert text in str(caught.value)


def test_whoever_vouches_for_a_step_does_so_for_its_parts() -> None:
    knl = kernel(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"], "b[i] = a[i]\nc[j] = b[n-1-j]")
    rename: Any = pg.rename_inames
    refused(IllegalStep, "rename_iname", rename, knl, "i, j", "p")
    new = rename(knl, "i, j", "p", unsafe=True)
    assert [i.within_inames for i in new.instructions] == [{"p"}, {"p"}]
    assert len(new.claims) == 1


def test_all_at_once() -> None:
    """One by one, the second loop would stand between the other two."""
    refused(NotFusible, "cannot be fused", pg.rename_iname, CHAIN, "k", "i", existing_ok=True)
    new = pg.rename_inames(CHAIN, "k, j", "i", existing_ok=True)
    assert [insn.within_inames for insn in new.instructions] == [{"i"}] * 3
    assert len(new.history) == 1
    together = kernel("{ [i,j,k]: 0<=i,j,k<n }", "b[i,j] = 2\nc[k] = b[k,k]")
    refused(LoopsOfOneInstruction, "'j'", pg.rename_inames, together, "i, j", "k", True)
