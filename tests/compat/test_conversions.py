"""Numbers with suffixes, quotients of integers, and stores that convert."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
import polygen.compat as lp
from polygen.errors import CannotProve, TypeMismatch

IDX = np.arange(8)
A = np.linspace(-2, 2, 8)


def out(text: str, kinds: Any = (), **arrays: Any) -> Any:
    declared = [lp.GlobalArg(n, t, shape=(8,)) for n, t in dict(kinds).items()]
    knl = lp.make_kernel("{ [i]: 0<=i<8 }", text, [*declared, "..."])
    return lp.set_options(knl, return_dict=True)(**arrays)[1]["out"]


@pytest.mark.parametrize(
    ("literal", "value", "dtype"),
    [
        ("5f", 5, np.float32),
        ("1.5f", 1.5, np.float32),
        ("5d", 5, np.float64),
        ("2e1d", 20, np.float64),
        ("5j", 5j, np.complex128),
        ("5jf", 5j, np.complex64),
        ("5fj", 5j, np.complex64),
        ("1.5jf", 1.5j, np.complex64),
    ],
)
def test_numbers_with_suffixes(literal: str, value: Any, dtype: Any) -> None:
    found = out(f"out[i] = {literal}*i")
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, value * IDX)


def test_a_suffix_that_is_none() -> None:
    with pytest.raises(pg.UserError, match="found 'q'"):
        out("out[i] = 5q*i")


def test_quotients_of_integers() -> None:
    b = np.array([3] * 4 + [-2] * 4, np.int32)
    a = np.arange(-4, 4, dtype=np.int32)
    kinds = {"a": np.int32, "b": np.int32}
    np.testing.assert_allclose(out("out[i] = a[i] / b[i]", kinds, a=a, b=b), a / b)
    np.testing.assert_array_equal(out("out[i] = a[i] // b[i]", kinds, a=a, b=b), a // b)
    stored = out("out[i] = a[i] / b[i]", {**kinds, "out": np.int32}, a=a, b=b)
    np.testing.assert_array_equal(stored, np.trunc(a / b))


@pytest.mark.parametrize(
    ("text", "to", "expected"),
    [
        ("out[i] = 1.75*a[i]", np.int32, (1.75 * A).astype(np.int32)),
        ("out[i] = 10*i", np.int8, (10 * IDX).astype(np.int8)),
        ("out[i] = i - 2", np.bool_, IDX != 2),
        ("out[i] = a[i]", np.bool_, np.full(8, True)),
        ("out[i] = a[i] > 0", np.int32, (A > 0).astype(np.int32)),
        ("out[i] = a[i]", np.float32, A.astype(np.float32)),
        ("<int32> t = 2.5*a[i]  {id=t}\nout[i] = t + 0.5  {dep=t}", None, np.trunc(2.5 * A) + 0.5),
    ],
)
def test_stores_convert(text: str, to: Any, expected: Any) -> None:
    given = {"a": A} if "a[" in text else {}
    kinds = dict.fromkeys(given, np.float64) | ({} if to is None else {"out": to})
    np.testing.assert_array_equal(out(text, kinds, **given), expected)


def test_updates_and_reductions_convert() -> None:
    kinds = {"a": np.float64, "out": np.int32}
    one = np.ones(8, np.int32)
    found = out("out[i] = out[i] + 0.75*a[i]", kinds, a=A, out=one.copy())
    np.testing.assert_array_equal(found, np.trunc(1 + 0.75 * A))
    knl = lp.make_kernel(
        "{ [i,j]: 0<=i,j<8 }",
        "out[i] = sum(j, 0.3*a[j]*i)",
        [lp.GlobalArg(n, t, shape=(8,)) for n, t in kinds.items()],
    )
    knl = lp.split_iname(knl, "i", 4, inner_tag="l.0")
    found = lp.set_options(knl, return_dict=True)(a=IDX.astype(float))[1]["out"]
    np.testing.assert_array_equal(found, np.trunc(0.3 * IDX.sum() * IDX))


def test_the_option_is_listed_and_may_be_taken_back() -> None:
    declared = [lp.GlobalArg("out", np.int32, shape=(8,))]
    knl = lp.make_kernel("{ [i]: 0<=i<8 }", "out[i] = 1.5*i", declared)
    assert "convert_stores: True" in str(knl)
    strict = lp.set_options(knl, convert_stores=False)
    with pytest.raises(TypeMismatch, match="writes a value of type 'float' to 'out'"):
        strict()
    plain = pg.make_kernel("{ [i]: 0<=i<8 }", "out[i] = 1.5*i", declared)
    with pytest.raises(TypeMismatch, match="writes a value of type 'float' to 'out'"):
        plain()
    _, (found,) = pg.set_options(plain, convert_stores=True)()
    np.testing.assert_array_equal(found, np.trunc(1.5 * IDX))


def test_a_rule_does_not_take_the_place_of_what_converts() -> None:
    text = "<int32> t = 2.5*a[i]  {id=t}\nout[i] = t + 0.5  {dep=t}"
    knl = lp.make_kernel("{ [i]: 0<=i<8 }", text, [lp.GlobalArg("a", float, shape=(8,)), "..."])
    with pytest.raises(CannotProve, match="its type may not be that of what is stored in it"):
        lp.assignment_to_subst(knl, "t")


@pytest.mark.parametrize(
    "text", ["out[i] = 1j*a[i]", "out[0] = out[0] + a[i]  {atomic}"], ids=["complex", "atomic"]
)
def test_what_does_not_convert(text: str) -> None:
    kinds = {"a": np.float64, "out": np.int32}
    with pytest.raises(TypeMismatch, match="to 'out', whose type is 'int32'"):
        out(text, kinds, a=A, out=np.zeros(8, np.int32))
