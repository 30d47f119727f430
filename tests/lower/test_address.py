"""Offsets: the elements that NumPy's strides say, written so that they read well."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import polygen as pg
from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.ir.layout import Strided
from polygen.ir.show_expression import show_expression
from polygen.language.parser import parse_statement
from polygen.lower.address import element_count, linearize, row_major_strides, simplify
from tests.oracle.evaluate import integer

SIZES = {"n": 3, "m": 4, "k": 2}
N, M, K, INAME, JNAME, LNAME = (ex.Variable(name) for name in "nmkijl")


def _parsed(*texts: str) -> tuple[Expression, ...]:
    return tuple(parse_statement(f"x = {text}").values[0] for text in texts)


def _array(*shape: str, strides: tuple[str, ...] = ()) -> pg.GlobalArg:
    return pg.GlobalArg(
        "a", "float64", _parsed(*shape), tuple(map(Strided, _parsed(*strides))) or None
    )


def _element(*index: Expression) -> Expression:
    return ex.Subscript(ex.Variable("a"), index if len(index) > 1 else index[0])


def _offset(node: Expression, values: dict[str, int]) -> int:
    assert isinstance(node, ex.Subscript)
    (found,) = ex.index_tuple(node)
    return integer(found, {**SIZES, **values})


@pytest.mark.parametrize(
    "shape",
    ["n", "n m", "n 4", "3 m", "n m k", "2*n m+1 5", "n 1 m", "n*m k"],
)
def test_row_major(shape: str) -> None:
    array = _array(*shape.split())
    extents = [integer(e, SIZES) for e in array.shape or ()]
    inames = [INAME, JNAME, LNAME][: len(extents)]
    node = linearize(_element(*inames), {"a": array})
    strides = row_major_strides(array.shape or ())
    wanted = np.arange(np.prod(extents)).reshape(extents)
    assert [integer(s, SIZES) * wanted.itemsize for s in strides] == list(wanted.strides)
    assert integer(element_count(array.shape or ()), SIZES) == wanted.size
    for point in product(*map(range, extents)):
        assert _offset(node, dict(zip("ijl", point, strict=False))) == wanted[point]


def test_a_scalar_has_one_element() -> None:
    assert element_count(()) == 1
    assert row_major_strides(()) == ()
    assert show_expression(linearize(ex.Variable("a"), {"a": _array()})) == "a[0]"
    assert show_expression(linearize(ex.Variable("a"), {"a": _array("n")})) == "a"
    assert show_expression(linearize(ex.Variable("a"), {})) == "a"
    temporary = pg.TemporaryVariable("a", "float64", ())
    assert show_expression(linearize(ex.Variable("a"), {"a": temporary})) == "a"


@pytest.mark.parametrize("strides", [("1", "n"), ("2*m", "2"), ("k", "n*k"), ("7", "0")])
def test_declared_strides(strides: tuple[str, str]) -> None:
    array = _array("n", "m", strides=strides)
    node = linearize(_element(INAME, JNAME), {"a": array})
    first, second = (integer(stride, SIZES) for stride in _parsed(*strides))
    for i, j in product(range(3), range(4)):
        assert _offset(node, {"i": i, "j": j}) == i * first + j * second


@pytest.mark.parametrize(
    ("node", "shape", "shown"),
    [
        (_element(INAME, JNAME), "n m", "a[i*m + j]"),
        (_element(INAME, JNAME, LNAME), "n m k", "a[(i*m + j)*k + l]"),
        (_element(INAME, JNAME), "n 16", "a[16*i + j]"),
        (_element(INAME, JNAME), "n 1", "a[i + j]"),
        (_element(ex.sum_of(INAME, 1), ex.sum_of(JNAME, -1)), "n 16", "a[16*i + j + 15]"),
        (_element(0, JNAME), "n m", "a[j]"),
        (_element(INAME, 0), "n m", "a[i*m]"),
        (_element(2, JNAME), "n m", "a[2*m + j]"),
        (_element(1, JNAME), "n n*m", "a[n*m + j]"),
        (_element(0, JNAME), "n n*m", "a[j]"),
        (_element(ex.product_of(INAME, INAME), JNAME), "n 16", "a[(i*i)*16 + j]"),
        (_element(ex.product_of(INAME, INAME), JNAME), "n 1", "a[i*i + j]"),
        (_element(ex.product_of(INAME, INAME), 0), "n 16", "a[(i*i)*16]"),
        (_element(ex.sum_of(ex.sum_of(INAME, 2), INAME)), "n", "a[2*i + 2]"),
        # What is read inside of a subscript has an offset, too.
        (_element(_element(INAME, JNAME), JNAME), "n 16", "a[a[16*i + j]*16 + j]"),
        (ex.sum_of(_element(INAME, 1), 1), "n 16", "a[16*i + 1] + 1"),
    ],
)
def test_offsets_read_well(node: Expression, shape: str, shown: str) -> None:
    assert show_expression(linearize(node, {"a": _array(*shape.split())})) == shown


def test_what_is_simplified() -> None:
    assert simplify(3) == 3
    assert show_expression(simplify(ex.sum_of(INAME, 1, INAME, -1))) == "2*i"
    product_ = ex.product_of(INAME, JNAME)
    assert simplify(product_) is product_
