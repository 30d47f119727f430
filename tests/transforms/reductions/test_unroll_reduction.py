"""`unroll_reduction`: a term for each value, in the place of a reduction over few."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    NoSuchReduction,
    NotUnrollable,
    TypeNotFound,
    UnknownIname,
    UnknownInstruction,
)
from polygen.ir import walk
from polygen.ir.kernel import Kernel
from tests.few import few
from tests.oracle import cases
from tests.oracle.cases import SIZES, Step, agree, steps
from tests.properties.together import run_together


def kernel(domains: str | list[str], text: str) -> Kernel:
    return pg.add_dtypes(cases.kernel(domains, text), {"a": "float64"})


DTYPES = (
    *("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
RIGHT: dict[str, Any] = {
    "sum": np.sum,
    "product": np.prod,
    "max": np.max,
    "min": np.min,
    "any": np.any,
    "all": np.all,
}


def unrolled(*given: Any) -> Step:
    return lambda knl: pg.unroll_reduction(knl, *given)


def row(operation: str, dtype: str) -> Kernel:
    knl = pg.make_kernel("{ [i,j]: 0<=i<7 and 2<=j<5 }", f"s[i] = {operation}(j, a[i,j])  {{id=s}}")
    return pg.add_dtypes(knl, {"a": dtype})


def least_and_greatest(dtype: str) -> Any:
    """Return seven rows with the ends of a type, zeros of both signs, and not-a-number."""
    numbers = np.random.default_rng(4).integers(0, 100, (7, 5)).astype(dtype)
    if dtype == "bool":
        return numbers
    kind = np.dtype(dtype).kind
    limits: Any = np.iinfo(dtype) if kind in "iu" else np.finfo(dtype)
    numbers[0, 2:] = limits.max
    numbers[1, 2:] = limits.min
    if kind in "fc":
        numbers[2, 2:] = -0.0
        numbers[3, 3] = np.nan
        numbers[4, 4] = np.inf
    return numbers


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@few(3, "operation", RIGHT)
def test_values(operation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every type, over its range, bit by bit as before; and as NumPy has them."""
    able = [d for d in DTYPES if operation not in ("max", "min") or not d.startswith("c")]
    cases: list[tuple[Any, dict[str, Any]]] = []
    for dtype in able:
        knl, a = row(operation, dtype), least_and_greatest(dtype)
        new = pg.unroll_reduction(knl, "j")
        assert not new.assignment("s").reductions
        result = pg.infer_unknown_types(knl).variables["s"].dtype
        assert pg.infer_unknown_types(new).variables["s"].dtype == result
        cases += [(k, {"a": a, "s": np.zeros(7, result)}) for k in (knl, new)]
    found: list[Any] = run_together(cases, "c", monkeypatch, ())
    for place, dtype in enumerate(able):
        before, after = (result["s"] for result in found[2 * place : 2 * place + 2])
        np.testing.assert_array_equal(np.signbit(before.real), np.signbit(after.real))
        np.testing.assert_array_equal(before, after)
        wide = np.dtype(dtype).kind in "iub" and operation in ("sum", "product")
        a = least_and_greatest(dtype)[:, 2:]
        right = RIGHT[operation](a.astype(after.dtype) if wide else a, axis=1)
        if dtype != "float16":
            np.testing.assert_allclose(after, right, rtol=1e-5)


def test_instances_and_what_is_read() -> None:
    knl = kernel(
        "{ [i,j,k]: 0<=i<n and 0<=j<2 and -1<=k<2 }",
        "b[i] = 2*sum(j, a[i,j]*i) - max(k, a[i,k+1] + k)  {id=s}\nc[i] = b[i] + 1",
    )
    agree(knl, SIZES, unrolled("j"), unrolled("k"), steps(unrolled("j"), unrolled("k")))
    assert steps(unrolled("j"), unrolled("k"))(knl).inames == ("i",)


def test_what_a_rule_says_is_reduced() -> None:
    """Its type is that of what the rule stands for, which other instructions invoke, too."""
    knl = kernel(
        "{ [i,j]: 0<=i<n and 0<=j<3 }",
        "twice(x) := 2*a[i,x]\nb[i] = sum(j, twice(j)) {id=s}\nc[i] = twice(1)",
    )
    new = pg.unroll_reduction(knl, "j", "id:s")
    assert not new.instruction("s").reductions
    assert new.instruction("s").invocations
    agree(knl, SIZES, unrolled("j"))


def test_within() -> None:
    knl = kernel(
        "{ [i,j]: 0<=i<n and 0<=j<3 }", "b[i] = sum(j, a[i,j]) {id=s}\nc[i] = max(j, a[i,j])"
    )
    new = pg.unroll_reduction(knl, "j", "id:s")
    assert [bool(insn.reductions) for insn in new.assignments] == [False, True]
    agree(knl, SIZES, unrolled("j", "id:s"), unrolled("j"))


def test_inside_of_another() -> None:
    knl = kernel("{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<3 }", "b[i] = sum(j, max(k, a[j,k])*i)")
    new = pg.unroll_reduction(knl, "k")
    assert [node.inames for node in walk.reductions(new.assignments[0].values[0])] == [("j",)]
    agree(knl, ({"n": 3, "m": 4}, {"n": 1, "m": 0}), unrolled("k"))


def refused(knl: Kernel, *given: Any) -> str:
    with pytest.raises(
        (NoSuchReduction, NotUnrollable, TypeNotFound, UnknownIname, UnknownInstruction)
    ) as it:
        pg.unroll_reduction(knl, *given)
    return f"{type(it.value).__name__}: {it.value.what}"


def test_what_is_refused() -> None:
    sums = kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }", "{ [k]: 0<=k<=i and k<4 }", "{ [l,p]: 0<=l,p<2 }"],
        "b[i] = sum(j, a[i,j]) + sum(k, a[i,k]) + sum((l,p), a[l,p])  {id=s}",
    )
    for iname in ("j", "k"):
        expected = f"NotUnrollable: '{iname}' does not have the same values, constants, in all"
        assert refused(sums, iname).startswith(expected)
    assert refused(sums, "l").startswith("NoSuchReduction: there is no reduction over 'l' alone")
    assert refused(sums, "i").startswith("NoSuchReduction")
    assert refused(sums, "q").startswith("UnknownIname")
    assert refused(sums, "j", "id:t").startswith("UnknownInstruction")
    pairs = kernel("{ [j]: 0<=j<4 }", "b[0], c[0] = argmax(j, a[j], j)")
    assert refused(pairs, "j").startswith("NoSuchReduction")
    untyped = pg.make_kernel("{ [j]: 0<=j<4 }", "b[0] = sum(j, a[j])")
    assert refused(untyped, "j").startswith("TypeNotFound")
