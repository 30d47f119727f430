"""bfloat16: stored in two bytes, read as float32, rounded where it is written."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    InvalidArgument,
    TypeMismatch,
    WrongArgumentType,
)
from polygen.ir.array import AddressSpace
from tests.oracle.compare import assert_same

TARGETS = pytest.mark.parametrize("target", ["c", "opencl"])
BF16 = np.dtype(ml_dtypes.bfloat16)
F32 = np.dtype(np.float32)


def numbers(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(BF16)


def array(name: str, **more: Any) -> pg.GlobalArg:
    return pg.GlobalArg(name, "bfloat16", **more)


@TARGETS
def test_rounding_of_all_kinds_of_numbers(target: str) -> None:
    """The same bits as those of ml_dtypes."""
    bits = np.arange(0, 2**32, 65521, dtype=np.uint32)
    halfway = np.arange(0x8000, 2**32, 0x10000, dtype=np.uint32)
    beside = [np.array([0x7F800001, 0xFF80FFFF, 1, 0x80000001], np.uint32), halfway - 1]
    values = np.concatenate([bits, halfway, *beside]).view(np.float32)
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }", "out[i] = a[i] {id=w}\nback[i] = out[i] {dep=w}", [array("out"), "..."]
    )
    _, (out, back) = knl.executor(target)(a=values)
    with np.errstate(invalid="ignore"):
        expected = values.astype(BF16)
    numeric = ~np.isnan(values)
    assert out.dtype == BF16
    assert back.dtype == F32
    np.testing.assert_array_equal(out.view(np.uint16)[numeric], expected.view(np.uint16)[numeric])
    assert np.isnan(out[~numeric].astype(F32)).all()
    np.testing.assert_array_equal(back, out.astype(F32))


@TARGETS
@pytest.mark.parametrize("n", [0, 1, 17, 63])
def test_arithmetic_is_that_of_float32(target: str, n: int) -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        """
        <> t = a[i]*s + 1
        <bfloat16> u = t*b[i] {id=u}
        out[i] = u + t
        wide[i] = u
        one[i] = a[i] + b[i]
        """,
        [array("a"), array("b"), array("out"), array("one"), "..."],
    )
    a, b = numbers(1, n), numbers(2, n)
    t = a.astype(F32) * F32.type(0.3) + F32.type(1)
    u = (t * b.astype(F32)).astype(BF16).astype(F32)
    _, (out, one, wide) = knl.executor(target)(a=a, b=b, s=0.3, n=n)
    assert (out.dtype, wide.dtype) == (BF16, F32)
    np.testing.assert_array_equal(wide, u)
    np.testing.assert_array_equal(out.astype(F32), (u + t).astype(BF16).astype(F32))
    np.testing.assert_array_equal(one.astype(F32), (a + b).astype(F32))  # of NumPy's


@TARGETS
@pytest.mark.parametrize("n", [0, 1, 15, 33])
def test_tiles_and_sums(target: str, n: int) -> None:
    """A product of matrices, with copies of tiles: summed up in float32."""
    knl = pg.make_kernel(
        "{ [i,j,k]: 0<=i<n and 0<=j<5 and 0<=k<n }",
        "c[i, j] = sum(k, a[i, k]*b[k, j])",
        [array("a", shape="n, n"), array("b", shape="n, 5"), array("c", shape="n, 5"), "..."],
        loop_priority="i, j, k",
    )
    knl = pg.split_iname(knl, "i", 8, outer_tag="g.0", inner_tag="l.0")
    knl = pg.tag_inames(knl, {"j": "l.1"})
    knl = pg.split_reduction_outward(pg.split_iname(knl, "k", 4), "k_outer")
    knl = pg.add_prefetch(knl, "a", "i_inner, k_inner", default_tag="l.auto")
    a, b = np.rint(4 * numbers(3, n, n).astype(F32)), np.rint(4 * numbers(4, n, 5).astype(F32))
    _, (c,) = knl.executor(target)(a=a.astype(BF16), b=b.astype(BF16), n=n)
    np.testing.assert_array_equal(c.astype(F32), (a @ b).astype(BF16).astype(F32))


@TARGETS
@pytest.mark.parametrize("space", list(AddressSpace))
def test_temporaries_round_wherever_they_live(target: str, space: AddressSpace) -> None:
    temporary = pg.TemporaryVariable("t", "bfloat16", 8, space)
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<8 }", "{ [j]: 0<=j<8 }"],
        "t[i] = a[i]/3\nout[j] = t[j]*t[7 - j]",
        [temporary, "..."],
    )
    if space is not AddressSpace.PRIVATE:
        knl = pg.tag_inames(knl, {"i": "l.0", "j": "l.0"})
    a = np.arange(8, dtype=np.float32)
    t = (a / F32.type(3)).astype(BF16).astype(F32)
    _, (out,) = knl.executor(target)(a=a)
    np.testing.assert_array_equal(out, t * t[::-1])


@TARGETS
def test_several_at_once_and_updates(target: str) -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "a[i], c[i] = c[i] + 1, a[i] {id=swap}\nc[i] += a[i] {dep=swap}",
        [array("a"), array("c"), "..."],
    )
    a, c = numbers(5, 9), numbers(6, 9)
    first, second = a.copy(), c.copy()
    knl.executor(target)(a=first, c=second)
    new = (c.astype(F32) + 1).astype(BF16)
    np.testing.assert_array_equal(first.astype(F32), new.astype(F32))
    np.testing.assert_array_equal(second.astype(F32), (a + new).astype(F32))


def test_interpreters() -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "<bfloat16> t = a[i]/3 {id=t}\nout[i] = t*t + a[i] {dep=t}",
        [array("a"), array("out"), "..."],
    )
    knl = pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")
    arguments = {"a": numbers(7, 10), "out": np.zeros(10, BF16), "n": 10}
    assert_same(knl, arguments)


def test_text_and_code() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = a[i]", [array("a"), array("out"), "..."])
    assert "a: GlobalArg, type: bfloat16" in str(knl)
    assert pg.parse_kernel(str(knl)) == knl
    assert "'bfloat16'" in pg.kernel_to_python(knl)
    for target, name in (("c", "uint16_t"), ("opencl", "__global ushort")):
        assert f"{name} const *restrict a" in str(pg.generate_code(knl, target))


def test_a_temporary_that_rounds_is_no_copy() -> None:
    """What is stored in between is another number: proofs know it."""
    given = [array("a"), pg.GlobalArg("out", np.float32), "..."]
    exact = pg.make_kernel("{ [i]: 0<=i<n }", "<float32> t = a[i]/3\nout[i] = t", given)
    rounded = pg.make_kernel("{ [i]: 0<=i<n }", "<bfloat16> t = a[i]/3\nout[i] = t", given)
    assert pg.assignment_to_subst(exact, "t").temporaries == ()
    with pytest.raises(pg.UserError) as caught:
        pg.assignment_to_subst(rounded, "t")
    assert "t" in caught.value.what


def test_refused() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<4 }", "out[i] = a[i]", [array("a"), "..."])
    with pytest.raises(WrongArgumentType, match="has it as bfloat16") as caught:
        knl(a=np.zeros(4, np.float32))
    assert "a.astype('bfloat16')" in str(caught.value.remedy)
    with pytest.raises(InvalidArgument, match="has elements of type bfloat16"):
        table = pg.TemporaryVariable("w", initializer=numbers(8, 4), read_only=True)
        pg.make_kernel("{ [i]: 0<=i<4 }", "out[i] = w[i]", [table, "..."])
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = a[i] + 1j", [array("a"), array("out"), "..."])
    with pytest.raises(TypeMismatch, match="whose type is"):
        pg.generate_code(knl)
    knl = pg.make_kernel(
        "{ [i, j]: 0<=i, j<n }", "out[i] = sum<bfloat16>(j, a[j])", [array("a"), "..."]
    )
    with pytest.raises(TypeMismatch, match="cannot compute in 'bfloat16'"):
        pg.generate_code(knl)
