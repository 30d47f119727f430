"""Instructions that are wrong: several assignees, updates, atomics, verbatim C, functions."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen import errors
from polygen.errors import UserError

MEAN = pg.ScalarCallable({"mean_d": "float64, float64 -> float64"})
PARTS = pg.ScalarCallable({"parts": "float64 -> float64, float64"})
SQUARE = "{ [i,j]: 0<=i,j<n }"

# What is written, the class of the error, a part of the reason, and what the line that is shown, or
# the caret below it, points to.
PROGRAMS: list[tuple[str, type[UserError], str, str]] = [
    # --- several assignees
    ("a[i], b[i] = 1", errors.MalformedInstruction, "2 assignees and 1 value", "= 1"),
    ("a[i] = 1, 2", errors.MalformedInstruction, "1 assignee and 2 values", "= 1"),
    ("a[i], b[i], c[i] = 1, 2", errors.MalformedInstruction, "3 assignees and 2 values", "= 1"),
    ("a[i], = 1", errors.MalformedInstruction, "found '='", "= 1"),
    ("a[i] b[i] = 1, 2", errors.MalformedInstruction, "found 'b'", "b[i] ="),
    ("a[i], 2 = 1, 2", errors.MalformedInstruction, "found '2'", "2 = 1"),
    ("a[i], b[i] += 1, 2", errors.MalformedInstruction, "one assignee and one value", "+= 1"),
    ("a[i] += 1, 2", errors.MalformedInstruction, "one assignee and one value", "+= 1"),
    ("a[i], a[i] = 1, 2", errors.WrittenTwice, "as a[i] and as a[i]", "a[i], a[i]"),
    ("a[i,j], a[j,i] = 1, 2", errors.WrittenTwice, "writes one element twice at once", "a[j, i]"),
    ("a[i], a[i//2] = 1, 2", errors.WrittenTwice, "insn[i=0]", "a[i//2]"),
    ("<> t, <> t = 1, 2", errors.NameTaken, "'t' is declared twice", "<> t, <> t"),
    ("<> t, u = 1, 2", errors.UndeclaredVariable, "'u' is written, but nothing declares", "u = 1"),
    ("a[i], i = 1, 2", errors.NameTaken, "'i' is an iname", "i = 1, 2"),
    ("a[i], n = 1, 2", errors.UndeclaredVariable, "'n' is written", "n = 1"),
    # --- updates
    ("<> t += a[i]", errors.MalformedInstruction, "before it has a value", "+= a"),
    ("a[i] **= 2", errors.MalformedInstruction, "found '*'", "**= 2"),
    ("a[i] =+= 2", errors.MalformedInstruction, "found '='", "= 2"),
    ("a[i] min= 2", errors.MalformedInstruction, "found 'min'", "min= 2"),
    ("a[i] << = 2", errors.MalformedInstruction, "found '<'", "<< = 2"),
    ("a[i]++", errors.MalformedInstruction, "found '+'", "++"),
    ("2 += a[i]", errors.MalformedInstruction, "found '2'", "2 += a"),
    ("f(i) += a[i]", errors.MalformedInstruction, "found '+'", "+= a"),
    # --- atomic updates
    ("a[0] = b[i] {atomic}", errors.NoAtomicUpdate, "no update", "a[0] = b[i]"),
    ("a[0] = a[1] + b[i] {atomic}", errors.NoAtomicUpdate, "'a[0]' with one operand", "a[1]"),
    ("a[0] = a[0] + i + 1 {atomic}", errors.NoAtomicUpdate, "one operand", "+ i + 1"),
    ("a[0] = a[0] + a[0] {atomic}", errors.NoAtomicUpdate, "one operand", "a[0] + a[0]"),
    ("a[0] /= b[i] {atomic}", errors.NoAtomicUpdate, "no update", "/b[i]"),
    ("a[0] //= 2 {atomic}", errors.NoAtomicUpdate, "no update", "//2"),
    ("a[0] <<= 1 {atomic}", errors.NoAtomicUpdate, "no update", "<< 1"),
    ("a[0] += 1 {atomic=quick}", errors.MalformedInstruction, "'quick' says nothing", "quick}"),
    ("a[0] += 1 {atomic=}", errors.MalformedInstruction, "found '}'", "}"),
    ("a[0] += 1 {atomic=device:init:device}", errors.MalformedInstruction, "twice", "device}"),
    ("a[0], b[0] = 1, 2 {atomic}", errors.MalformedInstruction, "has one assignee", "= 1"),
    ("... gbarrier {atomic}", errors.MalformedInstruction, "never atomic", "gbarrier"),
    # --- barriers
    ("... lbarrier {mem_kind=shared}", errors.MalformedInstruction, "'shared' is no", "shared}"),
    ("... lbarrier {mem_kind=}", errors.MalformedInstruction, "found '}'", "}"),
    ("... nop {mem_kind=local}", errors.MalformedInstruction, "is for barriers", "nop"),
    ("a[i] = 1 {mem_kind=local}", errors.MalformedInstruction, "is for barriers", "= 1"),
    ('... code() "x" {mem_kind=local}', errors.MalformedInstruction, "is for barriers", '"x"'),
    # --- verbatim C
    ("... code(i) x = 2; {inames=i}", errors.MalformedInstruction, "found 'x'", "x = 2"),
    ("... code(i) 'x' {inames=i}", errors.MalformedInstruction, "found", "'x'"),
    ('... code i "x" {inames=i}', errors.MalformedInstruction, "found 'i'", 'i "x"'),
    ('... code(2) "x"', errors.MalformedInstruction, "found '2'", '2) "x"'),
    ('... code(i) "x', errors.MalformedInstruction, "found", '"x'),
    ('... code() "x" reads()', errors.MalformedInstruction, "found ')'", ")"),
    ('... code() "x" writes(1)', errors.MalformedInstruction, "found '1'", "1)"),
    ('... code() "x" writes(a) reads(a)', errors.MalformedInstruction, "found", "reads(a)"),
    ('... code(k=i, k=j) "x"', errors.MalformedInstruction, "stands for two things", "k=j"),
    ('... code(for=i) "x" {inames=i}', errors.ReservedName, "'for' has a meaning", ""),
    ('... code(k=a[i]) "x" {inames=i}', errors.MalformedKernel, "depends on 'a'", "k=a[i]"),
    ('... code() "x" reads(q)', errors.UnknownName, "mentions 'q'", "reads(q)"),
    ('... code() "x" writes(n)', errors.UndeclaredVariable, "'n' is written", "n)"),
    # --- functions
    ("a[i] = mean(i)", errors.WrongArity, "1 argument to 'mean', which takes 2", "mean(i)"),
    ("a[i] = mean(i, 1, 2)", errors.WrongArity, "3 arguments to 'mean'", "mean(i, 1, 2)"),
    ("a[i] = parts(i)", errors.WrongArity, "has several results", "parts(i)"),
    ("a[i] = parts(i)[2]", errors.WrongArity, "which has 2 results", "parts(i)[2]"),
    ("a[i] = mean(i, 1)[0]", errors.WrongArity, "which has one result", "mean(i, 1)[0]"),
    ("a[i] = parts(i)[j]", errors.MalformedInstruction, "found 'j'", "j]"),
    ("a[i], b[i], c[i] = parts(i)", errors.WrongArity, "which has 2 results", "= parts(i)"),
    ("a[i], b[i] = mean(i, 1)", errors.WrongArity, "which has one result", "= mean(i, 1)"),
    ("a[i] = meen(i, 1)", errors.UnknownFunction, "no function 'meen'", "meen(i, 1)"),
    ("mean(x) := 2*x\na[i] = mean(i)", errors.NameTaken, "'mean' is a function, and", ""),
]


@pytest.mark.parametrize(("text", "kind", "reason", "place"), PROGRAMS)
def test_refused(text: str, kind: type[UserError], reason: str, place: str) -> None:
    with pytest.raises(kind) as caught:
        knl = pg.make_kernel(SQUARE, text, functions={"mean": MEAN, "parts": PARTS})
        pg.generate_code(knl)  # what is called may be registered before
    assert reason in caught.value.what
    if place:
        assert place in shown(caught.value)


def shown(error: UserError) -> str:
    """Return what stands above the caret and to the right of it, or the lines that are marked."""
    lines = (error.excerpt or "").split("\n")
    if lines[-1].strip() == "^":
        return lines[-2][lines[-1].index("^") :]
    marked = [line for line in lines if line.startswith("-> ")]
    return "\n".join(marked or lines)


def test_there_are_enough() -> None:
    assert len(PROGRAMS) >= 50


def test_every_error_says_where() -> None:
    for text, kind, _, _ in PROGRAMS[:40]:
        with pytest.raises(kind) as caught:
            pg.make_kernel(SQUARE, text, functions={"mean": MEAN, "parts": PARTS})
        assert "test_instructions.py" in str(caught.value.where)
