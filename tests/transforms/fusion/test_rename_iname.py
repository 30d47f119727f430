"""`rename_iname` onto an existing iname: two loops become one."""

from __future__ import annotations

from typing import Any

import islpy as isl
import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    DomainsDiffer,
    IllegalStep,
    InvalidArgument,
    LoopsOfOneInstruction,
    NameTaken,
    NotFusible,
    ReservedName,
    TagConflict,
    UnknownIname,
)
from polygen.ir.domain import parse_domain
from polygen.ir.kernel import Kernel
from polygen.ir.tags import GroupTag
from tests.oracle.cases import SIZES, Step, agree, kernel, loops, lowered, split, steps
from tests.oracle.compare import make_arguments, typed
from tests.oracle.interpreter import interpret
from tests.transforms.refusals import refused

LINE = "{ [i,j]: 0<=i,j<n }"


def fuse(old: str, new: str) -> Step:
    """Return the step that fuses a loop with another."""
    return lambda knl: pg.rename_iname(knl, old, new, existing_ok=True)


def chain(second: str, domains: Any = LINE, first: str = "b[i] = 2*a[i]") -> Kernel:
    """Return two loops of which the second depends on the first."""
    return kernel(domains, f"{first}  {{id=s, dep=*}}\n{second}  {{id=u, dep=*s}}")


# --- what it does


def test_two_loops_become_one() -> None:
    old = pg.prioritize_loops(chain("c[j] = b[j] + j"), "j")
    new = fuse("j", "i")(old)
    assert [d.text for d in new.domains] == [old.domains[0].text]
    assert [i.within_inames for i in new.instructions] == [{"i"}, {"i"}]
    assert new.priorities == (("i",),)
    assert len(loops(lowered(old))) == 2
    assert len(loops(lowered(new))) == 1
    assert pg.replay(new.original or new, new.history) == new


def test_either_name_may_stay() -> None:
    old = chain("c[j] = b[j]")
    other = fuse("i", "j")(old)
    assert other.inames == ("j",)
    assert pg.rename_iname(other, "j", "i") == fuse("j", "i")(old)


def test_with_itself_nothing_happens() -> None:
    old = chain("c[j] = b[j]")
    assert fuse("i", "i")(old) is old


FUSIBLE: dict[str, tuple[Kernel, Step]] = {
    "a chain": (chain("c[j] = b[j] + j"), fuse("j", "i")),
    "read behind": (
        chain("c[j] = b[j-1]", "{ [i,j]: 1<=i,j<n }"),
        fuse("j", "i"),
    ),
    "own inner loops": (
        kernel(
            ["{ [i,k]: 0<=k<=i<n }", "{ [j,l]: 0<=l<j+1 and 0<=j<n }"],
            "b[i,k] = a[i]*k  {id=s}\nc[j,l] = b[j,l] + l  {id=u}",
        ),
        fuse("j", "i"),
    ),
    "fused twice": (
        kernel(
            ["{ [i,k]: 0<=k<=i<n }", "{ [j,l]: 0<=l<=j<n }"],
            "b[i,k] = a[i]*k  {id=s}\nc[j,l] = b[j,l] + l  {id=u}",
        ),
        steps(fuse("j", "i"), fuse("l", "k")),
    ),
    "bounds that mention it": (
        kernel(
            ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }", "{ [k]: 0<=k<=j }"],
            "b[i] = a[i]  {id=s}\nc[j,k] = b[j] + k  {id=u}",
        ),
        fuse("j", "i"),
    ),
    "one domain": (
        kernel(
            "{ [i,j,k]: 0<=i,j<n and 0<=k<=i+j and k<=n }",
            "b[i] = a[i]  {id=s}\nc[j] = b[j]  {id=u}",
        ),
        fuse("j", "i"),
    ),
    "two reductions": (
        kernel(
            ["{ [k]: 0<=k<n }", "{ [i,j]: 0<=i,j<n }"],
            "b[k] = sum(i, a[i,k])*sum(j, c[j]) + k",
        ),
        fuse("j", "i"),
    ),
    "a reduction": (chain("c[0] = sum(j, b[j])"), fuse("j", "i")),
    "a loop with a reduction's": (chain("c[0] = sum(j, b[j]*j)"), fuse("i", "j")),
    "no order between them": (
        kernel(LINE, "b[i] = a[i]  {id=s}\nc[j] = a[j]  {id=u}"),
        fuse("i", "j"),
    ),
    "split, part by part": (
        chain("c[j] = b[j]"),
        steps(split("i", 4), split("j", 4), fuse("j_outer", "i_outer"), fuse("j_inner", "i_inner")),
    ),
}


@pytest.mark.parametrize("name", FUSIBLE)
def test_it_computes_the_same(name: str) -> None:
    knl, step = FUSIBLE[name]
    agree(knl, SIZES, step)


@pytest.mark.parametrize("n", [0, 1, 5, 7, 8])
def test_numpy_agrees(n: int) -> None:
    knl = fuse("j", "i")(chain("c[j] = b[j-1] + j", "{ [i,j]: 1<=i,j<n }"))
    arguments = make_arguments(knl, {"n": n})
    outcome = interpret(typed(knl, arguments), arguments)
    b, c = (arguments[name].copy() for name in "bc")
    b[1:] = 2 * arguments["a"][1:]
    c[1:] = b[: max(0, n - 1)] + np.arange(1, n)
    np.testing.assert_array_equal(outcome.arrays["b"], b)
    np.testing.assert_array_equal(outcome.arrays["c"], c)


def test_values_that_are_the_same_as_far_as_is_known() -> None:
    knl = chain("c[j] = b[j]", ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<m }"])
    with pytest.raises(DomainsDiffer, match="for n=0, m=1, j=0 is there, i=0 is not"):
        fuse("j", "i")(knl)
    assert fuse("j", "i")(pg.assume(knl, "n = m")).inames == ("i",)


# --- what is refused


def test_a_reduction_that_reads_ahead_is_refused() -> None:
    with pytest.raises(IllegalStep, match=r"u\[i=\d\] reads from 'b' what s\[i=\d\] wrote"):
        fuse("j", "i")(chain("c[0] = sum(j, b[j+1])"))


def test_a_read_ahead_is_refused_with_a_witness() -> None:
    with pytest.raises(IllegalStep) as caught:
        fuse("j", "i")(chain("c[j] = b[j+1]"))
    assert "s[i=1] writes the element of 'b' that u[i=0] reads" in caught.value.what


REFUSED: list[tuple[Kernel, tuple[str, str], type[pg.UserError], str]] = [
    (
        chain("c[0] = sum(j, a[j])*b[0]", first="b[0] = sum(i, a[i])"),
        ("j", "i"),
        NotFusible,
        "then a reduction would have to run in a loop, and before or after it",
    ),
    (
        chain("c[j] = b[j]", "{ [i,j]: 0<=i<n and 0<=j<n-1 }"),
        ("j", "i"),
        DomainsDiffer,
        "'j' cannot be fused with 'i'.* for n=1, i=0 is there, j=0 is not.*map_domain",
    ),
    (
        kernel(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }"], "b[i] = 0.0"),
        ("j", "i"),
        DomainsDiffer,
        "the bounds of one need the other",
    ),
    (kernel(LINE, "b[i,j] = a[i]"), ("j", "i"), LoopsOfOneInstruction, "'insn' is executed for"),
    (
        kernel(LINE, "b[i] = sum(j, a[i,j])"),
        ("j", "i"),
        LoopsOfOneInstruction,
        "each pair of their values.*different instructions",
    ),
    (
        kernel(LINE, "b[0] = sum(i, sum(j, a[i,j]))"),
        ("j", "i"),
        LoopsOfOneInstruction,
        "each pair",
    ),
    (
        pg.tag_inames(chain("c[j] = b[j]"), {"i": "g.0"}),
        ("j", "i"),
        TagConflict,
        "they are tagged for and g.0.*then tag",
    ),
    (
        kernel(
            ["{ [i,j,l]: 0<=i,j,l<n }"],
            "b[i] = a[i]  {id=s}\nt = sum(l, b[l])  {id=t}\nc[j] = t*b[j]  {id=u}",
            pg.TemporaryVariable("t", "float64"),
            "...",
        ),
        ("j", "i"),
        NotFusible,
        "then each of these instructions must come after another.*in between",
    ),
    (
        kernel("{ [i,j,k]: 0<=i,j,k<n }", "b[i,k] = 0.0\nc[k] = 0.0\nd[j] = 0.0"),
        ("j", "i"),
        NotFusible,
        "then no loop nest has one loop an iname",
    ),
    (
        pg.prioritize_loops(
            pg.prioritize_loops(
                kernel("{ [i,j,k]: 0<=i,j,k<n }", "b[i,k] = 0.0\nc[j,k] = 0.0"), "i, k"
            ),
            "k, j",
        ),
        ("j", "i"),
        NotFusible,
        "priorities would put loops in a circle: [ik], [ik], [ik]",
    ),
]


@pytest.mark.parametrize(("knl", "inames", "kind", "text"), REFUSED)
def test_refused(knl: Kernel, inames: tuple[str, str], kind: type[pg.UserError], text: str) -> None:
    with pytest.raises(kind, match="(?s)" + text) as caught:
        fuse(*inames)(knl)
    assert caught.value.remedy


def test_refused_arguments() -> None:
    knl = chain("c[j] = b[j]")
    with pytest.raises(NameTaken, match="already has a 'i'"):
        pg.rename_iname(knl, "j", "i")
    with pytest.raises(NameTaken, match="already has a 'b'"):
        fuse("j", "b")(knl)
    with pytest.raises(UnknownIname, match="no iname 'k'"):
        fuse("k", "i")(knl)
    with pytest.raises(InvalidArgument, match="existing_ok=1"):
        pg.rename_iname(knl, "j", "i", 1)  # type: ignore[arg-type]
    assert pg.rename_iname(knl, "j", "row", existing_ok=True).inames == ("i", "row")


ROW = kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")


def _renamed(text: str, old: str, new: str) -> isl.Set:
    domain = parse_domain(text).set
    for kind in (isl.dim_type.set, isl.dim_type.param):
        position = domain.find_dim_by_name(kind, old)
        if position >= 0:
            domain = domain.set_dim_name(kind, position, new)
    return domain


def test_domains_are_the_same_but_for_the_name() -> None:
    old = kernel(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }"], "out[i,j] = a[i]*i  {if=a[j] > i}")
    old = pg.prioritize_loops(pg.tag_inames(old, {"i": "g.0"}), "i, j")
    new = pg.rename_iname(old, "i", "row")
    assert new.inames == ("row", "j")
    for before, after in zip(old.domains, new.domains, strict=True):
        assert after.set.is_equal(_renamed(before.text, "i", "row"))
    (insn,) = new.instructions
    assert insn.within_inames == {"row", "j"}
    assert "i" not in insn.read_names
    assert dict(new.tags) == {"row": GroupTag(0)}
    assert new.priorities == (("row", "j"),)
    assert pg.rename_iname(new, "row", "i") == old


def test_renamed_it_computes_the_same() -> None:
    knl = kernel("{ [i,j,k]: 0<=i<n and 0<=k<=i and 0<=j<k }", "out[i] = sum(k, sum(j, a[j]*k)*i)")
    one_by_one = [lambda k, x=x: pg.rename_iname(k, x, "renamed") for x in "ijk"]
    agree(knl, SIZES[:4], *one_by_one)


def test_refused_names() -> None:
    refused(UnknownIname, "no iname 'ii'.*did you mean 'i'", pg.rename_iname, ROW, "ii", "row")
    for taken in "i", "n", "a", "out", "insn":
        refused(
            NameTaken,
            f"already has a '{taken}'.*'{taken}_0' is free",
            pg.rename_iname,
            ROW,
            "i",
            taken,
        )
    refused(ReservedName, "'float' has a meaning", pg.rename_iname, ROW, "i", "float")
    refused(InvalidArgument, "new_iname=7", pg.rename_iname, ROW, "i", 7)
