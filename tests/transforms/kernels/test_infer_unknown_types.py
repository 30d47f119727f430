"""Types over the whole program; and one variant of generated code for each combination."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import TypeMismatch, TypeNotFound, UnknownFunction

CHAIN = """
    <> t = a[i]*b[i]
    s[i] = sum(j, t*c[j])
    <> d = s[i] > 0
    out[i] = if(d, s[i], -1)
    count[i] = sum(k, d and c[k] != 0)
"""


def dtypes(knl: pg.Kernel) -> dict[str, str | None]:
    return {n: v.dtype.name if v.dtype is not None else None for n, v in knl.variables.items()}


@pytest.mark.parametrize(
    ("a", "b", "c"),
    list(product(("int8", "uint32", "float16", "float32"), ("int16", "float64", "complex64"),
                 ("bool", "float32"))),
)  # fmt: skip
def test_numpys_promotion_through_the_program(a: str, b: str, c: str) -> None:
    text = CHAIN.replace("s[i] > 0", "s[i] != 0") if b == "complex64" else CHAIN
    knl = pg.make_kernel("{ [i, j, k]: 0<=i<n and 0<=j<m and 0<=k<m }", text)
    knl = pg.infer_unknown_types(pg.add_dtypes(knl, {"a": a, "b": b, "c": c}))
    t = np.ones(1, a) * np.ones(1, b)
    s = (t * np.ones(1, c)).sum()
    found = dtypes(knl)
    assert found == {
        "a": a,
        "b": b,
        "c": c,
        "n": None,
        "m": None,
        "d": "bool",
        "count": "int64",
        "t": t.dtype.name,
        "s": s.dtype.name,
        "out": np.where(np.ones(1, bool), s, -1).dtype.name if s.dtype != bool else "int64",
    }
    assert pg.infer_unknown_types(knl) == knl
    assert pg.parse_kernel(str(knl)) == knl


@pytest.mark.parametrize(
    ("text", "given", "reason"),
    [
        ("a[i] = b[i]", {}, "the type of the variable 'b' is not known: instruction"),
        ("a[i] = 2*s", {"a": "float32"}, "the type of the scalar argument 's' is not known"),
        ("a[i] = b[i]\nb[i] = a[i] {dep=*}", {}, "has no type that does not depend on it"),
        (
            '... code(i) "t = i;" writes(t) {id=c, inames=i}\n<> u = 2*t\nb[i] = u + a[i]',
            {"a": "float32"},
            "the type of the variable 't' is not known: verbatim C writes it, in instruction 'c',",
        ),
        ("<> t = a[i]\nb[i] = t*q[i]", {"a": "int8"}, "'q' is not known: instruction 'insn_0'"),
        ("b[0] = sum(i, a[i]*w)", {"a": "int8"}, "the type of the scalar argument 'w' is not"),
    ],
)
def test_what_cannot_be_found(text: str, given: dict[str, Any], reason: str) -> None:
    data = [pg.TemporaryVariable("t"), "..."] if text.startswith("...") else None
    knl = pg.make_kernel("{ [i]: 0<=i<n }", text, data)
    with pytest.raises(TypeNotFound) as caught:
        pg.infer_unknown_types(pg.add_dtypes(knl, given))
    assert reason in caught.value.what
    assert "add_dtypes" in str(caught.value.remedy)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # What needs an unknown type is left, even if a part of it would say something.
        (
            "<> t = a[i]*q[i]\nu[i] = t + 1.5\nv[i] = a[i]*2.5",
            {"q": None, "t": None, "u": None, "v": "float32"},
        ),
        ("p[i] = q[i]\nq[i] = p[i] {dep=*}\nu[i] = p[i] + 1.5", {"p": None, "q": None, "u": None}),
        ("u[i] = later(a[i])\nv[i] = u[i]\nw[i] = -a[i]", {"u": None, "v": None, "w": "float32"}),
        ("u[i] = a[i]\nu[0] = q[0]  {dep=insn}", {"q": None, "u": None}),
        ("u[0] = sum(j, a[j]*w)\nv[0] = sum(j, j + 1)", {"w": None, "u": None, "v": "int64"}),
        ("u[i] = q[i] & 1\nv[i] = 2*a[i]  {if=q[i] > 0}", {"q": None, "u": None, "v": "float32"}),
    ],
)
def test_as_far_as_possible(text: str, expected: dict[str, str | None]) -> None:
    knl = pg.add_dtypes(
        pg.make_kernel("{ [i, j]: 0<=i,j<n }", text), {"a": "float32"} if "a[" in text else {}
    )
    with pytest.raises((TypeNotFound, UnknownFunction)):
        pg.infer_unknown_types(knl)
    typed = pg.infer_unknown_types(knl, expect_completion=False)
    known = {"a": "float32"} if "a[" in text else {}
    assert dtypes(typed) == expected | known | {"n": None}
    assert pg.parse_kernel(str(typed)) == typed
    assert pg.infer_unknown_types(typed, expect_completion=False) == typed


def test_as_far_as_possible_is_checked_as_far() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "u[i] = a[i] & 1\nv[i] = q[i]")
    with pytest.raises(TypeMismatch, match="only there for integers"):
        pg.infer_unknown_types(pg.add_dtypes(knl, {"a": "float32"}), expect_completion=False)


def test_a_kernel_that_is_not_known_yet() -> None:
    data = [pg.GlobalArg("a", "int8", "n"), pg.GlobalArg("b", None, "n"), "..."]
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "[i]: b[i] = later([i]: a[i])\nc[i] = a[i] - 1", data)
    typed = pg.infer_unknown_types(knl, expect_completion=False)
    assert dtypes(typed) == {"a": "int8", "b": None, "c": "int8", "n": None}


def test_what_does_not_exist() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = b[i] & 1")
    with pytest.raises(TypeMismatch, match="only there for integers"):
        pg.infer_unknown_types(pg.add_dtypes(knl, {"b": np.float32}))


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_one_variant_for_each_combination_of_types(target: str) -> None:
    """The same executor, called with arrays of other types."""
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = a[i]*b[i] + 1")
    executor = knl.executor(target)
    rng = np.random.default_rng(0)
    for first, second in product(("int8", "int32", "float32", "complex64"), ("int16", "float64")):
        a, b = rng.integers(0, 9, 5).astype(first), rng.integers(0, 9, 5).astype(second)
        _, (out,) = executor(a=a, b=b)
        expected = a * b + 1
        assert out.dtype == expected.dtype
        assert np.array_equal(out, expected)
