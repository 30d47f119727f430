"""Names in the second of two instances: inames have a mark, and so has what is known of them."""

from __future__ import annotations

import pytest

from polygen.analysis.integers.second_instance import OTHER, in_other
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.language.parser import parse_expression
from tests.oracle.cases import kernel

KERNEL = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i,j] = a[i] + x*j")
OTHERS = ("i", "j", "__unknown_0")


@pytest.mark.parametrize(
    "text",
    [
        "i",
        "i + 2*j + n",
        "n*m - 1",
        "a[i + n] + out[j, 0]*x",
        "max(i, x)//m",
        "if(i < j, i, n)",
        "3",
    ],
)
def test_all_but_variables_of_the_kernel_are_marked(text: str) -> None:
    value = parse_expression(text)
    found = in_other(KERNEL, value)
    marked = {name + OTHER if name in OTHERS else name for name in walk.free_variables(value)}
    assert set(walk.free_variables(found)) == marked
    # Taken off again, nothing else is different.
    back = {name + OTHER: ex.Variable(name) for name in OTHERS}
    assert walk.substitute(found, back) == value


def test_unknowns_are_of_an_instance_too() -> None:
    found = in_other(KERNEL, ex.sum_of(ex.Variable("__unknown_0"), ex.Variable("n")))
    assert found == ex.sum_of(ex.Variable("__unknown_0'"), ex.Variable("n"))


def test_numbers_are_the_same_in_both() -> None:
    assert in_other(KERNEL, 7) == 7


def test_the_mark_is_in_no_name_of_a_kernel() -> None:
    names = {*KERNEL.inames, *KERNEL.variables, *KERNEL.parameters}
    assert not any(OTHER in name for name in names)
    assert in_other(KERNEL, ex.Variable("i'")) == ex.Variable("i''")  # so two marks are possible
