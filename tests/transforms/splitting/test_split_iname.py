"""`split_iname`: the new instances are the old ones, one for one."""

from __future__ import annotations

from typing import Any

import islpy as isl
import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    InvalidArgument,
    MalformedTag,
    NameTaken,
    ReservedName,
    TagConflict,
    UnknownIname,
)
from polygen.ir.kernel import Kernel
from polygen.ir.tags import GroupTag, UnrollTag
from tests.oracle.cases import SIZES, agree, kernel, split, steps
from tests.oracle.compare import make_arguments, typed
from tests.oracle.interpreter import interpret

LINE = "{ [i]: 0<=i<n }"


def _joined(knl: Kernel) -> isl.Set:
    """Return all domains of a kernel as one set, the bounds' inames included, by name."""
    flat = isl.Set("{ : }")
    for domain in knl.domains:
        flat = flat.intersect(domain.flat)
    return flat


def assert_bijection(old: Kernel, new: Kernel, iname: str, length: int) -> None:
    """Check that ``[outer, inner] -> [length*outer + inner]`` maps the new domain onto the old."""
    outer, inner = f"{iname}_outer", f"{iname}_inner"
    equation = isl.Set(
        f"[{iname}, {outer}, {inner}] -> {{ : {iname} = {length}*{outer} + {inner} "
        f"and 0 <= {inner} < {length} }}"
    )
    both = equation.intersect(_joined(old))

    def without(flat: isl.Set, *names: str) -> isl.Set:
        for name in names:
            flat = flat.project_out(
                isl.dim_type.param, flat.find_dim_by_name(isl.dim_type.param, name), 1
            )
        return flat

    assert without(both, iname).is_equal(_joined(new))  # all old points, nothing else
    assert without(both, outer, inner).is_equal(_joined(old))
    # Of equal old points, the new ones are equal: i = length*outer + inner has one solution.
    other = isl.Set(
        f"[{iname}, {outer}, {inner}, p, q] -> {{ : {iname} = {length}*p + q and 0 <= q < {length} "
        f"and ({outer} != p or {inner} != q) }}"
    )
    assert both.intersect(other).is_empty()


KERNELS = {
    "line": kernel(LINE, "out[i] = 2*a[i]"),
    "below zero": kernel("{ [i]: -n<=i<=n }", "out[i+n] = 2*a[i+n]"),
    "every third": kernel("{ [i]: 0<=i<n and i mod 3 = 1 }", "out[i] = a[i]"),
    "two ranges": kernel("{ [i]: 0<=i<n or n+3<=i<2*n }", "out[i] = a[i]"),
    "triangle": kernel("{ [i,j]: 0<=j<=i<n }", "out[i,j] = a[i,j]"),
    "needed outside": kernel(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }"], "out[i,j] = a[i,j] + i"),
    "reduced over": kernel("{ [i,j]: 0<=i<n and 0<=j<n }", "out[j] = sum(i, a[i,j]*i)"),
    "in a predicate": kernel(LINE, "out[i] = a[i]  {if=a[i] > 0 and i % 2 == 0}"),
}


@pytest.mark.parametrize("length", [1, 2, 5, 16])
@pytest.mark.parametrize("name", KERNELS)
def test_old_and_new_instances_correspond(name: str, length: int) -> None:
    old = KERNELS[name]
    assert_bijection(old, pg.split_iname(old, "i", length), "i", length)


@pytest.mark.parametrize("name", KERNELS)
def test_it_computes_the_same(name: str) -> None:
    again = steps(split("i", 4), split("i_inner", 2), split("i_outer", 3))
    agree(KERNELS[name], SIZES, split("i", 4), again)


def test_the_parts_can_be_split_again() -> None:
    old = pg.split_iname(KERNELS["line"], "i", 8)
    for part in "i_inner", "i_outer":
        assert_bijection(old, pg.split_iname(old, part, 3), part, 3)


@pytest.mark.parametrize("n", [0, 1, 7, 15, 16, 17])
def test_numpy_agrees(n: int) -> None:
    knl = pg.split_iname(KERNELS["reduced over"], "i", 16)
    arguments = make_arguments(knl, {"n": n})
    outcome = interpret(typed(knl, arguments), arguments)
    weights = np.arange(n, dtype=np.float64)
    np.testing.assert_array_equal(outcome.arrays["out"], weights @ arguments["a"])


def test_bounds_that_are_data() -> None:
    knl = kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<c }"],
        "<int32> c = count[i]\nout[i] = sum(j, a[j])",
        pg.GlobalArg("a", shape=(9,)),
        pg.GlobalArg("count", np.int32, shape=("n",)),
    )
    both = steps(split("i", 2), split("j", 4))

    def count(sizes: dict[str, int]) -> Any:
        return np.arange(sizes["n"]) % 4

    agree(knl, SIZES[:4], split("i", 4), split("j", 2), both, count=count)


def test_every_use_is_rewritten() -> None:
    knl = kernel(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }"], "out[i,j] = a[i]  {if=a[j] > i}")
    knl = pg.prioritize_loops(pg.tag_inames(knl, {"i": "for"}), "i, j")
    knl = pg.split_iname(knl, "i", 4, outer_iname="io", inner_iname="ii", inner_tag="unr")
    (insn,) = knl.instructions
    assert insn.within_inames == {"io", "ii", "j"}
    assert "i" not in insn.read_names
    assert knl.priorities == (("io", "ii", "j"),)
    assert knl.inames == ("io", "ii", "j")
    assert dict(knl.tags) == {"ii": UnrollTag()}


def test_names_and_tags() -> None:
    knl = pg.split_iname(KERNELS["line"], "i", 4, outer_tag=GroupTag(0), inner_iname="lane")
    assert knl.inames == ("i_outer", "lane")
    assert dict(knl.tags) == {"i_outer": GroupTag(0)}
    taken = kernel("{ [i,i_outer]: 0<=i,i_outer<n }", "out[i,i_outer] = a[i]")
    assert pg.split_iname(taken, "i", 4).inames == ("i_outer_0", "i_inner", "i_outer")


REFUSED: list[tuple[dict[str, object], type[pg.UserError], str]] = [
    ({"split_iname": "ii"}, UnknownIname, "no iname 'ii'\n.*did you mean 'i'"),
    ({"split_iname": 3}, InvalidArgument, "split_iname=3, which is not the name of an iname"),
    ({"inner_length": 0}, InvalidArgument, "inner_length=0, which is not a positive integer"),
    ({"inner_length": True}, InvalidArgument, "inner_length=True"),
    ({"inner_length": 4.0}, InvalidArgument, "inner_length=4.0"),
    ({"outer_iname": "n"}, NameTaken, "already has a 'n'\n.*'n_0' is free"),
    ({"inner_iname": "for"}, ReservedName, "'for' has a meaning"),
    ({"inner_iname": "x y"}, ReservedName, "'x y' is no identifier"),
    ({"outer_tag": "g.7"}, InvalidArgument, "'g.7' is no iname tag"),
    ({"outer_tg": "g.0"}, InvalidArgument, "no argument 'outer_tg'\n.*did you mean 'outer_tag'"),
    ({"outer_iname": "x", "inner_iname": "x"}, NameTaken, "'x'"),
    ({"outer_tag": "l.0", "inner_tag": "l.0"}, TagConflict, "both tagged l.0"),
]


@pytest.mark.parametrize(("arguments", "kind", "text"), REFUSED)
def test_refused(arguments: dict[str, object], kind: type[pg.UserError], text: str) -> None:
    given: dict[str, object] = {"split_iname": "i", "inner_length": 4} | arguments
    with pytest.raises(kind, match="(?s)" + text) as caught:
        pg.split_iname(KERNELS["line"], **given)  # type: ignore[arg-type]
    assert not isinstance(caught.value, MalformedTag)


@pytest.mark.parametrize("tag", ["g.0", "l.0", "unr"])
def test_a_tagged_iname_is_not_split(tag: str) -> None:
    knl = pg.tag_inames(KERNELS["line"], {"i": tag})
    with pytest.raises(
        TagConflict, match=rf"(?s)'i' cannot be split: it is tagged {tag}.*outer_tag="
    ):
        pg.split_iname(knl, "i", 4)


def test_arguments_are_missing_or_too_many() -> None:
    with pytest.raises(InvalidArgument, match="needs the argument 'inner_length'"):
        pg.split_iname(KERNELS["line"], "i")  # type: ignore[call-arg]
    with pytest.raises(InvalidArgument, match="takes 2 positional arguments, not 3"):
        pg.split_iname(KERNELS["line"], "i", 4, "io")  # type: ignore[call-arg]
    with pytest.raises(InvalidArgument, match="which is no kernel"):
        pg.split_iname("knl", "i", 4)  # type: ignore[type-var]


def test_numbers_that_no_counter_holds() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")
    for step in (pg.split_iname, pg.strip_mine_to_vector, pg.unroll_and_jam, pg.chunk_iname):
        with pytest.raises(InvalidArgument, match=rf"={2**70}, which is not a positive integer"):
            step(knl, "i", 2**70)
    with pytest.raises(InvalidArgument, match="which is not a dictionary from inames to positive"):
        pg.tile(knl, {"i": 2**70})
    with pytest.raises(InvalidArgument, match="which is no positive integer"):
        pg.find_schedule(knl, 2**70)
    (domain,) = pg.fix_parameters(knl, n=2**70).domains
    assert f"i < {2**70}" in domain.text or f"i <= {2**70 - 1}" in domain.text
