"""What pragmas say, read from text; and what is none, with its place."""

from __future__ import annotations

import pytest

from polygen.errors import MalformedPragma, UnknownClause
from polygen.python.pragmas.pragma_data import AtomicPragma, LoopPragma, TensorPragma
from polygen.python.pragmas.pragma_text import PragmaText, parse_pragma
from polygen.source import SourceLocation

WHOLE = SourceLocation("f.py", 7, 4, 60)


def said(text: str) -> PragmaText:
    return PragmaText(text, "f.py", 7, 11, WHOLE)


def loop(text: str) -> LoopPragma:
    found = parse_pragma(said(text))
    assert isinstance(found, LoopPragma)
    assert found.where == WHOLE
    return found


def tensor(text: str) -> TensorPragma:
    found = parse_pragma(said(text))
    assert isinstance(found, TensorPragma)
    return found


@pytest.mark.parametrize(
    ("text", "parallel", "sequential", "simd"),
    [
        (" parallel for", True, False, False),
        (" parallel   for simd", True, False, True),
        (" sequential for", False, True, False),
        (" simd", False, False, True),
        (" simd parallel for", True, False, True),
    ],
)
def test_loops(text: str, parallel: bool, sequential: bool, simd: bool) -> None:
    found = loop(text)
    assert (found.parallel, found.sequential, found.simd) == (parallel, sequential, simd)
    assert not found.auto_simd
    assert not list(found.names())


def test_clauses_and_their_places() -> None:
    found = loop(" parallel for shared(x, y.z) reduction(+: s,t) reduction(max:m) to(a) from(a, b)")
    assert [n.name for n in found.shared] == ["x", "y.z"]
    assert [(r.operation, [n.name for n in r.names]) for r in found.reductions] == [
        ("sum", ["s", "t"]),
        ("max", ["m"]),
    ]
    assert [n.name for n in found.to_device] == ["a"]
    assert [n.name for n in found.from_device] == ["a", "b"]
    # 'x' is the 21st letter of the text, which begins in column 11.
    assert found.shared[0].where == SourceLocation("f.py", 7, 11 + 21, 11 + 22)
    assert found.shared[1].where == SourceLocation("f.py", 7, 11 + 24, 11 + 27)
    assert [n.name for n in found.names()] == ["x", "y.z", "s", "t", "m", "a", "a", "b"]


def test_blocks_and_auto_simd() -> None:
    assert loop(" parallel for block(64)").block == 64
    assert loop(" parallel for block").block is None
    assert loop(" parallel for auto_simd").auto_simd
    assert loop(" parallel for, simd, block(8)").simd  # commas as OpenMP allows them


def test_atomic() -> None:
    assert parse_pragma(said(" atomic ")) == AtomicPragma(WHOLE)
    with pytest.raises(MalformedPragma, match="'atomic' stands alone") as caught:
        parse_pragma(said(" atomic add"))
    assert caught.value.where == SourceLocation("f.py", 7, 11 + 7, 11 + 11)


@pytest.mark.parametrize(
    "text",
    [
        " :M=>parallel,:N=>reduce(sum:y)",
        " :M=>parallel :N=>reduction(sum:y)",
        " :M => parallel , :N => reduce( sum : y )",
        " 0:M=>parallel   0:N:1=>reduce(+:y)",
    ],
)
def test_two_slices(text: str) -> None:
    first, second = tensor(text).dimensions
    assert (first.lower, first.upper, first.step) == ("0", "M", "1")
    assert (first.parallel, first.simd, first.reduction) == (True, False, None)
    assert (second.lower, second.upper, second.step) == ("0", "N", "1")
    assert (second.parallel, second.reduction) == (False, "sum")
    assert second.target is not None
    assert second.target.name == "y"
    assert second.target.where.column == 11 + text.index("y")


def test_slices_with_expressions_and_several_properties() -> None:
    first, second, third = tensor(
        " 1:M - 1=>parallel,simd j:min(N, k+1)=>simd,le(16),parallel :n//2=>block(32)"
    ).dimensions
    assert (first.slice, first.lower, first.upper) == ("1:M - 1", "1", "M - 1")
    assert first.parallel
    assert first.simd
    assert (second.lower, second.upper, second.at_most) == ("j", "min(N, k + 1)", 16)
    assert second.parallel
    assert (third.upper, third.block, third.parallel) == ("n // 2", 32, False)
    # A slice that begins with a name is told apart from a property by its colon.
    assert len(tensor(" :M=>parallel,i:N=>simd").dimensions) == 2


@pytest.mark.parametrize(
    ("text", "error", "message", "marked"),
    [
        (" parallel", MalformedPragma, "goes on with 'for'", "parallel"),
        (" parallel for colapse(2)", UnknownClause, "has 'colapse'", "colapse"),
        (" parallel for num_threads(2)", UnknownClause, "has 'num_threads'", "num_threads"),
        (" parallel for sequential for", MalformedPragma, "not both", "sequential for"),
        (" parallel for shared", MalformedPragma, "without what it is about", "shared"),
        (" parallel for shared(x+1)", MalformedPragma, "'x\\+1' is none", "x+1"),
        (" parallel for shared(", MalformedPragma, "not closed", "("),
        (" parallel for reduction(s)", MalformedPragma, "both operator and", "reduction(s)"),
        (" parallel for reduction(/: s)", UnknownClause, "no operation of", "/"),
        (" parallel for block(n)", MalformedPragma, "positive number", "n"),
        (" parallel for block(0)", MalformedPragma, "positive number", "0"),
        (" parallel for @", MalformedPragma, "cannot stand here", "@"),
        (" :M=>fast", UnknownClause, "no property 'fast'", "fast"),
        (" :M=>parallel,fast", UnknownClause, "no property 'fast'", "fast"),
        (" :M=>", MalformedPragma, "no property stands", "=>"),
        (" M=>parallel", MalformedPragma, "no slice of Python's", "M"),
        (" M:=>parallel", MalformedPragma, "has no end", "M:"),
        (" :M=>parallel :N", MalformedPragma, "without properties", ":N"),
        (" :M=>le(n)", MalformedPragma, "positive number", "n"),
        (" :M=>reduce", MalformedPragma, "without what", "reduce"),
        (" :M=>reduce(mean:y)", UnknownClause, "no operation", "mean"),
    ],
)
def test_what_is_no_pragma(
    text: str, error: type[MalformedPragma], message: str, marked: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        parse_pragma(said(text))
    where = caught.value.where
    assert isinstance(where, SourceLocation)
    assert where.column is not None
    assert where.end is not None
    assert text[where.column - 11 : where.end - 11] == marked
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" ", "says nothing"),
        (" shared(x)", "does not say how its loop"),
        (" :M=>parallel 0:M=>simd", "stands here twice"),
    ],
)
def test_what_is_wrong_as_a_whole(text: str, message: str) -> None:
    with pytest.raises(MalformedPragma, match=message) as caught:
        parse_pragma(said(text))
    assert caught.value.where is not None
