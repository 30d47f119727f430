"""The parsers' tables, which are made ahead of time: of the grammars as they are."""

from __future__ import annotations

from pathlib import Path

import lark
import pytest

import polygen.language
from polygen.errors import MalformedExpression
from polygen.language.grammars import GRAMMARS, parser
from polygen.language.parser import parse_expression

FOLDER = Path(polygen.language.__file__).parent
TEXTS = {
    "instructions": [
        ("instruction", "[i, j] <float32> t[i] = a[i, j + 1]**2 / b {id=x, dep=y:z, if=i < 3}"),
        ("instruction", "out[i] = sum(j, f(a[j], 1.5f)) if x <= 0x1F else -min(1e-3, 2)"),
        ("instruction", "... lbarrier {id=wait, dep=*}"),
        ("rule", "f(x) := x*a[x] // 2 % 3"),
        ("test", "not (a and b) or ~c & d << 2"),
        ("expressions", "a, b[i], 3"),
        ("block", "elif i < n"),
    ],
    "kernels": [
        ("argument_line", "a: GlobalArg, type: float32, shape: (n, 3), strides: <runtime>"),
        ("temporary", "t: type: float64, shape: (4), address space: local"),
        ("tag", "i: l.0"),
        ("priority", "i, j, k"),
    ],
    "queries": [("query", "load_* or not (writes:a and tag:x)")],
    "domains": [("start", "[n] -> { [i, j] : 0 <= i < n and exists (k : j = 2*k) }")],
}


def _result(parser_: lark.Lark, start: str, text: str) -> str:
    """Return what is read, or the error, as text."""
    try:
        found: object = parser_.parse(text, start=start)
        return found.pretty() if isinstance(found, lark.Tree) else repr(found)
    except lark.UnexpectedInput as error:
        allowed = sorted(getattr(error, "accepts", None) or getattr(error, "allowed", None) or ())
        return f"{type(error).__name__} {error.pos_in_stream} {allowed}"
    except Exception as error:  # what the classes with a method for each rule raise
        return f"{type(error).__name__} {vars(error)}"


@pytest.mark.parametrize("name", GRAMMARS)
def test_tables_are_those_of_the_grammar(name: str) -> None:
    kept = (FOLDER / f"{name}.tables").read_bytes()
    # Which release of lark made them is another matter.
    of, wanted = (text.partition(b"\n")[2] for text in (kept, GRAMMARS[name].key()))
    assert of.startswith(wanted), "run python -m polygen.language.grammars"


@pytest.mark.parametrize("name", GRAMMARS)
def test_tables_read_what_the_grammar_does(name: str) -> None:
    made = GRAMMARS[name].made()
    results = []
    for start, text in TEXTS[name]:
        for end in (len(text), len(text) // 2, len(text) // 3):
            results.append(_result(made, start, text[:end]))
            if name != "queries":  # which are functions
                assert _result(parser(name), start, text[:end]) == results[-1]
    assert any(not result.startswith("Unexpected") for result in results)
    assert any(result.startswith("Unexpected") for result in results)


def test_tables_of_another_release_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError

    parser.cache_clear()
    monkeypatch.setattr(lark, "__version__", "1.99.0")
    monkeypatch.setattr(lark.Lark, "load", fail)
    with pytest.raises(MalformedExpression, match="expected"):
        parse_expression("a +")
    parser.cache_clear()
