"""The table of Loo.py's names: what is made of it, and the page that it makes."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import polygen as pg
import polygen.compat as lp
from docs.site import porting
from polygen.compat._table import HERE, NOT_HERE, ROWS
from polygen.errors import InvalidArgument

MADE = sorted(n for n, row in HERE.items() if ":" in row.where and row.parameters)


def _tiled() -> Any:
    return lp.make_kernel("{ [i,j]: 0<=i<32 and 0<=j<m }", "out[i,j] = 2*a[i,j]")


def test_the_page_has_the_tables_of_today() -> None:
    text = porting.PAGE.read_text(encoding="utf-8")
    assert porting.with_tables(text) == text
    assert porting.with_tables(text.replace("lp.tag_data_axes", "lp.of_old")) == text
    for name in (*HERE, *NOT_HERE):
        row = next(r for r in ROWS if name in r.names)
        assert not (row.note or row.ignored) or name.rpartition(".")[2] in text, name


def test_each_name_stands_in_one_row() -> None:
    names = [n for row in ROWS for n in row.names]
    assert len(names) == len(set(names))
    assert not [n for n in HERE if getattr(lp, n, None) is None]


@pytest.mark.parametrize("name", MADE)
def test_parameters_are_those_of_polygens_function(name: str) -> None:
    row = HERE[name]
    ours = inspect.signature(getattr(pg, row.where[1:])).parameters
    theirs = list(inspect.signature(getattr(lp, name)).parameters)[1:]
    known = {*ours, *row.ignored, "entrypoint", "others"}
    assert set(theirs) <= known
    assert not set(row.ignored) & ours.keys()
    assert "polygen." in (getattr(lp, name).__doc__ or "")


def test_loopys_positions() -> None:
    knl = _tiled()
    given = ("i", 4, "o", "p", None, None, (0, 0))
    chunked = lp.chunk_iname(knl, *given, True, "id:insn")
    assert (
        chunked["loopy_kernel"].inames == pg.chunk_iname(knl, *given, "id:insn").kernels[0].inames
    )
    split = lp.split_iname(knl, "i", 8, inner_tag="l.0", do_tagged_check=False)
    assert split == pg.split_iname(knl, "i", 8, inner_tag="l.0")
    renamed = lp.rename_inames(knl, ["i"], "k", False, None, True)
    assert renamed == pg.rename_inames(knl, ["i"], "k")
    graph = lp.get_dot_dependency_graph(knl, None, iname_cluster=False)
    assert graph == pg.get_dot_dependency_graph(knl["loopy_kernel"])


def test_defaults_that_differ() -> None:
    assert lp.infer_unknown_types(_tiled()) == pg.infer_unknown_types(_tiled(), False)
    with pytest.raises(pg.UserError):
        lp.infer_unknown_types(_tiled(), expect_completion=True)


def test_counts_of_one_of_several_kernels() -> None:
    both = lp.merge([_tiled(), lp.make_kernel("{ [i]: 0<=i<n }", "b[i] = 3*c[i]", name="other")])
    both = lp.add_dtypes(both["other"], {"c": "float32"})
    both = lp.merge([lp.add_dtypes(_tiled(), {"a": "float64"}), both])
    found = lp.get_op_map(both, False, True, None, "other")
    assert str(found) == str(pg.get_op_map(both["other"]))
    with pytest.raises(InvalidArgument, match="get_op_map has no argument 'frobnicate'"):
        lp.get_op_map(both, frobnicate=1)
