"""`pad_iname`: iterations beyond the end of a loop, of which nothing is used."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    CannotProve,
    IllegalStep,
    InvalidArgument,
    NotPaddable,
    NotTheSame,
    PolygenError,
    UnknownIname,
)
from polygen.ir.domain import parse_domain
from tests.oracle.cases import Step, kernel, steps
from tests.transforms.numpy_runs import numpy_agrees


def padded(iname: str, multiple: int) -> Step:
    """Return the step that pads a loop."""
    return lambda knl: pg.pad_iname(knl, iname, multiple)


def rows(text: str = "s = s + a[i, j]", dtype: Any = np.float64) -> pg.Kernel:
    return kernel(
        "{ [i,j]: 0<=i<n and 0<=j<n }",
        f"""
        for i
            <> s = 0  {{id=s}}
            {text}  {{id=add, dep=s}}
            out[i] = s  {{id=out, dep=add}}
        end
        """,
        pg.GlobalArg("a", dtype, "n, n"),
        pg.GlobalArg("out", np.float64, "n"),
    )


def test_what_becomes_of_instructions() -> None:
    knl = pg.pad_iname(rows(), "i", 4)
    assert knl.home_domains["i"].flat.is_equal(
        parse_domain("[n] -> { [i]: 0<=i<4*floor((n+3)/4) }").flat
    )
    lines = str(knl).splitlines()
    assert "[i] s = 0  {id=s}" in lines
    assert "[i, j] s = s + if(i < n, a[i, j], 0)  {id=add, dep=s}" in lines
    assert "[i] out[i] = s  {id=out, dep=add, if=i < n}" in lines
    assert pg.replay(rows(), knl.history) == knl


def test_nothing_to_add() -> None:
    knl = pg.fix_parameters(rows(), n=12)
    assert pg.pad_iname(knl, "i", 4) is knl
    assert pg.pad_iname(pg.assume(rows(), "n mod 8 = 0"), "i", 4) == pg.assume(
        rows(), "n mod 8 = 0"
    )


def test_numpy_agrees() -> None:
    tiles = steps(
        padded("i", 4), lambda k: pg.split_iname(k, "i", 4, outer_tag="g.0", inner_tag="l.0")
    )
    numpy_agrees(rows(), tiles, lambda a: {"out": a.sum(axis=1)}, dimensions=2)
    # A rule, whose reads are padded where it stands; and bounds that do not begin at 0.
    rule = kernel("{ [i]: 2<=i<n+2 }", "f(x) := a[x-2]\n<> t = f(i)\nout[i-2] = t*t")
    numpy_agrees(pg.add_dtypes(rule, {"a": np.float64}), padded("i", 3), lambda a: {"out": a * a})


def test_a_tile_with_zeros() -> None:
    def tiled(knl: pg.Kernel) -> pg.Kernel:
        knl = pg.split_iname(pg.pad_iname(knl, "i", 4), "i", 4, outer_tag="g.0", inner_tag="l.0")
        knl = pg.split_iname(knl, "j", 4)
        knl = pg.extract_subst(knl, "or_0", "if(row < n, a[row, column], 0)", "row, column")
        return pg.precompute(knl, "or_0", "i_inner, j_inner", temporary_address_space="local")

    numpy_agrees(rows(), tiled, lambda a: {"out": a.sum(axis=1)}, dimensions=2)
    code = str(pg.generate_code(tiled(rows()), "c"))
    assert code.count("< n ?") == 1  # where the tile is filled, not where it is read


@pytest.mark.parametrize(
    ("text", "iname", "kind", "why"),
    [
        # What is read after the loop, or in a later iteration, is not what was read.
        (
            "for i\nt = a[i] {id=t,dep=z}\nend\nout[0] = t {dep=t}",
            "i",
            IllegalStep,
            r"what t\[i=3\] wrote",
        ),
        (
            "for i\nt = t + a[i] {id=t,dep=z}\nend\nout[0] = t {dep=t}",
            "i",
            IllegalStep,
            r"t\[i=3\]",
        ),
        # Which elements are written, data decides.
        ("for i\nt = a[idx[i]] {id=t,dep=z}\nout[i] = t {dep=t}\nend", "i", NotTheSame, "new ones"),
        ("out[i] = sum(j, a[j]) {dep=z}", "j", NotPaddable, "'j' is what a reduction runs over"),
        ("out[k] = a[k] {dep=z}", "k", NotPaddable, "leaves out values"),
        ("out[p] = a[q] {dep=z}", "p", NotPaddable, "does not begin and end at an affine"),
    ],
)
def test_refused(text: str, iname: str, kind: type[PolygenError], why: str) -> None:
    domains = [
        "{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }", "{ [k]: 0<=k<n and k mod 2 = 0 }",
        "{ [p,q]: 0<=p<n and p<=q<=p }",
    ]  # fmt: skip
    knl = kernel(
        domains,
        f"<> t = 0 {{id=z}}\n{text}",
        pg.GlobalArg("a", np.float32, "n"),
        pg.GlobalArg("idx", np.int32, "n"),
        pg.GlobalArg("out", np.float32, "n+1"),
    )
    with pytest.raises(kind, match=why):
        pg.pad_iname(knl, iname, 4)


def test_types_decide() -> None:
    # Of truth values and 0, integers are chosen.
    for dtype in (None, np.bool_):
        with pytest.raises(CannotProve, match="may be of another type in a choice"):
            pg.pad_iname(rows("s = s + a[i, j]", dtype), "i", 4)


def test_arguments() -> None:
    with pytest.raises(UnknownIname, match="no iname 'r'"):
        pg.pad_iname(rows(), "r", 4)
    with pytest.raises(InvalidArgument, match="multiple=0"):
        pg.pad_iname(rows(), "i", 0)
