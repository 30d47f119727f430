"""Loop domains and assumptions from text."""

from __future__ import annotations

import islpy as isl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygen.errors import (
    InvalidArgument,
    MalformedDomain,
    NameTaken,
    NonAffineDomain,
    PolygenError,
    ReservedName,
    UnboundedDomain,
)
from polygen.ir.domain import Domain, unflatten
from polygen.language.assumptions import parse_assumptions
from polygen.language.domains import parse_domains


def domains(*texts: str) -> tuple[Domain, ...]:
    return tuple([Domain(isl.Set(text)) for text in texts])


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("{ [i]: 0<=i<n }", ["[n] -> { [i]: 0<=i<n }"]),
        ("[n] -> { [i]: 0<=i<n }", ["[n] -> { [i]: 0<=i<n }"]),
        ("[n] -> { [i]: n<=i<m }", ["[n, m] -> { [i]: n<=i<m }"]),
        # names that are no parameters: words of isl's, and what exists binds
        (
            "{ [i]: 0<=i<n and exists(e, f: i = 2e + 3f and 0<=f<2) "
            "or i mod 5 = 0 and 9<i<floor(n/2) }",
            [
                "[n] -> { [i]: 0<=i<n and exists(e, f: i = 2e + 3f and 0<=f<2) "
                "or i mod 5 = 0 and 9<i<floor(n/2) }"
            ],
        ),
        ("{ [i]: exists e = floor(i/4): i = 4e and 0<=i<n }", ["[n]->{[i]: i mod 4=0 and 0<=i<n}"]),
        ("{ [i = 3] }", ["{ [i]: i = 3 }"]),
        ("{ [i]: 0<=i<2n }", ["[n] -> { [i]: 0<=i<2n }"]),
        ("{ [i]: 0<=i<5; [i]: i = 9 }", ["{ [i]: 0<=i<5 or i = 9 }"]),
        ("{ [i]: false }", ["{ [i]: false }"]),
        # none
        ("{ : }", []),
        ("{ }", []),
        ("{ [] }", []),
        ("[n] -> { [] : }", []),
        ("", []),
    ],
)  # fmt: skip
def test_text_stands_for_a_set(given_text: str, expected: list[str]) -> None:
    assert parse_domains(given_text) == domains(*expected)


def test_several_domains() -> None:
    expected = domains("[n] -> { [i]: 0<=i<n }", "[i] -> { [j]: 0<=j<i }")
    assert parse_domains(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<i }"]) == expected
    assert parse_domains([]) == ()


def test_isl_sets() -> None:
    text = "[n, unused] -> { [i]: 0<=i<n }"
    expected = domains("[n] -> { [i]: 0<=i<n }")
    assert parse_domains(isl.Set(text)) == expected
    assert parse_domains([isl.BasicSet(text)]) == expected


# --- products


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "{ [i,j]: 0<=i<n and 0<=j<m }",
            ["[n] -> { [i]: 0<=i<n }", "[m] -> { [j]: 0<=j<m }"],
        ),
        # the paper's section 2.3
        (
            "{ [i,j,ii,jj]: 0<=i,j,ii,jj<n }",
            [f"[n] -> {{ [{i}]: 0<={i}<n }}" for i in ("i", "j", "ii", "jj")],
        ),
        # in the order of the first of each group
        (
            "{ [a,b,c]: 0<=a<=c<n and 0<=b<m }",
            ["[n] -> { [a,c]: 0<=a<=c<n }", "[m] -> { [b]: 0<=b<m }"],
        ),
        # what concerns parameters alone goes to each
        (
            "{ [i,j]: 0<=i<n and 0<=j<m and n>=3 }",
            ["[n] -> { [i]: 0<=i<n and n>=3 }", "[n, m] -> { [j]: 0<=j<m and n>=3 }"],
        ),
        (
            "{ [i,j]: 0<=i<n and 0<=j<m and i mod 2 = 0 and exists(e: j = 3e + 1) }",
            [
                "[n] -> { [i]: 0<=i<n and i mod 2 = 0 }",
                "[m] -> { [j]: 0<=j<m and j mod 3 = 1 }",
            ],
        ),
        # no products
        ("{ [i,j]: 0<=i<n and 0<=j<=i }", ["[n] -> { [i,j]: 0<=i<n and 0<=j<=i }"]),
        (
            "{ [i,j]: 0<=i,j<n and (i + j) mod 2 = 0 }",
            ["[n] -> { [i,j]: 0<=i,j<n and (i + j) mod 2 = 0 }"],
        ),
        (
            "{ [i,j]: 0<=i,j<n and exists(e: i = 2e and j <= 3e) }",
            ["[n] -> { [i,j]: 0<=i,j<n and exists(e: i = 2e and j <= 3e) }"],
        ),
        (
            "{ [i,j]: 0<=i<3 and 0<=j<3 or i = 7 and j = 7 }",
            ["{ [i,j]: 0<=i<3 and 0<=j<3 or i = 7 and j = 7 }"],
        ),
    ],
)
def test_products_are_split(text: str, expected: list[str]) -> None:
    assert parse_domains(text) == domains(*expected)


CONSTRAINTS = st.sampled_from(
    (
        "i <= j", "i + k = 5", "(i + j) mod 3 = 1", "k mod 2 = 0", "j >= 4", "n >= 2", "i = 3",
        "exists(e: i = 2e and k >= 3e)", "2j <= n", "i + j + k <= 9", "k = j + 1", "n = 5",
    )
)  # fmt: skip


@given(st.lists(CONSTRAINTS, max_size=4))
def test_parts_make_up_the_whole(constraints: list[str]) -> None:
    text = " and ".join(["0<=i<n", "0<=j<8", "-2<=k<=n", *constraints])
    whole = isl.Set(f"[n] -> {{ [i,j,k]: {text} }}")
    parts = parse_domains(f"{{ [i,j,k]: {text} }}")
    flat = isl.Set("{ : }")
    for part in parts:
        flat = flat.intersect(part.flat)
    assert unflatten(flat, ("i", "j", "k")).is_equal(whole)


# --- assumptions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "{ : }"),
        ("n>=0 and n mod 4 = 0", "[n] -> { : n>=0 and n mod 4 = 0 }"),
        ("[n] -> { : n>=0 }", "[n] -> { : n>=0 }"),
        ("{ : n>=m }", "[n, m] -> { : n>=m }"),
    ],
)
def test_assumptions(text: str, expected: str) -> None:
    assert parse_assumptions(text) == Domain(isl.Set(expected))


# --- errors: the class, words of the message, the column of the caret, words of the remedy

MALFORMED: list[tuple[str, type[PolygenError], str, int | None, str]] = [
    ("{ [i]: 0<=i<n", MalformedDomain, "found the end where an operator or '}'", 13, ""),
    ("{ [i: 0<=i<n }", MalformedDomain, "found ':' where ',', '=' or ']'", 4, ""),
    ("[n] { [i]: 0<=i<n }", MalformedDomain, "found '{' where '->'", 4, ""),
    ("{ [i]: 0<=i< }", MalformedDomain, "found '}' where a name or a number", 13, ""),
    ("{ [i]: 0<=i<n and }", MalformedDomain, "found '}' where a name", 18, ""),
    ("{ [i]: i }", MalformedDomain, "found '}' where", 9, ""),
    ("{ [i] 0<=i<n }", MalformedDomain, "found '0' where ':'", 6, ""),
    ("{ [i]: 0<=i<n } x", MalformedDomain, "found 'x' where the end", 16, ""),
    ("0 <= i < n", MalformedDomain, "found '0' where '[' or '{'", 0, ""),
    ("{ [i]: 0<=i==n }", MalformedDomain, "found '='", 12, "equality as '='"),
    ("{ [i]: 0<=i<1.5 }", MalformedDomain, "found '.'", 13, "integers only"),
    ("{ [i]: 0<=i<n ^ i>3 }", MalformedDomain, "found '^'", 14, ""),
    ("{ [i]: 0<=i<n } or { [i]: i=9 }", MalformedDomain, "found 'or' where the end", 16, ""),
    ("{ S[i]: 0<=i<n }", MalformedDomain, "found 'S'", 2, "has no name"),
    ("{ [i] -> [j]: 0<=i<n }", MalformedDomain, "found '-'", 6, "is a set"),
    ("{ [i, [j]]: 0<=i,j<n }", MalformedDomain, "found '[' where a name", 6, ""),
    ("{ [2i]: 0<=i<n }", MalformedDomain, "found '2i'", 3, ""),
    ("{ [i+1]: 0<=i<n }", MalformedDomain, "found '+'", 4, ""),
    ("{ [i]: 0<=i*i<n }", NonAffineDomain, "'*' with a variable on both sides", 11, "number"),
    ("{ [i,j]: 0<=i<n and 0<=j<n*i }", NonAffineDomain, "'*'", 26, "temporaries"),
    ("{ [i]: 0<=i<floor(n/m) }", NonAffineDomain, "'/' with a variable on its right", 19, ""),
    ("{ [i]: 0<=i<9 and i mod n = 0 }", NonAffineDomain, "'mod' with a variable", 20, ""),
    ("{ [i]: 0<=i<(n+1)*(n-1) }", NonAffineDomain, "'*'", 17, ""),
    ("{ [i,i]: 0<=i<n }", MalformedDomain, "'i' is there twice", None, "a name of its own"),
    ("{ [i]: 0<=i<n; [j]: 0<=j<n }", MalformedDomain, "different inames", None, "a list"),
    ("{ : n > 3 }", MalformedDomain, "conditions, but no inames", None, "assumptions="),
    ("{ [i]: 0<=i }", UnboundedDomain, "'i' has no upper bound", None, "i < n"),
    ("{ [i]: i<n }", UnboundedDomain, "'i' has no lower bound", None, "0 <= i"),
    ("{ [i,j]: 0<=i<n }", UnboundedDomain, "'j' has no lower bound", None, ""),
    ("{ [i]: exists(e: i = 2e) }", UnboundedDomain, "", None, ""),
    ("{ [i,j]: i<=j<=i+3 }", UnboundedDomain, "bounded by each other only", None, ""),
    ("{ [i]: 0<=i<n or i>5 }", UnboundedDomain, "'i' has no upper bound", None, ""),
    ("{ [for]: 0<=for<n }", ReservedName, "'for'", None, "'for_'"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "kind", "what", "column", "remedy"), MALFORMED, ids=[m[0] for m in MALFORMED]
)
def test_malformed_domains(
    text: str,
    kind: type[PolygenError],
    what: str,
    column: int | None,
    remedy: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(kind) as caught:
        parse_domains(text)
    error = caught.value
    assert type(error) is kind
    assert what in error.what
    assert remedy in (error.remedy or "")
    if column is not None:
        assert (error.excerpt or "").split("\n") == [text, " " * column + "^"]
    assert capfd.readouterr() == ("", "")  # isl likes to print


def test_caret_in_the_right_line() -> None:
    with pytest.raises(MalformedDomain) as caught:
        parse_domains("{ [i, j]:\n    0 <= i < n and\n    0 <= j < }")
    assert (caught.value.excerpt or "").split("\n") == ["0 <= j < }", "         ^"]


def test_iname_of_two_domains() -> None:
    with pytest.raises(NameTaken, match="two domains have an iname 'i'"):
        parse_domains(["{ [i]: 0<=i<n }", "{ [i]: 0<=i<m }"])


@pytest.mark.parametrize("wrong", [3, None, [3], [None], {"i": 3}.values()])
def test_no_domains(wrong: object) -> None:
    with pytest.raises(InvalidArgument, match="no loop domain"):
        parse_domains(wrong)


@pytest.mark.parametrize(
    ("given_set", "what"),
    [
        ("{ S[i]: 0<=i<5 }", "named 'S"),
        ("{ [i, 3]: 0<=i<5 }", "no name"),
    ],
)
def test_sets_that_are_no_loop_domains(given_set: str, what: str) -> None:
    with pytest.raises(MalformedDomain):
        parse_domains(isl.Set(given_set))


@pytest.mark.parametrize(
    ("wrong", "kind", "what"),
    [
        ("n >", MalformedDomain, "found '}'"),
        ("n*n > 3", NonAffineDomain, "'*'"),
        ("n > 3 and n < 2", MalformedDomain, "contradict"),
        ("{ [n]: n > 3 and n < 10 }", MalformedDomain, "no inames"),
        (3, InvalidArgument, "no text"),
    ],
)
def test_malformed_assumptions(wrong: object, kind: type[PolygenError], what: str) -> None:
    with pytest.raises(kind, match=what.replace("*", r"\*")):
        parse_assumptions(wrong)
