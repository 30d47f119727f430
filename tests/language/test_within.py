"""Queries for instructions, as ``within=`` takes them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    InvalidArgument,
    MalformedQuery,
    NothingMatches,
    UnknownArgument,
    UnknownIname,
    UnknownInstruction,
    UnknownName,
)
from polygen.language.within import matching, one_id
from tests.public_steps import public_steps


def kernel() -> pg.Kernel:
    return pg.make_kernel(
        "{ [i, j]: 0<=i,j<n }",
        """
        f(x) := q[x]
        a[i] = 1            {id=load_a, tags=load:first}
        b[i] = f(i)         {id=load_b, tags=load}
        c[i, j] = a[i] + b[i] + sum(k, q[k])  {id=use, if=p[i] > 0}
        id[i] = c[i, 0]     {id=id, dep=use}
        ... nop             {id=end, tags=last, dep=id}
        """.replace("sum(k, q[k])", "q[j]"),
        loop_priority="i, j",
        silenced_warnings="AmbiguousNesting",
    )


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("load_a", ["load_a"]),
        ("load_*", ["load_a", "load_b"]),
        ("load_?", ["load_a", "load_b"]),
        ("id:load_* and not tag:first", ["load_b"]),
        ("reads:q", ["load_b", "use"]),
        ("reads:p", ["use"]),
        ("writes:a or writes:c", ["load_a", "use"]),
        ("writes : a", ["load_a"]),
        ("iname:j", ["use"]),
        ("not (iname:j or load_b)", ["load_a", "id", "end"]),
        ("not iname:j and reads:c", ["id"]),
        ("writes:a or reads:a and iname:j", ["load_a", "use"]),
        ("(writes:a or reads:a) and iname:j", ["use"]),
        ("not not id:id", ["id"]),
        ("tag:l*", ["load_a", "load_b", "end"]),
        (["load_a", "writes:c"], ["load_a", "use"]),
        ("*", ["load_a", "load_b", "use", "id", "end"]),
    ],
)
def test_queries(query: str | Sequence[str], ids: list[str]) -> None:
    assert [insn.id for insn in matching(kernel(), query)] == ids


@pytest.mark.parametrize(
    ("query", "error", "what", "column"),
    [
        ("loud_a", UnknownInstruction, "no instruction 'loud_a'", 0),
        ("use or id:loud_a", UnknownInstruction, "no instruction 'loud_a'", 10),
        ("tag:lod", UnknownName, "no instruction with the tag 'lod'", 4),
        ("reads:i", UnknownArgument, "no argument or temporary 'i'", 6),
        ("iname:a", UnknownIname, "no iname 'a'", 6),
        ("use and", MalformedQuery, "found the end where", 7),
        ("use load_a", MalformedQuery, "found 'load_a' where 'and', 'or' or the end", 4),
        ("read:a", MalformedQuery, "found ':'", 4),
        ("(use", MalformedQuery, "found the end where ')'", 4),
        ("use)", MalformedQuery, "found ')'", 3),
        ("", MalformedQuery, "found the end", 0),
        ("id:", MalformedQuery, "found the end where a name or a pattern", 3),
        ("use; load_a", MalformedQuery, "found ';'", 3),
    ],
)
def test_wrong_queries(query: str, error: type[pg.UserError], what: str, column: int) -> None:
    with pytest.raises(error) as caught:
        matching(kernel(), query)
    assert type(caught.value) is error
    assert what in caught.value.what
    assert str(caught.value.excerpt).splitlines()[-1] == " " * column + "^"


@pytest.mark.parametrize("query", ["writes:a and iname:j", "x*", "not *", "reads:id"])
def test_what_matches_nothing(query: str) -> None:
    with pytest.raises(NothingMatches, match="no instruction of kernel") as caught:
        matching(kernel(), query)
    assert "load_a, load_b, use, id, end" in str(caught.value.remedy)


def test_transformations_take_queries() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i]\nc[i] = b[i] + 1  {tags=later}")
    by_tag = pg.duplicate_inames(knl, "i", "tag:later")
    assert by_tag == pg.duplicate_inames(knl, "i", "writes:c and reads:b")
    assert by_tag.instructions[1].within_inames == {"i_0"}
    with pytest.raises(UnknownArgument, match="no argument or temporary 'd'"):
        pg.duplicate_inames(knl, "i", "reads:d")
    with pytest.raises(InvalidArgument, match="which is not"):
        pg.duplicate_inames(knl, "i", 3)  # type: ignore[arg-type]


# --- split_iname and rename_iname of some instructions

SIZES = (0, 1, 7, 16, 17)
PAIR = "b[i] = 2*a[i]  {id=first}\nc[i] = b[i] + 1  {id=second}"


def pair() -> pg.Kernel:
    return pg.make_kernel("{ [i]: 0<=i<n }", PAIR, name="pair")


def check(knl: pg.Kernel) -> None:
    for n in SIZES:
        a = np.arange(n) + 0.5
        _, (b, c) = knl(a=a)
        np.testing.assert_array_equal(b, 2 * a)
        np.testing.assert_array_equal(c, 2 * a + 1)


def test_split_some() -> None:
    knl = pg.split_iname(pair(), "i", 4, within="writes:c", inner_tag="unr")
    assert [sorted(i.within_inames) for i in knl.instructions] == [["i"], ["i_inner", "i_outer"]]
    assert str(knl.tags["i_inner"]) == "unr"
    assert pg.replay(knl.original or knl, knl.history) == knl
    check(pg.prioritize_loops(knl, "i_outer, i_inner"))


def test_split_all_that_there_are() -> None:
    assert pg.split_iname(pair(), "i", 4, within="*") == pg.split_iname(pair(), "i", 4)


def test_rename_some() -> None:
    knl = pg.rename_iname(pair(), "i", "row", within="second")
    assert knl == pg.duplicate_inames(pair(), "i", "second", "row")
    check(knl)
    again = pg.rename_iname(knl, "row", "i", existing_ok=True, within="second")
    assert again == pair()


def test_rename_some_onto_another_loop() -> None:
    knl = pg.make_kernel(
        "{ [i, j]: 0<=i,j<n }", "b[i] = 2*a[i]\nd[i] = 3\nc[j] = b[j] + 1", name="three"
    )
    knl = pg.tag_inames(pg.add_dtypes(knl, {"a": "float32"}), {"i": "unr"})
    knl = pg.tag_inames(knl, {"j": "unr"})
    moved = pg.rename_iname(knl, "i", "j", existing_ok=True, within="writes:d")
    assert [sorted(i.within_inames) for i in moved.instructions] == [["i"], ["j"], ["j"]]


def test_what_cannot_be_alone() -> None:
    with pytest.raises(pg.errors.InameNotUsed):
        pg.split_iname(
            pg.make_kernel("{ [i, j]: 0<=i,j<n }", "a[i] = 1\nb[j] = 1"), "i", 4, within="writes:b"
        )
    knl = pg.make_kernel("{ [i]: 1<=i<n }", "a[i] = b[i-1] {id=a, dep=*}\nb[i] = a[i]")
    with pytest.raises(pg.errors.IllegalStep):
        pg.split_iname(knl, "i", 4, within="a")
    with pytest.raises(pg.errors.IllegalStep):
        pg.rename_iname(knl, "i", "row", within="a")


def test_one_instruction() -> None:
    knl = kernel()
    for form in ("use", "id:use", "id: use", "writes:c", "us*"):
        assert one_id(knl, form) == "use"
    assert one_id(knl, "id") == "id"
    with pytest.raises(InvalidArgument, match="'load_\\*' means 2 instructions of kernel"):
        one_id(knl, "load_*")
    with pytest.raises(UnknownInstruction, match="no instruction 'uze'"):
        one_id(knl, "id:uze")
    with pytest.raises(NothingMatches):
        one_id(knl, "not iname:i and writes:c")


def test_every_step_takes_ids_in_both_forms() -> None:
    found = 0
    for name in public_steps():
        step = getattr(pg, name)
        for parameter in re.findall(
            r"^ +(\w+): the id of (?!the new|the barrier)", step.__doc__, re.M
        ):
            found += 1
            annotation = inspect.signature(step).parameters[parameter].annotation
            assert annotation == "InsnId", (name, parameter)
    assert found >= 8


def _sums() -> pg.Kernel:
    return pg.add_dtypes(
        pg.make_kernel(
            "{ [i, j, k, r]: 0<=i,k<n and 0<=j,r<100 }",
            """
            s[i] = sum(j, a[i, j])             {id=s}
            b[k] = s[k]*s[k]                   {id=b}
            v[i], p[i] = argmax(r, a[i, r], r)  {id=p}
            """,
            [pg.GlobalArg("a", shape="n, 100"), "..."],
        ),
        {"a": "int16"},
    )


def _online() -> pg.Kernel:
    text = "<> most = max(j, x[i,j]) {id=most}\ns[i] = sum(k, exp(x[i,k] - most)) {id=s}"
    knl = pg.make_kernel("{ [i, j, k]: 0<=i<n and 0<=j,k<m }", text, assumptions="m >= 1")
    return pg.add_dtypes(knl, {"x": "float32"})


def _scatter() -> pg.Kernel:
    text = "a[lower[i]] = b[i]  {id=low}\na[upper[i]] = c[i]  {id=high, dep=low}"
    return pg.make_kernel("{ [i]: 0<=i<n }", text, [pg.GlobalArg("a", shape="m"), "..."])


_STEPS: list[
    tuple[Callable[[], pg.Kernel], Callable[[pg.Kernel, Callable[[str], str]], object]]
] = [
    (_sums, lambda k, of: pg.coalesce_reduction(k, of("s"))),
    (_sums, lambda k, of: pg.propagate_reduction(k, of("s"))),
    (_sums, lambda k, of: pg.fuse_epilogue(k, of("s"), of("b"))),
    (_sums, lambda k, of: pg.narrow_sum(k, of("s"))),
    (_sums, lambda k, of: pg.split_argmax(k, of("p"))),
    (_sums, lambda k, of: pg.replace_instruction_ids(k, {of("s"): "t", of("b"): "s"})),
    (_sums, lambda k, of: pg.explain_order(k, of("s"), of("b"))),
    (_online, lambda k, of: pg.reduce_online(k, of("most"), of("s"))),
    (_scatter, lambda k, of: pg.assume_independent(k, of("low"), of("high"))),
]


@pytest.mark.parametrize(("make", "step"), _STEPS)
def test_ids_in_both_forms(
    make: Callable[[], pg.Kernel], step: Callable[[pg.Kernel, Callable[[str], str]], object]
) -> None:
    assert step(make(), lambda name: f"id:{name}") == step(make(), lambda name: name)


def test_one_instruction_has_one_new_id() -> None:
    with pytest.raises(InvalidArgument, match="a dictionary from ids to new ids"):
        pg.replace_instruction_ids(_sums(), {"s": "t", "id:s": "u"})
