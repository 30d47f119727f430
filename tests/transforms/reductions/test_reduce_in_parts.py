"""`reduce_in_parts`: what parts come to is kept, and reduced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import FootprintNotAffine, NoSuchReduction, NotTheSame, UnknownIname
from polygen.ir.kernel import Kernel
from tests.oracle.cases import SIZES, Step, agree_in_arrays, kernel

SHAPES = ((0, 3), (1, 1), (3, 2), (4, 3), (5, 1), (13, 4), (17, 3))
OPERATIONS = {
    "sum": np.add,
    "product": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}


def parts(**options: Any) -> Step:
    return lambda knl: pg.reduce_in_parts(knl, "j", 4, **options)


def columns(operation: str = "sum", dtype: str = "float32", **options: Any) -> Kernel:
    """Return a reduction of each column."""
    text = f"s[i] = {operation}(j, a[j,i])"
    return kernel("{ [i,j]: 0<=i<m and 0<=j<n }", text, pg.GlobalArg("a", dtype, "n, m"), **options)


def in_order(a: Any, length: int) -> Any:
    """Return sums of columns in the order that is promised: element by element, part by part."""
    total = np.zeros(a.shape[1:], a.dtype)
    for first in range(0, len(a), length):
        part = np.zeros_like(total)
        for row in a[first : first + length]:
            part = part + row
        total = total + part
    return total


def test_sums_are_added_up_in_order() -> None:
    """To the last bit, whatever threads do."""
    run = pg.reduce_in_parts(columns(), "j", 4, part_tag="g.0").executor("c")
    random = np.random.default_rng(3)
    for shape in SHAPES:
        a = random.normal(size=shape).astype(np.float32)
        np.testing.assert_array_equal(run(a=a)[1][0], in_order(a, 4), strict=True)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operations(operation: str) -> None:
    run = parts()(columns(operation, "int32")).executor("c")
    ufunc = OPERATIONS[operation]
    for n, m in SHAPES[1:]:
        a = np.random.default_rng(n).integers(-9, -1, (n, m)).astype(np.int32)
        np.testing.assert_array_equal(run(a=a)[1][0], ufunc.reduce(a, 0))


KERNELS = {
    "all": ("{ [j]: 0<=j<n }", "s[0] = sum(j, a[j])"),
    "a constant number": ("{ [j]: 0<=j<10 }", "s[0] = sum(j, a[j])"),
    "negative": ("{ [j]: -n<=j<3 }", "s[0] = sum(j, a[j + n])"),
    "triangle": (["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }"], "s[i] = sum(j, a[j])"),
    "two": ("{ [i,j]: 0<=i,j<n }", "s[i] = 2*sum(j, a[i,j]) + max(j, a[j,i])"),
    "several inames": ("{ [i,j,k]: 0<=i,j,k<n }", "s[k] = sum((i, j), a[i,j,k])"),
    "what reduces inside": ("{ [i,j]: 0<=i,j<n }", "s[0] = sum(j, max(i, a[i,j]))"),
    "several instructions": (
        "{ [i,j]: 0<=i,j<n }",
        "s[i] = sum(j, a[i,j])\nt[i] = sum(j, a[j,i]) + s[i]",
    ),
    "conditions": (
        "{ [i,j]: 0<=i,j<n }",
        "s[i] = if(i < 3, sum(j, a[i,j]), 1)\nt[i] = sum(j, a[i,j])  {if=i > 2}",
    ),
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernels(name: str) -> None:
    domains, text = KERNELS[name]
    tagged = parts(part_tag="g.1" if "[i" in text else "g.0")
    # The least of nothing is no number of the interpreter's.
    sizes = SIZES[1:] if "max" in text else SIZES
    agree_in_arrays(kernel(domains, text), sizes, parts(), tagged)


def test_some_instructions() -> None:
    knl = kernel("{ [i,j]: 0<=i,j<n }", "s[0] = sum(j, a[j])  {id=s}\nt[0] = sum(j, b[j])  {id=t}")
    knl = pg.reduce_in_parts(knl, "j", 4, "id:t", part_iname="part", inner_iname="near")
    assert [insn.id for insn in knl.instructions] == ["t_part", "s", "t"]
    assert knl.instruction("t_part").within_inames == {"part"}


@pytest.mark.parametrize(
    ("error", "domains", "text", "iname"),
    [
        (UnknownIname, "{ [j]: 0<=j<n }", "s[0] = sum(j, a[j])", "k"),
        (NoSuchReduction, "{ [j]: 0<=j<n }", "s[j] = a[j]", "j"),
        (NoSuchReduction, "{ [i,j]: 0<=i,j<n }", "s[0] = sum(j, max(i, a[i,j]))", "i"),
        (
            FootprintNotAffine,
            ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<m }"],
            "<int32> m = b[i]\ns[i] = sum(j, a[j])",
            "j",
        ),
        (NotTheSame, "{ [j]: 0<=j<n }", "s[0], t[0] = segmented(sum)(j, a[j], b[j] > 1)", "j"),
    ],
)
def test_refused(error: type[Exception], domains: Any, text: str, iname: str) -> None:
    with pytest.raises(error):
        pg.reduce_in_parts(kernel(domains, text), iname, 4)


def test_brackets_may_be_forbidden() -> None:
    knl = pg.set_options(columns(), allow_reassociation=False)
    with pytest.raises(NotTheSame, match="instead of sum"):
        pg.reduce_in_parts(knl, "j", 4)


def test_subscripts_that_several_contributions_have() -> None:
    knl = kernel("{ [j]: 0<=j<n }", "s[0] = sum(j, j*a[(2*j + 1) % 5])", pg.GlobalArg("a", shape=5))
    knl = pg.assume(knl, "n >= 0")
    agree_in_arrays(knl, SIZES, parts())


@pytest.mark.parametrize(
    "text", ["out[0] = sum(r, a[r])", "out[0], <> at = argmin(r, a[r], int32(r))"]
)
def test_what_it_makes_is_what_its_text_says(text: str) -> None:
    knl = kernel("{ [r]: 0<=r<n }", text, pg.GlobalArg("a", np.float32, shape="n"))
    changed = pg.reduce_in_parts(knl, "r", 3)
    assert pg.parse_kernel(str(changed)) == changed
