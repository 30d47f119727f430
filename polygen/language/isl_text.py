"""isl's notation for sets, with parameters that need no declaration.

isl wants every parameter declared, and does not say where a text is wrong.  Here, parameters are
found: they are the names that are neither inames nor bound by ``exists``.
"""

from __future__ import annotations

import re
from collections.abc import Collection

import islpy as isl

from polygen.errors import MalformedDomain, ReservedName
from polygen.ir.names import is_isl_word
from polygen.language.explain_domain import explain_domain
from polygen.language.parser import located
from polygen.source import caller_location

_BRACES = re.compile(r"\s*\{[^{}]*\}\s*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEAD = re.compile(r"\s*\[([^\]]*)\]\s*->")
_TUPLE = re.compile(r"[{;]\s*\[([^\]]*)\]")
_BOUND = re.compile(r"\bexists\b\s*\(?([^:]*):")
_LEADING = re.compile(r"(?:^|,)\s*([A-Za-z_][A-Za-z0-9_]*)")
KEYWORDS = frozenset(
    """
    and or not exists mod floor ceil floord ceild min max
    true false implies int infty infinity nan rat
    """.split()  # noqa: SIM905
)


_NO_NAMES = frozenset(("infty", "infinity", "nan", "rat"))


def read_set(text: str) -> isl.Set:
    """Return the set that `text` stands for.

    Raises:
        MalformedDomain: if isl cannot read it, or if its parts differ in their inames.
    """
    # isl has other words than sets in braces for some of these; "{}" is no set to it at all.
    if re.fullmatch(r"\s*(\[[^\]]*\]\s*->)?\s*\{\s*(\[\s*\])?\s*:?\s*\}\s*", text):
        return isl.Set("{ : }")
    check_characters(text)
    head = _HEAD.match(text)
    body = text[head.end() :] if head else text
    declared = _NAME.findall(head[1]) if head else []
    pieces: list[list[str]] = [_LEADING.findall(m[1]) for m in _TUPLE.finditer(body)]
    inames = pieces[0] if pieces else []
    _check_tuples(pieces, text)
    bound = {*KEYWORDS, *inames}
    for match in _BOUND.finditer(body):
        bound.update(_LEADING.findall(match[1]))
    free = sorted(set(_NAME.findall(body)) - bound - set(declared))
    _check_words(text, body, inames)
    if not _BRACES.fullmatch(body):  # isl ignores what follows the first brace that closes
        raise explain_domain(text)
    try:
        result = isl.Set(f"[{', '.join([*declared, *free])}] -> {body}")
    except isl.Error:
        raise explain_domain(text) from None
    if result.dim(isl.dim_type.set) != len(inames):
        raise explain_domain(text)
    return result


def bound_names(text: str) -> frozenset[str]:
    """Return the words in a set's text that are no parameters: inames, and words of isl's."""
    found = set(KEYWORDS)
    for pattern in (_TUPLE, _BOUND):
        for match in pattern.finditer(text):
            found.update(_LEADING.findall(match[1]))
    return frozenset(found)


def _check_tuples(pieces: list[list[str]], text: str) -> None:
    for piece in pieces:
        twice = [n for position, n in enumerate(piece) if n in piece[:position]]
        if twice:
            raise malformed(
                f"the iname '{twice[0]}' is there twice", text, "give each a name of its own"
            )
        if piece != pieces[0]:
            raise malformed(
                "the parts of one domain have different inames",
                text,
                "for loops of their own, pass a list of domains",
            )


def as_set(given: isl.BasicSet | isl.Set) -> isl.Set:
    """Return a set that the user built with islpy, as a union of basic sets."""
    return given.to_set() if isinstance(given, isl.BasicSet) else given


def check_characters(text: str) -> None:
    """Raise MalformedDomain if a text has what no file could: isl is passed none such."""
    odd = next((c for c in text if "\ud800" <= c <= "\udfff"), None)
    if odd is not None:
        raise MalformedDomain(
            f"{odd!r} is half of a character", where=caller_location(), remedy="leave it out"
        )


def malformed(what: str, text: str, remedy: str | None = None) -> MalformedDomain:
    """Return an error that shows the text of a domain."""
    return MalformedDomain(what, where=caller_location(), excerpt=text.strip(), remedy=remedy)


def _check_words(text: str, body: str, inames: Collection[str]) -> None:
    """Raise ReservedName if isl would read a name as a word of its own.

    It does so whichever letters are capitals.
    """
    for match in _NAME.finditer(body):
        name = match[0]
        if is_isl_word(name) and (name in inames or name not in KEYWORDS - _NO_NAMES):
            raise located(
                ReservedName,
                f"'{name}' is a word of isl's notation, and no name",
                text,
                len(text) - len(body) + match.start(),
                f"use another name, such as '{name}_'; isl's words are written in small letters",
            )
