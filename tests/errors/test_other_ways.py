"""Kernels that are not written as text: what is wrong is refused, with the reason."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any, cast

import numpy as np
import pytest
import sympy
from pymbolic import parse, primitives, var

import polygen as pg
from polygen import errors
from polygen.errors import UserError

EINSUMS: list[tuple[str, list[str], type[UserError], str, str]] = [
    # specification, names, class, reason, what the marker points to
    ("ij,jk", ["a", "b"], errors.MalformedText, "an arrow is missing", ""),
    ("ij,jk>ik", ["a", "b"], errors.MalformedText, "an arrow is missing", ""),
    ("i...->i", ["a"], errors.MalformedText, "the dots of numpy.einsum", "..."),
    ("i1->i", ["a"], errors.MalformedText, "'1' is no letter", "1"),
    ("iß->i", ["a"], errors.MalformedText, "'ß' is no letter", "ß"),
    ("i-j->i", ["a"], errors.MalformedText, "'-' is no letter", "-j"),
    ("i->i->i", ["a"], errors.MalformedText, "there are two arrows", "->i"),
    ("i; ->i", ["a"], errors.MalformedText, "';' is no letter", ";"),
    ("i->ii", ["a"], errors.MalformedText, "'i' stands in the result twice", "i"),
    ("ij->ik", ["a"], errors.MalformedText, "'k' is no axis of any array", "k"),
    ("->k", ["a"], errors.MalformedText, "'k' is no axis of any array", "k"),
    ("ij->i,j", ["a"], errors.MalformedText, "there is one result", ",j"),
    ("ij,jk->ik", ["a"], errors.WrongArity, "operands: 2; names: 1 (a)", "ij"),
    ("ij->ij", ["a", "b"], errors.WrongArity, "operands: 1; names: 2 (a, b)", "ij"),
    ("ij,jk->ik", ["a", "a"], errors.NameTaken, "the name of another array", ""),
    ("ij,jk->ik", ["a", "j"], errors.NameTaken, "the name of a loop", ""),
    ("ij,jk->ik", ["Nj", "b"], errors.NameTaken, "the name of a size", ""),
    ("ij,jk->ik", ["a", "out"], errors.NameTaken, "the name of the result", ""),
    ("ij,jk->ik", ["a", "x; }"], errors.ReservedName, "'x; }' is no identifier", ""),
    ("ij,jk->ik", ["a", "__global"], errors.ReservedName, "'__global'", ""),
    ("ij,jk->ik", ["a", "float"], errors.ReservedName, "'float'", ""),
]
COPIES: list[tuple[tuple[str, ...], type[UserError], str, str]] = [
    # layouts, class, reason, what the marker points to
    (("",), errors.MalformedTag, "'' is no tag of an axis", ""),
    (("C,D",), errors.MalformedTag, "'D' is no tag of an axis", "D"),
    (("C,N10",), errors.MalformedTag, "'N10' is no tag of an axis", "N10"),
    (("C,F",), errors.MalformedTag, "these tags give no order of the axes", "C,F"),
    (("N0,N2",), errors.MalformedTag, "these tags give no order of the axes", "N0"),
    (("N0,N0",), errors.MalformedTag, "these tags give no order of the axes", "N0"),
    (("N0,C",), errors.MalformedTag, "these tags give no order of the axes", "N0"),
    (("C,vec",), errors.MalformedLayout, "the extent n1 along an axis tagged vec", ""),
    (("sep,C",), errors.MalformedLayout, "the extent n0 along an axis tagged sep", ""),
    (("C(pad_to=0),C",), errors.MalformedTag, "an axis is padded to 0", "C(pad_to=0)"),
    (("C,C", "C"), errors.WrongArity, "of 2 axes, and the old one of 1", "C,C"),
    (("C,C", "C,X"), errors.MalformedTag, "'X' is no tag of an axis", "X"),
    (("stride:,C",), errors.MalformedTag, "'stride:' is no tag of an axis", "stride:"),
    (("stride:2*),C",), errors.MalformedExpression, "found ')'", ")"),
]


def _marked(error: UserError) -> str:
    """Return what the marker points to, and all behind it; nothing if there is none."""
    lines = str(error.excerpt).split("\n")
    return lines[0][lines[1].index("^") :] if len(lines) > 1 else ""


@pytest.mark.parametrize(("spec", "names", "kind", "reason", "at"), EINSUMS)
def test_einsum(spec: str, names: list[str], kind: type[UserError], reason: str, at: str) -> None:
    with pytest.raises(kind) as caught:
        pg.make_einsum(spec, names)
    assert reason in caught.value.what
    assert _marked(caught.value).startswith(at)
    assert __file__ in str(caught.value.where)


@pytest.mark.parametrize(("layouts", "kind", "reason", "at"), COPIES)
def test_copy_kernel(layouts: tuple[str, ...], kind: type[UserError], reason: str, at: str) -> None:
    with pytest.raises(kind) as caught:
        pg.make_copy_kernel(*layouts)
    assert reason in caught.value.what
    assert _marked(caught.value).startswith(at)
    assert __file__ in str(caught.value.where)


a, i, out, x = map(var, ("a", "i", "out", "x"))
DEEP: Any = a[i]
for _ in range(200):
    DEEP = var("sin")(DEEP)
TREES: list[tuple[Any, type[UserError], str]] = [
    ((out[i], parse("math.sin(a[i])")), errors.MalformedInstruction, "a call of something that"),
    ((out[i], parse("f(a[i], y=1)")), errors.MalformedInstruction, "a CallWithKwargs"),
    ((out[i], parse("a[1:2]")), errors.MalformedInstruction, "a Slice"),
    ((out[i], parse("a.real")), errors.MalformedInstruction, "a Lookup"),
    ((out[i], parse("a[i][2]")), errors.MalformedInstruction, "a subscript of a subscript"),
    ((out[i], primitives.NaN()), errors.MalformedInstruction, "a NaN"),
    ((out[i], primitives.Derivative(a[i], ("i",))), errors.MalformedInstruction, "a Derivative"),
    (
        (out[i], primitives.Sum((a[i], cast("Any", None)))),
        errors.MalformedInstruction,
        "a NoneType",
    ),
    ((out[i], "a[i]"), errors.MalformedInstruction, "'a[i]' in it, a str"),
    ((out[i], [1, 2]), errors.MalformedInstruction, "a list"),
    ((out[i], a[i] * math.inf), errors.MalformedInstruction, "inf in it, which is no number that"),
    ((out[i], np.float32("nan")), errors.MalformedInstruction, "which is no number that"),
    ((out[i], np.longdouble(2)), errors.MalformedInstruction, "a longdouble"),
    ((out[i], var("x; }")), errors.MalformedInstruction, "'x; }') in it, whose name is no ident"),
    ((out[i], var("f();")(i)), errors.MalformedInstruction, "whose name is no identifier"),
    ((var("a\n")[i], 1), errors.MalformedInstruction, "whose name is no identifier"),
    ((out[i], var("é")), errors.MalformedInstruction, "whose name is no identifier"),
    ((out[i], var("__global")), errors.ReservedName, "'__global'"),
    ((out[i], var("sn")(a[i])), errors.UnknownFunction, "there is no function 'sn'"),
    ((out[i], var("sin")(a[i], 1)), errors.WrongArity, "2 arguments to 'sin'"),
    ((out[i], var("sum")(a[i])), errors.MalformedInstruction, "sum"),
    ((out[i], var("sum")(x, a[x])), errors.UnknownIname, "'x', which no domain has"),
    ((out[i], var("min")(a[i])), errors.MalformedInstruction, "two or more operands"),
    ((out[i], DEEP), errors.MalformedInstruction, "nested more than 100 deep"),
    ((out[i], a[i], "id="), errors.MalformedInstruction, ""),
    ((out[i], a[i], "dep=none"), errors.UnknownInstruction, "none"),
    ((out[i], a[i], {"id": "x"}), errors.InvalidArgument, "is no instruction"),
    ((out[i], a[i], "id=x", "dep=*"), errors.InvalidArgument, "is no instruction"),
    ((out[i],), errors.InvalidArgument, "is no instruction"),
    ((), errors.InvalidArgument, "() is no instruction"),
    (("out[i]", a[i]), errors.InvalidArgument, "is no instruction"),
    ((2 * out[i], a[i]), errors.InvalidArgument, "is no instruction"),
    ((i, a[i]), errors.NameTaken, "'i'"),
    (a[i], errors.InvalidArgument, "is no instruction"),
]


@pytest.mark.parametrize(
    ("given", "kind", "reason"), TREES, ids=[str(k) for k in range(len(TREES))]
)
def test_trees(given: Any, kind: type[UserError], reason: str) -> None:
    with pytest.raises(kind) as caught:
        pg.generate_code(pg.make_kernel("{ [i]: 0<=i<n }", [given]))
    assert reason in caught.value.what
    assert caught.value.what
    assert __file__ in str(caught.value.where)


X = sympy.Symbol("x")
FROM_SYMPY: list[tuple[Any, str]] = [
    (sympy.zeta(X), "a zeta"),
    (sympy.Sum(X, (X, 0, 3)), "a Sum"),
    (sympy.Integral(sympy.Function("f")(X), X), "a Integral"),
    (sympy.Matrix([X]), "Matrix"),
    (sympy.oo, "oo in it, which is no number that can be written"),
    (sympy.nan, "which is no number that can be written"),
    (sympy.Symbol("x; }"), "x; } in it, whose name is no identifier"),
    (sympy.Function("f g")(X), "f g in it, whose name is no identifier"),
    (sympy.IndexedBase("a b")[X], "whose name is no identifier"),
    (sympy.Piecewise((X, X > 0)), "which has no value for some numbers"),
    (sympy.besselj(0, X), "a besselj"),
    ("x + 1", "a str, which is none of sympy's"),
    (None, "a NoneType, which is none of sympy's"),
]
TO_SYMPY = [
    ("a & 3", "'a & 3' in it, which sympy does not have"),
    ("1 + (a << 2)", "'a << 2' in it"),
    ("~a", "'~a' in it"),
    ("sum(k, a[k])", "'sum(k, a[k])' in it"),
    ("x +", "found the end"),
]


@pytest.mark.parametrize(("given", "reason"), FROM_SYMPY, ids=str)
def test_from_sympy(given: Any, reason: str) -> None:
    with pytest.raises(errors.MalformedExpression) as caught:
        pg.from_sympy(given)
    assert reason in caught.value.what
    assert __file__ in str(caught.value.where)


@pytest.mark.parametrize(("given", "reason"), TO_SYMPY)
def test_to_sympy(given: str, reason: str) -> None:
    with pytest.raises(errors.MalformedExpression) as caught:
        pg.to_sympy(given)
    assert reason in caught.value.what
    assert __file__ in str(caught.value.where)


def test_without_sympy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sympy", None)
    for convert in (lambda: pg.from_sympy(X), lambda: pg.to_sympy("x")):
        with pytest.raises(errors.NoSympy, match="needs sympy, which is not installed") as caught:
            convert()
        assert caught.value.remedy == "pip install sympy"


def test_sympy_is_imported_when_it_is_used() -> None:
    code = "import sys, polygen; assert 'sympy' not in sys.modules; polygen.to_sympy('x + 1')"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
