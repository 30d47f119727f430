"""For each way in which a program can be wrong: what is said, where, and that the remedy works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import polygen as pg
from polygen import errors as e

LINE = "{ [i]: 0<=i<n }"
SQUARE = "{ [i, j]: 0<=i,j<n }"
CUBE = "{ [i, j, k]: 0<=i,j,k<n }"
ROWS = [LINE, "{ [j]: 0<=j<end }"]


def _unchanged(knl: pg.Kernel) -> pg.Kernel:
    return knl


def _on_items(knl: pg.Kernel) -> pg.Kernel:
    return pg.tag_inames(knl, "i: l.0, j: l.0")


def _on_groups(knl: pg.Kernel) -> pg.Kernel:
    return pg.tag_inames(knl, "i: g.2, j: g.2")


def _split(knl: pg.Kernel) -> pg.Kernel:
    return pg.split_iname(knl, "i", 4, outer_tag="l.0", inner_tag="l.0")


class Case(NamedTuple):
    """A program that is wrong, and what its author meant.

    Attributes:
        domains: of both.
        wrong: the instructions.
        error: the class, exactly.
        why: a part of the reason.
        marked: what the error marks, from its beginning.
        remedy: a part of it.
        right: the instructions with the remedy followed.
        data: the ``kernel_data`` of both.
        step: what is done with the kernel, if that is where it is found out.
    """

    domains: Any
    wrong: str
    error: type[pg.UserError]
    why: str
    marked: str
    remedy: str
    right: str
    data: tuple[Any, ...] = ("...",)
    step: Callable[[pg.Kernel], pg.Kernel] = _unchanged


W = pg.ConstantArg("w", np.float32, "n")
TABLE = pg.TemporaryVariable("w", initializer=np.arange(4.0), read_only=True)

B = pg.GlobalArg("b", np.float32, "n, 9")

CASES = {
    "loop variable: assigned": Case(
        LINE,
        "i = 2*i\nb[i] = i",
        e.NameTaken,
        "'i' is an iname: loops set it",
        "i = 2",
        "another name",
        "<> k = 2*i\nb[i] = k",
    ),
    "loop variable: declared": Case(
        LINE,
        "<> i = 3\nb[i] = 1",
        e.NameTaken,
        "'i' is an iname: loops set it",
        "i = 3",
        "another name",
        "<> k = 3\nb[i] = k",
    ),
    "loop variable: updated": Case(
        LINE,
        "i += 1\nb[i] = 1",
        e.NameTaken,
        "instructions cannot",
        "i +=",
        "another name",
        "b[i] = 1",
    ),
    "loop variable: one of several": Case(
        LINE,
        "b[i], i = 1, 2",
        e.NameTaken,
        "'i' is an iname",
        "i = 1",
        "another name",
        "b[i], c[i] = 1, 2",
    ),
    "constant: array": Case(
        LINE,
        "w[i] = 1",
        e.MalformedKernel,
        "'w', an argument in constant memory",
        "-> [i] w",
        "declare 'w' a GlobalArg",
        "b[i] = w[i]",
        (W, "..."),
    ),
    "constant: table": Case(
        "{ [i]: 0<=i<4 }",
        "w[i] += 1",
        e.MalformedKernel,
        "'w', a table of constants",
        "-> [i] w",
        "write another temporary",
        "b[i] = w[i] + 1",
        (TABLE, "..."),
    ),
    "constant: scalar": Case(
        LINE,
        "s = 1\nb[i] = s",
        e.MalformedKernel,
        "'s', a scalar argument",
        "->",
        "write a temporary",
        "<> t = 1\nb[i] = t",
        (pg.ValueArg("s"), "..."),
    ),
    "constant: size": Case(
        LINE,
        "n = 4\nb[i] = 1",
        e.UndeclaredVariable,
        "'n' is written, but nothing declares it",
        "n = 4",
        "write '<> n = ...'",
        "b[i] = 1",
    ),
    "undefined: dependency": Case(
        LINE,
        "a[i] = 1 {id=load}\nb[i] = a[i] {dep=laod}",
        e.UnknownInstruction,
        "no instruction has such an id",
        "laod",
        "did you mean 'load'?",
        "a[i] = 1 {id=load}\nb[i] = a[i] {dep=load}",
    ),
    "undefined: iname": Case(
        LINE,
        "b[i] = 1 {inames=ii}",
        e.UnknownIname,
        "no domain has an iname 'ii'",
        "ii",
        "did you mean 'i'?",
        "b[i] = 1 {inames=i}",
    ),
    "undefined: rule": Case(
        LINE,
        "f(x) := 2*x\nb[i] = ff$t(i)",
        e.UnknownRule,
        "there is no rule 'ff'",
        "b[i] = ff$t(i)",
        "did you mean 'f'?",
        "f(x) := 2*x\nb[i] = f$t(i)",
    ),
    "twice: ids": Case(
        LINE,
        "a[i] = 1 {id=x}\nb[i] = 1 {id=x}",
        e.NameTaken,
        "two instructions have the id 'x'",
        "x}",
        "another id",
        "a[i] = 1 {id=x}\nb[i] = 1 {id=y}",
    ),
    "twice: temporaries": Case(
        LINE,
        "<> t = 1\n<> t = 2\nb[i] = t",
        e.NameTaken,
        "'t' is declared twice",
        "<> t = 2",
        "leave out <>",
        "<> t = 1 {id=x}\nt = 2 {id=y, dep=x}\nb[i] = t {dep=y}",
    ),
    "twice: rules": Case(
        LINE,
        "f(x) := x\nf(x) := 2*x\nb[i] = f(i)",
        e.NameTaken,
        "two rules have this name",
        "f(x) := 2",
        "another name",
        "f(x) := x\nb[i] = f(i)",
    ),
    "twice: arguments of a rule": Case(
        LINE,
        "f(x, x) := x\nb[i] = f(i, i)",
        e.MalformedKernel,
        "two arguments 'x'",
        "f(x, x)",
        "rename one",
        "f(x, y) := x\nb[i] = f(i, i)",
    ),
    "subscripts: too many": Case(
        LINE,
        "b[i] = a[i, 0]",
        e.MalformedKernel,
        "'a' with 2 subscripts; it has 1",
        "-> [i] b",
        "for each axis, here 1",
        "b[i] = a[i]",
        (pg.GlobalArg("a", np.float32, "n"), "..."),
    ),
    "subscripts: too few": Case(
        LINE,
        "b[i] = a[i]",
        e.MalformedKernel,
        "'a' with 1 subscripts; it has 2",
        "-> [i] b",
        "for each axis, here 2",
        "b[i] = a[i, 0]",
        (pg.GlobalArg("a", np.float32, "n, 2"), "..."),
    ),
    "subscripts: none": Case(
        LINE,
        "b = 1\nc[i] = 1",
        e.MalformedKernel,
        "'b' with 0 subscripts; it has 1",
        "->",
        "for each axis, here 1",
        "b[i] = 1\nc[i] = 1",
        (pg.GlobalArg("b", np.float32, "n"), "..."),
    ),
    "subscripts: of a scalar": Case(
        LINE,
        "<> t = 2\nb[i] = t[0]",
        e.MalformedKernel,
        "'t' with 1 subscripts; it has 0",
        "->",
        "write 't' alone",
        "<> t = 2\nb[i] = t",
    ),
    "subscripts: differ": Case(
        LINE,
        "b[i] = a[i] + a[i, 0]",
        e.ShapeNotFound,
        "it has 1 subscripts in 'insn' and 2 here",
        "->",
        "declare it",
        "b[i] = a[i] + c[i, 0]",
    ),
    "no integer: division": Case(
        LINE,
        "b[i] = a[i/2]",
        e.TypeMismatch,
        "no integer: 'i/2'",
        "-> [i] b",
        "use // to divide",
        "b[i] = a[i//2]",
    ),
    "no integer: float": Case(
        LINE,
        "b[i] = a[i*1.0]",
        e.TypeMismatch,
        "no integer: 'i*1.0'",
        "-> [i] b",
        "subscripts are integers",
        "b[i] = a[i]",
    ),
    "no integer: truth": Case(
        LINE,
        "b[i] = a[i > 2]",
        e.TypeMismatch,
        "no integer: 'i > 2'",
        "-> [i] b",
        "subscripts are integers",
        "b[i] = a[1 if i > 2 else 0]",
        (pg.GlobalArg("a", np.float32, 2), "..."),
    ),
    "cycle: of two": Case(
        LINE,
        "a[i] = 1 {id=x, dep=y}\nb[i] = 2 {id=y, dep=x}",
        e.DependencyCycle,
        "'y' says dep=x, 'x' says dep=y",
        "x: a[i] = 1 {id=x, dep=y}",
        "leave out one",
        "a[i] = 1 {id=x}\nb[i] = 2 {id=y, dep=x}",
    ),
    "cycle: of three": Case(
        LINE,
        "a[i] = 1 {id=x, dep=z}\nb[i] = 2 {id=y, dep=x}\nc[i] = 3 {id=z, dep=y}",
        e.DependencyCycle,
        "'y' says dep=x, 'z' says dep=y, 'x' says dep=z",
        "x: a[i] = 1 {id=x, dep=z}",
        "leave out one",
        "a[i] = 1 {id=x}\nb[i] = 2 {id=y, dep=x}\nc[i] = 3 {id=z, dep=y}",
    ),
    "cycle: by values": Case(
        LINE,
        "<> s = t\n<> t = s\nb[i] = t",
        e.DependencyCycle,
        "'insn_0' reads 's', 'insn' reads 't'",
        "insn: <> s = t",
        "a reader of a variable",
        "<> s = 1\n<> t = s\nb[i] = t",
    ),
    "nesting: one loop": Case(
        SQUARE,
        "a[i] = 1 {id=x}\nb[j] = 2 {id=y, dep=x}\nc[i] = 3 {dep=y}",
        e.DependencyCycle,
        "an iname is one loop only: i",
        "-> [i] a",
        "{dup=i}",
        "a[i] = 1 {id=x}\nb[j] = 2 {id=y, dep=x}\nc[i] = 3 {dep=y, dup=i}",
    ),
    "nest: three": Case(
        CUBE,
        "a[i,j] = 1 {id=x}\nb[j,k] = 1 {id=y}\nc[k,i] = 1 {id=z}",
        e.NoLoopNest,
        "the loops form a circle, i - j - k - i",
        "-> [i, j] a",
        "write {dup=i:j} at x",
        "a[i,j] = 1 {id=x, dup=i:j}\nb[j,k] = 1 {id=y}\nc[k,i] = 1 {id=z}",
    ),
    "nest: two": Case(
        SQUARE,
        "a[i,j] = 1 {id=x}\nb[i] = 1 {id=y}\nc[j] = 1 {id=z}",
        e.NoLoopNest,
        "'x' is in both {i, j}",
        "-> [i, j] a",
        "write {dup=i} at x",
        "a[i,j] = 1 {id=x, dup=i}\nb[i] = 1 {id=y}\nc[j] = 1 {id=z}",
    ),
    "nest: four": Case(
        "{ [i, j, k, l]: 0<=i,j,k,l<n }",
        "a[i,j] = 1\nb[j,k] = 1\nc[k,l] = 1\nd[l,i] = 1",
        e.NoLoopNest,
        "circle, i - j - k - l - i",
        "-> [i, j] a",
        "write {dup=i:k} at insn and insn_0",
        "a[i,j] = 1 {dup=i}\nb[j,k] = 1 {dup=k}\nc[k,l] = 1\nd[l,i] = 1",
    ),
    "axis: items": Case(
        "{ [i, j]: 0<=i,j<4 }",
        "b[i, j] = 1",
        e.TagConflict,
        "within 'i' and 'j', both tagged l.0",
        "-> [i, j] b",
        "another axis",
        "b[i, j] = 1",
        ("...",),
        _on_items,
    ),
    "axis: groups": Case(
        "{ [i, j]: 0<=i,j<4 }",
        "b[i, j] = 1",
        e.TagConflict,
        "both tagged g.2",
        "-> [i, j] b",
        "another axis",
        "b[i, j] = 1",
        ("...",),
        _on_groups,
    ),
    "axis: split": Case(
        "{ [i]: 0<=i<16 }",
        "b[i] = 1",
        e.TagConflict,
        "'i_inner' and 'i_outer', both tagged l.0",
        "->",
        "another axis",
        "b[i] = 1",
        ("...",),
        _split,
    ),
    "missing: subscript": Case(
        SQUARE,
        "b[i, j] = 1 {inames=i}",
        e.UnknownName,
        "mentions 'j'",
        "->",
        "{+inames=j}",
        "b[i, j] = 1",
    ),
    "missing: prefix": Case(
        SQUARE,
        "[i] b[i, j] = 1",
        e.UnknownName,
        "mentions 'j'",
        "->",
        "{+inames=j}",
        "[i, j] b[i, j] = 1",
    ),
    "missing: bound": Case(
        [LINE, "{ [j]: 0<=j<=i }"],
        "b[j] = 1 {inames=j}",
        e.MalformedKernel,
        "not within 'i', which the domain of 'j' needs",
        "b[j] = 1",
        "add 'i' to its inames=",
        "b[i, j] = 1",
    ),
    "missing: read": Case(
        SQUARE,
        "b[i] = a[i, j] {inames=i}",
        e.UnknownName,
        "mentions 'j'",
        "->",
        "{+inames=j}",
        "b[i] = sum(j, a[i, j])",
    ),
    "reduction: no iname": Case(
        LINE,
        "b[i] = sum(q, a[i, q])",
        e.UnknownIname,
        "sum() runs over 'q', which no domain has",
        "q, a[i, q]",
        "there are: i",
        "b[0] = sum(i, a[i, 0])",
    ),
    "reduction: within": Case(
        LINE,
        "b[i] = sum(i, a[i])",
        e.MalformedKernel,
        "reduces over 'i', which it is also within",
        "->",
        "another iname",
        "b[0] = sum(i, a[i])",
    ),
    "reduction: another": Case(
        SQUARE,
        "b[i] = sum(i, a[i, j])",
        e.MalformedKernel,
        "reduces over 'i', which it is also within",
        "->",
        "to reduce over 'j', write sum(j, a[i, j]); use another iname",
        "b[i] = sum(j, a[i, j])",
    ),
    "reduction: another of several": Case(
        CUBE,
        "b[j] = sum([i, j], a[i, j, k])",
        e.MalformedKernel,
        "reduces over 'j', which it is also within",
        "->",
        "to reduce over 'k', write sum((i, k), a[i, j, k]); ",
        "b[j] = sum([i, k], a[i, j, k])",
    ),
    "reduction: of something else": Case(
        SQUARE,
        "<> s = sum(i, a[j])\nb[0] = s",
        e.UnusedReductionIname,
        "'a[j]' does not depend on 'i'",
        "->",
        "to reduce over 'j', write sum(j, a[j]); mention 'i'",
        "<> s = sum(j, a[j])\nb[0] = s",
    ),
    "bound: out of scope": Case(
        ROWS,
        "<> end = k[i]\nb[j] = 1 {inames=j}",
        e.MalformedKernel,
        "not within 'i', which the domain of 'j' needs",
        "b[j] = 1",
        "add 'i' to its inames=",
        "<> end = k[i]\nb[i, j] = 1",
        (B, "..."),
    ),
    "bound: array": Case(
        ROWS,
        "end[i] = k[i]\nb[i, j] = 1",
        e.MalformedKernel,
        "mentions 'end', which is no scalar",
        "",
        "compute the value into a temporary",
        "<> end = k[i]\nb[i, j] = 1",
        (B, "..."),
    ),
    "bound: later": Case(
        ROWS,
        "b[i, j] = 1 {id=x}\n<> end = k[i] {dep=x}",
        e.DependencyCycle,
        "'x' reads 'end'",
        "x: b[i, j] = 1 {id=x}",
        "depends on it",
        "<> end = k[i]\nb[i, j] = 1",
        (B, "..."),
    ),
    "bound: within": Case(
        ROWS,
        "<> end = k[j]\nb[i, j] = 1",
        e.DomainCycle,
        "the domain of 'j' needs, through others, 'j' itself",
        "[n] -> { [i]",
        "without the other's inames",
        "<> end = k[i]\nb[i, j] = 1",
        (B, "..."),
    ),
}


def marks(error: pg.UserError) -> str:
    """Return what an error marks, to the end of its line: by a caret, an arrow, or alone."""
    lines = str(error.excerpt or "").splitlines()
    if lines and lines[-1].strip(" ^") == "" and "^" in lines[-1]:
        return lines[-2][lines[-1].index("^") :]
    return next((line for line in lines if line.startswith("-> ")), lines[0] if lines else "")


@pytest.mark.parametrize("name", CASES)
def test_what_is_said(name: str) -> None:
    case = CASES[name]
    with pytest.raises(case.error) as caught:
        case.step(pg.make_kernel(case.domains, case.wrong, case.data))
    error = caught.value
    assert type(error) is case.error
    assert case.why in error.what
    assert marks(error).startswith(case.marked)
    assert case.remedy in str(error.remedy)
    assert "test_remedies.py" in str(error.where)


@pytest.mark.parametrize("name", [n for n in CASES if CASES[n].right])
def test_the_remedy(name: str) -> None:
    """What the author meant is a kernel, whose schedule exists."""
    case = CASES[name]
    with pg.without_proofs():  # about the order of what is not said here
        knl = pg.make_kernel(case.domains, case.right, case.data)
    assert pg.has_schedulable_iname_nesting(knl)
    assert pg.parse_kernel(str(knl)) == knl
