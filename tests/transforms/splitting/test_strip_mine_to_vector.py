"""`strip_mine_to_vector`: loops in vectors, and what is left over."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    IllegalStep,
    InvalidArgument,
    NameTaken,
    NotSeparable,
    ReductionNotSequential,
    TagConflict,
    TypeNotFound,
    UnknownIname,
)
from polygen.ir.kernel import Kernel
from polygen.lower.program import Loop
from tests.oracle.cases import Step, agree, agree_in_arrays, kernel, lowered, nodes
from tests.transforms.numpy_runs import numpy_agrees
from tests.transforms.splitting.test_split_iname import assert_bijection

pytestmark = pytest.mark.filterwarnings("ignore::polygen.errors.NotVectorized")

LINE = kernel("{ [i]: 0<=i<n }", "<> t = 2*a[i]\n<> u = t*t + a[i]\nout[i] = u - t")
PLANE = kernel("{ [i,j]: 0<=i,j<n }", "out[i,j] = 2*a[i,j] + b[j]", loop_priority="i, j")
TRIANGLE = kernel("{ [i,j]: 0<=j<=i<n }", "out[i,j] = 2*a[i,j]", loop_priority="i, j")
SUMS = kernel("{ [i,k]: 0<=i<n and 0<=k<n }", "out[i] = sum(k, a[k,i]) + max(k, b[k]*a[k,i])")
RULES = kernel("{ [i]: 0<=i<n }", "f(x) := a[x]*a[x]\nout[i] = f(i) + 1")
SIZES = [{"n": n} for n in (0, 1, 3, 4, 5, 8)]


def stripped(iname: str, width: int, **options: Any) -> Step:
    """Return the step."""
    return lambda knl: pg.strip_mine_to_vector(knl, iname, width, **options)


def vectors(knl: Kernel) -> int:
    """Return how many statements are executed for all lanes at once."""
    return sum(isinstance(node, Loop) and node.at_once for node in nodes(lowered(knl)))


@pytest.mark.parametrize(
    ("knl", "iname", "count"),
    [(LINE, "i", 3), (PLANE, "j", 1), (TRIANGLE, "j", 1), (SUMS, "i", 5), (RULES, "i", 1)],
)
def test_it_computes_the_same(knl: Kernel, iname: str, count: int) -> None:
    agree(knl, SIZES, stripped(iname, 2))
    agree_in_arrays(knl, SIZES, stripped(iname, 2), stripped(iname, 3), stripped(iname, 4))
    assert_bijection(knl, pg.strip_mine_to_vector(knl, iname, 4), iname, 4)
    assert vectors(pg.strip_mine_to_vector(knl, iname, 4)) == count
    assert vectors(pg.strip_mine_to_vector(knl, iname, 3)) == 0


@pytest.mark.parametrize(
    ("dtype", "within", "count"),
    [("float32", None, 8), ("float64", None, 4), ("int8", None, 8), ("float64", "id:u", 8)],
)
def test_as_many_as_a_register_has(dtype: str, within: str | None, count: int) -> None:
    knl = kernel(
        "{ [i]: 0<=i<n }",
        "f(x) := a[x]*a[x]\nout[i] = f(i) + 1  {id=o}\nu[i] = 2*i  {id=u}",
        pg.GlobalArg("a", dtype, "n"),
        pg.GlobalArg("u", "float32", "n"),
    )
    new = pg.strip_mine_to_vector(knl, "i", within=within)
    wanted = pg.strip_mine_to_vector(knl, "i", count, within=within)
    assert new == wanted
    assert new != pg.strip_mine_to_vector(knl, "i", 2, within=within)
    assert pg.replay(knl, new.history) == new
    for n in (0, 1, count, count + 1):
        a = np.arange(n).astype(dtype)
        _, (u, out) = new.executor("c")(a=a, n=n)
        np.testing.assert_array_equal(out, a * a + 1)
        np.testing.assert_array_equal(u, 2 * np.arange(n))
    with pytest.raises(TypeNotFound, match="the variable 'a' is not known"):
        pg.strip_mine_to_vector(LINE, "i")


def test_on_axes_of_the_hardware() -> None:
    inner = pg.split_iname(LINE, "i", 8, outer_tag="g.0", inner_iname="p")
    agree_in_arrays(inner, SIZES, stripped("p", 2, outer_tag="l.0", inner_iname="lane"))
    agree_in_arrays(LINE, SIZES, stripped("i", 4, outer_tag="g.0"))
    both = pg.tag_inames(PLANE, "i: g.0")
    agree_in_arrays(both, SIZES, stripped("j", 4))


def test_some_instructions() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "x[i] = 2*a[i]  {id=x}\ny[i] = 3*b[i]  {id=y}")
    new = pg.strip_mine_to_vector(knl, "i", 4, within="id:x")
    agree_in_arrays(knl, SIZES, stripped("i", 4, within="id:x"))
    assert vectors(new) == 1
    assert new.instruction("y").within_inames == {"i"}


def test_what_is_recorded() -> None:
    new = pg.strip_mine_to_vector(LINE, "i", 4, outer_iname="p", inner_iname="q")
    assert [step.name for step in new.history] == ["strip_mine_to_vector"]
    assert pg.replay(LINE, new.history) == new
    assert pg.parse_kernel(str(new)) == new
    assert "q: vec" in str(new)
    assert "SEPARATIONS:\n4*p + 3 < n\n" in str(new)


def test_numpy_agrees() -> None:
    numpy_agrees(LINE, stripped("i", 4), lambda a: {"out": 4 * a * a - a})
    numpy_agrees(SUMS_OF_A, stripped("i", 4), lambda a: {"out": a.sum(axis=0)}, 2)


SUMS_OF_A = kernel("{ [i,k]: 0<=i<n and 0<=k<n }", "out[i] = sum(k, a[k,i])")
RECURRENCE = kernel("{ [i]: 1<=i<n }", "a[i] = 2*a[i-1]", pg.GlobalArg("a", shape="n"), "...")
HOLES = kernel("{ [i]: 0<=i<n and (i < 3 or 7 <= i) }", "out[i] = 2*a[i]")


@pytest.mark.parametrize(
    ("knl", "given", "kind", "text"),
    [
        (RECURRENCE, ("i", 4), IllegalStep, "strip_mine_to_vector would change what kernel"),
        (LINE, ("k", 4), UnknownIname, "no iname 'k'"),
        (LINE, ("i", 0), InvalidArgument, "width=0, which is not a positive integer"),
        (SUMS, ("k", 4), ReductionNotSequential, "reduces over 'k': what is added up in one"),
        (pg.tag_inames(LINE, "i: unr"), ("i", 2), TagConflict, "tagged unr"),
        (pg.tag_inames(LINE, "i: g.0"), ("i", 2), TagConflict, "tagged g.0 (an axis"),
        (
            pg.strip_mine_to_vector(PLANE, "j", 4),
            ("i", 4),
            TagConflict,
            "within 'i_inner' and 'j_inner', both tagged vec",
        ),
        (HOLES, ("i", 4), NotSeparable, "its domain is not convex"),
    ],
)
def test_refused(knl: Kernel, given: Any, kind: type[pg.UserError], text: str) -> None:
    with pytest.raises(kind) as caught:
        pg.strip_mine_to_vector(knl, *given)
    assert text in str(caught.value)


def test_lanes_are_not_split_again() -> None:
    with pytest.raises(TagConflict, match=r"'i_inner' cannot be split: it is tagged vec \(lanes\)"):
        pg.split_iname(pg.strip_mine_to_vector(LINE, "i", 4), "i_inner", 2)


def test_names_that_are_taken() -> None:
    with pytest.raises(NameTaken, match="already has a 'j'"):
        pg.strip_mine_to_vector(PLANE, "i", 2, inner_iname="j")


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_each_type(target: str) -> None:
    for dtype in (np.float32, np.float64, np.int32, np.int64, np.int16):
        run = pg.strip_mine_to_vector(LINE, "i", 4).executor(target)
        for n in (1, 4, 11):
            a: Any = np.arange(n).astype(dtype)
            _, (out,) = run(a=a)
            np.testing.assert_array_equal(out, 4 * a * a - a, strict=True)
