"""Reductions that users define: part of the kernel, printed with it, and proved with care."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    InvalidArgument,
    MalformedExpression,
    NameTaken,
    NotTheSame,
    Reassociated,
    TypeMismatch,
    UnknownFunction,
    UnknownIname,
    UnknownName,
    UserError,
    WrongArity,
)
from tests.lower.test_scans import agrees, loops_over
from tests.oracle.cases import grid, kernel, split

CLAIMED: dict[str, Any] = {"associative": True, "commutative": True}
pg.register_reduction("xor_of", "a ^ b", 0)
pg.register_reduction("mulmod", "a*b % 7", 1, **CLAIMED)
pg.register_reduction("horner", "3*a + b", 0)
pg.register_reduction("last", "if(b != 0, b, a)", -1, associative=True)
pg.register_reduction("absmax", "max(a, abs(x))", 0, arguments=("a", "x"), **CLAIMED)
pg.register_reduction("largest", "max(a, b)", {"float32": -math.inf, np.int32: -(2**31)})
LINE = "{ [j]: 0<=j<n }"
SQUARE = "{ [i,j]: 0<=i,j<n }"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mulmod", lambda a: math.prod(int(x) for x in a) % 7),
        ("horner", lambda a: sum(int(x) * 3**k for k, x in enumerate(a[::-1]))),
        ("last", lambda a: [-1, *a[a != 0]][-1]),
        ("absmax", lambda a: max([abs(x) for x in a], default=0)),
        ("xor_of", lambda a: np.bitwise_xor.reduce(a, initial=0)),
    ],
)
def test_on_devices(name: str, expected: Any) -> None:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }", LINE.replace("j", "k")],
        f"b[i] = {name}(j, a[j])\nc[0] = {name}(k, a[k])",
    )
    assert loops_over(pg.add_dtypes(knl, {"a": np.int64})) == ["i", "k"]  # a scan
    for target in ("c", "opencl"):
        run = knl.executor(target)
        for n in (0, 1, 7, 12):
            a = np.random.default_rng(n).integers(-5, 6, n)
            _, (b, c) = run(a=a)
            np.testing.assert_array_equal(b, [expected(a[: i + 1]) for i in range(n)])
            assert c[0] == expected(a)


@pytest.mark.parametrize("text", ["mulmod(j, a[i,j])", "horner(j, a[j,i]) + absmax(j, a[i,j])"])
def test_means_what_it_says(text: str) -> None:
    knl = kernel(SQUARE, f"b[i] = {text}", pg.GlobalArg("a", np.int32, ("n", "n")))
    agrees(knl, (0, 1, 5), split("j", 4), grid("i", 2), split("i", 2, inner_tag="unr"))


def test_identity_of_each_type() -> None:
    knl = pg.make_kernel(LINE, "out[0] = largest(j, a[j])")
    for dtype in (np.int32, np.float32):
        _, (out,) = knl(a=np.array([-5, -2, -3], dtype))
        assert out.dtype == dtype
        assert out[0] == -2
    with pytest.raises(TypeMismatch, match="'int64', for which 'largest' has no identity"):
        knl(a=np.array([1, 2]))


def test_is_part_of_the_kernel() -> None:
    """A text that defines a reduction needs nothing that is registered."""
    knl = pg.make_kernel(
        SQUARE, "f(k) := largest(j, a[k,j])\nb[i] = f(i) + absmax<float64>(j, a[i,j])"
    )
    text = str(knl)
    assert "absmax(a, x) := max(a, abs(x)), identity: 0, claimed: associative, commutative" in text
    assert "largest(a, b) := max(a, b), identity: {float32: -inf, int32: -2147483648}" in text
    assert pg.parse_kernel(text) == knl
    assert pickle.loads(pickle.dumps(knl)) == knl  # noqa: S301
    renamed = pg.parse_kernel(text.replace("absmax", "other").replace("largest", "another"))
    assert "other(a, x) :=" in str(renamed)
    assert pg.parse_kernel(str(renamed)) == renamed != knl
    changed = pg.parse_kernel(text.replace("max(a, abs(x))", "max(a, x)"))
    assert changed != knl
    with pytest.raises(UserError, match="other"):
        pg.generate_code(
            pg.make_kernel(LINE, "c[0] = other(j, a[j])")
        )  # defined in that text alone


def test_claims_allow_other_orders() -> None:
    reversed_j = "{ [j] -> [k]: k = -j }"
    for name in ("mulmod", "absmax"):
        knl = pg.make_kernel(LINE, f"out[0] = {name}(j, a[j])")
        pg.map_domain(knl, reversed_j)
        pg.split_reduction_inward(pg.split_iname(knl, "j", 4), "j_inner")
    for name in ("horner", "last", "largest"):
        knl = pg.make_kernel(LINE, f"out[0] = {name}(j, a[j])")
        with pytest.raises(Reassociated, match=f"'{name}' is not claimed to be associative and"):
            pg.map_domain(knl, reversed_j)
        parts = pg.split_iname(knl, "j", 4)  # the order is the same
        with pytest.raises(NotTheSame):
            pg.split_reduction_inward(parts, "j_inner")
        with pytest.raises(Reassociated, match="would come before that of"):
            pg.prioritize_loops(parts, "j_inner, j_outer")


def test_registering_again() -> None:
    pg.register_reduction("mulmod", "a*b % 7", 1, **CLAIMED)
    with pytest.raises(NameTaken, match="another reduction is registered as 'mulmod'"):
        pg.register_reduction("mulmod", "a*b % 5", 1, **CLAIMED)


@pytest.mark.parametrize(
    ("arguments", "kind", "what"),
    [
        (("sum", "a + b", 0), NameTaken, "a function has this name"),
        (("sin", "a + b", 0), UserError, "'sin' has a meaning"),
        (("x; }", "a + b", 0), UserError, "'x; }' is no identifier"),
        (("wrong", "a +", 0), MalformedExpression, "found the end where a name"),
        (("wrong", "a + b + c", 0), UnknownName, "mentions 'c', which is none of its arguments"),
        (("wrong", "a + b + sum(b, 1)", 0), MalformedExpression, "another reduction"),
        (("wrong", "a[b]", 0), MalformedExpression, "defined by a subscript"),
        (("wrong", "a + f(b)", 0), UnknownFunction, "'f'"),
        (("wrong", "a + sin(a, b)", 0), WrongArity, "sin"),
        (("wrong", "a + b", "0"), InvalidArgument, "'0', which is no number"),
        (("wrong", "a + b", {"int32": None}), InvalidArgument, "None, which is no number"),
        (("wrong", "a + b", {"integer": 0}), InvalidArgument, "no element type"),
    ],
)
def test_refusals(arguments: tuple[str, str, Any], kind: type[UserError], what: str) -> None:
    with pytest.raises(kind) as caught:
        pg.register_reduction(*arguments)
    assert what in str(caught.value)


def test_refusals_of_arguments() -> None:
    with pytest.raises(InvalidArgument, match="it combines two"):
        pg.register_reduction("wrong", "a + a", 0, arguments=("a", "a"))
    with pytest.raises(UserError, match="has a meaning"):
        pg.register_reduction("wrong", "a + b", 0, arguments=("a", "for"))


@pytest.mark.parametrize(
    ("text", "kind", "what"),
    [
        ("b[0] = mulmod(k, a[k])", UnknownIname, "mulmod() runs over 'k', which no domain has"),
        ("b[0] = mulmod(a[0])", UserError, "mulmod() takes an iname and an operand, not 1"),
        ("mulmod(x, y) := 2*x\nb[0] = mulmod(j, 3)", NameTaken, "a function has this name"),
        ("b[0] = mulmod<float16x>(j, a[j])", UserError, "'float16x' is no element type"),
    ],
)
def test_refusals_of_uses(text: str, kind: type[UserError], what: str) -> None:
    with pytest.raises(kind) as caught:
        pg.make_kernel(LINE, text)
    assert what in str(caught.value)


def test_a_result_of_another_type() -> None:
    pg.register_reduction("mean_like", "(a + b)/2", 0)
    knl = pg.make_kernel(LINE, "b[0] = mean_like(j, a[j])")
    with pytest.raises(
        TypeMismatch, match="computed in 'int64', and makes 'float64' of two values"
    ):
        knl(a=np.arange(3))
    knl = pg.make_kernel(LINE, "b[0] = mean_like<float64>(j, a[j])")
    _, (b,) = knl(a=np.arange(3))
    assert b[0] == ((0 + 0) / 2 + 1) / 2 / 2 + 1


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("f(a, b) := a + b, identity: 0, claimed: associatve", "'associatve' is nothing that is"),
        ("f(a, b) := a + b, identity: x", "no number"),
        ("f(a, b) := a + b", "','"),
        ("f(a, b) := a + b + c, identity: 0", "mentions 'c'"),
        ("f(a, b) := 2*b, identity: 0", "makes nothing of 'a'"),
        ("f(a, b) := a + b, identity: {float: 0, int3: 1}", "'int3' is no element type"),
    ],
)
def test_malformed_lines(line: str, what: str) -> None:
    text = f"KERNEL: k\nDOMAINS:\n{{ [j]: 0<=j<4 }}\nREDUCTIONS:\n{line}"
    with pytest.raises(UserError) as caught:
        pg.parse_kernel(text)
    assert what in str(caught.value)
    assert "line 5" in str(caught.value)
