"""`duplicate_inames`: some instructions get loops of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    IllegalStep,
    InameNeeded,
    InameNotUsed,
    InvalidArgument,
    NameTaken,
    NotDistributable,
    NothingMatches,
    ReservedName,
    UnknownIname,
    UnknownInstruction,
    UnknownName,
)
from polygen.ir.domain import parse_domain
from polygen.ir.kernel import Kernel
from polygen.ir.tags import LocalTag
from tests.oracle.cases import SIZES, Step, agree, kernel, loops, lowered, steps
from tests.oracle.compare import make_arguments, typed
from tests.oracle.interpreter import interpret

LINE = "{ [i]: 0<=i<n }"
PAIR = kernel(LINE, "b[i] = 2*a[i]  {id=s}\nc[i] = b[i] + i  {id=u}")
TRIANGLE = kernel(
    "{ [i,j]: 0<=j<=i<n }", "b[i,j] = a[i]  {id=s}\nc[i,j] = b[i,j] + j  {id=u}\nd[i] = 0.0  {id=v}"
)
NESTED = kernel(
    ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }"],
    "b[i,j] = a[i]  {id=s}\nc[i,j] = b[i,j] + j  {id=u}",
)
SUMS = kernel(
    "{ [i,k]: 0<=i,k<n }",
    "b[i] = sum(k, a[i,k])  {id=s}\nc[i] = sum(k, a[k,i]) + i  {id=u}",
)


def own(inames: Any, within: Any, **options: Any) -> Step:
    """Return the step that gives instructions inames of their own."""
    return lambda knl: pg.duplicate_inames(knl, inames, within, **options)


# --- what becomes of names, domains, tags and priorities


def test_two_loops_instead_of_one() -> None:
    new = own("i", "id:u")(PAIR)
    assert new.inames == ("i", "i_0")
    assert [
        d.flat.is_equal(parse_domain(t).flat)
        for d, t in zip(
            new.domains, ("[n] -> { [i]: 0<=i<n }", "[n] -> { [i_0]: 0<=i_0<n }"), strict=True
        )
    ] == [True, True]
    assert [i.within_inames for i in new.instructions] == [{"i"}, {"i_0"}]
    assert (len(loops(lowered(PAIR))), len(loops(lowered(new)))) == (1, 2)
    assert pg.replay(PAIR, new.history) == new
    assert pg.parse_kernel(str(new)) == new


def test_the_inverse_is_fusion() -> None:
    new = own("i", "u")(PAIR)
    assert pg.rename_iname(new, "i_0", "i", existing_ok=True) == PAIR


@pytest.mark.parametrize("within", ["u", "id:u", "id: u", "u*", "?", ["id:u", "s"], ("u",)])
def test_instructions_by_id_or_pattern(within: Any) -> None:
    moved = {i.id for i in own("i", within)(PAIR).instructions if "i_0" in i.within_inames}
    assert moved == ({"s", "u"} if within == "?" or isinstance(within, list) else {"u"})


def test_names_and_tags() -> None:
    knl = pg.tag_inames(PAIR, {"i": "l.0"})
    assert own("i", "u", suffix="_late")(knl).inames == ("i", "i_late")
    new = own("i", "u", new_inames="row", tags={"i": "l.0"})(knl)
    assert dict(new.tags) == {"i": LocalTag(0), "row": LocalTag(0)}
    assert own("i,j", "u", new_inames=["p", "q"])(NESTED).inames == ("i", "p", "j", "q")


def test_part_of_a_domain() -> None:
    new = own("j", "u")(TRIANGLE)
    (domain,) = new.domains
    assert domain.flat.is_equal(
        parse_domain("[n] -> { [i,j,j_0]: 0<=i<n and 0<=j<=i and 0<=j_0<=i }").flat
    )
    assert new.instruction("u").within_inames == {"i", "j_0"}


def test_new_inames_have_the_priorities_of_the_old_ones() -> None:
    knl = pg.prioritize_loops(TRIANGLE, "j, i")
    assert own("i, j", "u")(knl).priorities == (("j", "i"), ("j_0", "i_0"))
    assert own("i", ["s", "u"])(knl).priorities == (("j", "i"), ("j", "i_0"))


# --- it computes the same

SAME: dict[str, tuple[Kernel, Step]] = {
    "a line": (PAIR, own("i", "u")),
    "the first": (PAIR, own("i", "s")),
    "both": (PAIR, own("i", ["s", "u"])),
    "the inner loop": (TRIANGLE, own("j", "u")),
    "both loops": (TRIANGLE, own("i, j", "u")),
    "the outer loop of one domain": (TRIANGLE, own("i", "v")),
    "bounds that mention it": (NESTED, own("i, j", "u")),
    "the inner loop of two domains": (NESTED, own("j", "s")),
    "one reduction": (SUMS, own("k", "u")),
    "both reductions": (SUMS, steps(own("k", "u"), own("k", "s"))),
    "the loop around a reduction, and its own": (SUMS, own("i, k", "u")),
    "an iname in a loop and a reduction": (
        kernel(LINE, "b[i] = a[i]  {id=s}\nc[0] = sum(i, a[i]) {id=u}"),
        own("i", "u"),
    ),
    "a recurrence stays in its loop": (
        kernel("{ [i]: 1<=i<n }", "a[i] = a[i-1] + 1  {id=s}\nb[i] = a[i-1]  {id=u}"),
        own("i", "u"),
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_it_computes_the_same(name: str) -> None:
    knl, step = SAME[name]
    agree(knl, SIZES, step)


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9])
def test_numpy_agrees(n: int) -> None:
    knl = steps(own("k", "u"), own("i", "u"))(SUMS)
    arguments = make_arguments(knl, {"n": n})
    outcome = interpret(typed(knl, arguments), arguments)
    a = arguments["a"]
    np.testing.assert_array_equal(outcome.arrays["b"], a.sum(axis=1))
    np.testing.assert_array_equal(outcome.arrays["c"], a.sum(axis=0) + np.arange(n))


# --- what is refused


def test_what_a_loop_passes_on_to_its_next_iteration() -> None:
    knl = kernel(
        "{ [i]: 1<=i<n }", "b[i] = a[i-1]  {id=s, dep=*}\na[i] = c[i] + b[i]  {id=u, dep=*s}"
    )
    with pytest.raises(IllegalStep, match=r"u\[.*writes the element of 'a' that s\["):
        own("i", "u")(knl)


CIRCLE = kernel(LINE, "b[i] = a[i]  {id=s}\nc[i] = b[i] + 1  {id=u}\nd[i] = b[i]*c[i]  {id=v}")

REFUSED: list[tuple[Kernel, Step, type[pg.UserError], str]] = [
    (PAIR, own("k", "u"), UnknownIname, "no iname 'k'"),
    (PAIR, own("i", "w"), UnknownInstruction, "no instruction 'w'"),
    (PAIR, own("i", ["u", "x*"]), NothingMatches, r"no instruction .* matches 'x\*'"),
    (PAIR, own("i", "tag:u"), UnknownName, "no instruction with the tag 'u'"),
    (PAIR, own("i", 3), InvalidArgument, "within=3, which is not ids of instructions"),
    (PAIR, own("i", "u", new_inames=3), InvalidArgument, "new_inames=3, which is not names"),
    (PAIR, own("i", "u", new_inames="n"), NameTaken, "already has a 'n'"),
    (PAIR, own("i", "u", new_inames="for"), ReservedName, "'for' has a meaning"),
    (PAIR, own("i", "u", new_inames="p, q"), InvalidArgument, "1 inames and 2 new ones"),
    (PAIR, own("i", "u", new_inames="p", suffix="x"), InvalidArgument, "both new_inames and suf"),
    (TRIANGLE, own("i, i", "u"), InvalidArgument, "i, i names an iname twice"),
    (TRIANGLE, own("i, j", "u", new_inames="p, p"), InvalidArgument, "p, p names an iname twice"),
    (TRIANGLE, own("i", "v", tags={"j": "l.0"}), InvalidArgument, "'j' has a tag, and is not dup"),
    (TRIANGLE, own("j", "v"), InameNotUsed, "none of these instructions is within 'j'"),
    (NESTED, own("i", "u"), InameNeeded,
     "'u' would be within 'j', but not within 'i', which the bounds of 'j' need.*duplicate 'j'"),
    (CIRCLE, own("i", "u"), NotDistributable, "cannot be distributed so: each of these instr"),
    (TRIANGLE, own("i", "u"), NotDistributable, "no loop nest has one loop an iname.*loops inside"),
]  # fmt: skip


@pytest.mark.parametrize(("knl", "step", "kind", "text"), REFUSED)
def test_refused(knl: Kernel, step: Step, kind: type[pg.UserError], text: str) -> None:
    with pytest.raises(kind, match="(?s)" + text) as caught:
        step(knl)
    assert caught.value.remedy
