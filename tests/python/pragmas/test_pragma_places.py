"""The statements that pragmas are about, and comments that are about none."""

from __future__ import annotations

import ast
import linecache
import textwrap

import pytest

from polygen.errors import MisplacedPragma, UnknownClause
from polygen.python.pragmas.pragma_data import AtomicPragma, LoopPragma, Pragma, TensorPragma
from polygen.python.pragmas.pragma_places import comments_of, pragmas_of


def found(text: str) -> dict[str, tuple[Pragma, ...]]:
    """Return the pragmas by the first line of the statements that they are about."""
    text = textwrap.dedent(text)
    linecache.cache["f.py"] = (len(text), None, text.splitlines(keepends=True), "f.py")
    tree = ast.parse(text)
    pragmas = pragmas_of(tree.body[0], comments_of(text), "f.py")
    of = {(s.lineno, s.col_offset): s for s in ast.walk(tree) if isinstance(s, ast.stmt)}
    return {ast.unparse(of[place]).splitlines()[0]: p for place, p in pragmas.items()}


def test_each_is_about_the_next_statement() -> None:
    pragmas = found(
        '''
        def f(x, y, s, n):
            """#pragma parallel for"""
            #pragma parallel for

            # in words
            for i in range(n):
                t = "#pragma simd"
                #pragma simd
                for j in range(n):
                    #pragma atomic
                    s[0] += x[i, j]  # pragma: no cover
            #pragma :n=>parallel
            y[:n] = x[:n, 0]
            for k in range(n):  #pragma sequential for
                y[k] = y[k - 1]
        '''
    )
    assert {s: [type(p) for p in ps] for s, ps in pragmas.items()} == {
        "for i in range(n):": [LoopPragma],
        "for j in range(n):": [LoopPragma],
        "s[0] += x[i, j]": [AtomicPragma],
        "y[:n] = x[:n, 0]": [TensorPragma],
        "for k in range(n):": [LoopPragma],
    }
    (last,) = pragmas["for k in range(n):"]
    assert isinstance(last, LoopPragma)
    assert last.sequential


def test_two_kinds_before_one_statement() -> None:
    pragmas = found(
        """
        def f(x, s, n):
            #pragma atomic
            #pragma :n=>parallel
            s[:n] += x[:n]
        """
    )
    assert [type(p) for p in pragmas["s[:n] += x[:n]"]] == [AtomicPragma, TensorPragma]


def test_places_in_a_file_are_those_of_the_file() -> None:
    text = "def f(n):\n    #pragma simd\n    for i in range(n): pass\n"
    tree = ast.increment_lineno(ast.parse(text).body[0], 99)
    ((pragma,),) = pragmas_of(tree, comments_of(text, 100, 8), "g.py", 8).values()
    assert (pragma.where.file, pragma.where.line) == ("g.py", 101)
    assert (pragma.where.column, pragma.where.end) == (12, 24)


@pytest.mark.parametrize(
    ("body", "message", "marked"),
    [
        ("#pragma simd\nx = 1", "which is no 'for' loop", "#pragma simd"),
        ("#pragma simd\nwhile n: pass", "which is no 'for' loop", "#pragma simd"),
        ("#pragma atomic\nfor i in x: pass", "which is no update", "#pragma atomic"),
        ("#pragma :n=>simd\nreturn x", "which is no assignment", "#pragma :n=>simd"),
        ("x = 1\n#pragma simd", "no statement follows", "#pragma simd"),
        ("for i in x:\n    x = 1\n    #pragma atomic\nx = 2", "no statement", "#pragma atomic"),
        ("#pragma simd\n#pragma simd\nfor i in x: pass", "two pragmas of one", "#pragma simd"),
        ("#pragma simd shared(nn)\nfor i in x: pass", "no 'nn'", "nn"),
        ("#pragma :n=>reduce(sum:z)\nx = 1", "no 'z'", "z"),
    ],
)
def test_pragmas_about_nothing(body: str, message: str, marked: str) -> None:
    text = f"def f(x, n):\n{textwrap.indent(body, '    ')}\n"
    with pytest.raises(MisplacedPragma, match=message) as caught:
        found(text)
    line, carets = str(caught.value).splitlines()[2:4]
    start = carets.index("^")
    assert line[start : start + carets.count("^")] == marked
    assert caught.value.remedy


def test_an_unknown_clause_shows_the_line_with_a_caret() -> None:
    with pytest.raises(UnknownClause) as caught:
        found("def f(x):\n    #pragma parallel for fast\n    for i in x: pass\n")
    assert str(caught.value).splitlines()[:4] == [
        "no pragma before a loop has 'fast'",
        "  at f.py:2:26",
        "  | #pragma parallel for fast",
        "  |                      ^^^^",
    ]


def test_a_misspelt_name_is_guessed() -> None:
    with pytest.raises(MisplacedPragma) as caught:
        found("def f(total):\n    #pragma simd reduction(+: totl)\n    for i in x: total += 1\n")
    assert caught.value.remedy == "is 'total' meant?"


def test_other_comments_are_no_pragmas() -> None:
    text = "def f(x):\n    # pragma: no cover\n    #pragma: allow\n    #pragmatic\n    return x\n"
    assert found(text) == {}
