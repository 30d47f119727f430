"""Versions for different sizes, each with copies of an unrolled body."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polygen as pg
from polygen.errors import WrongOrder
from polygen.ir.kernel import Kernel
from polygen.lower.lower import Model, lower_prepared, prepare
from polygen.lower.program import Barrier, If
from polygen.validation.validate import check
from tests.validation.edits import where


def versions() -> Kernel:
    """Return a kernel whose full tiles are apart, each item doing four elements in a row."""
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "y[i] = alpha*x[i] + y[i]", name="saxpy")
    knl = pg.split_iname(knl, "i", 32, outer_tag="g.0")
    knl = pg.split_iname(
        knl, "i_inner", 8, outer_iname="part", inner_iname="lane", outer_tag="unr", inner_tag="l.0"
    )
    return pg.separate_full_tiles(knl, "part, lane")


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_copies_in_versions_are_in_order(target: str) -> None:
    for n in (0, 1, 31, 32, 33, 100):
        x, y = np.arange(n, dtype=np.float32), np.ones(n, dtype=np.float32)
        _, (found,) = versions().executor(target)(alpha=np.float32(2), x=x, y=y.copy(), n=n)
        np.testing.assert_array_equal(found, 2 * x + y)


@pytest.mark.parametrize("at", [0, 1])
def test_copies_of_one_version_in_another_order(at: int) -> None:
    knl = prepare(pg.add_dtypes(versions(), {"x,y,alpha": "float32"}))
    program = lower_prepared(knl, Model.GRID)
    check(knl, program)
    found: list[If] = []

    def turned(node: If) -> tuple[If, ...]:
        if len(node.body) == 4:
            found.append(node)
        is_meant = len(node.body) == 4 and len(found) == at + 1
        return (replace(node, body=node.body[::-1]) if is_meant else node,)

    wrong = where(If, turned)(program)
    with pytest.raises(WrongOrder, match="the loops around instruction 'insn' are not those"):
        check(knl, wrong)


def exchanging() -> Kernel:
    """Return a kernel whose work items read what others wrote, with full tiles apart."""
    knl = pg.make_kernel(
        [
            "{ [g]: 0<=g and 32*g<n }",
            "[g,n] -> { [l]: 0<=l<32 and 32*g+l<n }",
            "[g,n] -> { [k]: 1<=k<32 and 32*g+k<n }",
        ],
        """
        t[l] = 2*a[32*g+l]
        b[32*g+k] = t[k-1] + t[k]
        """,
        [
            pg.GlobalArg("a, b", np.float32, "n"),
            pg.TemporaryVariable("t", np.float32, 32, address_space=pg.AddressSpace.LOCAL),
            "...",
        ],
        name="shift",
        seq_dependencies=True,
    )
    return pg.separate_full_tiles(pg.tag_inames(knl, "g: g.0, l: l.0, k: l.0"), "l")


@pytest.mark.parametrize("at", [0, 1])
def test_each_version_needs_its_barrier(at: int) -> None:
    """No group executes two versions, so they are not compared; within one, nothing is left out."""
    knl = prepare(exchanging())
    program = lower_prepared(knl, Model.GRID)
    check(knl, program)
    found: list[Barrier] = []

    def without(node: Barrier) -> tuple[Barrier, ...]:
        found.append(node)
        return () if len(found) == at + 1 else (node,)

    wrong = where(Barrier, without)(program)
    assert len(found) == 2
    with pytest.raises(WrongOrder, match="in different work items, without a barrier between"):
        check(knl, wrong)
