"""Inames and dependencies that follow by the ordering rules 3 and 4."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import polygen as pg
from polygen.errors import (
    DependencyCycle,
    DomainCycle,
    MalformedKernel,
    NameTaken,
    PolygenError,
    UnknownInstruction,
)
from polygen.ir.kernel import Kernel
from polygen.language.make_kernel import make_kernel


@pytest.fixture(autouse=True, scope="module")
def _of_any_kernel() -> Iterator[None]:
    """What is tested here holds of kernels whose result is open, too."""
    with pg.without_proofs():
        yield


SQUARE = "{ [i, j]: 0<=i<n and 0<=j<m }"


def within(kernel: Kernel) -> dict[str, str]:
    return {insn.id: " ".join(sorted(insn.within_inames)) for insn in kernel.instructions}


def deps(kernel: Kernel) -> dict[str, str]:
    return {insn.id: " ".join(sorted(insn.depends_on)) for insn in kernel.instructions}


# --- rule 3


@pytest.mark.parametrize(
    ("instructions", "expected"),
    [
        # a reader depends on the single writer
        ("<> t = a[i] {id=w}\n out[i] = t {id=r}", {"w": "", "r": "w"}),
        # also where the reader comes first, and through arrays
        ("out[i] = b[i] {id=r}\n b[i] = a[i] {id=w}", {"r": "w", "w": ""}),
        # through subscripts and predicates
        ("<> t = p[i] {id=w}\n out[t] = 1 {id=r}", {"w": "", "r": "w"}),
        ("<> t = p[i] {id=w}\n out[i] = 1 {id=r, if=t>0}", {"w": "", "r": "w"}),
        ("<> t = p[i] {id=w}\n out[i] = a[t + 1] {id=r}", {"w": "", "r": "w"}),
        # not where there are two writers
        (
            "<> t = 0 {id=w, inames=i}\n t = t + a[i] {id=u, dep=w}\n out[i] = t {id=r}",
            {"w": "", "u": "w", "r": ""},
        ),
        # not on itself
        ("b[i] = b[i] + 1 {id=u}", {"u": ""}),
        # beside the ones that are given, unless those are exhaustive
        ("<> t = a[i] {id=w}\n x[i] = 1 {id=o}\n out[i] = t {id=r, dep=o}",
         {"w": "", "o": "", "r": "o w"}),
        ("<> t = a[i] {id=w}\n x[i] = 1 {id=o}\n out[i] = t {id=r, dep=*o, inames=i}",
         {"w": "", "o": "", "r": "o"}),
        ("<> t = a[i] {id=w}\n out[i] = t {id=r, dep=*}", {"w": "", "r": ""}),
        ("<> t = a[i] {id=w}\n out[i] = t {id=r, dep=*w}", {"w": "", "r": "w"}),
        # patterns leave out the instruction itself
        ("x[i] = 1 {id=a_1}\n y[i] = 1 {id=a_2}\n z[i] = 1 {id=a_3, dep=a_*}",
         {"a_1": "", "a_2": "", "a_3": "a_1 a_2"}),
        ("x[i] = 1 {id=a1}\n y[i] = 1 {id=b1}\n z[i] = 1 {id=c, dep=?1}",
         {"a1": "", "b1": "", "c": "a1 b1"}),
    ],
)  # fmt: skip
def test_dependencies(instructions: str, expected: dict[str, str]) -> None:
    assert deps(make_kernel("{ [i]: 0<=i<n }", instructions)) == expected


# --- rule 4


@pytest.mark.parametrize(
    ("instructions", "expected"),
    [
        # what an instruction mentions
        ("out[i] = 1 {id=s}", {"s": "i"}),
        ("out[i] = a[j] {id=s}", {"s": "i j"}),
        ("out[0] = 1 {id=s, if=i>3}", {"s": "i"}),
        ("out[i] = j {id=s}", {"s": "i j"}),
        ("out[0] = 1 {id=s}", {"s": ""}),
        # but not the inames of its own reductions
        ("out[i] = sum(j, a[i, j]) {id=s}", {"s": "i"}),
        ("out[0] = product((i, j), a[i, j]) {id=s}", {"s": ""}),
        # the paper's example: z, y, x
        (
            "<> z = a[i] {id=insn0}\n<> y = 2*z {id=insn1}\n<> x = 2*y {id=insn2}",
            {"insn0": "i", "insn1": "i", "insn2": "i"},
        ),
        # only those that the written subscripts do not mention
        ("b[i] = a[i, j] {id=w, inames=i:j}\n out[0] = b[3] {id=r}", {"w": "i j", "r": "j"}),
        ("b[i] = a[i] {id=w}\n out[j] = b[j] {id=r}", {"w": "i", "r": "j"}),
        # in any order of writing
        ("out[0] = y {id=c}\n<> y = z {id=b}\n<> z = a[i] {id=a}", {"a": "i", "b": "i", "c": "i"}),
        # a plain dep= passes none on
        ("<> z = a[i] {id=w}\n out[0] = 1 {id=r, dep=w}", {"w": "i", "r": ""}),
        # two writers pass none on
        ("<> z = a[i] {id=v}\n z = a[j] {id=w}\n out[0] = z {id=r, dep=v:w}",
         {"v": "i", "w": "j", "r": ""}),
        # an exhaustive list without the writer: no dependency, so nothing is inherited
        ("<> z = a[i] {id=w}\n out[0] = z {id=r, dep=*}", {"w": "i", "r": ""}),
        ("<> z = a[i] {id=w}\n out[0] = z {id=r, dep=*w}", {"w": "i", "r": "i"}),
        # inames= replaces all this, and what is inherited from there is what it says
        ("<> z = a[i] {id=w, inames=i:j}\n out[0] = z {id=r}", {"w": "i j", "r": "i j"}),
        ("<> z = a[i] {id=w}\n out[0] = z {id=r, inames=}", {"w": "i", "r": ""}),
        ("<> z = a[i] {id=w}\n out[0] = z {id=r, inames=j}", {"w": "i", "r": "j"}),
        # an update inherits nothing from itself
        ("b[j] = b[j] + a[i, j] {id=u}\n out[j] = b[j] {id=r}", {"u": "i j", "r": "i j"}),
    ],
)  # fmt: skip
def test_inames(instructions: str, expected: dict[str, str]) -> None:
    assert within(make_kernel(SQUARE, instructions)) == expected


def test_inames_of_domains_around() -> None:
    domains = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<i }", "{ [k]: 0<=k<j }"]
    kernel = make_kernel(domains, "out[k] = 1 {id=a}\nx[0] = sum(k, 1) {id=b}\ny[i] = 2 {id=c}")
    assert within(kernel) == {"a": "i j k", "b": "i j", "c": "i"}
    kernel = make_kernel(domains, "x[0] = sum((j, k), 1) {id=b}")
    assert within(kernel) == {"b": "i"}


CSR = ["{ [i]: 0<=i<n }", "{ [j]: row_start<=j<row_end }"]
BOUNDS = "<> row_start = rowptr[i] {id=lo}\n<> row_end = rowptr[i+1] {id=hi}\n"


@pytest.mark.parametrize(
    ("instruction", "inames"),
    [
        ("y[i] = sum(j, val[j]*x[col[j]])", "i"),
        ("y[0] = sum(j, val[j])", "i"),
        ("z[j] = val[j]", "i j"),
    ],
)
def test_data_dependent_bounds(instruction: str, inames: str) -> None:
    kernel = make_kernel(CSR, BOUNDS + instruction)
    assert within(kernel) == {"lo": "i", "hi": "i", "insn": inames}
    assert deps(kernel) == {"lo": "", "hi": "", "insn": "hi lo"}


def test_bounds_that_are_computed_from_what_loops_compute() -> None:
    kernel = make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<s }", "{ [k]: 0<=k<t }"],
        """
        out[0] = sum(k, 1) {id=c}
        <> t = b[j] {id=b}
        <> s = a[i] {id=a}
        """,
    )
    assert within(kernel) == {"a": "i", "b": "i j", "c": "i j"}
    assert deps(kernel) == {"a": "", "b": "a", "c": "a b"}  # c is within j, which s bounds


def test_exhaustive_dependencies_and_bounds() -> None:
    kernel = make_kernel(CSR, BOUNDS + "z[j] = 1 {dep=*}")
    assert within(kernel)["insn"] == "i j"  # the domain itself needs i
    assert deps(kernel)["insn"] == ""


def test_a_chain_in_any_order() -> None:
    lines = ["<> t0 = a[i]", *(f"<> t{k + 1} = t{k}" for k in range(30)), "out[0] = t30"]
    for order in (lines, lines[::-1], lines[::2] + lines[1::2]):
        kernel = make_kernel("{ [i]: 0<=i<n }", order)
        assert all(insn.within_inames == {"i"} for insn in kernel.instructions)
        assert sum(len(insn.depends_on) for insn in kernel.instructions) == 31


# An independent statement of the two rules, for scalar temporaries.
@given(st.data())
def test_rules_by_their_definition(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 6))
    reads: list[set[int]] = []
    mentions: list[set[str]] = []
    lines: list[str] = []
    for k in range(count):
        reads.append(data.draw(st.sets(st.sampled_from(range(k)))) if k else set())
        mentions.append(data.draw(st.sets(st.sampled_from("ij"))))
        terms = [*(f"t{r}" for r in sorted(reads[k])), *sorted(mentions[k]), "1"]
        lines.append(f"<> t{k} = {' + '.join(terms)} {{id=s{k}}}")
    kernel = make_kernel(SQUARE, data.draw(st.permutations(lines)))
    inames: list[set[str]] = []
    for k in range(count):  # each reads earlier ones only
        inames.append(mentions[k].union(*(inames[r] for r in reads[k])))
        insn = kernel.instruction(f"s{k}")
        assert insn.within_inames == inames[k]
        assert insn.depends_on == {f"s{r}" for r in reads[k]}


# --- ids


def test_ids() -> None:
    kernel = make_kernel(
        "{ [i]: 0<=i<n }",
        ["a[i] = 1", "b[i] = 1 {id=insn_0}\n c[i] = 1", "d[i] = 1 {id=last}", "e[i] = 1"],
    )
    assert [insn.id for insn in kernel.instructions] == [
        "insn", "insn_0", "insn_1", "last", "insn_2",
    ]  # fmt: skip


# --- errors


@pytest.mark.parametrize(
    ("domains", "instructions", "kind", "what", "column", "remedy"),
    [
        (
            "{ [i]: 0<=i<n }", "a[i] = 1 {id=one}\nb[i] = 2 {dep=on}",
            UnknownInstruction, "'insn' depends on 'on'", 14, "'one'",
        ),
        (
            "{ [i]: 0<=i<n }", "a[i] = 1 {id=one}\nb[i] = 2 {dep=one:two}",
            UnknownInstruction, "'insn' depends on 'two'", 18, "",
        ),
        (
            "{ [i]: 0<=i<n }", "a[i] = 1 {dep=load_*}",
            UnknownInstruction, "depends on 'load_*'", 14, "",
        ),
        (
            "{ [i]: 0<=i<n }", "a[i] = 1 {id=x}\nb[i] = 1 {id=x}",
            NameTaken, "two instructions have the id 'x'", 13, "",
        ),
        (
            CSR, BOUNDS + "z[j] = 1 {inames=j}",
            MalformedKernel, "not within 'i', which the domain of 'j' needs", 0, "add 'i'",
        ),
    ],
)  # fmt: skip
def test_errors_in_a_line(
    domains: Any,
    instructions: str,
    kind: type[PolygenError],
    what: str,
    column: int,
    remedy: str,
) -> None:
    with pytest.raises(kind) as caught:
        make_kernel(domains, instructions)
    assert what in caught.value.what
    assert remedy in (caught.value.remedy or "")
    line = instructions.splitlines()[-1].strip()
    assert (caught.value.excerpt or "").split("\n") == [line, " " * column + "^"]


@pytest.mark.parametrize(
    ("instructions", "reasons", "remedy"),
    [
        (
            "a[i] = b[i] {id=p}\nb[i] = a[i] {id=q}",
            ("'q' reads 'a'", "'p' reads 'b'"),
            "{dep=*}",
        ),
        (
            "a[i] = 1 {id=p, dep=q}\nb[i] = a[i] {id=q}",
            ("'q' reads 'a'", "'p' says dep=q"),
            "{dep=*}",
        ),
        (
            "a[i] = 1 {id=p, dep=q}\nb[i] = 1 {id=q, dep=p}",
            ("'q' says dep=p", "'p' says dep=q"),
            "leave out one of these dep=",
        ),
        ("a[i] = 1 {id=p, dep=p}", ("'p' says dep=p",), "leave out"),
    ],
)
def test_cycles(instructions: str, reasons: tuple[str, ...], remedy: str) -> None:
    with pytest.raises(DependencyCycle) as caught:
        make_kernel("{ [i]: 0<=i<n }", instructions)
    for reason in reasons:
        assert reason in caught.value.what
    assert remedy in (caught.value.remedy or "")
    for line in instructions.splitlines():
        assert line in (caught.value.excerpt or "")


def test_the_way_out_of_a_cycle() -> None:
    kernel = make_kernel("{ [i]: 0<=i<n }", "a[i] = b[i] {id=p, dep=*}\nb[i] = a[i] {id=q}")
    assert deps(kernel) == {"p": "", "q": "p"}


def test_domains_that_need_each_other() -> None:
    with pytest.raises(DomainCycle, match="'i'"):
        make_kernel(["{ [i]: 0<=i<j }", "{ [j]: 0<=j<i }"], "a[i, j] = 1")
    with pytest.raises(DomainCycle):
        make_kernel("{ [i]: 0<=i<t }", "<> t = a[i]\nout[i] = 1")
