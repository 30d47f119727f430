"""`affine_map_inames`: a map from equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    IllegalStep,
    InvalidArgument,
    MalformedExpression,
    MapMixesInames,
    MapNotInjective,
    MapNotTotal,
    NameTaken,
    TagConflict,
    UnknownIname,
)
from polygen.ir import expression as ex
from tests.oracle.cases import Step, agree, kernel
from tests.transforms.numpy_runs import numpy_agrees

LINE = kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i] + i")
PLANE = kernel("{ [i,j]: 0<=i,j<n }", "out[i,j] = 2*a[i,j] + i - j")
SIZES = [{"n": n} for n in (0, 1, 5, 8, 9)]


def mapped(olds: Any, news: Any, equations: Any) -> Step:
    """Return the step that maps inames."""
    return lambda knl: pg.affine_map_inames(knl, olds, news, equations)


@pytest.mark.parametrize(
    ("olds", "news", "equations", "text"),
    [
        ("i", "r", "r = n - 1 - i", "{ [i,j] -> [r,j] : r = n - 1 - i }"),
        ("i, j", "p, q", ["p = i + j", "q = j"], "{ [i,j] -> [p,q] : p = i + j and q = j }"),
        ("i,j", ["p", "q"], ("p = i + j", ("q", "2*i")), "{ [i,j] -> [p,q] : p=i+j and q=2*i }"),
        (
            ["i"],
            "r",
            [(ex.Variable("r"), ex.sum_of(3, ex.Variable("i")))],
            "{ [i] -> [r] : r = i + 3 }",
        ),
        ("i,j", "p,q", ["i = p - q", "j = q"], "{ [i,j] -> [p,q] : p = i + j and q = j }"),
    ],
)
def test_it_is_a_map(olds: Any, news: Any, equations: Any, text: str) -> None:
    new = pg.affine_map_inames(PLANE, olds, news, equations)
    other = pg.map_domain(PLANE, text)
    assert new.inames == other.inames
    assert new.instructions == other.instructions
    assert all(a.flat.is_equal(b.flat) for a, b in zip(new.domains, other.domains, strict=True))
    assert pg.replay(PLANE, new.history) == new
    agree(PLANE, SIZES[:4], mapped(olds, news, equations))


def test_numpy_agrees() -> None:
    numpy_agrees(
        PLANE,
        mapped("i, j", "p, q", ["p = 2*i + j", "q = i + j"]),
        lambda a: {"out": 2 * a + np.subtract.outer(np.arange(len(a)), np.arange(len(a)))},
        2,
    )


def test_an_order_that_matters() -> None:
    knl = kernel("{ [i]: 1<=i<n }", "a[i] = a[i-1] + 1  {id=s}")
    with pytest.raises(IllegalStep, match=r"\bs\["):
        pg.affine_map_inames(knl, "i", "r", "r = -i")


REFUSED: list[tuple[Any, type[pg.UserError], str]] = [
    (("k", "r", "r = k"), UnknownIname, "no iname 'k'"),
    (("i", "n", "n = i"), NameTaken, "already has a 'n'"),
    (("i", "i", "i = i"), NameTaken, "already has a 'i'"),
    (("i, i", "r", "r = i"), InvalidArgument, "i, i names an iname twice"),
    (("i", "r, r", "r = i"), InvalidArgument, "r, r names an iname twice"),
    (("i", "r", []), InvalidArgument, "there is no equation"),
    (("i", "r", "r + i"), InvalidArgument, "equations='r [+] i', which is not equations"),
    (("i", "r", [("r",)]), InvalidArgument, "which is not equations"),
    (("i", "r", 3), InvalidArgument, "equations=3, which is not equations"),
    (("i", "r", "r = n*i"), InvalidArgument, "'r = n[*]i' is not affine"),
    (("i", "r", "r = i + z"), InvalidArgument, "'r = i [+] z' is not affine"),
    (("i", "r", "r = i +"), MalformedExpression, "i [+]"),
    (("i", "r", "r = i // 2"), MapNotInjective, "makes one point of two"),
    (("i", "r", "2*r = i"), MapNotTotal, "leaves out a point"),
]


@pytest.mark.parametrize(("given", "kind", "text"), REFUSED)
def test_refused(given: Any, kind: type[pg.UserError], text: str) -> None:
    with pytest.raises(kind, match="(?s)" + text):
        pg.affine_map_inames(LINE, *given)


def test_tagged() -> None:
    with pytest.raises(TagConflict, match=r"tagged g\.0"):
        pg.affine_map_inames(pg.tag_inames(LINE, {"i": "g.0"}), "i", "r", "r = i + 1")


@pytest.mark.parametrize("tag", [None, "l.0"])
def test_other_inames_stay(tag: str | None) -> None:
    knl = kernel("{ [i,j]: 0<=i<n and 0<=j<n }", "out[i,j] = a[i,j] - i", loop_priority="j,i")
    knl = knl if tag is None else pg.tag_inames(knl, {"j": tag})
    step = mapped("i", "p", "p = i + 2*j")
    assert set(step(knl).inames) == {"p", "j"}
    if tag is None:
        agree(knl, SIZES[:4], step)
        numpy_agrees(knl, step, lambda a: {"out": a - np.arange(len(a))[:, None]}, 2)


def test_other_inames_that_not_all_instructions_are_in() -> None:
    knl = kernel("{ [i,j]: 0<=i<6 and 0<=j<5 }", "out[i,j] = a[i,j]\nb[i] = i")
    with pytest.raises(MapMixesInames, match="mixes 'i' with 'j', and instruction 'insn_0'"):
        pg.affine_map_inames(knl, "i", "p", "p = i + 2*j")
