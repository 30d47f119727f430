"""Indices that are always the same are one variable; conditions that are then the same are one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from polygen.lower.program import Assign, Declare, If
from polygen.targets.statements.aliases import joined


def lines(knl: Kernel, target: str) -> list[str]:
    return [line.strip() for line in str(pg.generate_code(knl, target)).splitlines()]


def typed() -> Kernel:
    knl = pg.make_kernel(
        "{ [e, i]: 0<=e<n and 0<=i<8 }", "c[e, i] = a[e, 7 - i] + b[e, 7 - i]", name="both"
    )
    knl = pg.split_iname(knl, "e", 4, outer_tag="g.0", inner_tag="l.1")
    knl = pg.tag_inames(pg.add_dtypes(knl, {"a, b": np.float32}), "i: l.0")
    knl = pg.add_prefetch(knl, "a", "e_inner, i")
    return pg.add_prefetch(knl, "b", "e_inner, i")


def test_one_variable_an_axis() -> None:
    text = lines(typed(), "opencl")
    for call in ("get_group_id(0)", "get_local_id(0)", "get_local_id(1)"):
        assert len([line for line in text if call in line]) == 1
    assert len([line for line in text if line.startswith("if (")]) == 2  # copies, and use
    assert not any("_dim_" in line for line in text)


def test_loops_over_work_items_have_no_second_names() -> None:
    assert not any("_dim_" in line for line in lines(typed(), "c"))


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_it_runs(target: str) -> None:
    for n in (0, 1, 4, 7):
        a, b = np.random.default_rng(n).normal(size=(2, n, 8)).astype(np.float32)
        _, (c,) = typed().executor(target)(a=a, b=b)
        np.testing.assert_array_equal(c, (a + b)[:, ::-1])


def test_indices_that_begin_elsewhere_have_their_own() -> None:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<8 }", "{ [j]: 3<=j<11 }"], "a[i] = 1 \n b[j] = 2", name="shifted"
    )
    knl = pg.tag_inames(knl, "i: l.0, j: l.0")
    text = lines(knl, "opencl")
    assert "int const i = get_local_id(0);" in text
    assert "int const j = get_local_id(0) + 3;" in text


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_verbatim_c_has_the_names_it_was_written_with(target: str) -> None:
    first = "a[i] = i"
    inames: Any = "j"
    written: Any = "b[j]"
    second = pg.CInstruction(
        inames, "b[j] = 10*j;", frozenset(), written, "second", frozenset("j"), frozenset()
    )
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<8 }", "{ [j]: 0<=j<8 }"],
        [first, second],
        [pg.GlobalArg("a", np.int32, 8), pg.GlobalArg("b", np.int32, 8), "..."],
        name="verbatim",
    )
    knl = pg.tag_inames(knl, "i: l.0, j: l.0")
    assert "int const j = i;" in lines(knl, target)
    _, (a, b) = knl.executor(target)()
    np.testing.assert_array_equal(a, np.arange(8))
    np.testing.assert_array_equal(b, 10 * np.arange(8))


# --- conditions


def _less(name: str) -> ex.Expression:
    return ex.Comparison(ex.Variable(name), "<", ex.Variable("n"))


def _set(name: str) -> Assign:
    return Assign(ex.Variable(name), 1, "insn")


def _fixed(name: str) -> bool:
    return name in {"i", "j", "n"}


SAME = {"j": "i"}


def test_neighbours_are_joined() -> None:
    found = joined((If(_less("i"), (_set("a"),)), If(_less("j"), (_set("b"),))), SAME, _fixed)
    assert found == (If(_less("i"), (_set("a"), _set("b"))),)


def test_others_are_not() -> None:
    first, other = If(_less("i"), (_set("a"),)), If(_less("n"), (_set("b"),))
    again = If(_less("j"), (_set("c"),))
    assert joined((first, other, again), SAME, _fixed) == (first, other, again)
    assert joined((first, _set("b"), again), SAME, _fixed) == (first, _set("b"), again)


def test_not_where_the_condition_may_change() -> None:
    first, second = If(_less("x"), (_set("x"),)), If(_less("x"), (_set("b"),))
    assert joined((first, second), SAME, _fixed) == (first, second)


def test_not_where_both_declare_a_variable() -> None:
    t = Declare("t", np.dtype(np.int32))
    first, second = If(_less("i"), (t, _set("t"))), If(_less("j"), (t, _set("t")))
    assert joined((first, second), SAME, _fixed) == (first, second)
