"""Parts of conditions that are decided where a statement stands: they are not asked there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import polygen as pg
from polygen.errors import WrongInstances
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from polygen.lower.lower import Model, lower_prepared, prepare
from polygen.lower.program import Assign, If, Node
from polygen.validation.validate import check
from tests.few import few
from tests.validation.edits import said, where

KERNEL = pg.make_kernel(
    "{ [i,j]: 0<=i<n and 0<=j<4 }",
    """
    a[i,j] = 1  {if=c[i] > 0 or j > 2}
    b[i,j] = 2  {if=not (c[i] > 0 or j > 1)}
    d[i,j] = 3  {if=(c[i] > 0 and not i > 2) or j > 2}
    e[i,j] = 4  {if=c[i] > 0 and (j < 2 or c[i] < 1 or i > 3)}
    """,
    [pg.GlobalArg("a,b,d,e", np.float32, "n,4"), pg.GlobalArg("c", np.float32, "n"), "..."],
    loop_priority="i, j",
    name="cases",
)
UNROLLED = pg.tag_inames(KERNEL, "j: unr")
VARIANTS = [
    UNROLLED,
    pg.tag_inames(KERNEL, "j: ilp"),
    pg.tag_inames(KERNEL, "i: g.0, j: l.0"),
    pg.peel(UNROLLED, "i", 3, 1),
    pg.index_set_split(KERNEL, "i < 3"),
    pg.tag_inames(pg.split_iname(KERNEL, "i", 4, slabs=(1, 1)), "j: unr"),
    pg.tag_inames(pg.split_iname(KERNEL, "i", 4, inner_tag="unr"), "j: unr"),
    pg.unroll_and_jam(KERNEL, "i", 2),
]


def expected(c: np.ndarray) -> dict[str, np.ndarray]:
    """Return what NumPy makes of it."""
    i, j = np.indices((len(c), 4))
    up = (c > 0)[:, None]
    return {
        "a": 1.0 * (up | (j > 2)),
        "b": 2.0 * ~(up | (j > 1)),
        "d": 3.0 * ((up & ~(i > 2)) | (j > 2)),
        "e": 4.0 * (up & ((j < 2) | (c < 1)[:, None] | (i > 3))),
    }


@few(
    5,
    ("number", "target"),
    [*((n, "c") for n in range(len(VARIANTS))), (0, "opencl"), (3, "opencl")],
)
def test_numpy_agrees(number: int, target: str) -> None:
    run = VARIANTS[number].executor(target)
    for n in (0, 1, 3, 7):
        c = 1.5 * np.random.default_rng(n).standard_normal(n).astype(np.float32)
        outputs = {name: np.zeros((n, 4), np.float32) for name in "abde"}
        run(c=c, **outputs)
        for name, values in expected(c).items():
            np.testing.assert_array_equal(outputs[name], values)


def test_in_copies() -> None:
    source = str(pg.generate_code(UNROLLED, "c"))
    assert source.partition("++i) {\n")[2].splitlines()[:4] == [
        "        if (c[i] > 0.0f)",
        "            a[4 * i] = 1.0f;",
        "        else",
        "            b[4 * i] = 2.0f;",
    ]
    assert "\n        a[4 * i + 3] = 1.0f;\n        d[4 * i + 3] = 3.0f;\n" in source
    assert "true" not in source
    assert "false" not in source
    assert source.count(" b[4 * i") == 2  # two copies are never executed


def test_in_parts_of_a_loop() -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }", "o[i] = 1  {if=c[i] > 0 or i == 0}",
        [pg.GlobalArg("o, c", np.float32, "n"), "..."], name="first",
    )  # fmt: skip
    lines = str(pg.generate_code(pg.peel(knl, "i"), "c")).partition("{\n")[2].splitlines()
    assert [line.strip() for line in lines] == [
        "if (n >= 1)",
        "o[0] = 1.0f;",
        "for (int i = 1; i < n; ++i) {",
        "if (c[i] > 0.0f)",
        "o[i] = 1.0f;",
        "}",
        "}",
    ]


def test_no_comparison_of_sums_with_nothing_in_them() -> None:
    source = str(pg.generate_code(pg.unroll_and_jam(KERNEL, "i", 2), "c"))
    assert "+ 0" not in source


@pytest.mark.parametrize("knl", [UNROLLED, pg.peel(KERNEL, "i", 3, 1)])
def test_validation_looks_for_itself(knl: Kernel) -> None:
    prepared = prepare(knl)
    program = lower_prepared(prepared, Model.LOOPS)
    check(prepared, program)

    def dropped(node: If) -> tuple[Node, ...]:
        return node.body

    def other(node: If) -> tuple[Node, ...]:
        return (replace(node, condition=ex.Comparison(ex.Variable("i"), ">", 1)),)

    def opposite(node: If) -> tuple[Node, ...]:
        return (replace(node, condition=ex.LogicalNot(node.condition)),)

    for change in (dropped, other, opposite):
        said(prepared, where(If, change)(program), WrongInstances)


@pytest.mark.parametrize("tag", ["unr", "ilp", "l.0", None])
def test_products_of_numbers(tag: str | None) -> None:
    """What is affine in a copy, and nowhere else."""
    knl = pg.make_kernel(
        "{ [i]: 0<=i<4 }",
        "a[i] = 1 {if=i*i > 100}\nb[i] = 1 {if=i*i > 3}\nc[i] = (1 if i*i > 3 else 2)",
        [pg.GlobalArg("a, b, c", np.int32, 4), "..."],
    )
    knl = knl if tag is None else pg.tag_inames(knl, {"i": tag})
    found = {name: np.zeros(4, np.int32) for name in "abc"}
    knl.executor("opencl" if tag == "l.0" else "c")(**found)
    np.testing.assert_array_equal(found["a"], 0)
    np.testing.assert_array_equal(found["b"], [0, 0, 1, 1])
    np.testing.assert_array_equal(found["c"], [2, 2, 1, 1])


def test_each_copy_that_numbers_ask_for_is_there() -> None:
    data = [pg.GlobalArg("b", np.int32, 4), "..."]
    knl = pg.make_kernel("{ [i]: 0<=i<4 }", "b[i] = 1 {if=i*i > 3}", data)
    prepared = prepare(pg.tag_inames(knl, "i: unr"))
    program = lower_prepared(prepared, Model.LOOPS)
    check(prepared, program)

    def but(index: int) -> Callable[[Assign], tuple[Node, ...]]:
        return lambda node: () if node.target == ex.Subscript(ex.Variable("b"), index) else (node,)

    for index in (2, 3):
        text = said(prepared, where(Assign, but(index))(program), WrongInstances)
        assert f"[i={index}] is not executed" in text


def test_a_remainder_that_another_iname_decides() -> None:
    """With j = 1 + i, that of (2*j + i)/3 is 2: the sum is never asked for."""
    knl = pg.make_kernel(
        ["{ [i,j]: 0<=i<n and j=1+i }", "{ [r]: 0<=r<m }"],
        """
        b[j] = if((2*j + i) % 3 != 1 or c[j] > 1, 7, sum(r, a[r]))
        d[j] = if((2*j + i) % 3 == 1 or c[j] > 1, 7, sum(r, a[r]))
        """,
        [pg.GlobalArg("b,c,d", np.float64, "n + 1"), pg.GlobalArg("a", np.float64, "m"), "..."],
        loop_priority="i, j",
    )
    a, c = np.arange(4.0), np.array([9.0, 2.0, 0.5])
    given = np.zeros(3)
    knl.executor("c")(a=a, b=given, c=c, d=(sums := np.zeros(3)))
    np.testing.assert_array_equal(given, [0, 7, 7])
    np.testing.assert_array_equal(sums, [0, 7, 6])
    assert str(pg.generate_code(knl, "c")).count(" += ") == 1
