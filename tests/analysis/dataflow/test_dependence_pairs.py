"""Dependences: the sets of pairs, and arrays that may overlap."""

from __future__ import annotations

import islpy as isl

import polygen as pg
from tests.oracle.cases import kernel


def test_the_pairs_of_a_sweep() -> None:
    knl = kernel("{ [i]: 1<=i<n }", "a[i] = a[i-1] {id=s}")
    (found,) = pg.dependences(knl)
    assert found.relation.is_equal(isl.Map("[n] -> { s[i] -> s[i + 1] : 1 <= i < n - 1 }"))
    assert (found.source, found.sink, found.kind, found.array) == ("s", "s", "flow", "a")
    assert found.certain
    assert found.sink_array is None


def test_the_pairs_mention_the_parameters_that_matter() -> None:
    knl = kernel("{ [i]: 0<=i<4 and (i<n or i>=n) }", "a[0] = a[0] + 1 {id=s, inames=i}")
    for found in pg.dependences(knl, memory=True):
        assert found.relation.is_equal(isl.Map("{ s[i] -> s[j] : 0 <= i < j < 4 }"))
        assert found.relation.dim(isl.dim_type.param) == 0


def test_arrays_that_may_overlap() -> None:
    arrays = [pg.GlobalArg(name, shape="n", may_alias=True) for name in "ab"]
    text = "a[i] = 1 {id=s}\nb[i] = a[i] {id=u, dep=s}"
    found = pg.dependences(kernel("{ [i]: 0<=i<n }", text, *arrays), memory=True)
    ends = {(d.source, d.sink, d.kind, d.array, d.sink_array, d.carried_by) for d in found}
    # Within one iteration s comes first; of two, the one of the smaller i.
    assert ends == {
        ("s", "u", "flow", "a", None, None),
        ("s", "u", "output", "a", "b", None),
        ("s", "u", "output", "a", "b", "i"),
        ("u", "s", "output", "b", "a", "i"),
        ("u", "u", "flow", "b", "a", "i"),
        ("u", "u", "anti", "a", "b", "i"),
    }
    assert {d.certain for d in found if d.sink_array} == {False}
    assert {d.certain for d in found if d.sink_array is None} == {True}


def test_the_inames_of_a_reduction_tell_no_instances_apart() -> None:
    text = "a[i] = 1 {id=s}\nout[0] = sum(j, a[j]) {id=u, dep=s}\na[0] = 2 {id=w, dep=u}"
    knl = kernel(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"], text)
    found = {(d.source, d.sink): d.relation for d in pg.dependences(knl, memory=True)}
    assert set(found) == {("s", "u"), ("u", "w"), ("s", "w")}
    assert found["s", "u"].is_equal(isl.Map("[n] -> { s[i] -> u[] : 0 <= i < n }"))
    assert found["u", "w"].is_equal(isl.Map("[n] -> { u[] -> w[] : n >= 1 }"))
    assert found["s", "w"].is_equal(isl.Map("[n] -> { s[0] -> w[] : n >= 1 }"))
