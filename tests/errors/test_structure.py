"""Programs that must be rejected: blocks, options, order, nests, axes, domains, names, queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import polygen as pg
from polygen import errors as e


class Program(NamedTuple):
    """What is written, and how it is refused.

    Attributes:
        domains, instructions: as `make_kernel` takes them.
        error: the class, exactly.
        why: a part of the reason.
        marked: the line that the error marks, from its beginning; or the end of the line above the
            caret, from the caret on.
        options: what else `make_kernel` is given.
    """

    domains: Any
    instructions: Any
    error: type[pg.UserError]
    why: str
    marked: str
    options: dict[str, Any] = {}  # noqa: RUF012  (never changed)


LINE = "{ [i]: 0<=i<n }"
SQUARE = "{ [i, j]: 0<=i,j<n }"
CUBE = "{ [i, j, k]: 0<=i,j,k<n }"

BLOCKS = [
    Program(
        LINE,
        "if i > 2\na[i] = 1",
        e.MalformedInstruction,
        "line 1: this block is never closed",
        "if i > 2",
    ),
    Program(
        LINE,
        "for i\nwith {tags=t}\na[i] = 1\nend",
        e.MalformedInstruction,
        "line 1: this block is never closed",
        "for i",
    ),
    Program(
        LINE,
        "for i\nif i > 2\nfor q\na[i] = 1\nend\nend\nend",
        e.UnknownIname,
        "line 3: no domain has an iname 'q'",
        "q",
    ),
    Program(LINE, "for i, k\nend", e.UnknownIname, "line 1: no domain has an iname 'k'", "k"),
    Program(LINE, "a[i] = 1\nend", e.MalformedInstruction, "line 2: 'end' without a block", "end"),
    Program(
        LINE,
        "else\na[i] = 1\nend",
        e.MalformedInstruction,
        "line 1: 'else' without a block",
        "else",
    ),
    Program(
        LINE,
        "if i\na[i] = 1\nend\nelif n\nb[i] = 1\nend",
        e.MalformedInstruction,
        "line 4: 'elif' without a block",
        "elif n",
    ),
    Program(
        LINE,
        "if i\na[i]=1\nelse\nb[i]=1\nelif n\nc[i]=1\nend",
        e.MalformedInstruction,
        "'elif' after 'else' of the 'if' in line 1",
        "elif n",
    ),
    Program(
        LINE,
        "if i\na[i]=1\nelse\nb[i]=1\nelse\nc[i]=1\nend",
        e.MalformedInstruction,
        "'else' after 'else'",
        "else",
    ),
    Program(
        LINE,
        "with {tags=t}\na[i]=1\nelse\nb[i]=1\nend",
        e.MalformedInstruction,
        "'else' in a block that is no 'if': line 1 opened it",
        "else",
    ),
    Program(LINE, "if i > 2:\na[i] = 1\nend", e.MalformedInstruction, "found ':' where", ":"),
    Program(LINE, "if i = 2\na[i] = 1\nend", e.MalformedInstruction, "found '=' where", "= 2"),
    Program(
        LINE,
        "if i\na[i]=1\nelse if n\nb[i]=1\nend",
        e.MalformedInstruction,
        "found 'if' where the end was expected",
        "if n",
    ),
    Program(LINE, "for i in n\na[i] = 1\nend", e.MalformedInstruction, "found 'in' where", "in n"),
    Program(
        LINE,
        "for\na[i] = 1\nend",
        e.MalformedInstruction,
        "found the end where a name was expected",
        "",
    ),
    Program(
        LINE, "for i, i\na[i] = 1\nend", e.MalformedInstruction, "names an iname twice", "i, i"
    ),
    Program(LINE, "for k\na[i] = 1\nend", e.UnknownIname, "no domain has an iname 'k'", ""),
    Program(
        LINE,
        "with {id=x}\na[i] = 1\nend",
        e.MalformedInstruction,
        "cannot give one id to all",
        "with",
    ),
    Program(
        LINE,
        "with {color=red}\na[i] = 1\nend",
        e.MalformedInstruction,
        "found 'color' where",
        "color=red}",
    ),
    Program(
        LINE,
        "with {dep=b}\na[i] = 1\nend",
        e.UnknownInstruction,
        "depends on 'b', but no instruction",
        "",
    ),
    Program(
        LINE,
        "if a[i] < 0\na[i] = 0\nb[i] = 1\nend",
        e.ConditionChanges,
        "condition 'a[i] < 0' of a block is asked here",
        "b[i] = 1",
    ),
    Program(
        LINE,
        "if q > 1\na[i] = 1\nelse q\nb[i] = 1\nend",
        e.MalformedInstruction,
        "found 'q' where the end",
        "q",
    ),
]

OPTIONS = [
    Program(LINE, "a[i] = 1 {id=x, id=y}", e.MalformedInstruction, "two options id=", "y}"),
    Program(LINE, "a[i] = 1 {idd=x}", e.MalformedInstruction, "found 'idd'", "idd=x}"),
    Program(LINE, "a[i] = 1 {id=x, id_prefix=y}", e.MalformedInstruction, "not both", "a[i]"),
    Program(LINE, "a[i] = 1 {id=1x}", e.MalformedInstruction, "found '1x'", "1x}"),
    Program(LINE, "a[i] = 1 {tags=a b}", e.MalformedInstruction, "found 'b'", "b}"),
    Program(LINE, "a[i] = 1 {priority=high}", e.MalformedInstruction, "found 'high'", "high}"),
    Program(LINE, "a[i] = 1 {priority=1.5}", e.MalformedInstruction, "found '.'", ".5}"),
    Program(
        LINE,
        "a[i] = 1 {nosync=b@warp}",
        e.MalformedInstruction,
        "nosync=b@warp names no scope",
        "b@warp}",
    ),
    Program(LINE, "a[i] = 1 {nosync=b}", e.UnknownInstruction, "need not wait for 'b'", "b}"),
    Program(
        LINE,
        "a[i] = 1 {id=x}\nb[i] = 1 {id=x}",
        e.NameTaken,
        "two instructions have the id 'x'",
        "x}",
    ),
    Program(LINE, "a[i] = 1 {inames=k}", e.UnknownIname, "no domain has an iname 'k'", "k}"),
    Program(
        SQUARE,
        "a[i, j] = 1 {inames=i}",
        e.UnknownName,
        "mentions 'j'",
        "-> [i] a[i, j]",
        {"kernel_data": [pg.GlobalArg("a", shape="n, n"), "..."]},
    ),
    Program(
        LINE, "[i] a[i] = 1 {inames=i}", e.MalformedInstruction, "the inames are given twice", "[i]"
    ),
    Program(SQUARE, "a[i] = 1 {dup=j}", e.InameNotUsed, "does not mention it", "dup=j}"),
    Program(SQUARE, "a[i, j] = 1 {dup=i->j}", e.NameTaken, "'j' is used already", "dup=i->j}"),
    Program(LINE, "a[i] = 1 {dup=i->n}", e.NameTaken, "'n' is used already", "dup=i->n}"),
    Program(LINE, "a[i] = 1 {dup=i->__global}", e.ReservedName, "'__global' has a meaning", ""),
    Program(
        LINE,
        "a[i] = 1 {groups=g, conflicts=g}",
        e.MalformedKernel,
        "is part of the group 'g', and conflicts with it",
        "-> ",
    ),
    Program(
        LINE,
        "a[i]=1 {groups=g}\nb[i]=a[i] {conflicts=g}\nc[i]=b[i] {groups=g}",
        e.GroupsInterleaved,
        "between those of a group",
        "-> [i] b[i]",
    ),
]

ORDER = [
    Program(LINE, "a[i] = 1 {dep=x}", e.UnknownInstruction, "no instruction has such an id", "x}"),
    Program(
        LINE,
        "a[i] = 1 {id=load_a}\nb[i] = 1 {dep=laod_a}",
        e.UnknownInstruction,
        "'laod_a'",
        "laod_a}",
    ),
    Program(LINE, "a[i] = 1 {dep_query=tag:}", e.MalformedQuery, "found the end where a name", ""),
    Program(LINE, "a[i] = 1 {dep_query=}", e.MalformedInstruction, "where a query was", "}"),
    Program(LINE, "a[i] = 1 {dep_query=reads:q}", e.UnknownArgument, "'q'", "q"),
    Program(LINE, "a[i] = 1 {dep_query=tag:q}", e.UnknownName, "the tag 'q'", "q"),
    Program(LINE, "a[i] = 1 {dep_query=iname:q}", e.UnknownIname, "no iname 'q'", "q"),
    Program(LINE, "a[i] = 1 {id=x, dep_query=x}", e.UnknownInstruction, "'x' has no", "x"),
    Program(LINE, "a[i] = 1 {id=x, dep_query=*}", e.NothingMatches, "around 'x' matches '*'", ""),
    Program(
        LINE, "a[i] = 1 {nosync_query=*@warp}", e.MalformedInstruction, "names no scope", "*@warp"
    ),
    Program(
        LINE,
        "with {dep_query=*}\na[i] = 1\nb[i] = 2\nend",
        e.DependencyCycle,
        "has to come before itself",
        "insn",
    ),
    Program(LINE, "a[i] = 1 {dep=store_*}", e.UnknownInstruction, "'store_*'", "store_*}"),
    Program(
        LINE,
        "a[i] = 1 {id=x, dep=y}\nb[i] = 1 {id=y, dep=x}",
        e.DependencyCycle,
        "'x' says dep=y",
        "x: a[i]",
    ),
    Program(LINE, "a[i] = b[i]\nb[i] = a[i]", e.DependencyCycle, "reads 'b'", "insn"),
    Program(
        LINE, "a[i] = 1 {id=x, dep=x}", e.DependencyCycle, "has to come before itself", "x: a[i]"
    ),
    Program(
        LINE,
        "a[i] = 1\na[i] = 2",
        e.UnorderedAccess,
        "leaves open which of two instances comes first",
        "-> [i] a[i] = 1",
    ),
    Program(
        SQUARE,
        "a[i] = 1 {id=x}\nb[j] = 2 {id=y, dep=x}\nc[i] = 3 {dep=y}",
        e.DependencyCycle,
        "an iname is one loop only: i",
        "-> [i] a[i]",
    ),
    Program(
        SQUARE,
        "a[i] = 1\nb[j] = 2\nc[i] = 3",
        e.DependencyCycle,
        "an iname is one loop only: i",
        "-> [i] a[i]",
        {"seq_dependencies": True},
    ),
]

NESTS = [
    Program(
        CUBE,
        "a[i,j]=1 {id=a}\nb[j,k]=1 {id=b}\nc[k,i]=1 {id=c}",
        e.NoLoopNest,
        "the loops form a circle, i - j - k - i: 'a' is in {i, j}",
        "-> [i, j] a",
    ),
    Program(
        SQUARE,
        "a[i,j]=1 {id=a}\nb[i]=1 {id=b}\nc[j]=1 {id=c}",
        e.NoLoopNest,
        "'a' is in both {i, j}",
        "-> [i, j] a",
    ),
    Program(
        ["{ [i]: 0<=i<j }", "{ [j]: 0<=j<i }"], "a[i] = 1", e.DomainCycle, "itself", "[j] -> { [i]"
    ),
    Program(
        SQUARE, "a[i] = 1", e.InvalidArgument, "is no priority of loops", "", {"loop_priority": "i"}
    ),
    Program(SQUARE, "a[i] = 1", e.UnknownIname, "no iname 'k'", "", {"loop_priority": "i, k"}),
    Program(
        SQUARE,
        "a[i, j] = 1",
        e.InvalidArgument,
        "contradicts",
        "",
        {"loop_priority": ["i, j", "j, i"]},
    ),
]

DOMAINS = [
    Program("{ [i]: 0<=i<n", "a[i] = 1", e.MalformedDomain, "found the end where", ""),
    Program("{ [i]: 0<=i<n n }", "a[i] = 1", e.MalformedDomain, "found 'n' where", ""),
    Program(
        [LINE, "{ [j]: 0<=j<p[i] }"], "a[i, j] = 1", e.MalformedDomain, "found '[' where", "[i] }"
    ),
    Program("{ [i]: 0<=i*i<n }", "a[i] = 1", e.NonAffineDomain, "", ""),
    Program("{ [i]: 0<=i }", "a[i] = 1", e.UnboundedDomain, "the iname 'i' has no upper bound", ""),
    Program(
        "{ [i, i]: 0<=i<n }", "a[i] = 1", e.MalformedDomain, "the iname 'i' is there twice", ""
    ),
    Program(
        [LINE, "{ [i]: 0<=i<m }"], "a[i] = 1", e.NameTaken, "two domains have an iname 'i'", ""
    ),
    Program("{ [i]: 0<=i<n; [j]: 0<=j<n }", "a[i] = 1", e.MalformedDomain, "different inames", ""),
    Program("{[i]: 0<=i<n} {[j]: 0<=j<n}", "a[i] = 1", e.MalformedDomain, "different inames", ""),
    Program("{[i]: 0<=i<n}; {[i]: 0<=i<n}", "a[i] = 1", e.MalformedDomain, "found ';'", ";"),
    Program("{ x[i]: 0<=i<n }", "a[i] = 1", e.MalformedDomain, "", ""),
    Program("{ [for]: 0<=for<n }", "a[0] = 1", e.ReservedName, "'for' has a meaning", ""),
    Program(
        "{ [i]: 0<=i<a }", "a[i] = 1", e.MalformedKernel, "mentions 'a', which is no scalar", ""
    ),
    Program(7, "a[i] = 1", e.InvalidArgument, "is no loop domain", ""),
    Program(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<t }"],
        "<> t = b[i]\na[j] = 1 {inames=j}",
        e.MalformedKernel,
        "is not within 'i'",
        "a[j] = 1",
    ),
]

NAMES = [
    Program(LINE, "a[i] = 1", e.ReservedName, "'x; }' is no identifier", "", {"name": "x; }"}),
    Program(LINE, "a[i] = 1", e.ReservedName, "'main' has a meaning", "", {"name": "main"}),
    Program(LINE, "__global[i] = 1", e.ReservedName, "'__global' has a meaning", ""),
    Program(LINE, "<> float = a[i]\nb[i] = float", e.ReservedName, "'float' has a meaning", ""),
    Program(LINE, "a[i] = get_global_id", e.ReservedName, "'get_global_id' has a meaning", ""),
    Program(
        LINE, "a[i] = 1", e.ReservedName, "is no identifier", "", {"kernel_data": ["a, */ int b"]}
    ),
    Program(LINE, 'a[i] = "x"', e.MalformedInstruction, "found '\"'", '"x"'),
    Program(LINE, "a[i] = 1; b[i] = 2", e.MalformedInstruction, "found ';'", "; b"),
    Program(LINE, "i = 3", e.NameTaken, "'i' is an iname: loops set it", "i = 3"),
]

SUBSCRIPTS = [
    Program(LINE, "b[i] = a[i/2]", e.TypeMismatch, "'a[i/2]' has a subscript that is no", "-> [i]"),
    Program(LINE, "b[i/2] = 1", e.TypeMismatch, "no integer: 'i/2'", "-> [i] b[i/2]"),
    Program(LINE, "b[i] = a[i + 0.5]", e.TypeMismatch, "no integer: 'i + 0.5'", "-> [i]"),
    Program(LINE, "b[0] = sum(i, a[2.0*i])", e.TypeMismatch, "no integer: '2.0*i'", "->"),
    Program(LINE, "b[i] = 3 + a[c[i] == 1]", e.TypeMismatch, "no integer: 'c[i] == 1'", "-> [i]"),
    Program(LINE, "b[i] = a[not i]", e.TypeMismatch, "no integer: 'not i'", "-> [i]"),
    Program(LINE, "b[i] = c[i]  {if=a[True] > 0}", e.TypeMismatch, "no integer: 'True'", "-> [i]"),
    Program(LINE, "f(x) := a[x]\nb[i] = f(1j)", e.TypeMismatch, "no integer: '1", "-> [i]"),
]

PROGRAMS = [*BLOCKS, *OPTIONS, *ORDER, *NESTS, *DOMAINS, *NAMES, *SUBSCRIPTS]


def is_marked(error: pg.UserError, marked: str) -> bool:
    """Tell whether an error marks this: with a caret, with an arrow, or by showing that line."""
    lines = str(error.excerpt or "").splitlines()
    if lines and set(lines[-1]) == {" ", "^"} | set(lines[-1]):
        column = lines[-1].index("^")
        return lines[-2][column:].startswith(marked)
    return any(line.strip().startswith(marked) for line in lines) or not marked


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: f"{p.instructions}"[:40])
def test_rejected(program: Program) -> None:
    with pytest.raises(program.error) as caught:
        pg.make_kernel(program.domains, program.instructions, **program.options)
    error = caught.value
    assert type(error) is program.error
    assert program.why in error.what
    assert is_marked(error, program.marked), error.excerpt
    assert error.remedy or " expected" in error.what  # what would do is said
    assert error.where is not None


# --- what is rejected later: tags and queries

Step = Callable[[pg.Kernel], object]
PAIR = "b[i, j] = 2*a[i, j]  {id=first, tags=t}\nc[i, j] = b[i, j]  {id=second}"
STEPS: list[tuple[Step, type[pg.UserError], str]] = [
    (lambda k: pg.tag_inames(k, {"i": "l.0", "j": "l.0"}), e.TagConflict, "both tagged l.0"),
    (lambda k: pg.tag_inames(k, {"i": "g.1", "j": "g.1"}), e.TagConflict, "both tagged g.1"),
    (lambda k: pg.tag_inames(k, {"i": "g.7"}), e.InvalidArgument, "g.7"),
    (lambda k: pg.tag_inames(k, {"q": "g.0"}), e.UnknownIname, "no iname 'q'"),
    (lambda k: pg.duplicate_inames(k, "i", "third"), e.UnknownInstruction, "'third'"),
    (lambda k: pg.duplicate_inames(k, "i", "tag:u"), e.UnknownName, "the tag 'u'"),
    (lambda k: pg.duplicate_inames(k, "i", "reads:z"), e.UnknownArgument, "'z'"),
    (lambda k: pg.duplicate_inames(k, "i", "iname:z"), e.UnknownIname, "'z'"),
    (lambda k: pg.duplicate_inames(k, "i", "tag:t and"), e.MalformedQuery, "found the end"),
    (lambda k: pg.duplicate_inames(k, "i", "tag:t second"), e.MalformedQuery, "found 'second'"),
    (lambda k: pg.duplicate_inames(k, "i", "(tag:t"), e.MalformedQuery, "where ')'"),
    (lambda k: pg.duplicate_inames(k, "i", "not *"), e.NothingMatches, "matches 'not *'"),
    (lambda k: pg.split_iname(k, "i", 4, within="x*"), e.NothingMatches, "matches 'x*'"),
    (lambda k: pg.rename_iname(k, "i", "j", within="first"), e.NameTaken, "already has a 'j'"),
]


@pytest.mark.parametrize(("step", "error", "why"), STEPS)
def test_rejected_steps(step: Step, error: type[pg.UserError], why: str) -> None:
    knl = pg.make_kernel(SQUARE, PAIR, loop_priority="i, j")
    with pytest.raises(error) as caught:
        step(knl)
    assert type(caught.value) is error
    assert why in caught.value.what
    assert caught.value.where is not None


def test_there_are_enough() -> None:
    assert len(PROGRAMS) + len(STEPS) >= 80
