"""Reductions that are carried through loops where they cannot be: the loop program is wrong."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.analysis.typing.inference import infer_types
from polygen.errors import WrongLoopProgram, WrongStatement
from polygen.ir.kernel import Kernel
from polygen.lower.lower import Model, lower, prepare
from polygen.validation.validate import check
from tests.oracle.cases import kernel

A, B = pg.GlobalArg("a", "float32", shape="n"), pg.GlobalArg("b", "float32", shape="n")


def _kernel(bounds: str, text: str, *data: pg.GlobalArg) -> Kernel:
    return prepare(kernel(f"{{ [i,j]: {bounds} }}", text, *(data or (A, B))))


def _as_written(bounds: str, text: str) -> Kernel:
    """Return a kernel with types whose scans are not instructions yet."""
    return infer_types(kernel(f"{{ [i,j]: {bounds} }}", text, A, B))


RIGHT = _kernel("0<=i<n and 0<=j<=i", "b[i] = sum(j, a[j])")


@pytest.mark.parametrize("model", Model)
def test_the_right_one(model: Model) -> None:
    check(RIGHT, lower(RIGHT, model))


@pytest.mark.parametrize("model", Model)
def test_values_that_are_one_where_loops_have_steps(model: Model) -> None:
    """``i - 1`` is ``3*((i + j + 2)//3) - 3 - j`` for the values that there are."""
    domains = ["{ [i,j]: 0<=i<n and 0<=j<n and (i+j-1) mod 3 = 0 }", "{ [k]: 0<=k<i }"]
    arrays = [pg.GlobalArg("b", "float32", "n, n"), pg.GlobalArg("a", "float32", "n")]
    knl = prepare(kernel(domains, "b[i,j] = sum(k, a[k]*k)", *arrays))
    check(knl, lower(knl, model))


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (_kernel("0<=i<n and 0<=j<=i and j>=i-4", "b[i] = sum(j, a[j])"), "is taken no longer"),
        (_as_written("0<=i<n and 0<=j<=2*i and j<n", "b[i] = sum(j, a[j])"), "several new elem"),
        (_kernel("0<=i<n and 0<=n-1-j<=i", "b[i] = sum(j, a[j])"), "come in another order"),
        (_kernel("0<=i<n and 0<=j<=i", "b[i] = sum(j, a[i-j])"), "it depends on 'i'"),
        (
            _as_written("0<=i<n and 0<=j<=i", "a[i] = 1  {id=put}\nb[i] = sum(j, a[j])  {dep=put}"),
            "instruction 'put' changes what it depends on",
        ),
        (
            _kernel(
                "0<=i<n and 0<=j<=i",
                "b[i] = sum(j, a[j])",
                pg.GlobalArg("a", "float32", shape="n", may_alias=True),
                B,
            ),
            "changes what it depends on",
        ),
        (
            _kernel("0<=i<n and 0<=j<=i", "b[i] = sum(j, a[j])  {if=a[i] > 0}"),
            "it depends on 'i'",
        ),
    ],
)
def test_of_a_kernel_that_has_no_scan(other: Kernel, why: str) -> None:
    """The program of another kernel, which is one, is not the one of this kernel."""
    for model in Model:
        with pytest.raises(WrongStatement, match=why):
            check(other, lower(RIGHT, model))


@pytest.mark.parametrize(
    "other",
    [
        _kernel("0<=i<n and 0<=j<i", "b[i] = sum(j, a[j])"),
        _kernel("0<=i<n and 0<=j<i", "b[i] = sum(j, a[j+1])"),
        _kernel("0<=i<n and 1<=j<=i", "b[i] = sum(j, a[j])"),
        _kernel("0<=i<n and 0<=j<=i and j<5", "b[i] = sum(j, a[j])"),
        _kernel("0<=i<n and 0<=j<=i", "b[i] = sum(j, 2*a[j])"),
        _kernel("0<=i<n and 0<=j<=i", "b[i] = product(j, a[j])"),
        _kernel("0<=i<n and 0<=j<=i", "b[i] = sum<float64>(j, a[j])"),
        _kernel("0<=i<n-1 and 0<=j<=i", "b[i] = sum(j, a[j])"),
    ],
)
def test_of_another_scan(other: Kernel) -> None:
    """It takes other elements up, under other conditions, or in another way."""
    for model in Model:
        check(other, lower(other, model))
        with pytest.raises(WrongLoopProgram):
            check(other, lower(RIGHT, model))
        with pytest.raises(WrongLoopProgram):
            check(RIGHT, lower(other, model))
