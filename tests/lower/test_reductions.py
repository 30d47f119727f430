"""Reductions are expressions: wherever they stand, they have the value of their contributions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import polygen as pg
from polygen.errors import ReductionNotSequential
from polygen.lower.program import Assign, Declare
from tests.oracle.cases import SIZES, agree, grid, kernel, loops, lowered, nodes, split, steps, tag

SMALL = SIZES[:3]
SQUARE = "{ [i,k]: 0<=i<n and 0<=k<n }"
STEPS = (
    split("i", 4),
    split("k", 2),
    split("k", 3, inner_tag="unr"),
    grid("i", 4),
    steps(grid("i", 2), split("k", 4), split("k_inner", 2, inner_tag="unr")),
)


@pytest.mark.parametrize("operation", ["sum", "product", "min", "max", "any", "all"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int32])
def test_operations_and_types(operation: str, dtype: type) -> None:
    knl = kernel(SQUARE, f"out[i] = {operation}(k, a[k] + i*b[i])")
    knl = pg.add_dtypes(knl, {"a, b": dtype, "out": np.float64})
    agree(knl, SMALL, *STEPS)


@pytest.mark.parametrize(
    "text",
    [
        "out[i] = sum(k, a[i,k]) + sum(k, b[k])*sum(k, a[i,k])",
        "out[i] = a[i,i]  {if=sum(k, a[i,k]) > b[i]}",
        "out[i] = sum(k, b[k])  {if=sum(k, a[i,k]) > b[i] and b[i] > 0}",
        "out[i] = if(i > 0, sum(k, a[i-1,k]), 2*sum(k, a[i,k]))",
        "out[i] = if(b[i] > 0, sum(k, a[i,k]), 0 - sum(k, a[i,k]))",
        "out[i] = sum(k, if(k < i, a[i,k], b[k]))",
        "out[i] = 1 + 2*max(k, a[i,k]*k)  {if=i > 1}",
    ],
)
def test_several_in_one_instruction(text: str) -> None:
    data = pg.GlobalArg("a", shape=("n", "n")), pg.GlobalArg("b", shape=("n",))
    agree(kernel(SQUARE, text, *data), SMALL, *STEPS)


@pytest.mark.parametrize(
    "text",
    [
        "out[i] = sum<int8>(k, a[i,k]) + sum<float64>(k, b[k]) + product(k, b[k])",
        "out[i] = max<int64>(k, a[i,k]) + sum<int64>(k, a[i,k] > 2)",
        "out[i] = sum(k, if(any(j, a[i,j] > b[k]), b[k], 2))  {if=all(k, a[i,k] < 7)}",
        "out[i] = if(any((j,k), a[j,k]) and all(j, b[j] != a[i,j]), 1, 2)",
        "out[i] = sum([j, k], a[j,k]*b[j]) + reduce(max, [j], a[i,j])",
    ],
)
def test_types_that_are_said_and_truth_values(text: str) -> None:
    data = pg.GlobalArg("a", np.int8, ("n", "n")), pg.GlobalArg("b", np.int32, ("n",))
    domain = ["{ [i,k]: 0<=i,k<n }", "{ [j]: 0<=j<n }"]
    agree(kernel(domain, text, *data), SMALL, *STEPS, split("j", 2))


def test_nested() -> None:
    knl = kernel(
        "{ [i,j,k]: 0<=i<n and 0<=k<n and 0<=j<k }",
        "out[i] = sum(k, b[k]*sum(j, a[j]) + max(j, a[j] - b[j]))",
        pg.GlobalArg("a", shape=("n",)),
    )
    agree(knl, SMALL, *STEPS, split("j", 2, inner_tag="unr"))


def test_over_two_inames() -> None:
    knl = kernel("{ [i,j,k]: 0<=i,j<n and 0<=k<=j }", "out[i] = sum((j,k), a[j,k]*(i+1))")
    agree(knl, SMALL, *STEPS, split("j", 2), steps(split("j", 2), split("k", 3)))


def test_in_subscripts() -> None:
    data = pg.GlobalArg("a", shape=(9,)), pg.GlobalArg("out", shape=("n",))
    knl = kernel(SQUARE, "out[sum(k, c[k])*0 + i] = a[sum(k, c[k])]", *data)

    def ones(sizes: dict[str, int]) -> NDArray[np.int32]:
        return np.ones(sizes["n"], np.int32)

    knl = pg.add_dtypes(knl, {"c": np.int32})
    with pg.without_proofs():  # which element is written depends on data
        agree(knl, SMALL, split("k", 2), grid("i", 4), c=ones)


def test_of_no_axis() -> None:
    """It is computed although the launch beside it has no work items: n = 0."""
    scalar = pg.GlobalArg("out", shape=())
    knl = kernel("{ [j]: 0<=j<n }", "out = sum(j, a[j])", scalar)
    agree(knl, SIZES, split("j", 4), split("j", 4, inner_tag="unr"))
    knl = kernel("{ [i,j]: 0<=i,j<n }", "out = sum(j, a[j])\nb[i] = a[i]", scalar)
    agree(knl, SIZES, grid("i", 4), tag(i="g.0"))


def test_of_nothing_is_the_identity() -> None:
    knl = kernel(
        "{ [i,k]: 0<=i<3 and 0<=k<m }",
        """
        s[i] = sum(k, a[k])
        p[i] = product(k, a[k])
        low[i] = min(k, a[k])
        high[i] = max(k, a[k])
        """,
    )
    agree(knl, [{"m": 0}], grid("i", 2), split("k", 4, inner_tag="unr"))


def test_one_loop_and_one_accumulator_for_equal_ones() -> None:
    program = lowered(kernel(SQUARE, "out[i] = sum(k, a[k]) + i*sum(k, a[k]) + sum(k, 2*a[k])"))
    assert [loop.iname for loop in loops(program)] == ["i", "k"]
    accumulators = [n for n in nodes(program) if isinstance(n, Declare)]
    assert len(accumulators) == 2
    assert sum(isinstance(n, Assign) for n in nodes(program)) == 3  # two updates, and the use


def test_a_branch_is_not_computed_where_it_is_not_taken() -> None:
    """Its operand may be outside of the array there."""
    knl = kernel(SQUARE, "out[i] = if(i > 0, sum(k, a[i-1,k]), 0.0)")
    agree(knl, SMALL, *STEPS)


@pytest.mark.parametrize("axis", ["g.0", "g.1"])
def test_not_over_groups(axis: str) -> None:
    knl = kernel("{ [i,k]: 0<=i,k<16 }", "out[i] = sum(k, a[k])")
    with pytest.raises(ReductionNotSequential, match=rf"reduces over 'k', which is tagged {axis}"):
        lowered(pg.tag_inames(knl, {"k": axis}))


@pytest.mark.parametrize("target", ["c", "opencl"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "uint32", "int64"])
def test_negatives_wrap_around_in_their_own_type(dtype: str, target: str) -> None:
    """Before they are added up in a wider one: as in ``np.sum(-a, dtype=...)``."""
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"],
        "b[0] = sum(i, -a[i])\nc[0] = segmented(sum)(j, -a[j], j == 1)[0]",
        [pg.GlobalArg("a", dtype), pg.GlobalArg("b, c", "int64", 1), "..."],
        assumptions="n >= 0",
    )
    run = knl.executor(target)
    a = np.array([np.iinfo(dtype).min, 3, np.iinfo(dtype).max, 0, 7], dtype)
    for n in (0, 1, 2, 5):
        b, c = np.zeros(1, np.int64), np.zeros(1, np.int64)
        run(a=a[:n], b=b, c=c)
        negatives = (-a[:n]).astype(np.int64)
        assert b[0] == negatives.sum()
        assert c[0] == negatives[1 if n > 1 else 0 :].sum()
