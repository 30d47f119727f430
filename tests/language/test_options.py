"""Options of instructions: what each says, and how it is printed and read."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    InameNeeded,
    InameNotUsed,
    MalformedInstruction,
    MalformedKernel,
    NameTaken,
    ReservedName,
    UnknownIname,
    UnknownInstruction,
)
from tests.oracle.interpreter import interpret

SQUARE = "{ [i, j]: 0<=i,j<n }"
TRIANGLE = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }"]


def test_all_options_are_kept_printed_and_read() -> None:
    knl = pg.make_kernel(
        SQUARE,
        """
        a[i] = 1  {id=first, groups=g:h}
        ... nop  {id=point, tags=x, conflicts=h}
        b[i] = 2  {id=second, tags=t:s, conflicts=g, priority=7, nosync=first@global:f*@local}
        """,
    )
    first, point, second = knl.instructions
    assert first.groups == {"g", "h"}
    assert point.tags == {"x"}
    assert second.tags == {"t", "s"}
    assert second.conflicts_with_groups == {"g"}
    assert second.priority == 7
    assert second.no_sync_with == {("first", "global"), ("first", "local")}
    assert pg.parse_kernel(str(knl)) == knl
    assert pickle.loads(pickle.dumps(knl)) == knl  # noqa: S301  (our own)
    others: tuple[dict[str, Any], ...] = (
        {"tags": frozenset("t")},
        {"groups": frozenset("g")},
        {"conflicts_with_groups": frozenset()},
        {"priority": 6},
        {"no_sync_with": frozenset()},
    )
    for changes in others:
        assert second.copy(**changes) != second


def test_tags_with_dots() -> None:
    knl = pg.make_kernel(SQUARE, "a[i] = 1  {tags=load.first:load.second, id=x}\nb[i] = 2")
    assert knl.instruction("x").tags == {"load.first", "load.second"}
    assert pg.parse_kernel(str(knl)) == knl
    assert [i.id for i in pg.find_instructions(knl, "tag:load.f*")] == ["x"]


def test_an_instruction_goes_in_as_it_came_out() -> None:
    knl = pg.make_kernel(
        SQUARE, "a[i] = 1  {id=x, tags=t, groups=g}\nb[i] = 1 {nosync=x, priority=1, conflicts=g}"
    )
    assert pg.make_kernel(SQUARE, knl.instructions).instructions == knl.instructions


def test_transformations_keep_options() -> None:
    text = "a[i, j] = 1  {tags=t, groups=g, priority=3}"
    knl = pg.make_kernel(SQUARE, text, silenced_warnings="UnusedGroup")
    knl = pg.split_iname(knl, "i", 4)
    knl = pg.duplicate_inames(knl, "j", "insn")
    (insn,) = knl.instructions
    assert [*insn.tags, *insn.groups, insn.priority] == ["t", "g", 3]


def test_new_ids_begin_as_is_said() -> None:
    text = "a[i] = 1 {id_prefix=q}\nb[i] = 1 {id_prefix=q}\nc[i] = 1 {id=q_0}\nd[i] = 1"
    knl = pg.make_kernel(SQUARE, text)
    assert [i.id for i in knl.instructions] == ["q", "q_1", "q_0", "insn"]


@pytest.mark.parametrize("option", ["+inames=j", "inames=+j"])
def test_more_inames(option: str) -> None:
    knl = pg.make_kernel(SQUARE, f"<> t = a[i]\nout[i] = t {{{option}}}\nb[i] = t")
    assert [sorted(i.within_inames) for i in knl.instructions] == [["i"], ["i", "j"], ["i"]]


def test_priority_decides_what_comes_first() -> None:
    text = "a[i] = 1  {id=low}\nb[i] = 2  {id=high, priority=1}\nc[i] = 3  {id=lower, priority=-1}"
    knl = pg.make_kernel("{ [i]: 0<=i<n }", text)
    knl = pg.add_dtypes(knl, dict.fromkeys("abc", "int32"))
    code = str(pg.generate_code(knl, "c"))
    assert code.index("b[i]") < code.index("a[i]") < code.index("c[i]")
    apart = pg.make_kernel(SQUARE, "a[i] = 1\nb[j] = 2  {priority=3}\nc[0] = a[0] {priority=9}")
    apart = pg.add_dtypes(apart, dict.fromkeys("abc", "int32"))
    code = str(pg.generate_code(apart, "c"))  # a priority never goes before a dependency
    assert code.index("b[j]") < code.index("a[i]") < code.index("c[0]")


# --- dep_query=, nosync_query=


def heat(options: str) -> pg.Kernel:
    return pg.make_kernel(
        ["{ [t]: 0<=t<steps }", "{ [i, k]: 0<=i,k<n }"],
        f"""
        mean[0] = 0  {{id=start, inames=t, tags=first}}
        mean[0] = mean[0] + u[i]/n  {{id=add, inames=t:i, dep=*, dep_query=tag:first}}
        u[k] = (u[k] + mean[0])/2  {{id=relax, inames=t:k, {options}}}
        """,
        [pg.GlobalArg("u", np.float64, "n"), pg.GlobalArg("mean", np.float64, "1"), "..."],
        name="heat",
    )


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("writes:mean", ["add", "start"]),
        ("writes:mean and not (id:start)", ["add"]),
        ("writes:mean and iname:i", ["add"]),
        ("a?d or tag:fir*", ["add", "start"]),
        ("reads:u", ["add"]),  # and not itself
        ("not id:start", ["add"]),
        ("*", ["add", "start"]),
    ],
)
def test_dependencies_by_query(query: str, ids: list[str]) -> None:
    knl = heat(f"dep_query={query}")
    assert sorted(knl.instruction("relax").depends_on) == ids
    assert knl.instruction("add").depends_on == {"start"}
    written = heat(f"dep={':'.join(ids)}")
    assert knl == written
    assert pg.parse_kernel(str(knl)) == knl


@pytest.mark.parametrize("n", [1, 7, 17])
@pytest.mark.parametrize("target", ["c", "opencl"])
def test_the_code_follows_queries(n: int, target: str) -> None:
    knl = heat("dep_query=writes:mean").copy(target=target)
    u = np.random.default_rng(n).standard_normal(n)
    expected = u.copy()
    given: dict[str, Any] = {"u": u.copy(), "mean": np.zeros(1), "steps": 3}
    interpreted = interpret(knl, {**given, "n": n}).arrays["u"]
    knl(**given)
    for _ in range(3):
        expected = (expected + expected.mean()) / 2
    np.testing.assert_allclose(given["u"], expected, rtol=1e-12)
    np.testing.assert_allclose(interpreted, expected, rtol=1e-12)


def test_a_block_asks_for_all_inside_of_it() -> None:
    text = """
        with {dep_query=tag:setup, nosync_query=tag:setup@global}
            b[i] = 2  {id=b}
            c[i] = 3  {id=c, dep_query=id:b}
        end
        a[i] = 1  {id=a, tags=setup}
        """
    knl = pg.make_kernel(SQUARE, text)
    assert [sorted(i.depends_on) for i in knl.instructions] == [["a"], ["a", "b"], []]
    assert knl.instruction("b").no_sync_with == {("a", "global")}
    assert pg.parse_kernel(str(knl)) == knl


def test_nosync_by_query() -> None:
    text = "a[i] = 1 {id=x}\nb[i] = 1 {id=y}\nc[i] = 1 {id=z, nosync_query=writes:b or id:x%s}"
    for scope, found in (("", "any"), ("@local", "local"), (" @global", "global")):
        insn = pg.make_kernel(SQUARE, text % scope).instruction("z")
        assert insn.no_sync_with == {("x", found), ("y", found)}
        assert insn.depends_on == frozenset()


def test_queries_pass_no_inames_on() -> None:
    text = "a[i] = 1  {id=a}\nb[j] = 1  {id=b, dep_query=iname:i}"
    assert pg.make_kernel(SQUARE, text).instruction("b").within_inames == {"j"}


# --- dup=


@pytest.mark.parametrize("n", [0, 1, 7, 16, 17])
def test_loops_of_its_own(n: int) -> None:
    knl = pg.make_kernel(
        SQUARE,
        """
        row[i] = sum(j, a[i, j])
        out[i, j] = a[i, j] - row[j]  {dup=i:j->col}
        """,
        name="center",
        loop_priority="i_0, col",
    )
    assert knl.instructions[1].within_inames == {"i_0", "col"}
    a = np.random.default_rng(n).standard_normal((n, n))
    _, (out, row) = knl(a=a)
    np.testing.assert_allclose(row, a.sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(out, a - a.sum(axis=1), atol=1e-12)
    given = {"a": a, "row": np.zeros(n), "out": np.zeros((n, n)), "n": n}
    np.testing.assert_allclose(interpret(knl, given).arrays["out"], out, atol=1e-12)


def test_dup_is_duplicate_inames() -> None:
    text = "b[i] = 2*a[i]\nc[i] = b[i]  {id=last}"
    written = pg.make_kernel("{ [i]: 0<=i<n }", text.replace("{id=last}", "{id=last, dup=i}"))
    assert written == pg.duplicate_inames(pg.make_kernel("{ [i]: 0<=i<n }", text), "i", "last")


def test_a_reduction_gets_an_iname_of_its_own() -> None:
    text = "b[i] = sum(j, a[i, j])\nc[i] = sum(j, a[j, i])  {dup=j}"
    knl = pg.make_kernel(SQUARE, text)
    assert [sorted(i.reduction_inames) for i in knl.instructions] == [["j"], ["j_0"]]


def test_instructions_that_no_nest_holds() -> None:
    knl = pg.make_kernel(
        "{ [i, j, k]: 0<=i,j,k<5 }",
        "a[i, j] = 1\nb[j, k] = 2\nc[k, i] = 3  {dup=k:i}",
    )
    assert pg.has_schedulable_iname_nesting(knl)


@pytest.mark.parametrize(
    ("domains", "text", "kind", "what"),
    [
        (SQUARE, "a[i] = 1 {dup=j}", InameNotUsed, "does not mention it"),
        (SQUARE, "a[i] = 1 {dup=k}", UnknownIname, "no domain has an iname 'k'"),
        (SQUARE, "a[i] = 1 {dup=i->j}", NameTaken, "'j' is used already"),
        (SQUARE, "a[i] = 1 {dup=i->int}", ReservedName, "'int' has a meaning"),
        (SQUARE, "a[i] = 1 {inames=+k}", UnknownIname, "no domain has an iname 'k'"),
        (SQUARE, "for k\na[i] = 1\nend", UnknownIname, "no domain has an iname 'k'"),
        (
            TRIANGLE,
            "a[i, j] = 1 {dup=i}",
            InameNeeded,
            "still",
        ),
        (SQUARE, "a[i] = 1 {nosync=b}", UnknownInstruction, "need not wait for 'b'"),
        (SQUARE, "a[i] = 1 {groups=g, conflicts=g}", MalformedKernel, "conflicts with it"),
        (SQUARE, "a[i] = 1 {tags=1}", MalformedInstruction, "found '1'"),
        (SQUARE, "a[i] = 1 {tags=x.}", MalformedInstruction, "found '.'"),
    ],
)
def test_refusals(domains: object, text: str, kind: type[Exception], what: str) -> None:
    with pytest.raises(kind) as caught:
        pg.make_kernel(domains, text)
    assert what in str(caught.value)
