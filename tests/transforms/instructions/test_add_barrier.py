"""`add_barrier`: work items wait for each other where one says so."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.errors import DependencyCycle, InvalidArgument, UnknownIname
from polygen.ir.kernel import Kernel
from tests.oracle.cases import SIZES, agree, kernel, split
from tests.transforms.instructions.rows import APART, CHAIN
from tests.transforms.numpy_runs import numpy_agrees
from tests.transforms.refusals import refused


def test_barriers_are_where_they_were_put() -> None:
    knl = split("i", 8, outer_tag="g.0", inner_tag="l.0")(APART)
    assert "barrier(" not in str(pg.generate_code(knl, "opencl"))
    new = pg.add_barrier(knl, "x", "y", "wait", "sync", "local")
    assert new.instruction("wait").tags == {"sync"}
    assert new.instruction("wait").within_inames == {"i_outer", "i_inner"}
    text = str(pg.generate_code(new, "opencl"))
    assert text.index("b[8 *") < text.index("barrier(") < text.index("c[8 *")
    assert str(pg.generate_code(pg.add_barrier(knl, "x", "y"), "opencl")).count("__kernel") == 2
    again = pg.add_barrier(new, "y", id_based_on="wait", synchronization_kind="local")
    assert again.instructions[-1].id == "wait_0"
    assert pg.parse_kernel(str(again)) == again


@pytest.mark.parametrize("kind", ["local", "global"])
def test_barriers_keep_results(kind: str) -> None:
    def step(knl: Kernel) -> Kernel:
        knl = split("i", 4, outer_tag="g.0", inner_tag="l.0")(knl)
        return pg.add_barrier(knl, "x", "y", synchronization_kind=kind)

    agree(CHAIN, SIZES, step)
    numpy_agrees(APART, step, lambda a: {"b": 2 * a, "c": a + 1})


def test_the_loops_of_a_barrier() -> None:
    knl = kernel(
        "{ [i,j]: 0<=i,j<n }", "b[i] = a[i]  {id=x}\nc[i,j] = b[i]  {id=y}", loop_priority="i, j"
    )
    assert pg.add_barrier(knl, "x", "y").instruction("barrier").within_inames == {"i"}
    assert pg.add_barrier(knl, "y").instruction("barrier").within_inames == {"i", "j"}
    outside = pg.add_barrier(knl, "y", within_inames="i")
    assert outside.instruction("barrier").within_inames == {"i"}
    refused(UnknownIname, "no iname 'k'", pg.add_barrier, knl, "y", within_inames="k")


def test_barriers_that_are_refused() -> None:
    refused(InvalidArgument, "neither insn_before nor insn_after", pg.add_barrier, CHAIN)
    refused(DependencyCycle, "must come after", pg.add_barrier, CHAIN, "y", "x")
    wrong = {"synchronization_kind": "all"}
    refused(InvalidArgument, "not 'local' or 'global'", pg.add_barrier, CHAIN, "x", "y", **wrong)
    refused(InvalidArgument, "which is not a name", pg.add_barrier, CHAIN, "x", "y", "1")
