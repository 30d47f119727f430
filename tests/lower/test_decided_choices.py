"""Choices in values that are decided where a statement stands: they are not asked there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polygen as pg
from polygen.errors import WrongStatement
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.kernel import Kernel
from polygen.lower.lower import Model, lower_prepared, prepare
from polygen.lower.program import Assign
from polygen.validation.validate import check
from tests.oracle.cases import SIZES, agree, grid, kernel, split, steps, tag
from tests.validation.edits import said, where

SHIFTED = kernel(
    "{ [i]: 0<=i<n }",
    "out[i] = (7 if i == 0 else a[i-1]) + (b[i] if i < n else b[n])",
    pg.GlobalArg("a", np.float32, "n"),
    pg.GlobalArg("b", np.float32, "n + 1"),
)


def lines(knl: Kernel, target: str = "c") -> list[str]:
    """Return the assignments in the generated source."""
    source = str(pg.generate_code(knl, target))
    return [line.strip() for line in source.splitlines() if line.strip().startswith("out")]


def test_in_the_loop_behind_a_peeled_iteration() -> None:
    assert lines(SHIFTED) == ["out[i] = (i == 0 ? 7.0f : a[i - 1]) + b[i];"]
    peeled = pg.peel(SHIFTED, "i")
    for target in ("c", "opencl"):
        assert lines(peeled, target) == ["out[0] = 7.0f + b[0];", "out[i] = a[i - 1] + b[i];"]


def test_in_unrolled_iterations_and_other_parts() -> None:
    unrolled = steps(split("i", 2), tag(i_inner="unr"))(SHIFTED)
    assert lines(unrolled)[1] == "out[2 * i_outer + 1] = a[2 * i_outer] + b[2 * i_outer + 1];"
    parts = pg.index_set_split(SHIFTED, "i < 3")
    assert lines(parts)[1] == "out[i] = a[i - 1] + b[i];"
    assert "?" in lines(parts)[0]


def test_values() -> None:
    agree(
        SHIFTED,
        SIZES,
        lambda knl: pg.peel(knl, "i"),
        lambda knl: pg.index_set_split(knl, "i < 3"),
        steps(split("i", 4), lambda knl: pg.peel(knl, "i_outer")),
        steps(grid("i", 4), lambda knl: pg.peel(knl, "i_outer")),
        steps(split("i", 2), tag(i_inner="unr")),
        steps(split("i", 4), lambda knl: pg.separate_full_tiles(knl, "i_inner")),
    )


def test_a_choice_keeps_its_type() -> None:
    knl = pg.make_kernel(
        "{ [i]: 1<=i<n }",
        "out[i] = (x[i] if i > 0 else wide[i])*x[i]",
        [pg.GlobalArg(name, kind, "n") for name, kind in (("out", "int64"), ("wide", "int64"))]
        + [pg.GlobalArg("x", "int8", "n"), "..."],
    )
    assert lines(knl) == ["out[i] = (int64_t) x[i] * x[i];"]
    x = np.full(5, 100, np.int8)
    for target in ("c", "opencl"):
        out = np.zeros(5, np.int64)
        knl.executor(target)(out=out, wide=np.zeros(5, np.int64), x=x)
        np.testing.assert_array_equal(out, [0, *[10000] * 4])


def test_in_reductions_and_each_other() -> None:
    text = "out[i] = sum(j, if(j <= i, a[j] if j >= 0 and i < n else a[0], 5)*(2 if j == i else 1))"
    knl = kernel(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }"], text, pg.GlobalArg("a", np.float32, "n"))
    assert "acc_j += a[j] * (j == i ? 2 : 1)" in str(pg.generate_code(knl, "c"))
    a = np.arange(1, 8, dtype=np.float32)
    for target in ("c", "opencl"):
        (out,) = knl.executor(target)(a=a)[1]
        np.testing.assert_array_equal(out, np.cumsum(a) + a)


def test_what_subscripts_and_data_decide_stays() -> None:
    knl = kernel(
        "{ [i]: 1<=i<n }",
        "out[i] = a[i-1 if i >= 1 else 0] + (1 if a[i] > 0 else 2) + (3 if t > 0 else 4)",
        pg.GlobalArg("out", np.float32, "n"),
        pg.GlobalArg("a", np.float32, "n"),
        pg.ValueArg("t", np.int32),
    )
    (line,) = lines(knl)
    assert line.count("?") >= 2
    assert "a[i] > 0.0f ? 1 : 2" in line
    assert "t > 0 ? 3 : 4" in line


@pytest.mark.parametrize("answer", [True, False])
def test_validation_looks_for_itself(answer: bool) -> None:
    knl = prepare(kernel("{ [i]: 0<=i<n }", "out[i] = 7 if i < n - 1 else 8"))
    program = lower_prepared(knl, Model.LOOPS)
    check(knl, program)

    def change(node: Assign) -> tuple[Assign, ...]:
        assert isinstance(node.value, ex.If)
        assert walk.free_variables(node.value.condition) == {"i", "n"}
        return (replace(node, value=ex.If(answer, node.value.then, node.value.else_)),)

    text = said(knl, where(Assign, change)(program), WrongStatement)
    assert f"a statement computes 'if({answer}, 7, 8)'" in text
